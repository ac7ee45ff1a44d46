// SPDX-License-Identifier: Apache-2.0
// Elementary functions in double precision: the steps of codegen/native/kernels/Mathematics.h, so
// that every target gets the same bits.
#pragma once

#include "Kernel.cuh"

INGOT_DEVICE float infinity() { return __uint_as_float(0x7f800000); }

/// To the nearest integer, ties to even, for |value| < 2^51.
INGOT_DEVICE double roundEven(double value) {
  constexpr double shift = 6755399441055744.0; // 1.5 * 2^52
  return (value + shift) - shift;
}

/// e^x; 0 below and infinity above the range that f32 results need.
INGOT_DEVICE double exponential(double x) {
  double bounded = fmin(fmax(x, -701.0), 701.0);
  double n = roundEven(bounded * 1.4426950408889634);
  // ln 2 in two parts; the first has few enough bits that its product with n is exact.
  double r = (bounded - n * 0.69314718036912381649) - n * 1.90821492927058770002e-10;
  double sum = 1.0;
  // Taylor series: |r| <= 0.35, so r^13 / 13! is below 2^-52.
#pragma unroll
  for (int i = 13; i >= 1; --i)
    sum = 1.0 + r * (1.0 / double(i)) * sum;
  double result = sum * __longlong_as_double((i64(n) + 1023) << 52);
  result = x > 700.0 ? __longlong_as_double(0x7ff0000000000000ll) : x < -700.0 ? 0.0 : result;
  return x == x ? result : x;
}

/// Natural logarithm of a positive normal number.
INGOT_DEVICE double logarithm(double x) {
  i64 bits = __double_as_longlong(x);
  i64 exponent = (bits >> 52) - 1023;
  double mantissa = __longlong_as_double((bits & 0xfffffffffffffll) | 0x3ff0000000000000ll);
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  // ln m = 2 atanh((m - 1) / (m + 1)), with an argument of at most 0.172.
  double t = (mantissa - 1.0) / (mantissa + 1.0);
  double square = t * t;
  double sum = 0.0;
#pragma unroll
  for (int i = 21; i >= 1; i -= 2)
    sum = 1.0 / double(i) + square * sum;
  double n = double(exponent);
  return n * 0.69314718036912381649 + (2.0 * t * sum + n * 1.90821492927058770002e-10);
}

/// log(1 + e^x), for the larger of x and 0 apart: no power overflows.
INGOT_DEVICE double softPlus(double x) {
  double power = exponential(x > 0 ? -x : x);
  // Where the sum would round the power away, the series' next term is out of sight.
  double rest = power < 1e-5 ? power - power * power / 2.0 : logarithm(1.0 + power);
  return x > 0 ? x + rest : rest;
}

struct SineCosine {
  double sine, cosine;
};

/// Sine and cosine for |angle| up to 2^20 radians.
INGOT_DEVICE SineCosine sineCosine(double angle) {
  double n = roundEven(angle * 0.63661977236758134308);
  // pi / 2 in three parts of 33 bits, whose products with n are exact.
  double r = ((angle - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) -
             n * 2.02226624879595063154e-21;
  double square = r * r;
  double sine = 0.0, cosine = 0.0;
  // Taylor series on |r| <= pi / 4: the first terms left out are below 2^-55.
#pragma unroll
  for (int i = 17; i >= 3; i -= 2)
    sine = -square * (1.0 / double(i * (i - 1))) * (1.0 + sine);
#pragma unroll
  for (int i = 18; i >= 2; i -= 2)
    cosine = -square * (1.0 / double(i * (i - 1))) * (1.0 + cosine);
  sine = r + r * sine;
  cosine = 1.0 + cosine;
  i64 quarter = i64(n) & 3;
  double first = quarter & 1 ? cosine : sine, second = quarter & 1 ? sine : cosine;
  return {quarter & 2 ? -first : first, quarter == 1 || quarter == 2 ? -second : second};
}
