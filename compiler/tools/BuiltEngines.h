// SPDX-License-Identifier: Apache-2.0
// Engines that `ingot run` has built, kept beside the build cache's kernels.
#pragma once

#include "codegen/BuildCache.h"
#include "compiler/build/Build.h"

namespace ingot::compiler {

/// What all kept engines may take up; those not run for longest go first.
inline constexpr uint64_t kEnginesLimit = uint64_t{32} << 30;

/// The engine that `options` ask for: built where none is kept for the same options, the same files
/// of the model (by name, size and time) and the same program. Without a cache it is built in a
/// folder of its own, which dropEngine removes. Errors: those of readers and of buildEngine(),
/// INGOT-E7021 and E7041 where a folder cannot be made.
checkpoint::Expected<std::filesystem::path> builtEngine(mlir::MLIRContext &context,
                                                        BuildOptions &options, Progress &progress);

/// Adds a file, or the files of a folder in the order of their names, by name, size and time.
void addFiles(codegen::CacheKey &key, const std::filesystem::path &path);
/// Adds everything that `model`, opened from `path`, was read from, and this program.
void addModelFiles(codegen::CacheKey &key, const checkpoint::Checkpoint &model,
                   const std::filesystem::path &path);

/// Removes an engine that is not to be kept, and its folder.
void dropEngine(const std::filesystem::path &engine);

/// The engines in the cache's `folder`: how many, and their bytes; with `remove` they are removed.
std::pair<uint64_t, uint64_t> keptEngines(const std::filesystem::path &folder, bool remove);

} // namespace ingot::compiler
