// SPDX-License-Identifier: Apache-2.0
// Rope: the rotary position settings of a model.
#pragma once

#include "compiler/checkpoint/files/Json.h"

#include <vector>

namespace ingot::checkpoint {

/// How rotary positions stretch beyond the trained length (transformers' `modeling_rope_utils.py`).
/// With f = theta^(-2i/headDim):
enum class RopeType : uint8_t {
  Default,  ///< f
  Linear,   ///< f / factor
  Dynamic,  ///< theta grows once the sequence is longer than originalPositions
  Alpha,    ///< theta * alpha^(n / (n - 2)), for n columns of a head that rotate
  Llama3,   ///< f or f/factor by wavelength, blended between the low and high frequency factors
  Yarn,     ///< f or f/factor by how often a pair turns in the trained length, blended between
  LongRope, ///< f divided by a number of each pair's own
  /// f / factor for the share `rotated` of the pairs of whole heads, the first ones; 0 for others.
  Proportional,
};

/// As files call it.
std::string_view ropeTypeName(RopeType type);

/// What absent keys of a family's config.json mean.
struct RopeDefaults {
  std::optional<uint64_t> trained = {}; ///< original_max_position_embeddings; nothing: the longest
  double theta = 10000;                 ///< rope_theta
  double rotated = 1;                   ///< partial_rotary_factor
  /// What a file without settings means: type Proportional with this share.
  std::optional<double> proportional = {};
  bool takesAlpha = false; ///< an alpha makes of type "dynamic" type Alpha
  bool takesBeta = false;  ///< llama_4_scaling_beta is read
};

struct Rope {
  RopeType type = RopeType::Default;
  double theta = 10000.0;
  double rotated = 1.0;                ///< the share of each head that rotates: its first columns,
                                       ///< or of Proportional its first pairs
  double factor = 1.0;                 ///< all but Default, Alpha and LongRope; >= 1
  double alpha = 1.0;                  ///< Alpha
  double queryBeta = 0;                ///< Yarn: by what q grows with each trained length; 0: not
  double lowFrequencyFactor = 0;       ///< Llama3
  double highFrequencyFactor = 0;      ///< Llama3; > lowFrequencyFactor
  double fastTurns = 0;                ///< Yarn: pairs that turn more often keep f
  double slowTurns = 0;                ///< Yarn: pairs that turn less often have f / factor
  bool wholePairs = true;              ///< Yarn: the blend begins and ends at a pair
  double attentionFactor = 1.0;        ///< Yarn and LongRope: of cosines and sines
  double allGrowth = 1.0;              ///< Yarn: what q and k of latent attention grow by, each
  uint64_t originalPositions = 0;      ///< all but Default and Linear: the trained length
  std::vector<double> shortDivisors{}; ///< LongRope: of each pair, up to originalPositions
  std::vector<double> longDivisors{};  ///< LongRope: of each pair, beyond
  /// What the frequency of each pair is divided by beside all that: one number > 0 for each of
  /// headDim/2 pairs, or none at all. GGUF files state scaling by wavelength so.
  std::vector<float> divisors{};

  /// No position is above this.
  static constexpr uint64_t mostPositions = uint64_t{1} << 31;

  /// From a config.json: `rope_theta` and `rope_scaling`, or the newer `rope_parameters`, which may
  /// stand together when they agree. `maxPositions`: the file's max_position_embeddings. Where
  /// rope_parameters has an object for each kind of layer, it is that of "full_attention". Errors:
  /// those of Json, and INGOT-E1051, E1052, E1056.
  static Expected<Rope> read(const Json &root, uint64_t maxPositions, const RopeDefaults &absent);
  /// That of "sliding_attention", where rope_parameters has one.
  static Expected<std::optional<Rope>> readSliding(const Json &root, uint64_t maxPositions,
                                                   const RopeDefaults &absent);

  /// LongRope: which divisors an engine for so many positions has. transformers chooses them by the
  /// length that a sequence has reached; here a token's numbers do not depend on it.
  bool usesLongDivisors(uint64_t context) const { return context > originalPositions; }

  /// Pairs of columns of a head that rotate; the others stay as they are.
  uint64_t pairs(uint64_t headDim) const {
    return type == RopeType::Proportional ? headDim / 2 : turningPairs(headDim);
  }
  /// Those of them whose frequency is not 0.
  uint64_t turningPairs(uint64_t headDim) const {
    return static_cast<uint64_t>(static_cast<double>(headDim) * rotated) / 2;
  }

  bool operator==(const Rope &) const = default;
};

} // namespace ingot::checkpoint
