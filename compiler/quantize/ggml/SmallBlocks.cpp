// SPDX-License-Identifier: Apache-2.0
// Blocks of 32. A scale becomes an f16 number, so its neighbours are tried too, and what plain
// rounding by the extremes would take: no block is worse than that.
#include "compiler/quantize/ggml/BlockFamilies.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::GgmlBlock;

const BookLevels &iq4Levels() {
  static const BookLevels levels(checkpoint::ggmlEncoding(DType::IQ4_NL)->codeBook);
  return levels;
}

void storeAffine(const Group &group, float high, float scale, float offset, uint8_t *stored) {
  const Lanes inverse = splat(scale == 0 ? 0 : 1 / scale), added = splat(offset);
  for (int i = 0; i < group.lanes; ++i) {
    const Lanes level = rounded(clamped((group.x[i] - added) * inverse, 0, high));
    for (int lane = 0; lane < kLanes; ++lane)
      stored[i * kLanes + lane] = static_cast<uint8_t>(level[lane]);
  }
}

namespace {

float extremeOf(const Group &group) {
  float extreme = 0;
  for (int i = 0; i < group.size(); ++i)
    if (std::fabs(group.at(i)) > std::fabs(extreme))
      extreme = group.at(i);
  return extreme;
}

template <class Levels>
void encodeWith(const BlockSource &source, const Levels &levels, const ScaledSearch &search,
                GgmlBlock &parts) {
  const Group group = source.group(0, 32);
  const float fitted = fitScaled(group, levels, search).scale;
  const float plain = source.toHalf(extremeOf(group) / levels.low);
  float best = plain, least = scaledError(group, levels, plain);
  for (const int steps : {0, 1, -1}) {
    const float scale = source.nextHalf(fitted, steps);
    const float error = scaledError(group, levels, scale);
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  parts.scales[0] = source.stored(best);
  storeScaled(group, levels, best, parts.stored);
}

} // namespace

void encodeScaled(DType dtype, const BlockSource &source, GgmlBlock &parts) {
  switch (dtype) {
  case DType::Q4_0:
    return encodeWith(source, WholeLevels{-8, 7}, {1.15f, 0.7f, 18}, parts);
  case DType::Q5_0:
    return encodeWith(source, WholeLevels{-16, 15}, {1.06f, 0.82f, 18}, parts);
  case DType::IQ4_NL:
    return encodeWith(source, iq4Levels(), {1.15f, 0.75f, 16}, parts);
  default: {
    // Codes of Q8_0 are signed bytes, and -128 is none that kernels expect.
    const WholeLevels levels{-127, 127};
    encodeWith(source, levels, {1.005f, 0.98f, 12}, parts);
    for (int i = 0; i < 32; ++i)
      parts.stored[i] = static_cast<uint8_t>(parts.stored[i] - 127);
  }
  }
}

void encodeAffine(DType dtype, const BlockSource &source, GgmlBlock &parts) {
  const float high = dtype == DType::Q4_1 ? 15 : 31;
  const Group group = source.group(0, 32);
  float low = group.at(0), top = group.at(0);
  for (int i = 1; i < 32; ++i) {
    low = std::min(low, group.at(i));
    top = std::max(top, group.at(i));
  }
  AffineFit best = {source.toHalf((top - low) / high), source.toHalf(low)};
  best.error = affineError(group, high, best.scale, best.offset);
  const AffineFit fit = fitAffine(group, high, {});
  for (const int scaleSteps : {0, 1, -1})
    for (const int offsetSteps : {0, 1, -1}) {
      const float scale = source.nextHalf(fit.scale, scaleSteps);
      const float offset = source.nextHalf(fit.offset, offsetSteps);
      const float error = affineError(group, high, scale, offset);
      if (error < best.error)
        best = {scale, offset, error};
    }
  parts.scales[0] = source.stored(best.scale);
  parts.offsets[0] = source.stored(best.offset);
  storeAffine(group, high, best.scale, best.offset, parts.stored);
}

} // namespace ingot::quantize
