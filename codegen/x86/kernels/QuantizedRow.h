// SPDX-License-Identifier: Apache-2.0
// Scaling a run of values to an 8-bit type.
#pragma once

#include "codegen/x86/kernels/Vector.h"

namespace ingot::x86 {

/// The largest magnitude that scaled values reach in an 8-bit type.
constexpr float quantizedLimit(int64_t type) {
  return type == kI8 ? 127.0f : type == kE4m3 ? 448.0f : 57344.0f;
}

/// Stores values [0, count) as value / scale in the 8-bit `type` at element `first` of `to`, and
/// returns the scale: amax / limit, or 1 for zeros. With `fixed`, *fixed; what is out of the type's
/// range is clamped then. valuesAt(i) gives sixteen values from i on.
template <class ValuesAt>
[[gnu::always_inline]] inline float quantizeRow(int64_t count, int64_t type, void *to,
                                                int64_t first, const float *fixed,
                                                ValuesAt valuesAt) {
  Floats limit = splat(quantizedLimit(type));
  if (fixed) {
    Divisor scale(*fixed);
    for (int64_t i = 0; i < count; i += lanes) {
      Floats value = scale.divide(valuesAt(i));
      value = value > limit ? limit : value;
      store(type, to, first + i, value < -limit ? -limit : value, count - i);
    }
    return *fixed;
  }
  Floats largest = {};
  for (int64_t i = 0; i < count; i += lanes) {
    Floats magnitude = absolute(valuesAt(i));
    magnitude = laneIndex() < int32_t(count - i) ? magnitude : Floats{};
    largest = larger(magnitude, largest);
  }
  float scale = maximumLane(largest) / quantizedLimit(type);
  if (!(scale > 0))
    scale = 1;
  Divisor divisor(scale);
  for (int64_t i = 0; i < count; i += lanes)
    store(type, to, first + i, divisor.divide(valuesAt(i)), count - i);
  return scale;
}

/// Row `row` of `to` and its scales: each of its groups of `columns` values has one. valuesAt(i)
/// gives sixteen values of the row from i on.
template <class ValuesAt>
[[gnu::always_inline]] inline void quantizeGroups(int64_t row, int64_t groups, int64_t columns,
                                                  int64_t type, void *to, float *scales,
                                                  const float *fixed, ValuesAt valuesAt) {
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t place = row * groups + group;
    scales[place] = quantizeRow(
        columns, type, to, place * columns, fixed,
        [&](int64_t i) __attribute__((always_inline)) { return valuesAt(group * columns + i); });
  }
}

} // namespace ingot::x86
