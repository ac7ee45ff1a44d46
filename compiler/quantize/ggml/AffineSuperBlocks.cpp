// SPDX-License-Identifier: Apache-2.0
// Super-blocks with codes for the scales and offsets of their groups; offsets are subtracted. From
// several pairs of super-scales on, each group takes the codes that give it the least error once
// its numbers are rounded anew, and both super-scales are fitted to all codes; no step raises the
// error.
#include "compiler/quantize/ggml/BlockFamilies.h"

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::GgmlBlock;

namespace {

constexpr int kMostGroups = 16;

class AffineSuper {
public:
  AffineSuper(const BlockSource &source, const AffineSearch &search, int groupSize, float high,
              int highCode, int offsetReach)
      : source(source), size(groupSize), groups(256 / groupSize), high(high), highCode(highCode),
        offsetReach(offsetReach) {
    for (int g = 0; g < groups; ++g) {
      const Group group = source.group(g, size);
      const AffineFit fit = fitAffine(group, high, search);
      fits.scales[g] = fit.scale;
      fits.offsets[g] = -fit.offset;
      float low = 0, top = group.at(0);
      for (int i = 0; i < size; ++i) {
        low = std::min(low, group.at(i));
        top = std::max(top, group.at(i));
      }
      plain.scales[g] = (top - low) / high;
      plain.offsets[g] = -low;
      weights[g] = sumOfWeights(group);
    }
  }

  void encode(GgmlBlock &parts) {
    const auto most = static_cast<float>(highCode);
    descend(mostOf(plain.scales) / most, mostOf(plain.offsets) / most, plain);
    descend(mostOf(fits.scales) / most, mostOf(fits.offsets) / most, fits);
    const auto scaleStarts = nearStarts(fits.scales), offsetStarts = nearStarts(fits.offsets);
    descend(scaleStarts[0], offsetStarts[0], fits);
    descend(scaleStarts[1], offsetStarts[0], fits);
    descend(scaleStarts[0], offsetStarts[1], fits);
    parts.superScales[0] = source.stored(best.scale);
    parts.superScales[1] = -source.stored(best.offset);
    for (int g = 0; g < groups; ++g) {
      parts.scaleCodes[g] = static_cast<uint8_t>(best.codes[g].scale);
      parts.offsetCodes[g] = static_cast<uint8_t>(best.codes[g].offset);
      storeAffine(source.group(g, size), high, scaleOf(best, g), offsetOf(best, g),
                  parts.stored + g * size);
    }
  }

private:
  struct Fits {
    float scales[kMostGroups], offsets[kMostGroups];
  };
  struct Codes {
    int scale = 0, offset = 0;
  };
  struct State {
    float scale = 0, offset = 0;
    Codes codes[kMostGroups];
    float error = std::numeric_limits<float>::infinity();
  };

  static float scaleOf(const State &state, int g) {
    return state.scale * static_cast<float>(state.codes[g].scale);
  }
  static float offsetOf(const State &state, int g) {
    return -state.offset * static_cast<float>(state.codes[g].offset);
  }
  float mostOf(const float *numbers) const { return *std::max_element(numbers, numbers + groups); }

  int codeNear(float number, float super) const {
    if (!(super > 0))
      return 0;
    return static_cast<int>(
        std::clamp(std::nearbyint(number / super), 0.0f, static_cast<float>(highCode)));
  }

  /// The two super-scales whose multiples lie nearest to the groups' numbers.
  std::array<float, 2> nearStarts(const float *numbers) const {
    BestFits<ScaledFit> found;
    const float most = mostOf(numbers);
    const auto top = static_cast<float>(highCode);
    for (int i = 0; i < 40; ++i) {
      const float super = most / (top * (1.05f - 0.015f * static_cast<float>(i)));
      float error = 0;
      for (int g = 0; g < groups; ++g) {
        const float rest = numbers[g] - super * static_cast<float>(codeNear(numbers[g], super));
        error += weights[g] * rest * rest;
      }
      found.offer({super, error});
    }
    return {found.best[0].scale, found.best[1].scale};
  }

  void descend(float scale, float offset, const Fits &from) {
    State state;
    state.scale = source.toHalfKept(scale);
    state.offset = source.toHalfKept(offset);
    for (int g = 0; g < groups; ++g)
      state.codes[g] = {codeNear(from.scales[g], state.scale),
                        codeNear(from.offsets[g], state.offset)};
    chooseCodes(state);
    for (int round = 0; round < 4; ++round) {
      State next = state;
      fitSupers(state, next);
      if (next.scale == state.scale && next.offset == state.offset)
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
      const Codes middle = state.codes[g];
      float least = std::numeric_limits<float>::infinity();
      for (const int scaleBy : {0, -1, 1})
        for (int i = 0; i <= 2 * offsetReach; ++i) {
          // 0, 1, -1, 2, -2: equal errors keep the nearest.
          const int scaleCode = middle.scale + scaleBy;
          const int offsetCode = middle.offset + (i % 2 ? (i + 1) / 2 : -i / 2);
          if (std::min(scaleCode, offsetCode) < 0 || std::max(scaleCode, offsetCode) > highCode)
            continue;
          const float error = affineError(group, high, state.scale * static_cast<float>(scaleCode),
                                          -state.offset * static_cast<float>(offsetCode));
          if (error < least) {
            least = error;
            state.codes[g] = {scaleCode, offsetCode};
          }
        }
      state.error += least;
    }
  }

  /// The super-scales that suit the codes of `state` best.
  void fitSupers(const State &state, State &next) const {
    double aa = 0, ab = 0, bb = 0, ar = 0, br = 0;
    for (int g = 0; g < groups; ++g) {
      const Group group = source.group(g, size);
      const float scale = scaleOf(state, g), offset = offsetOf(state, g);
      const Lanes inverse = splat(scale == 0 ? 0 : 1 / scale);
      Lanes qq = splat(0), q = qq, qr = qq, r = qq;
      for (int i = 0; i < group.lanes; ++i) {
        const Lanes code = rounded(clamped((group.x[i] - splat(offset)) * inverse, 0, high));
        const Lanes rest = group.x[i] - (splat(scale) * code + splat(offset));
        const Lanes weighted = group.w[i] * code;
        qq += weighted * code;
        q += weighted;
        qr += weighted * rest;
        r += group.w[i] * rest;
      }
      const double a = state.codes[g].scale, b = -state.codes[g].offset;
      aa += a * a * sumOf(qq);
      ab += a * b * sumOf(q);
      bb += b * b * weights[g];
      ar += a * sumOf(qr);
      br += b * sumOf(r);
    }
    double scaleBy = aa > 0 ? ar / aa : 0, offsetBy = 0;
    const double determinant = aa * bb - ab * ab;
    if (determinant > 1e-6 * aa * bb) {
      scaleBy = (bb * ar - ab * br) / determinant;
      offsetBy = (aa * br - ab * ar) / determinant;
    }
    next.scale = source.toHalfKept(std::max(0.0f, static_cast<float>(state.scale + scaleBy)));
    next.offset = source.toHalfKept(std::max(0.0f, static_cast<float>(state.offset + offsetBy)));
  }

  const BlockSource &source;
  int size, groups;
  float high;
  int highCode, offsetReach;
  Fits fits, plain;
  float weights[kMostGroups];
  State best;
};

} // namespace

void encodeAffineSuper(DType dtype, const BlockSource &source, GgmlBlock &parts) {
  switch (dtype) {
  case DType::Q2_K:
    return AffineSuper(source, {0.9f, -1.1f, 16, true}, 16, 3, 15, 2).encode(parts);
  case DType::Q4_K:
    return AffineSuper(source, {0.95f, -1.5f, 16, true}, 32, 15, 63, 1).encode(parts);
  default:
    return AffineSuper(source, {0.95f, -0.95f, 16, true}, 32, 31, 63, 1).encode(parts);
  }
}

} // namespace ingot::quantize
