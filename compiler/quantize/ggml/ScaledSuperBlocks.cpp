// SPDX-License-Identifier: Apache-2.0
// Super-blocks with signed codes for the scales of their groups. From several super-scales on, each
// group takes the code that gives it the least error once its numbers are rounded anew, and the
// super-scale is fitted to all codes; no step raises the error.
#include "compiler/quantize/ggml/BlockFamilies.h"

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::GgmlBlock;

namespace {

constexpr int kMostGroups = 16;

template <class Levels> class ScaledSuper {
public:
  ScaledSuper(const BlockSource &source, const Levels &levels, const ScaledSearch &search,
              int groupSize, int lowCode, int highCode)
      : source(source), levels(levels), size(groupSize), groups(256 / groupSize), low(lowCode),
        high(highCode) {
    for (int g = 0; g < groups; ++g) {
      const Group group = source.group(g, size);
      fits[g] = fitScaled(group, levels, search).scale;
      float extreme = 0;
      for (int i = 0; i < size; ++i)
        if (std::fabs(group.at(i)) > std::fabs(extreme))
          extreme = group.at(i);
      plain[g] = extreme / levels.low;
      weights[g] = sumOfWeights(group);
    }
  }

  void encode(GgmlBlock &parts) {
    descend(extremeOf(plain) / static_cast<float>(low), plain);
    descend(extremeOf(fits) / static_cast<float>(low), fits);
    for (const float start : nearStarts())
      descend(start, fits);
    parts.superScales[0] = source.stored(best.super);
    for (int g = 0; g < groups; ++g) {
      parts.scaleCodes[g] = static_cast<uint8_t>(best.codes[g] - low);
      storeScaled(source.group(g, size), levels, scaleOf(best, g), parts.stored + g * size);
    }
  }

private:
  struct State {
    float super = 0;
    int codes[kMostGroups] = {};
    float errors[kMostGroups] = {};
    float error = std::numeric_limits<float>::infinity();
  };

  static float scaleOf(const State &state, int g) {
    return state.super * static_cast<float>(state.codes[g]);
  }

  float extremeOf(const float *scales) const {
    return *std::max_element(scales, scales + groups,
                             [](float a, float b) { return std::fabs(a) < std::fabs(b); });
  }

  /// The two super-scales whose multiples lie nearest to the groups' scales.
  std::array<float, 2> nearStarts() const {
    BestFits<ScaledFit> found;
    const float extreme = extremeOf(fits);
    for (const int end : {low, high})
      for (int i = 0; i < 24; ++i) {
        const float super =
            extreme / (static_cast<float>(end) * (1.03f - 0.015f * static_cast<float>(i)));
        float error = 0;
        for (int g = 0; g < groups && super != 0; ++g) {
          const float rest = fits[g] - super * static_cast<float>(codeNear(fits[g], super));
          error += weights[g] * rest * rest;
        }
        found.offer({super, error});
      }
    return {found.best[0].scale, found.best[1].scale};
  }

  int codeNear(float scale, float super) const {
    if (super == 0)
      return 0;
    const float code = std::nearbyint(scale / super);
    return static_cast<int>(std::clamp(code, static_cast<float>(low), static_cast<float>(high)));
  }

  void descend(float super, const float *scales) {
    State state;
    state.super = source.toHalfKept(super);
    for (int g = 0; g < groups; ++g)
      state.codes[g] = codeNear(scales[g], state.super);
    chooseCodes(state);
    for (int round = 0; round < 4; ++round) {
      State next = state;
      next.super = source.toHalfKept(fittedSuper(state));
      if (next.super == state.super)
        break;
      chooseCodes(next);
      if (!(next.error < state.error))
        break;
      state = next;
    }
    if (state.error < best.error)
      best = state;
  }

  void chooseCodes(State &state) const {
    state.error = 0;
    for (int g = 0; g < groups; ++g) {
      const Group group = source.group(g, size);
      const int middle = state.codes[g];
      float least = std::numeric_limits<float>::infinity();
      for (const int by : {0, -1, 1}) {
        const int code = middle + by;
        if (code < low || code > high)
          continue;
        const float error = scaledError(group, levels, state.super * static_cast<float>(code));
        if (error < least) {
          least = error;
          state.codes[g] = code;
        }
      }
      state.error += least;
    }
  }

  /// The super-scale that suits the codes of scales and numbers best.
  float fittedSuper(const State &state) const {
    double cross = 0, squares = 0;
    for (int g = 0; g < groups; ++g) {
      const float scale = scaleOf(state, g);
      if (scale == 0)
        continue;
      const Group group = source.group(g, size);
      const Lanes inverse = splat(1 / scale), factor = splat(scale);
      Lanes groupCross = splat(0), groupSquares = splat(0);
      for (int i = 0; i < group.lanes; ++i) {
        const Lanes level = levels.nearest(group.x[i] * inverse);
        const Lanes weighted = group.w[i] * level;
        groupCross += weighted * (group.x[i] - factor * level);
        groupSquares += weighted * level;
      }
      const double code = state.codes[g];
      cross += code * sumOf(groupCross);
      squares += code * code * sumOf(groupSquares);
    }
    return squares > 0 ? static_cast<float>(state.super + cross / squares) : state.super;
  }

  const BlockSource &source;
  const Levels &levels;
  int size, groups, low, high;
  float fits[kMostGroups], plain[kMostGroups], weights[kMostGroups];
  State best;
};

} // namespace

void encodeScaledSuper(DType dtype, const BlockSource &source, GgmlBlock &parts) {
  switch (dtype) {
  case DType::Q3_K: {
    const WholeLevels levels{-4, 3};
    return ScaledSuper(source, levels, {1.2f, 0.5f, 14}, 16, -32, 31).encode(parts);
  }
  case DType::Q6_K: {
    const WholeLevels levels{-32, 31};
    ScaledSuper(source, levels, {1.03f, 0.9f, 14}, 16, -128, 127).encode(parts);
    for (uint8_t &code : parts.scaleCodes)
      code = static_cast<uint8_t>(code - 128);
    return;
  }
  default:
    return ScaledSuper(source, iq4Levels(), {1.15f, 0.75f, 16}, 32, -32, 31).encode(parts);
  }
}

} // namespace ingot::quantize
