// SPDX-License-Identifier: Apache-2.0
// Packed weights of 2, 3, 5 and 6 bits: their planes become words of bytes, one row and four
// columns each, which MatmulFragments.cuh decodes. A lane has 32 elements in a block of 64 columns.
#pragma once

#include "MatmulEpilogue.cuh"

namespace matmul {

/// A lane's elements of one block.
template <i64 Code> struct LanePlanes {
  /// A block of places is of four lanes, so that one has a word of each bit.
  static constexpr Planes kPlanes = planesOf(elementBits(Code));
  static constexpr int kLow = kPlanes.low, kHigh = kPlanes.high;

  /// The elements' bytes: words 2i and 2i + 1 for 16-bit inputs, four for bytes, are one step.
  u32 bytes[8];

  /// `lane`: of the warp; its rows are in the order of codegen/cuda/MatmulLayout.cpp.
  __device__ __forceinline__ LanePlanes(const u8 *block, int lane) {
    int row = lane / 4, place = kPlanes.bits() == 5 ? row % 2 * 4 + row / 2 : row % 4 * 2 + row / 4;
    const u8 *from = block + place * kPlanes.blockBytes();
    alignas(16) u32 low[kLow], high[kHigh ? kHigh : 1];
    copyBytes<kLow * 4>(low, from + lane % 4 * (kLow * 4));
    if constexpr (kHigh > 0)
      copyBytes<kHigh * 4>(high, from + kPlanes.lowBytes() + lane % 4 * (kHigh * 4));
    if constexpr (kHigh == 1)
      expandBits(low, high[0]);
    else
      expandPairs(low, high);
  }

private:
  /// Bits [From, From + Width) of each byte, moved to bit To.
  template <int From, int To, int Width> static __device__ __forceinline__ u32 field(u32 word) {
    constexpr u32 mask = ((1u << Width) - 1) * 0x01010101u << To;
    if constexpr (From > To)
      return word >> (From - To) & mask;
    else
      return word << (To - From) & mask;
  }

  /// Of words whose bytes belong together: part `LowIndex` of each byte of `low`, and above it part
  /// `HighIndex` of `high`.
  template <int LowIndex, int HighIndex>
  static __device__ __forceinline__ u32 join(u32 low, u32 high) {
    u32 lower = field<LowIndex * kLow, 0, kLow>(low);
    return kHigh ? lower | field<HighIndex * kHigh, kLow, kHigh>(high) : lower;
  }

  /// No upper plane, or one of two bits: words of 16 elements, four in a byte.
  __device__ __forceinline__ void expandPairs(const u32 (&low)[kLow],
                                              const u32 (&high)[kHigh ? kHigh : 1]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if constexpr (kHigh == 0) {
        bytes[4 * i] = join<0, 0>(low[i], 0);
        bytes[4 * i + 1] = join<1, 0>(low[i], 0);
        bytes[4 * i + 2] = join<2, 0>(low[i], 0);
        bytes[4 * i + 3] = join<3, 0>(low[i], 0);
      } else {
        u32 even = ptx::permuteBytes(low[2 * i], low[2 * i + 1], 0x6420);
        u32 odd = ptx::permuteBytes(low[2 * i], low[2 * i + 1], 0x7531);
        bytes[4 * i] = join<0, 0>(even, high[i]);
        bytes[4 * i + 1] = join<1, 1>(even, high[i]);
        bytes[4 * i + 2] = join<0, 2>(odd, high[i]);
        bytes[4 * i + 3] = join<1, 3>(odd, high[i]);
      }
    }
  }

  /// An upper plane of one bit: a word of 32 elements, eight in a byte.
  __device__ __forceinline__ void expandBits(const u32 (&low)[kLow], u32 high) {
    if constexpr (kLow == 2) {
      u32 even = ptx::permuteBytes(low[0], low[1], 0x6420);
      u32 odd = ptx::permuteBytes(low[0], low[1], 0x7531);
      bytes[0] = join<0, 0>(even, high);
      bytes[1] = join<1, 1>(even, high);
      bytes[2] = join<2, 2>(even, high);
      bytes[3] = join<3, 3>(even, high);
      bytes[4] = join<0, 4>(odd, high);
      bytes[5] = join<1, 5>(odd, high);
      bytes[6] = join<2, 6>(odd, high);
      bytes[7] = join<3, 7>(odd, high);
    } else {
      // Byte i of word j goes to byte j of word i.
      u32 a = ptx::permuteBytes(low[0], low[1], 0x5140),
          b = ptx::permuteBytes(low[2], low[3], 0x5140);
      u32 c = ptx::permuteBytes(low[0], low[1], 0x7362),
          d = ptx::permuteBytes(low[2], low[3], 0x7362);
      u32 first = ptx::permuteBytes(a, b, 0x5410), second = ptx::permuteBytes(a, b, 0x7632);
      u32 third = ptx::permuteBytes(c, d, 0x5410), fourth = ptx::permuteBytes(c, d, 0x7632);
      bytes[0] = join<0, 0>(first, high);
      bytes[1] = join<1, 1>(first, high);
      bytes[2] = join<0, 2>(second, high);
      bytes[3] = join<1, 3>(second, high);
      bytes[4] = join<0, 4>(third, high);
      bytes[5] = join<1, 5>(third, high);
      bytes[6] = join<0, 6>(fourth, high);
      bytes[7] = join<1, 7>(fourth, high);
    }
  }
};

} // namespace matmul
