// SPDX-License-Identifier: Apache-2.0
// Quantizes a model into a GGUF file of a mix of ggml's blocks, with importance from a text.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/quantize/QuantizeOptions.h"
#include "compiler/quantize/RecipeSearch.h"
#include "compiler/quantize/ggml/WeightMix.h"

namespace ingot::quantize {

/// What a mix has beside QuantizeOptions, of which neither the recipe nor the format counts.
struct MixOptions {
  const WeightMix *mix = nullptr;           ///< must be given
  std::filesystem::path importance{};       ///< empty: measured on the text
  std::filesystem::path importanceOutput{}; ///< empty: what is measured is not kept
  bool requantizes = false;                 ///< weights in blocks may become other blocks
};

/// A mix decides the format of each matrix: nothing is left to a budget. Errors: INGOT-E2130.
checkpoint::Outcome refuseSearch(const SearchOptions &search);

/// Writes `options.output`, whole or not at all; returns its bytes. Of a folder all numbers are
/// first written as a GGUF file, which lies beside it meanwhile. Errors: INGOT-E2111, E2105 where
/// weights are quantized already, those of checkText(), of writeAsGguf(), of reading importance or
/// of measureImportance(), and of quantizeGguf().
checkpoint::Expected<uint64_t> quantizeToMix(mlir::MLIRContext &context,
                                             const QuantizeOptions &options, const MixOptions &mix,
                                             compiler::Progress &progress);

} // namespace ingot::quantize
