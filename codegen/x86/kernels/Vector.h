// SPDX-License-Identifier: Apache-2.0
// Sixteen-lane vectors of the x86 kernels: one zmm register, or two ymm registers on x86-64-v3.
#pragma once

#include "codegen/native/kernels/Kernel.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace ingot::x86 {

constexpr int lanes = 16;

using Floats = float __attribute__((vector_size(64)));
using Ints = int32_t __attribute__((vector_size(64)));
using UInts = uint32_t __attribute__((vector_size(64)));
using Shorts = uint16_t __attribute__((vector_size(32)));
using HalfFloats = _Float16 __attribute__((vector_size(32)));
using Bytes = int8_t __attribute__((vector_size(16)));
using UBytes = uint8_t __attribute__((vector_size(16)));

/// Bytes of one element of whole bytes.
constexpr int64_t sizeOf(int64_t type) { return elementBits(type) / 8; }

template <class V> [[gnu::always_inline]] inline V loadVector(const void *from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}

template <class V> [[gnu::always_inline]] inline void storeVector(void *to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}

[[gnu::always_inline]] inline Floats splat(float x) {
  return Floats{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
[[gnu::always_inline]] inline Floats fma(Floats a, Floats b, Floats c) {
  return __builtin_elementwise_fma(a, b, c);
}
[[gnu::always_inline]] inline Floats absolute(Floats x) { return (Floats)((UInts)x & 0x7fffffffu); }
[[gnu::always_inline]] inline Floats larger(Floats a, Floats b) { return a > b ? a : b; }

/// The lane numbers 0 ... 15.
[[gnu::always_inline]] inline Ints laneIndex() {
  return Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

/// The largest lane; none is NaN.
[[gnu::always_inline]] inline float maximumLane(Floats x) {
  x = larger(x,
             __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  x = larger(x,
             __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
  x = larger(x,
             __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  return x[0] > x[1] ? x[0] : x[1];
}

/// The lanes' sum, halves first.
[[gnu::always_inline]] inline float sumLanes(Floats x) {
  x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  return x[0] + x[1];
}

/// Divides many numbers by a positive one. As division rounds them, in a third of its time: the
/// inverse is rounded once, a first step brings the quotient within a unit in the last place, and
/// from there a second one finds the nearest (Markstein, "Computation of elementary functions on
/// the IBM RISC System/6000 processor", 1990).
class Divisor {
public:
  [[gnu::always_inline]] explicit Divisor(float number)
      : number(splat(number)), inverse(splat(1.0f / number)),
        inRange(number > 0x1p-60f && number < 0x1p60f) {}

  /// Sixteen quotients; below 2^-40 they may be the number beside the nearest.
  [[gnu::always_inline]] Floats divide(Floats x) const {
    if (!inRange)
      return x / number;
    Floats first = x * inverse;
    Floats quotient = fma(fma(-first, number, x), inverse, first);
    quotient = fma(fma(-quotient, number, x), inverse, quotient);
    quotient = (Floats)(((UInts)quotient & 0x7fffffffu) | ((UInts)x & 0x80000000u)); // of zeros
    return absolute(first) < __builtin_inff() ? quotient : first;
  }

private:
  Floats number, inverse;
  bool inRange; ///< whether nothing on the way can leave the range of floats
};

// ---- From narrow types: exact -----------------------------------------------------------------

[[gnu::always_inline]] inline Floats widenBf16(Shorts bits) {
  return (Floats)(__builtin_convertvector(bits, UInts) << 16);
}

/// e4m3 without infinities: 1 sign, 4 exponent (bias 7) and 3 fraction bits; 0x7f is NaN. Its bits,
/// moved to those of an f16 (bias 15), stand for a 256th of the value.
[[gnu::always_inline]] inline Floats widenE4m3(UBytes bits) {
  Shorts wide = __builtin_convertvector(bits, Shorts), magnitude = wide & 0x7f;
  Shorts half = (magnitude == 0x7f ? Shorts{} + 0x7e00 : magnitude << 7) | (wide & 0x80) << 8;
  return __builtin_convertvector((HalfFloats)half, Floats) * 256.0f;
}

/// e5m2 is the upper half of an f16.
[[gnu::always_inline]] inline Floats widenE5m2(UBytes bits) {
  Shorts half = __builtin_convertvector(bits, Shorts) << 8;
  return __builtin_convertvector((HalfFloats)half, Floats);
}

/// Sixteen elements of `type` at element `index`; may read up to 64 bytes from the first one.
[[gnu::always_inline]] inline Floats load(int64_t type, const void *base, int64_t index) {
  const char *from = static_cast<const char *>(base) + index * sizeOf(type);
  switch (type) {
  case kF32:
    return loadVector<Floats>(from);
  case kF16:
    return __builtin_convertvector(loadVector<HalfFloats>(from), Floats);
  case kBf16:
    return widenBf16(loadVector<Shorts>(from));
  case kE4m3:
    return widenE4m3(loadVector<UBytes>(from));
  case kE5m2:
    return widenE5m2(loadVector<UBytes>(from));
  default:
    return __builtin_convertvector(loadVector<Bytes>(from), Floats);
  }
}

// ---- To narrow types: nearest even ------------------------------------------------------------

[[gnu::always_inline]] inline Shorts narrowBf16(Floats x) {
#ifdef __AVX512BF16__
  return (Shorts)_mm512_cvtneps_pbh((__m512)x); // takes denormals as zeros
#else
  UInts bits = (UInts)x;
  UInts rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  UInts quiet = (bits >> 16) | 0x40;
  return __builtin_convertvector((Ints)(x != x) ? quiet : rounded, Shorts);
#endif
}

/// Rounds to a float of `fraction` bits whose least exponent is `leastExponent` (of normal numbers)
/// and clamps to `largest`; the result is exact in the narrow type. Not for NaN.
[[gnu::always_inline]] inline Floats roundNarrow(Floats x, int fraction, int leastExponent,
                                                 float largest) {
  Floats magnitude = absolute(x);
  magnitude = magnitude < largest ? magnitude : splat(largest);
  // Adding 1.5 * 2^(23 - fraction) times the value's power of two rounds at the wanted bit.
  UInts exponent = (UInts)magnitude & 0x7f800000u;
  UInts least = UInts{} + (uint32_t(leastExponent + 127) << 23);
  exponent = exponent > least ? exponent : least;
  Floats shift = (Floats)(exponent + (uint32_t(23 - fraction) << 23)) * 1.5f;
  Floats rounded = (magnitude + shift) - shift;
  rounded = rounded < largest ? rounded : splat(largest);
  return (Floats)((UInts)rounded | ((UInts)x & 0x80000000u));
}

/// The code of an 8-bit float that `exact` holds as an f16, `shift` bits further up; 0x7f where `x`
/// is NaN.
[[gnu::always_inline]] inline UBytes narrowHalf(Floats x, Floats exact, int shift) {
  Shorts bits = (Shorts) __builtin_convertvector(exact, HalfFloats);
  Shorts nan = __builtin_convertvector((UInts)(x != x) & 0x7f, Shorts);
  return __builtin_convertvector((bits >> shift & 0x7f) | (bits >> 8 & 0x80) | nan, UBytes);
}

[[gnu::always_inline]] inline UBytes narrowE4m3(Floats x) {
  return narrowHalf(x, roundNarrow(x, 3, -6, 448.0f) * 0x1p-8f, 7);
}

[[gnu::always_inline]] inline UBytes narrowE5m2(Floats x) {
  return narrowHalf(x, roundNarrow(x, 2, -14, 57344.0f), 8);
}

/// Nearest even, limited to [-127, 127]; NaN gives 0.
[[gnu::always_inline]] inline UBytes narrowI8(Floats x) {
  x = x == x ? x : Floats{};
  x = x > -127.0f ? x : splat(-127.0f);
  x = x < 127.0f ? x : splat(127.0f);
  // Adding 1.5 * 2^23 leaves the rounded integer in the low bits.
  UInts bits = (UInts)(x + 0x1.8p23f);
  return __builtin_convertvector(bits & 0xff, UBytes);
}

template <class V> [[gnu::always_inline]] inline void storeSome(void *to, V value, int64_t count) {
  constexpr int64_t size = sizeof(V) / lanes;
  if (count >= lanes) {
    storeVector(to, value);
    return;
  }
  alignas(64) char buffer[sizeof(V)];
  storeVector(buffer, value);
  for (int64_t i = 0; i < count * size; ++i)
    static_cast<char *>(to)[i] = buffer[i];
}

/// Rounds to `type` and stores the first `count` lanes (all when it is above 15) at `index`.
[[gnu::always_inline]] inline void store(int64_t type, void *base, int64_t index, Floats value,
                                         int64_t count = lanes) {
  char *to = static_cast<char *>(base) + index * sizeOf(type);
  switch (type) {
  case kF32:
    return storeSome(to, value, count);
  case kF16:
    return storeSome(to, __builtin_convertvector(value, HalfFloats), count);
  case kBf16:
    return storeSome(to, narrowBf16(value), count);
  case kE4m3:
    return storeSome(to, narrowE4m3(value), count);
  case kE5m2:
    return storeSome(to, narrowE5m2(value), count);
  default:
    return storeSome(to, narrowI8(value), count);
  }
}

/// `value` as it reads back after a store in `type` (f32, f16 or bf16).
[[gnu::always_inline]] inline Floats roundTo(int64_t type, Floats value) {
  if (type == kF16)
    return __builtin_convertvector(__builtin_convertvector(value, HalfFloats), Floats);
  return type == kBf16 ? widenBf16(narrowBf16(value)) : value;
}

/// One element of `type`, exact.
[[gnu::always_inline]] inline float loadOne(int64_t type, const void *base, int64_t index) {
  const char *from = static_cast<const char *>(base) + index * sizeOf(type);
  if (type == kF32)
    return *reinterpret_cast<const float *>(from);
  if (type == kF16)
    return float(*reinterpret_cast<const _Float16 *>(from));
  if (type == kBf16) {
    uint32_t bits = uint32_t(*reinterpret_cast<const uint16_t *>(from)) << 16;
    return __builtin_bit_cast(float, bits);
  }
  return type == kI8 ? float(*from) : load(type, from, 0)[0];
}

// ---- Products of words ------------------------------------------------------------------------

/// The word at `from` in every lane.
[[gnu::always_inline]] inline Ints splatWord(const void *from) {
  int32_t word;
  __builtin_memcpy(&word, from, 4);
  return Ints{} + word;
}

/// sum[lane] with the products of the lane's two bf16, in f32 as AVX512-BF16 orders them: the odd
/// one's is added first, then the even one's, each fused (Intel SDM, VDPBF16PS).
[[gnu::always_inline]] inline Floats dotPairs(Floats sum, Ints weight, Ints x) {
#ifdef __AVX512BF16__
  return (Floats)_mm512_dpbf16_ps((__m512)sum, (__m512bh)weight, (__m512bh)x);
#else
  auto odd = [](Ints pair) { return (Floats)((UInts)pair & 0xffff0000u); };
  auto even = [](Ints pair) { return (Floats)((UInts)pair << 16); };
  return fma(even(weight), even(x), fma(odd(weight), odd(x), sum));
#endif
}

} // namespace ingot::x86
