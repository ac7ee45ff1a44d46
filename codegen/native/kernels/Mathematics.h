// SPDX-License-Identifier: Apache-2.0
// Elementary functions in double precision, good to about 1e-15 relative error, without a C
// library. Rounded to f32 they are within a hair of half a unit in the last place.
#pragma once

#include "codegen/native/kernels/Kernel.h"

constexpr float kInfinity = __builtin_inff();
constexpr float kLargest = 0x1.fffffep127f; ///< f32's largest finite number

/// To the nearest integer, ties to even, for |value| < 2^51.
INGOT_INLINE double roundEven(double value) {
  constexpr double kShift = 6755399441055744.0; // 1.5 * 2^52
  return (value + kShift) - kShift;
}

/// a * b + c rounded once, where the processor may have no such instruction: the product is exact
/// in double precision, and the sum is rounded to an odd last bit, which keeps what decides the
/// second rounding (Boldo and Melquiond, Emulation of FMA and Correctly Rounded Sums, 2008).
INGOT_INLINE float multiplyAdd(float a, float b, float c) {
  double product = double(a) * double(b), sum = product + double(c);
  double other = sum - product, lost = (product - (sum - other)) + (double(c) - other);
  auto bits = bitCast<uint64_t>(sum);
  if (lost != 0 && (bits & 1) == 0)
    bits += (lost > 0) == (sum > 0) ? 1 : uint64_t(-1);
  return float(bitCast<double>(bits));
}

/// 2^exponent for exponents of normal numbers.
INGOT_INLINE double powerOfTwo(int64_t exponent) {
  return bitCast<double>(uint64_t(exponent + 1023) << 52);
}

/// e^x; 0 below and infinity above the range that f32 results need.
INGOT_INLINE double exponential(double x) {
  if (!(x == x))
    return x;
  if (x > 700.0)
    return bitCast<double>(0x7ff0000000000000ull);
  if (x < -700.0)
    return 0.0;
  double n = roundEven(x * 1.4426950408889634);
  // ln 2 in two parts; the first has few enough bits that its product with n is exact.
  double r = (x - n * 0.69314718036912381649) - n * 1.90821492927058770002e-10;
  double sum = 1.0;
  // Taylor series: |r| <= 0.35, so r^13 / 13! is below 2^-52.
  for (int i = 13; i >= 1; --i)
    sum = 1.0 + r * (1.0 / double(i)) * sum;
  return sum * powerOfTwo(int64_t(n));
}

/// Natural logarithm of a positive normal number.
INGOT_INLINE double logarithm(double x) {
  uint64_t bits = bitCast<uint64_t>(x);
  int64_t exponent = int64_t(bits >> 52) - 1023;
  double mantissa = bitCast<double>((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  // ln m = 2 atanh((m - 1) / (m + 1)), with an argument of at most 0.172.
  double t = (mantissa - 1.0) / (mantissa + 1.0);
  double square = t * t;
  double sum = 0.0;
  for (int i = 21; i >= 1; i -= 2)
    sum = 1.0 / double(i) + square * sum;
  double n = double(exponent);
  return n * 0.69314718036912381649 + (2.0 * t * sum + n * 1.90821492927058770002e-10);
}

/// log(1 + e^x), for the larger of x and 0 apart: no power overflows.
INGOT_INLINE double softPlus(double x) {
  double power = exponential(x > 0 ? -x : x);
  // Where the sum would round the power away, the series' next term is out of sight.
  double rest = power < 1e-5 ? power - power * power / 2.0 : logarithm(1.0 + power);
  return x > 0 ? x + rest : rest;
}

INGOT_INLINE double hyperbolicTangent(double x) {
  double magnitude = x < 0 ? -x : x;
  if (magnitude > 20.0)
    return x < 0 ? -1.0 : 1.0;
  // Below this the quotient would cancel, and the series' next term is out of sight.
  if (magnitude < 1e-4)
    return x - x * x * x / 3.0;
  double power = exponential(2.0 * x);
  return (power - 1.0) / (power + 1.0);
}

struct SineCosine {
  double sine, cosine;
};

/// Sine and cosine for |angle| up to 2^20 radians.
INGOT_INLINE SineCosine sineCosine(double angle) {
  double n = roundEven(angle * 0.63661977236758134308);
  // pi / 2 in three parts of 33 bits, whose products with n are exact.
  double r = ((angle - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) -
             n * 2.02226624879595063154e-21;
  double square = r * r;
  double sine = 0.0, cosine = 0.0;
  // Taylor series on |r| <= pi / 4: the first terms left out are below 2^-55.
  for (int i = 17; i >= 3; i -= 2)
    sine = -square * (1.0 / double(i * (i - 1))) * (1.0 + sine);
  for (int i = 18; i >= 2; i -= 2)
    cosine = -square * (1.0 / double(i * (i - 1))) * (1.0 + cosine);
  sine = r + r * sine;
  cosine = 1.0 + cosine;
  switch (int64_t(n) & 3) {
  case 0:
    return {sine, cosine};
  case 1:
    return {cosine, -sine};
  case 2:
    return {-sine, -cosine};
  default:
    return {-cosine, sine};
  }
}
