// SPDX-License-Identifier: Apache-2.0
// What a build is asked for, as it is asked.
#pragma once

#include "compiler/build/Pipeline.h"
#include "compiler/engine_file/EngineDescription.h"

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

} // namespace ingot::compiler
