// SPDX-License-Identifier: Apache-2.0
// One kernel: from the template's bitcode, constants and region to an object file.
#pragma once

#include "codegen/native/KernelTemplate.h"
#include "llvm/Support/Error.h"

namespace ingot::engine {
class KernelOp;
} // namespace ingot::engine

namespace ingot::codegen {

/// The object file of `kernel` (which is only read), whose one exported symbol is the op's name.
/// Errors begin with their code. May run on several threads at a time.
llvm::Expected<std::string> specializeKernel(engine::KernelOp kernel, const KernelMachine &machine);

/// The template of the functions below.
inline constexpr llvm::StringLiteral kMemoryTemplate = "Memory";

/// The object file of the functions that compiled code may call by itself: memcpy and its like,
/// hidden from outside the library.
llvm::Expected<std::string> compileMemoryFunctions(const KernelMachine &machine);

} // namespace ingot::codegen
