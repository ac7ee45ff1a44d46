// SPDX-License-Identifier: Apache-2.0
// Decides the codes of one layer's matrices from what their inputs were.
#pragma once

#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/importers/Products.h"
#include "compiler/quantize/StoredLayouts.h"
#include "compiler/quantize/methods/Moments.h"
#include "compiler/recipe/Recipe.h"

#include <optional>
#include <set>

namespace ingot::quantize {

/// What inputs of a group of products were.
struct InputStatistics {
  Moments moments;
  std::vector<double> magnitudes; ///< sums of |x| of each column
  std::vector<float> sampled;     ///< some rows [count, columns]

  /// Adds rows [count, columns] of a sequence, every `stride`-th of them to the sample; `original`:
  /// what the unquantized model has in their places, or empty.
  void add(std::span<const float> rows, std::span<const float> original, int64_t stride,
           unsigned threads);
};

struct LayerResult {
  std::vector<TensorData> stored;  ///< for the checkpoint
  std::vector<TensorData> decoded; ///< f32, by the model's names: what `stored` means
  std::set<std::string> replaced;  ///< tensors of the checkpoint that `stored` stands for
  std::vector<ModuleRecord> modules;
};

/// Settings of a run.
struct LayerSettings {
  const checkpoint::Checkpoint &checkpoint;
  const recipe::Recipe &recipe;
  const StoredLayout &layout;
  ScaleType scales;
  unsigned threads;
};

/// What a recipe's format of a matrix comes to: the grid, with a smaller group where the asked one
/// does not divide the columns. Nothing for formats that are not calibrated.
std::optional<Grid> gridFor(const LayerSettings &settings, const compiler::Product &product,
                            std::string &explanation);

/// How rounding with `method` clips ranges.
ClipSearch clipSearchOf(recipe::Method method);

/// A whole tensor as f32. Errors: those of reading.
checkpoint::Expected<std::vector<float>> readValues(const checkpoint::Checkpoint &checkpoint,
                                                    const checkpoint::Tensor &tensor);

/// Whether any product of `group` has a grid.
bool isQuantized(const LayerSettings &settings, const compiler::ProductGroup &group);

/// `statistics`: of each group that is quantized, in their order; empty where the recipe's method
/// looks at no inputs. Errors: those of the methods and of reading.
checkpoint::Expected<LayerResult> quantizeLayer(const LayerSettings &settings,
                                                const compiler::ProductList &products,
                                                std::span<InputStatistics> statistics);

} // namespace ingot::quantize
