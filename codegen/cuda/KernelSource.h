// SPDX-License-Identifier: Apache-2.0
// The complete CUDA C++ of one kernel: its template, constants, region and entry.
#pragma once

#include "codegen/cuda/CudaArchitecture.h"
#include "dialects/engine/EngineDialect.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace ingot::engine {
class KernelOp;
} // namespace ingot::engine

namespace ingot::codegen {

/// What is compiled. Equal sources give equal binaries.
struct KernelSource {
  std::string name;    ///< the kernel's, and its entry's symbol
  std::string program; ///< calls its entry INGOT_KERNEL
  std::vector<std::pair<std::string, std::string>> headers; ///< name and text
  std::vector<std::string> options;

  /// SHA-256 of everything but the name.
  std::string digest() const;
};

/// The source of `kernel` for `architecture`. Errors start with a code: INGOT-E4001, E4002, E4003.
llvm::Expected<KernelSource> kernelSource(engine::KernelOp kernel,
                                          const CudaArchitecture &architecture);

} // namespace ingot::codegen
