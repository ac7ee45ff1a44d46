// SPDX-License-Identifier: Apache-2.0
// How far an engine is from a checkpoint: layer by layer, and in what it predicts.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/quantize/PartEngine.h"
#include "compiler/quantize/RowFile.h"
#include "compiler/quantize/ValueRanges.h"

namespace ingot::quantize {

/// A part of the model with the input that the engine gives it.
struct PartDifference {
  std::string part;       ///< "embed", "layers.0"
  double relativeRms = 0; ///< of the results: root mean square of differences over that of values
  double accumulated = 0; ///< the same with all parts before it as the checkpoint has them
  std::vector<MatrixRange> matrices{}; ///< where they are described
  std::optional<InputRange> input{};   ///< likewise; of layers
};

/// Distributions over the next token, compared with the checkpoint's.
struct PredictionDifference {
  int64_t tokens = 0;
  double divergence = 0, divergenceError = 0; ///< mean Kullback-Leibler divergence in nats
  double divergenceP99 = 0;
  double perplexity = 0, basePerplexity = 0;
  /// Of who knows nothing but how often each of the predicted tokens is among them.
  double unigramPerplexity = 0;
  double sameTop = 0; ///< part of positions with the same likeliest token

  /// Whether the checkpoint predicts the text no better than that, so that its perplexity is
  /// chance.
  bool isUnread() const { return !(basePerplexity < unigramPerplexity); }
};

struct EngineDifference {
  nlohmann::ordered_json text; ///< the record of what both were run on
  std::vector<PartDifference> parts;
  PredictionDifference prediction;
};

/// What is compared.
struct ComparisonScope {
  int64_t sequences = 2;  ///< that parts are compared on
  bool predicts = false;  ///< the head is run too, on all sequences
  bool describes = false; ///< ranges of weights and inputs are measured too
};

/// Runs `engine` and the checkpoint's parts, in f32, on `text`, of `part.length` tokens each.
/// Errors: those of parts, of the checkpoint's reader and of the runtime.
checkpoint::Expected<EngineDifference>
compareWithCheckpoint(mlir::MLIRContext &context, Engine &engine,
                      const checkpoint::Checkpoint &model, const PartOptions &part,
                      CalibrationText text, const ComparisonScope &scope,
                      compiler::Progress &progress);

} // namespace ingot::quantize
