// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of groups.
#include "compiler/quantize/methods/Grid.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

namespace ingot::quantize {

using checkpoint::Error;
using checkpoint::message;

bool isSupportedHere() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
#else
  return true;
#endif
}

int64_t Grid::groups(int64_t columns) const {
  return group == 0 ? (columns > 0 ? 1 : 0) : columns / group + (columns % group != 0);
}

int64_t QuantizedMatrix::groupOfColumn(int64_t column) const {
  if (!groupOf.empty())
    return groupOf[static_cast<size_t>(column)];
  return grid.group == 0 ? 0 : column / grid.group;
}

int32_t QuantizedMatrix::zeroOf(int64_t row, int64_t group) const {
  return zeros.empty() ? 1 << (grid.bits - 1) : zeros[static_cast<size_t>(row * groups() + group)];
}

float QuantizedMatrix::valueOf(int64_t row, int64_t group, uint8_t code) const {
  return scales[static_cast<size_t>(row * groups() + group)] *
         (book.empty() ? static_cast<float>(code - zeroOf(row, group)) : book[code]);
}

void QuantizedMatrix::dequantize(float *out) const {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t place = row * columns + column;
      out[place] = valueOf(row, groupOfColumn(column), codes[static_cast<size_t>(place)]);
    }
}

/// f32 to f16 and back, to nearest even, without infinities: `value` is at most 65504.
static float throughF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value < 0x1p-14f) // adding 0.5 rounds to multiples of 2^-24
    return (value + 0.5f) - 0.5f;
  return std::bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1)) & ~0x1fffu);
}

static float throughBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1)) & ~0xffffu);
}

float roundScale(double value, ScaleType type) {
  switch (type) {
  case ScaleType::F16:
    return std::max(throughF16(static_cast<float>(std::min(value, 65504.0))), 0x1p-24f);
  case ScaleType::BF16: // The largest is 0x7f7f.
    return std::max(throughBf16(static_cast<float>(std::min(value, 0x1.fep127))), 0x1p-133f);
  case ScaleType::F32:
    break;
  }
  return std::max(static_cast<float>(std::min(value, static_cast<double>(FLT_MAX))), 0x1p-149f);
}

GroupFitter::GroupFitter(const Grid &grid, const ClipSearch &clip, int64_t columns, bool weighed)
    : grid(grid), clip(clip), weighed(weighed && clip.steps > 0) {
  const int64_t longest = grid.group == 0 ? columns : std::min(grid.group, columns);
  padded.resize(static_cast<size_t>(longest + 8));
  weights.resize(weighed ? padded.size() : 0);
}

GroupFit GroupFitter::fitShare(float least, float most, float share) const {
  const double low = std::min(0.0f, least) * share, high = std::max(0.0f, most) * share;
  if (!grid.zeroPoints) {
    const double magnitude = std::max(-low, high);
    return {magnitude == 0 ? 1.0f : roundScale(magnitude * 2 / grid.most(), grid.scales),
            1 << (grid.bits - 1)};
  }
  if (low == high)
    return {1.0f, 0};
  const float scale = roundScale((high - low) / grid.most(), grid.scales);
  const float zero = std::nearbyint(static_cast<float>(-low) / scale);
  return {scale, static_cast<int32_t>(std::clamp(zero, 0.0f, static_cast<float>(grid.most())))};
}

GroupFit GroupFitter::fit(int64_t count) {
  const int64_t whole = (count + 7) / 8 * 8;
  std::fill(padded.begin() + count, padded.begin() + whole, 0.0f);
  if (weighed)
    std::fill(weights.begin() + count, weights.begin() + whole, 0.0f);
  float least = 0, most = 0;
  rangeOf(padded.data(), whole, least, most);
  GroupFit best = fitShare(least, most, 1);
  if (clip.steps <= 0 || (least == 0 && most == 0))
    return best;
  double bestError = 0;
  for (int32_t step = 0; step <= clip.steps; ++step) {
    const float share =
        1 - (1 - clip.least) * static_cast<float>(step) / static_cast<float>(clip.steps);
    const GroupFit fit = fitShare(least, most, share);
    const double error = gridError(padded.data(), weighed ? weights.data() : nullptr, whole,
                                   fit.scale, static_cast<float>(-fit.zero),
                                   static_cast<float>(grid.most() - fit.zero), clip.power);
    if (step == 0 || error < bestError) {
      bestError = error;
      best = fit;
    }
  }
  return best;
}

checkpoint::Outcome checkFinite(const float *values, int64_t count, const char *what) {
  if (allFinite(values, count))
    return {};
  return Error{"INGOT-E2301", message(what, " are infinite or not a number"), "", ""};
}

checkpoint::Outcome checkArguments(const float *weight, int64_t rows, int64_t columns,
                                   const Grid &grid, const ClipSearch &clip) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (rows < 0 || columns < 0 || rows > kMost || columns > kMost || grid.group < 0)
    return Error{"INGOT-E2302", message("no matrix is [", rows, ", ", columns, "]"), "", ""};
  if (grid.bits < 2 || grid.bits > 8)
    return Error{"INGOT-E2302", message("weights of ", grid.bits, " bits"), "", "take 2 to 8 bits"};
  if (clip.steps < 0 || clip.steps > 1000 ||
      (clip.steps > 0 && !(clip.least > 0 && clip.least <= 1 && clip.power > 0)))
    return Error{"INGOT-E2302", "a search of the clipped range without candidates", "",
                 "take at most 1000 steps down to a share above 0 and up to 1"};
  return checkFinite(weight, rows * columns, "weights");
}

} // namespace ingot::quantize
