// SPDX-License-Identifier: Apache-2.0
// How far an engine is from a checkpoint: layer by layer, and in what it predicts.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/quantize/PartEngine.h"
#include "compiler/quantize/RowFile.h"

namespace ingot::quantize {

/// A part of the model with the input that the engine gives it.
struct PartDifference {
  std::string part;       ///< "embed", "layers.0"
  double relativeRms = 0; ///< of the results: root mean square of differences over that of values
  double accumulated = 0; ///< the same with all parts before it as the checkpoint has them
};

/// Distributions over the next token, compared with the checkpoint's.
struct PredictionDifference {
  int64_t tokens = 0;
  double divergence = 0, divergenceError = 0; ///< mean Kullback-Leibler divergence in nats
  double divergenceP99 = 0;
  double perplexity = 0, basePerplexity = 0;
  double sameTop = 0; ///< part of positions with the same likeliest token
};

struct EngineDifference {
  std::vector<PartDifference> parts;
  PredictionDifference prediction;
};

/// Runs `engine` and the checkpoint's parts, in f32, on `sequences` of `part.length` tokens; parts
/// are compared on the first `compared` of them. With `predicts` the head is run too. Errors: those
/// of parts and of the runtime.
checkpoint::Expected<EngineDifference>
compareWithCheckpoint(mlir::MLIRContext &context, Engine &engine,
                      const checkpoint::Checkpoint &model, const PartOptions &part,
                      std::span<const std::vector<int32_t>> sequences, int64_t compared,
                      bool predicts, compiler::Progress &progress);

} // namespace ingot::quantize
