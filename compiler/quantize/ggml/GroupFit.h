// SPDX-License-Identifier: Apache-2.0
// The best scale, or scale and offset, of a group of numbers that share them: weighted least
// squares over the codes that rounding gives. A scale decides the codes, and these the scale that
// suits them best; the search begins at many scales and repeats both steps from the best of them.
#pragma once

#include "compiler/quantize/ggml/Lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace ingot::quantize {

/// The numbers of a group and their weights.
struct Group {
  const Lanes *x;
  const Lanes *w;
  int lanes;

  int size() const { return lanes * kLanes; }
  float at(int i) const { return x[i / kLanes][i % kLanes]; }
  float weightAt(int i) const { return w[i / kLanes][i % kLanes]; }
};

/// What codes stand for: the whole numbers from `low` to `high`.
struct WholeLevels {
  float low, high;

  Lanes nearest(Lanes v) const { return rounded(clamped(v, low, high)); }
  /// The stored code of a level.
  uint8_t codeOf(float level) const { return static_cast<uint8_t>(static_cast<int>(level - low)); }
};

/// Sixteen numbers in order.
struct BookLevels {
  float low, high;
  std::array<float, 16> values;
  std::array<float, 15> middles, steps;

  explicit BookLevels(std::span<const float> book) : low(book.front()), high(book.back()) {
    std::copy_n(book.begin(), 16, values.begin());
    for (size_t i = 0; i < 15; ++i) {
      middles[i] = 0.5f * (values[i] + values[i + 1]);
      steps[i] = values[i + 1] - values[i];
    }
  }

  Lanes nearest(Lanes v) const {
    Lanes level = splat(low);
    const Lanes nothing = splat(0);
    for (size_t i = 0; i < 15; ++i)
      level += v > splat(middles[i]) ? splat(steps[i]) : nothing;
    return level;
  }
  uint8_t codeOf(float level) const {
    return static_cast<uint8_t>(std::lower_bound(values.begin(), values.end(), level) -
                                values.begin());
  }
};

struct ScaledFit {
  float scale = 0;
  float error = std::numeric_limits<float>::infinity();
};

/// x = scale * code + offset.
struct AffineFit {
  float scale = 0, offset = 0;
  float error = std::numeric_limits<float>::infinity();
};

inline float weightedSquares(const Group &group) {
  Lanes sum = splat(0);
  for (int i = 0; i < group.lanes; ++i)
    sum += group.w[i] * group.x[i] * group.x[i];
  return sumOf(sum);
}

inline float sumOfWeights(const Group &group) {
  Lanes sum = splat(0);
  for (int i = 0; i < group.lanes; ++i)
    sum += group.w[i];
  return sumOf(sum);
}

/// The error of exactly this scale.
template <class Levels> float scaledError(const Group &group, const Levels &levels, float scale) {
  if (scale == 0)
    return weightedSquares(group);
  const Lanes factor = splat(scale), inverse = splat(1 / scale);
  Lanes sum = splat(0);
  for (int i = 0; i < group.lanes; ++i) {
    const Lanes rest = group.x[i] - factor * levels.nearest(group.x[i] * inverse);
    sum += group.w[i] * rest * rest;
  }
  return sumOf(sum);
}

/// The best scale for the codes that `scale` gives, and its error with these. What is summed are
/// the rests, so that small errors keep their digits.
template <class Levels>
ScaledFit refitScaled(const Group &group, const Levels &levels, float scale) {
  const Lanes inverse = splat(1 / scale);
  Lanes codes = splat(0), cross = splat(0), rests = splat(0);
  for (int i = 0; i < group.lanes; ++i) {
    const Lanes u = group.x[i] * inverse, code = levels.nearest(u), rest = u - code;
    const Lanes weighted = group.w[i] * code;
    codes += weighted * code;
    cross += weighted * rest;
    rests += group.w[i] * rest * rest;
  }
  const float squares = sumOf(codes), product = sumOf(cross), rest = sumOf(rests);
  if (!(squares > 0))
    return {scale, scale * scale * rest};
  const float change = product / squares;
  return {scale * (1 + change), scale * scale * std::max(0.0f, rest - change * product)};
}

/// The error of exactly this scale and offset, with codes from 0 to `high`.
float affineError(const Group &group, float high, float scale, float offset);

/// Where the number of largest magnitude may fall, in levels, and how far apart these tries are.
struct ScaledSearch {
  float most = 1.1f, least = 0.7f; ///< of the lowest and of the highest level
  int tries = 16;                  ///< on each side
};

/// The best few of what a search has seen.
template <class Fit> class BestFits {
public:
  void offer(const Fit &fit) {
    for (Fit &kept : best)
      if (fit.error < kept.error) {
        std::move_backward(&kept, best.data() + best.size() - 1, best.data() + best.size());
        kept = fit;
        return;
      }
  }
  std::array<Fit, 3> best;
};

template <class Levels>
ScaledFit fitScaled(const Group &group, const Levels &levels, const ScaledSearch &search) {
  float extreme = 0;
  for (int i = 0; i < group.size(); ++i)
    if (std::fabs(group.at(i)) > std::fabs(extreme))
      extreme = group.at(i);
  if (extreme == 0)
    return {0, 0};
  BestFits<ScaledFit> fits;
  for (const float end : {levels.low, levels.high})
    for (int i = 0; i < search.tries; ++i) {
      const float place = search.most - (search.most - search.least) * static_cast<float>(i) /
                                            static_cast<float>(search.tries);
      fits.offer(refitScaled(group, levels, extreme / (place * end)));
    }
  ScaledFit found = {0, weightedSquares(group)};
  for (ScaledFit fit : fits.best) {
    for (int round = 0; round < 8 && fit.scale != 0; ++round) {
      const ScaledFit next = refitScaled(group, levels, fit.scale);
      if (!(next.error < fit.error))
        break;
      fit = next;
    }
    if (fit.error < found.error)
      found = fit;
  }
  return found;
}

struct AffineSearch {
  float most = 0.95f, least = -0.95f; ///< levels that the range is wider or narrower
  int tries = 20;
  bool offsetIsNegative = false; ///< at most zero
};

/// Codes from 0 to `high`.
AffineFit fitAffine(const Group &group, float high, const AffineSearch &search);

} // namespace ingot::quantize
