// SPDX-License-Identifier: Apache-2.0
// Decides the codes of one layer's matrices from what their inputs were.
#pragma once

#include "compiler/analysis/Products.h"
#include "compiler/checkpoint/Checkpoint.h"
#include "compiler/quantize/InputStatistics.h"
#include "compiler/quantize/StoredLayouts.h"

#include <optional>
#include <set>

namespace ingot::quantize {

struct LayerResult {
  std::vector<TensorData> stored;  ///< for the checkpoint
  std::vector<TensorData> decoded; ///< f32, by the model's names: what `stored` means
  std::set<std::string> replaced;  ///< tensors of the checkpoint that `stored` stands for
  std::vector<ModuleRecord> modules;
  std::vector<std::string> refusals; ///< of matrices that the layout cannot store
};

/// Settings of a run.
struct LayerSettings {
  const checkpoint::Checkpoint &checkpoint;
  const recipe::Recipe &recipe;
  const StoredLayout &layout;
  ScaleType scales;
  unsigned threads;
};

/// Whether the recipe needs to know the inputs of products.
bool readsInputs(const recipe::Recipe &recipe);

/// The scale of numbers of at most the magnitude `most` in a static type.
float staticScale(recipe::NumberFormat type, float most);

/// What a recipe's format of a matrix comes to: with a smaller group where the asked one does not
/// divide the columns. Without module and scale of inputs. Nothing for formats that are not
/// narrow, and where the layout cannot store the matrix: then `explanation` says why.
std::optional<ModuleRecord> recordFor(const LayerSettings &settings,
                                      const compiler::Product &product, std::string &explanation);

/// Whether any product of `group` has a record.
bool isQuantized(const LayerSettings &settings, const compiler::ProductGroup &group);

/// Rows that an expert must have read to be calibrated (docs/decisions/0108).
inline constexpr int64_t kFewestRows = 32;

/// The expert that reads the group's inputs; -1 outside experts.
inline int64_t expertOf(const compiler::ProductGroup &group) {
  return group.routed ? group.routed->expert : -1;
}

/// Whether the inputs of `group` say enough for a method that looks at them: an expert's may be too
/// few.
bool hasEnoughRows(const compiler::ProductGroup &group, const InputStatistics &statistics);

/// `groups`: those that are quantized, each expert's together. `statistics`: of each, in their
/// order; empty where the recipe's method looks at no inputs. Experts whose inputs are too few get
/// what `round-mse` gives. Errors: those of the methods and of reading.
checkpoint::Expected<LayerResult>
quantizeGroups(const LayerSettings &settings, std::span<const compiler::ProductGroup *const> groups,
               std::span<InputStatistics> statistics);

} // namespace ingot::quantize
