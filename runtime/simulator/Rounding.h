// SPDX-License-Identifier: Apache-2.0
// Rounding of floating-point results other than to nearest, and to the narrow formats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ingot::simulator {

enum class Round : uint8_t { Nearest, Zero, Down, Up };

/// A float or double next to `value` in the direction of the exact sum `value + rest`, where
/// `value` is that sum rounded to nearest.
template <class T> inline T roundDirected(T value, T rest, Round mode) {
  if (!(rest != 0) || !std::isfinite(value))
    return value;
  T infinity = T(INFINITY);
  switch (mode) {
  case Round::Nearest:
    return value;
  case Round::Zero:
    return (value > 0) == (rest < 0) && value != 0 ? std::nextafter(value, T(0)) : value;
  case Round::Down:
    return rest < 0 ? std::nextafter(value, -infinity) : value;
  case Round::Up:
    return rest > 0 ? std::nextafter(value, infinity) : value;
  }
  return value;
}

/// The error of `sum = a + b` rounded to nearest, exactly.
template <class T> inline T sumError(T a, T b, T sum) {
  T virtualB = sum - a;
  return (a - (sum - virtualB)) + (b - virtualB);
}

/// `value + rest`, where `value` is the sum rounded to nearest, rounded to odd: a second rounding
/// to fewer bits is then as good as a single one.
inline float roundToOdd(float value, float rest) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bool even = (bits & 1) == 0;
  bool inexact = rest != 0 && rest == rest;
  // Towards the rest: one step in magnitude up or down gives an odd significand.
  uint32_t step = (value > 0) == (rest > 0) ? 1u : ~0u;
  return std::bit_cast<float>(inexact && even && value != 0 ? bits + step : bits);
}

inline float flushed(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

inline float halfToFloat(uint16_t bits) { return float(std::bit_cast<_Float16>(bits)); }
inline uint16_t floatToHalf(float value) { return std::bit_cast<uint16_t>(_Float16(value)); }
inline float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
inline uint16_t floatToBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return uint16_t(value != value ? 0x7fffu : rounded);
}

/// A floating-point format of at most 64 bits.
struct Format {
  uint32_t exponentBits, fractionBits;
  bool hasInfinity = true; // e4m3 has none: its largest exponent holds numbers, and one NaN
  uint32_t bits() const { return 1 + exponentBits + fractionBits; }
};

constexpr Format f16Format{5, 10}, bf16Format{8, 7}, f32Format{8, 23}, f64Format{11, 52},
    e4m3Format{4, 3, false}, e5m2Format{5, 2}, tf32Format{8, 10};

/// The exact value of a number of the format.
long double decodeFloat(uint64_t bits, const Format &format);
/// The number of the format that `value` rounds to. With `saturate` the largest finite one stands
/// for what overflows; NaN stays NaN.
uint64_t encodeFloat(long double value, const Format &format, Round mode, bool saturate,
                     bool awayFromZeroOnTies = false);

} // namespace ingot::simulator
