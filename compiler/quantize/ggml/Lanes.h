// SPDX-License-Identifier: Apache-2.0
// Four floats at a time. Elementwise operations of IEEE numbers only, so that every machine gets
// the same bits.
#pragma once

namespace ingot::quantize {

using Lanes = float __attribute__((vector_size(16)));
constexpr int kLanes = 4;

inline Lanes splat(float value) { return Lanes{value, value, value, value}; }
inline float sumOf(Lanes v) { return (v[0] + v[1]) + (v[2] + v[3]); }
inline Lanes clamped(Lanes v, float low, float high) {
  const Lanes lows = splat(low), highs = splat(high);
  const Lanes above = v < lows ? lows : v;
  return above > highs ? highs : above;
}

/// To the nearest whole number, ties to even, for magnitudes below 2^22: above 2^23 floats are
/// whole, and adding rounds.
inline Lanes rounded(Lanes v) {
  const Lanes whole = splat(12582912.0f);
  return (v + whole) - whole;
}

} // namespace ingot::quantize
