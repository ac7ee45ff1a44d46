// SPDX-License-Identifier: Apache-2.0
// What a kernel's binary must show before it goes into an engine, and the facts kept of it.
#pragma once

#include "codegen/cuda/CubinInspector.h"
#include "codegen/cuda/CudaArchitecture.h"
#include "dialects/engine/EngineDialect.h"

namespace ingot::engine {
class KernelOp;
} // namespace ingot::engine

namespace ingot::codegen {

/// Blocks of a kernel that a multiprocessor runs at a time.
int64_t blocksPerMultiprocessor(const CudaArchitecture &architecture, int64_t registers,
                                int64_t sharedBytes, int64_t threads);

/// Why `kernel` must not be built with a binary of these facts: local memory, a missing instruction
/// (constant "expects"), another architecture, or more than the architecture has; nothing if all is
/// well.
std::optional<std::string> missingEvidence(engine::KernelOp kernel, const CubinFacts &facts,
                                           const CudaArchitecture &architecture);

/// Why `log`, what the assembler said of a kernel, keeps it out of an engine: it serialises the
/// kernel's wgmma, or spills; nothing if all is well.
std::optional<std::string> logFault(llvm::StringRef log);

/// The facts to be stated of the kernel: registers, shared_bytes, stack_bytes, local_accesses,
/// occupancy, cubin_bytes, ptx_sha256 and one count for each kind of instruction of interest.
llvm::SmallVector<mlir::NamedAttribute> evidenceFacts(engine::KernelOp kernel,
                                                      const CubinFacts &facts,
                                                      const CudaArchitecture &architecture,
                                                      size_t cubinBytes, llvm::StringRef ptx);

} // namespace ingot::codegen
