// SPDX-License-Identifier: Apache-2.0
// Powers of two for blocks, and f16 numbers in them.
#include "compiler/quantize/ggml/BlockSource.h"

#include <bit>

namespace ingot::quantize {

BlockSource::BlockSource(const float *values, const float *importance, int count) {
  float most = 0, mostWeight = 0;
  for (int i = 0; i < count; ++i) {
    most = std::max(most, std::fabs(values[i]));
    if (importance)
      mostWeight = std::max(mostWeight, importance[i]);
  }
  zero = most == 0;
  if (!zero) {
    std::frexp(most, &exponent);
    exponent = -exponent;
  }
  // In double: the power of two may be none of float.
  const double factor = std::ldexp(1.0, exponent), weightFactor = 1.0 / mostWeight;
  for (int i = 0; i < count; ++i) {
    x[i / kLanes][i % kLanes] = static_cast<float>(values[i] * factor);
    w[i / kLanes][i % kLanes] =
        mostWeight > 0 ? static_cast<float>(importance[i] * weightFactor) : 1.0f;
  }
}

float BlockSource::storedHalf(float value) const {
  constexpr double most = 65504;
  const double number = std::ldexp(static_cast<double>(value), -exponent);
  return static_cast<float>(
      static_cast<_Float16>(static_cast<float>(std::clamp(number, -most, most))));
}

float BlockSource::nextHalf(float value, int steps) const {
  constexpr int infinity = 0x7c00;
  const auto bits = std::bit_cast<uint16_t>(static_cast<_Float16>(storedHalf(value)));
  const int magnitude = std::clamp((bits & 0x7fff) + steps, 0, infinity - 1);
  const auto next = static_cast<uint16_t>((bits & 0x8000) | magnitude);
  return scaled(static_cast<float>(std::bit_cast<_Float16>(next)), exponent);
}

} // namespace ingot::quantize
