// SPDX-License-Identifier: Apache-2.0
// Engines that `ingot run` has built, and models that were quantized for builds, kept beside the
// build cache's kernels.
#pragma once

#include "codegen/BuildCache.h"
#include "compiler/build/Build.h"
#include "compiler/build/FileDigests.h"

namespace ingot::compiler {

/// Folders of the cache's with engines, and with models that were quantized to be built.
inline constexpr char kEnginesFolder[] = "engines", kModelsFolder[] = "quantized";
/// What all of one of them may take up; those not used for longest go first.
inline constexpr uint64_t kKeptLimit = uint64_t{32} << 30;

/// The engine that `options`, which have a cache and digests, ask for: built where none is kept for
/// the same options, the same contents of the model's files and the same program. Without a cache
/// it is built where `options` say. Errors: those of readers and of buildEngine(), INGOT-E7041
/// where a folder cannot be made, INGOT-E7042 where files were changed meanwhile.
checkpoint::Expected<std::filesystem::path> builtEngine(mlir::MLIRContext &context,
                                                        BuildOptions &options, Progress &progress);

/// A file that decides about something, and the name under which it does, wherever it is.
struct NamedFile {
  std::string name;
  std::filesystem::path path;
  auto operator<=>(const NamedFile &) const = default;
};
/// A file, or the files of a folder in the order of their names; none where there is neither.
std::vector<NamedFile> filesIn(const std::filesystem::path &path);
/// Everything that `model`, opened from `path`, was read from, and this program.
std::vector<NamedFile> modelFiles(const checkpoint::Checkpoint &model,
                                  const std::filesystem::path &path);
/// Adds names and contents. Errors: those of readers.
checkpoint::Outcome addFiles(codegen::CacheKey &key, std::span<const NamedFile> files,
                             FileDigests &digests, unsigned threads, Progress &progress);

/// Notes that an engine, or a folder of a quantized model, is used now. Its time of modification
/// stays: who runs an engine takes a later one for damage.
void markUsed(const std::filesystem::path &kept);
/// Removes from one of the cache's folders what was not used for longest, until `kept` and the rest
/// are within kKeptLimit.
void removeOldest(const std::filesystem::path &folder, const std::filesystem::path &kept);
/// An engine that is kept.
struct KeptEngine {
  std::filesystem::path path;
  std::string name; ///< its model's, as the engine states it; empty where it is damaged
  uint64_t bytes;
  int64_t used; ///< seconds since 1970
};
/// Those of one of the cache's folders, the one not used for longest first.
std::vector<KeptEngine> keptEngines(const std::filesystem::path &folder);
/// Seconds since 1970 as strftime's `format` has them, in local time: when what is kept was used.
std::string localTime(int64_t seconds, const char *format);
/// How many items such a folder has, and their bytes; with `remove` they are removed.
std::pair<uint64_t, uint64_t> keptItems(const std::filesystem::path &folder, bool remove);

} // namespace ingot::compiler
