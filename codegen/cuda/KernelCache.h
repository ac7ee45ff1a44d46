// SPDX-License-Identifier: Apache-2.0
// Compiled kernels by the content of their sources: in memory, and in a folder where one is named.
#pragma once

#include "codegen/cuda/Nvrtc.h"
#include <map>
#include <mutex>

namespace ingot::codegen {

/// Safe to use from several threads. A cache changes no result: its key covers the whole source,
/// the options and the version of the compiler.
class KernelCache {
public:
  /// Forgets what `folder` was before; an empty one keeps kernels in memory only.
  explicit KernelCache(std::string folder) : folder(std::move(folder)) {}

  /// The kernel of `source`, compiled by `nvrtc` unless it is known.
  llvm::Expected<CompiledKernel> get(const Nvrtc &nvrtc, const KernelSource &source);

private:
  std::optional<CompiledKernel> read(const std::string &key) const;
  /// Does its best: a folder that cannot be written is no error.
  void write(const std::string &key, const CompiledKernel &kernel) const;

  std::string folder;
  std::mutex mutex;
  std::map<std::string, CompiledKernel> known;
};

} // namespace ingot::codegen
