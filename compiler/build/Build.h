// SPDX-License-Identifier: Apache-2.0
// Builds an engine file: checkpoint, recipe and targets in, one file out, whole or not at all.
#pragma once

#include "compiler/build/BuildOptions.h"
#include "compiler/build/Progress.h"
#include "mlir/IR/OwningOpRef.h"

namespace ingot::compiler {

/// What a build did, for people and for --report.
struct BuildReport {
  EngineDescription description;
  struct TargetReport {
    std::string name;
    size_t kernels = 0, launches = 0;
    uint64_t libraryBytes = 0;
    std::vector<mlir::Operation *> notes; ///< each an engine.note of the module in `ir`
  };
  std::vector<TargetReport> targets;
  uint64_t weightBytes = 0, fileBytes = 0, peakMemory = 0, minimumMemory = 0;
  double seconds = 0;
  struct CacheReport {
    std::string folder, whyNone;   ///< one of the two
    uint64_t hits = 0, misses = 0; ///< since the cache was opened
  } cache;
  std::vector<std::string> unreadTensors; ///< of the checkpoint
  mlir::OwningOpRef<mlir::ModuleOp> ir;   ///< the engine dialect of the whole engine
  /// Why the engine has the name options.refused(), and not that of the output; none: it has.
  std::optional<checkpoint::Error> refusal;
};

/// Checks the model, the options and the recipe, runs all stages and writes the file. Nothing is
/// left under the output's name on failure; an engine that was refused, which is a report of its
/// own, is left under that of options.refused(), until one is not. `context` collects diagnostics
/// on failure; errors that are no diagnostics are returned.
checkpoint::Expected<BuildReport> buildEngine(mlir::MLIRContext &context,
                                              const BuildOptions &options, Progress &progress);

/// Names, sizes and digests of every file that an engine of these options is made from;
/// `checkpoint` is theirs. Errors: those of sha256OfFile().
checkpoint::Expected<std::vector<InputFile>> digestInputs(const checkpoint::Checkpoint &checkpoint,
                                                          const BuildOptions &options,
                                                          Progress &progress);

/// The metadata of the engine that `options` ask for, with empty kernel libraries and without
/// weight data: enough to plan its memory. Reads configuration and headers only.
checkpoint::Expected<std::vector<std::byte>>
planEngine(mlir::MLIRContext &context, const BuildOptions &options, Progress &progress);

} // namespace ingot::compiler
