// SPDX-License-Identifier: Apache-2.0
// Rope: the rotary position settings of a model.
#pragma once

#include "compiler/checkpoint/Json.h"

#include <vector>

namespace ingot::checkpoint {

/// How rotary positions stretch beyond the trained length (transformers' `modeling_rope_utils.py`).
/// With f = theta^(-2i/headDim):
enum class RopeType : uint8_t {
  Default, ///< f
  Linear,  ///< f / factor
  Dynamic, ///< theta grows once the sequence is longer than originalPositions
  Llama3,  ///< f or f/factor by wavelength, blended between the low and high frequency factors
};

struct Rope {
  RopeType type = RopeType::Default;
  double theta = 10000.0;
  double factor = 1.0;            ///< all but Default; >= 1
  double lowFrequencyFactor = 0;  ///< Llama3
  double highFrequencyFactor = 0; ///< Llama3; > lowFrequencyFactor
  uint64_t originalPositions = 0; ///< Llama3 and Dynamic: the trained length
  /// What the frequency of each pair is divided by beside all that: one number > 0 for each of
  /// headDim/2 pairs, or none at all. GGUF files state scaling by wavelength so.
  std::vector<float> divisors{};

  /// No position is above this.
  static constexpr uint64_t mostPositions = uint64_t{1} << 31;

  /// From a config.json: `rope_theta` and `rope_scaling`, or the newer `rope_parameters`, which may
  /// stand together when they agree. `maxPositions`: the file's max_position_embeddings.
  /// Errors: those of Json, and INGOT-E1051, E1052, E1056.
  static Expected<Rope> read(const Json &root, uint64_t maxPositions);

  bool operator==(const Rope &) const = default;
};

} // namespace ingot::checkpoint
