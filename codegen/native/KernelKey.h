// SPDX-License-Identifier: Apache-2.0
// What the code of a kernel follows from, as keys of a BuildCache.
#pragma once

#include "codegen/BuildCache.h"
#include "codegen/native/KernelTemplate.h"

namespace ingot::engine {
class KernelOp;
} // namespace ingot::engine

namespace ingot::codegen {

/// The kind of the entries: one object file each.
inline constexpr llvm::StringLiteral kObjectKind = "native-object";

/// The key of what specializeKernel gives: the template's bitcode (of this set of templates alone),
/// the kernel's name, numbers and region, the machine, the versions of LLVM and of this folder.
std::string kernelKey(engine::KernelOp kernel, const KernelMachine &machine);

/// The key of what compileMemoryFunctions gives.
std::string memoryFunctionsKey(const KernelMachine &machine);

} // namespace ingot::codegen
