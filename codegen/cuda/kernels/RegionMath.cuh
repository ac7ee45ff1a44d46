// SPDX-License-Identifier: Apache-2.0
// Mathematics of printed regions, in f32 steps that give the same bits on every architecture (no
// approximate instructions). "Region.cuh" is generated from the operation's region and defines
//   float epilogue(float x0, ..., float x5);
// the identity of x0 where there is none. Arguments go in order; where the constant `pair_offset`
// exists and is 0, those after the first skip x1.
#pragma once

#include "Elements.cuh"

namespace region {

struct Split {
  i32 exponent;
  float rest;
};
/// e^x = 2^exponent * (1 + rest), |rest| < 0.42, for -88 < x < 90.
INGOT_DEVICE Split split(float x) {
  constexpr float shift = 12582912.0f; // 1.5 * 2^23 rounds to integers
  float n = __fmaf_rn(x, 1.44269504f, shift) - shift;
  // ln 2 in two parts; the first has few enough bits that its product with n is exact.
  float r = __fmaf_rn(n, -0.693359375f, x);
  r = __fmaf_rn(n, 2.12194440e-4f, r);
  float p = __fmaf_rn(r, 1.0f / 5040, 1.0f / 720);
  p = __fmaf_rn(p, r, 1.0f / 120);
  p = __fmaf_rn(p, r, 1.0f / 24);
  p = __fmaf_rn(p, r, 1.0f / 6);
  p = __fmaf_rn(p, r, 0.5f);
  return {i32(n), __fmaf_rn(p * r, r, r)};
}

INGOT_DEVICE float powerOfTwo(i32 exponent) { return __uint_as_float(u32(exponent + 127) << 23); }

/// Within 2 units in the last place; 0 below -87.3, infinity above 88.72.
INGOT_DEVICE float exponential(float x) {
  float bounded = fminf(fmaxf(x, -87.3f), 89.0f);
  Split parts = split(bounded);
  // Two factors: 2^128 is no float, though e^88.7 is one.
  i32 half = parts.exponent >> 1;
  float result = (parts.rest + 1.0f) * powerOfTwo(half) * powerOfTwo(parts.exponent - half);
  result = x < -87.3f ? 0.0f : result;
  return x == x ? result : x;
}

/// Within 4 units in the last place.
INGOT_DEVICE float tangent(float x) {
  float bounded = fminf(fabsf(x), 10.0f);
  // (e^2x - 1) / (e^2x + 1), with e^2x - 1 formed without cancelling.
  Split parts = split(2.0f * bounded);
  float scale = powerOfTwo(parts.exponent);
  float minusOne = __fmaf_rn(scale, parts.rest, scale - 1.0f);
  float result = copysignf(minusOne / (minusOne + 2.0f), x);
  return x == x ? result : x;
}

INGOT_DEVICE float maximum(float a, float b) {
  return a != a || b != b ? __uint_as_float(0x7fc00000) : fmaxf(a, b);
}
INGOT_DEVICE float minimum(float a, float b) {
  return a != a || b != b ? __uint_as_float(0x7fc00000) : fminf(a, b);
}
INGOT_DEVICE float squareRoot(float x) { return __fsqrt_rn(x); }

} // namespace region

#include "Region.cuh"

/// How an operand of a region is addressed.
enum Address : i64 { kAbsent = 0, kRowAndColumn = 1, kColumn = 2, kRow = 3 };

/// The value of an operand at `row` and `column`; `columns` in a row of the result.
template <i64 How, i64 Code>
INGOT_DEVICE float loadOperand(const void *base, i64 row, i64 column, i64 columns) {
  if constexpr (How == kRowAndColumn)
    return loadElement<Code>(base, row * columns + column);
  else if constexpr (How == kColumn)
    return loadElement<Code>(base, column);
  else if constexpr (How == kRow)
    return loadElement<Code>(base, row);
  else
    return 0.0f;
}
