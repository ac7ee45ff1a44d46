// SPDX-License-Identifier: Apache-2.0
// What the RegionPrinter calls. A template that takes regions names `Vec` (float, or a vector of
// floats that is passed in one register) and then includes this once.
#pragma once

#include "codegen/native/kernels/Elements.h"
#include "codegen/native/kernels/Mathematics.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

/// The functions for vectors of `lanes` floats; each lane's result depends on that lane alone.
template <int lanes> struct RegionMath {
  using Floats = float __attribute__((vector_size(4 * lanes)));
  using Ints = int32_t __attribute__((vector_size(4 * lanes)));
  using Bits = uint32_t __attribute__((vector_size(4 * lanes)));
  using Halves = _Float16 __attribute__((vector_size(2 * lanes)));

  static Floats splat(float value) { return Floats{} + value; }
  static Floats fma(Floats a, Floats b, Floats c) { return __builtin_elementwise_fma(a, b, c); }

  /// e^x = 2^exponent * (1 + rest), |rest| < 0.42, for -88 < x < 90; the exponent is whole.
  struct Split {
    Floats exponent, rest;
  };
  static Split split(Floats x) {
    constexpr float kShift = 12582912.0f; // 1.5 * 2^23 rounds to integers
    Floats n = fma(x, splat(1.44269504f), splat(kShift)) - kShift;
    // ln 2 in two parts; the first has few enough bits that its product with n is exact.
    Floats r = fma(n, splat(-0.693359375f), x);
    r = fma(n, splat(2.12194440e-4f), r);
    Floats p = fma(r, splat(1.0f / 5040), splat(1.0f / 720));
    p = fma(p, r, splat(1.0f / 120));
    p = fma(p, r, splat(1.0f / 24));
    p = fma(p, r, splat(1.0f / 6));
    p = fma(p, r, splat(0.5f));
    return {n, fma(p * r, r, r)};
  }
  static Floats powerOfTwo(Ints exponent) { return (Floats)((exponent + 127) << 23); }
  /// x * 2^exponent, which may be no float's power of two: 2^128 is none, though e^88.7 is a float.
  static Floats scale(Floats x, Floats exponent) {
#ifdef __AVX512F__
    if constexpr (lanes == 16)
      return (Floats)_mm512_scalef_ps((__m512)x, (__m512)exponent);
#endif
    Ints whole = __builtin_convertvector(exponent, Ints), half = whole >> 1;
    return x * powerOfTwo(half) * powerOfTwo(whole - half);
  }

  /// Within 2 units in the last place; 0 below -87.3, infinity above 88.72.
  static Floats exponential(Floats x) {
    Floats bounded = x < -87.3f ? splat(-87.3f) : x;
    bounded = bounded > 89.0f ? splat(89.0f) : bounded;
    Split parts = split(bounded);
    Floats result = scale(parts.rest + 1.0f, parts.exponent);
    result = x < -87.3f ? splat(0.0f) : result;
    return x == x ? result : x;
  }

  /// Within 4 units in the last place.
  static Floats tangent(Floats x) {
    Bits sign = (Bits)x & 0x80000000u;
    Floats magnitude = (Floats)((Bits)x & 0x7fffffffu);
    Floats bounded = magnitude > 10.0f ? splat(10.0f) : magnitude;
    // (e^2x - 1) / (e^2x + 1), with e^2x - 1 formed without cancelling.
    Split parts = split(2.0f * bounded);
    Floats scale = powerOfTwo(__builtin_convertvector(parts.exponent, Ints));
    Floats minusOne = fma(scale, parts.rest, scale - 1.0f);
    Floats result = (Floats)((Bits)(minusOne / (minusOne + 2.0f)) | sign);
    return x == x ? result : x;
  }

  static Floats roundBf16(Floats x) {
#ifdef __AVX512BF16__
    if constexpr (lanes == 16)
      return (Floats)_mm512_cvtpbh_ps(_mm512_cvtneps_pbh((__m512)x));
#endif
    Bits bits = (Bits)x;
    Bits rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    return x == x ? (Floats)rounded : (Floats)((bits & 0xffff0000u) | 0x400000u);
  }

  /// Needs hardware conversions between f16 and f32.
  static Floats roundF16(Floats x) {
    return __builtin_convertvector(__builtin_convertvector(x, Halves), Floats);
  }
};

/// One lane: worked out in double precision, within a hair of half a unit in the last place.
template <> struct RegionMath<1> {
  static float exponential(float x) { return float(::exponential(double(x))); }
  static float tangent(float x) { return float(hyperbolicTangent(double(x))); }
  static float roundBf16(float x) { return floatFromBf16(bf16FromFloat(x)); }
  static float roundF16(float x) { return floatFromF16(f16FromFloat(x)); }
};

constexpr int kRegionLanes = sizeof(Vec) / sizeof(float);

extern "C" Vec ingot_exp(Vec x) { return RegionMath<kRegionLanes>::exponential(x); }
extern "C" Vec ingot_tanh(Vec x) { return RegionMath<kRegionLanes>::tangent(x); }
extern "C" Vec ingot_round_bf16(Vec x) { return RegionMath<kRegionLanes>::roundBf16(x); }
extern "C" Vec ingot_round_f16(Vec x) { return RegionMath<kRegionLanes>::roundF16(x); }
