// SPDX-License-Identifier: Apache-2.0
// How quantized matrices lie in checkpoints of other programs, and what config.json says of them.
#pragma once

#include "compiler/importers/StoredScales.h"
#include "compiler/quantize/EncodedMatrix.h"
#include "compiler/quantize/SafetensorsWriter.h"

#include <map>
#include <nlohmann/json.hpp>

namespace ingot::quantize {

/// What became of a matrix.
struct ModuleRecord {
  std::string module; ///< as the checkpoint calls it, without ".weight"
  recipe::WeightFormat format = {};
  /// What its product reads, of 8 bits as the matrix; Stored: anything.
  recipe::NumberFormat inputs = recipe::NumberFormat::Stored;
  float inputScale = 0;         ///< where that is static: what inputs are divided by
  double error = 0;             ///< summed squared error of the outputs over that of all outputs
  std::string explanation = ""; ///< what is to be told of it, or empty
};

/// A way to store matrices.
class StoredLayout {
public:
  virtual ~StoredLayout() = default;
  /// "compressed-tensors"
  virtual std::string_view name() const = 0;
  /// Whether it has matrices of this type, of fewer than 16 bits.
  virtual bool holds(recipe::NumberFormat type) const = 0;
  /// What scales of integers are rounded to, in a model whose own type is `own`.
  virtual ScaleType scaleType(checkpoint::DType own) const = 0;
  /// The record's format, or where the layout has it not with such inputs the nearest that it has.
  virtual recipe::WeightFormat nearest(const ModuleRecord &record) const { return record.format; }
  /// Why a matrix [rows, columns] of the record's format, which it holds, cannot be stored; empty
  /// if it can.
  virtual std::string refusal(const ModuleRecord &record, int64_t rows, int64_t columns) const = 0;
  /// Names, below an attention's, of the scales of its KV cache, of this static type; nothing where
  /// they have no place.
  virtual std::optional<compiler::KvScaleNames> cacheScales(recipe::NumberFormat) const {
    return std::nullopt;
  }
  /// The tensors of the record's module.
  virtual std::vector<TensorData> tensors(const ModuleRecord &record,
                                          const EncodedMatrix &matrix) const = 0;
  /// config.json's quantization_config. `kept`: modules that are products and stay as they are;
  /// `kvCache`: what KV caches hold, if static. Errors: INGOT-E2109 where the modules' formats
  /// cannot stand beside each other.
  virtual checkpoint::Expected<nlohmann::ordered_json>
  configuration(std::span<const ModuleRecord> modules, std::span<const std::string> kept,
                recipe::NumberFormat kvCache) const = 0;
  /// Files beside config.json that say the same as `configuration`, by their names.
  virtual std::map<std::string, nlohmann::ordered_json>
  companions(const nlohmann::ordered_json &) const {
    return {};
  }
};

} // namespace ingot::quantize
