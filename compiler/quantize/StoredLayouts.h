// SPDX-License-Identifier: Apache-2.0
// How quantized matrices lie in checkpoints of other programs, and what config.json says of them.
#pragma once

#include "compiler/quantize/SafetensorsWriter.h"
#include "compiler/quantize/methods/Grid.h"

#include <nlohmann/json.hpp>

namespace ingot::quantize {

/// What became of a matrix.
struct ModuleRecord {
  std::string module; ///< as the checkpoint calls it, without ".weight"
  Grid grid;
  double error = 0;        ///< summed squared error of the outputs over that of all outputs
  std::string explanation; ///< what is to be told of it, or empty
};

/// A way to store matrices.
class StoredLayout {
public:
  virtual ~StoredLayout() = default;
  /// "compressed-tensors"
  virtual std::string_view name() const = 0;
  /// What scales are rounded to, in a model whose own type is `own`.
  virtual ScaleType scaleType(checkpoint::DType own) const = 0;
  /// Why a matrix [rows, columns] in `grid` cannot be stored; empty if it can.
  virtual std::string refusal(const Grid &grid, int64_t rows, int64_t columns) const = 0;
  /// The tensors of `module`.
  virtual std::vector<TensorData> tensors(const std::string &module,
                                          const QuantizedMatrix &matrix) const = 0;
  /// config.json's quantization_config. `kept`: modules that are products and stay as they are.
  /// Errors: INGOT-E2109 where the modules' grids cannot stand beside each other.
  virtual checkpoint::Expected<nlohmann::ordered_json>
  configuration(std::span<const ModuleRecord> modules, std::span<const std::string> kept) const = 0;
};

/// The layout called `name`; null where there is none.
const StoredLayout *findLayout(std::string_view name);
/// Names of all layouts.
std::vector<std::string> layoutNames();

} // namespace ingot::quantize
