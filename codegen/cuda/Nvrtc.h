// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's compiler of CUDA C++ as a library, loaded while the compiler runs.
#pragma once

#include "codegen/cuda/KernelSource.h"
#include <memory>

namespace ingot::codegen {

/// What NVRTC makes of one kernel.
struct CompiledKernel {
  std::string cubin, ptx, log; ///< texts without a trailing NUL; the log is that of ptxas
};

/// A loaded NVRTC; safe to use from several threads.
class Nvrtc {
public:
  /// Loads the library at `path` (a file, or a folder that holds one); without a path the first of
  /// nvrtcCandidates() that loads. Libraries stay loaded. Errors start with INGOT-E4300.
  static llvm::Expected<std::shared_ptr<const Nvrtc>> load(llvm::StringRef path);

  /// "NVRTC 13.0".
  std::string toolkit() const;

  /// What tells this library from another one, of the same version too: for keys of a BuildCache.
  std::string identity() const;

  /// Compiles `source`; errors start with INGOT-E4301 and hold the compiler's messages. `ptxOnly`:
  /// gives the same PTX, without the work of making a cubin of it, which is empty then.
  llvm::Expected<CompiledKernel> compile(const KernelSource &source, bool ptxOnly = false) const;

private:
  struct Functions;
  explicit Nvrtc(std::shared_ptr<const Functions> functions) : functions(std::move(functions)) {}

  std::shared_ptr<const Functions> functions;
  int major = 0, minor = 0;
};

/// Files that may be NVRTC, best first: beside the project, in CUDA toolkits, in Python packages,
/// and the bare names that the loader looks up.
std::vector<std::string> nvrtcCandidates();

/// The libraries in folder `folder` whose names start with `prefix`, newest first.
std::vector<std::string> nvrtcLibrariesIn(llvm::StringRef folder,
                                          llvm::StringRef prefix = "libnvrtc.so.");

/// The same for a folder as people name it: of the library, of a toolkit, or of Python packages.
std::vector<std::string> nvrtcLibrariesUnder(llvm::StringRef folder);

} // namespace ingot::codegen
