// SPDX-License-Identifier: Apache-2.0
// Code books on tensor cores: 16 numbers as halves of the product in registers, looked up by
// permutations of bytes. A number that no half holds is the sum of two, each with a product.
#pragma once

#include "MatmulFragments.cuh"

namespace matmul {

/// 16 halves in two planes: word j has the low, or the high, bytes of numbers 4j to 4j + 3.
struct HalfTable {
  u32 low[4], high[4];

  /// `pairs`: of numbers 4j and 4j + 1, 4j + 2 and 4j + 3.
  __device__ void set(int j, const u32 (&pairs)[2]) {
    low[j] = ptx::permuteBytes(pairs[0], pairs[1], 0x6420);
    high[j] = ptx::permuteBytes(pairs[0], pairs[1], 0x7531);
  }

  /// The fragment of the eight numbers that a word's nibbles name, in the order of the fragment.
  __device__ void lookUp(u32 (&a)[4], u32 word) const {
    u32 places = word & 0x77777777u; // in either half of the table
    u32 picks = ptx::andOr(word >> 1, 0x44444444u, 0x32103210u);
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      u32 bytes[2];
#pragma unroll
      for (int plane = 0; plane < 2; ++plane) {
        const u32(&table)[4] = plane ? high : low;
        bytes[plane] = ptx::permuteBytes(ptx::permuteBytes(table[0], table[1], places),
                                         ptx::permuteBytes(table[2], table[3], places), picks);
      }
      a[i] = ptx::permuteBytes(bytes[0], bytes[1], 0x5140);
      a[i + 1] = ptx::permuteBytes(bytes[0], bytes[1], 0x7362);
      places >>= 16;
      picks >>= 16;
    }
  }
};

/// A book's numbers times a power of two, as halves and what these leave.
class CodeBook {
public:
  bool hasRest; ///< whether halves leave anything; known to be the same in a warp
  float unit;   ///< what sums must be multiplied by

  __device__ explicit CodeBook(const void *book) {
    float numbers[16];
    loadElements<kF32, 16>(book, 0, numbers);
    // f16 has few exponents: the largest number gets 2^8, so that the rest is seldom subnormal.
    float factor = 1.0f;
    unit = 1.0f;
    if constexpr (kProduct == Product::F16) {
      float largest = 0;
#pragma unroll
      for (int i = 0; i < 16; ++i)
        largest = fmaxf(largest, fabsf(numbers[i]));
      int exponent = int(least(most(__float_as_int(largest) >> 23, 10), 250));
      factor = __int_as_float((127 + 127 + 8 - exponent) << 23);
      unit = __int_as_float((exponent - 8) << 23);
    }
    u32 left = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      u32 halves[2], rests[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float a = numbers[4 * j + 2 * i] * factor, b = numbers[4 * j + 2 * i + 1] * factor;
        halves[i] = halvesOf(a, b);
        rests[i] = halvesOf(a - lowHalf(halves[i]), b - highHalf(halves[i]));
        left |= rests[i];
      }
      nearest.set(j, halves);
      rest.set(j, rests);
    }
    hasRest = __any_sync(kAllLanes, (left & 0x7fff7fffu) != 0);
  }

  /// The fragment of a word's numbers, or of their rests.
  template <bool Rest> __device__ void lookUp(u32 (&a)[4], u32 word) const {
    (Rest ? rest : nearest).lookUp(a, word);
  }

private:
  HalfTable nearest, rest;

  static __device__ u32 halvesOf(float low, float high) {
    return kProduct == Product::Bf16 ? ptx::bf16x2FromFloats(low, high)
                                     : ptx::f16x2FromFloats(low, high);
  }
  static __device__ float lowHalf(u32 halves) {
    return kProduct == Product::Bf16 ? __uint_as_float(halves << 16) : floatFromF16(u16(halves));
  }
  static __device__ float highHalf(u32 halves) {
    return kProduct == Product::Bf16 ? __uint_as_float(halves & 0xffff0000u)
                                     : floatFromF16(u16(halves >> 16));
  }
};

/// Stands for the book where there is none.
struct NoBook {
  static constexpr bool hasRest = false;
  static constexpr float unit = 1.0f;

  __device__ explicit NoBook(const void *) {}
  template <bool Rest> __device__ void lookUp(u32 (&)[4], u32) const {}
};

template <bool LooksUp> struct BookOf {
  using Type = NoBook;
};
template <> struct BookOf<true> {
  using Type = CodeBook;
};
using Book = BookOf<kLooksUp>::Type;

} // namespace matmul
