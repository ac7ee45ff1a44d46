// SPDX-License-Identifier: Apache-2.0
// From a budget to a recipe that gives each matrix a format of its own.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/quantize/QuantizeOptions.h"

namespace ingot::quantize {

/// What a quantized model may be. One of them is given, the others are 0.
struct Budget {
  uint64_t size = 0;     ///< most bytes of all tensors of the checkpoint
  double divergence = 0; ///< most estimated Kullback-Leibler divergence, in nats
  double bits = 0;       ///< most bits of a weight of the layers' matrices, with scales, on average

  bool isGiven() const { return size > 0 || divergence > 0 || bits > 0; }
};

/// What is asked of a search.
struct SearchOptions {
  Budget budget;
  std::filesystem::path lockfile; ///< empty: OUTPUT.lock.yaml

  /// Where the result for `output` goes. Errors: INGOT-E2132 where a file is named and no budget.
  checkpoint::Expected<std::filesystem::path> fileFor(const std::filesystem::path &output) const;
};

/// Chooses a format for each matrix that the recipe of `options` quantizes: within a size those
/// that add the least divergence, within a divergence the smallest. Writes a lockfile, the recipe
/// with a rule and its reason for each of them, and returns it as it is read; rows are in a folder
/// beside it meanwhile. The same model,
/// options and target give the same bytes. Errors: INGOT-E2130 and E2131, those of checkOptions(),
/// checkRecipe(), measureSensitivity() and of writing.
checkpoint::Expected<recipe::Recipe>
searchRecipe(mlir::MLIRContext &context, const QuantizeOptions &options, const Budget &budget,
             const std::filesystem::path &lockfile, compiler::Progress &progress);

} // namespace ingot::quantize
