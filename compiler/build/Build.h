// SPDX-License-Identifier: Apache-2.0
// Builds an engine file: checkpoint, recipe and targets in, one file out, whole or not at all.
#pragma once

#include "compiler/build/Pipeline.h"
#include "compiler/build/Progress.h"
#include "compiler/engine_file/EngineWriter.h"

namespace ingot::compiler {

struct BuildOptions {
  std::filesystem::path model;      ///< checkpoint directory or GGUF file
  std::filesystem::path output;     ///< engine file
  std::vector<std::string> targets; ///< as asked; empty: the best one for this machine
  std::filesystem::path recipe;     ///< a file or a preset's name; empty: defaultRecipe()
  std::filesystem::path tuning;     ///< lockfile that chooses kernels; empty: the cost model
  bool tuningCandidates = false;    ///< with every kernel that `ingot-run tune` may choose
  /// To make an engine again: what it states of itself. Its name, recipe, option records and golden
  /// tokens are taken from here; everything else is made anew.
  std::optional<EngineDescription> replay;
  EngineLimits limits;
  uint64_t maxBuildMemory = uint64_t{2} << 30;
  unsigned threads = 0; ///< 0: as many as the process may run on
  std::string nvrtc;    ///< where CUDA targets find their compiler; empty: the usual places
  codegen::BuildCache *cache = nullptr;  ///< of compiled kernels; null: none
  std::string whyNoCache;                ///< for the report
  std::filesystem::path lora;            ///< folder of an adapter that is merged; empty: none
  double loraScale = 1;                  ///< times the adapter's own
  std::optional<uint64_t> randomWeights; ///< seed; no weight file is read then
  bool noPtx = false;                    ///< leave out what only a simulator reads
  std::string dumpStage; ///< stage after which the IR is printed to stdout; empty: none
};

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
};

/// Checks the model, the options and the recipe, runs all stages and writes the file. Nothing is
/// left under the output's name on failure. `context` collects diagnostics on failure; errors that
/// are no diagnostics are returned.
checkpoint::Expected<BuildReport> buildEngine(mlir::MLIRContext &context,
                                              const BuildOptions &options, Progress &progress);

/// The metadata of the engine that `options` ask for, with empty kernel libraries and without
/// weight data: enough to plan its memory. Reads configuration and headers only.
checkpoint::Expected<std::vector<std::byte>>
planEngine(mlir::MLIRContext &context, const BuildOptions &options, Progress &progress);

} // namespace ingot::compiler
