// SPDX-License-Identifier: Apache-2.0
// QuantizationConfig: what a checkpoint's files say of weights that are stored quantized. How a
// single tensor is stored shows in the tensors themselves (compiler/importers/StoredWeights.h).
#pragma once

#include "compiler/checkpoint/files/Deviation.h"
#include "compiler/checkpoint/quantized/StoredFormats.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace ingot::checkpoint {

/// A checkpoint's own quantization, as QuantizationReader.h finds it.
struct QuantizationConfig {
  /// What products read, where the checkpoint was made for other than 16-bit activations.
  enum class Activations : uint8_t {
    AsStored,
    Int8PerToken,
    Float8PerToken,
    Int8PerTensor, ///< with the scale of each product's input, as Float8PerTensor
    Float8PerTensor,
  };
  /// What the KV cache holds, with scales of the checkpoint; Declined: what no engine can do.
  enum class KvCache : uint8_t { Unstated, Declined, Int8, Float8 };

  std::string method; ///< as the file has it; empty where nothing is quantized
  /// Bits and columns of a group (0: a whole row) that hold for every matrix. Nothing where the
  /// file states none, or others for some matrices.
  std::optional<uint64_t> bits, group;
  /// Of FP8: rows and columns of a block of a matrix that has one scale.
  std::array<uint64_t, 2> block = {128, 128};
  FormatReader packing = FormatReader::None; ///< who reads the one that is stated
  bool symmetric = false;                    ///< of words: every zero point is half the range
  bool outputsInOrder = false; ///< of words along outputs: as they are, not as AWQ orders them
  /// How much stored values and zero points are less than what codes mean, modulo their range.
  int64_t increment = 0, zeroIncrement = 0;
  Activations activations = Activations::AsStored;
  KvCache kvCache = KvCache::Unstated;
  std::vector<Deviation> deviations; ///< from what the checkpoint states

  bool isQuantized() const { return !method.empty(); }
};

} // namespace ingot::checkpoint
