// SPDX-License-Identifier: Apache-2.0
// The element types of weights and buffers, and how elements of less than a byte lie in memory: one
// table for both halves and for kernels, those of NVRTC among them, hence without other headers.
#pragma once

#ifdef __CUDACC_RTC__
#define INGOT_TABLE __device__ constexpr
#define INGOT_FACT __device__ __forceinline__ constexpr
#else
#define INGOT_TABLE inline constexpr
#define INGOT_FACT [[gnu::always_inline]] inline constexpr
#endif

namespace ingot {

/// The numbers are those of DType in Engine.fbs. Kernels get them as constants.
enum ElementType : unsigned char {
  kF32,
  kF16,
  kBf16,
  kE4m3,
  kE5m2,
  kI8,
  kU8,
  kI4, ///< like all integers of less than a byte, read as unsigned
  kU4,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF64,
  kI2,
  kI3,
  kI5,
  kI6
};

struct ElementRow {
  unsigned char bits;
  bool isFloat;
};

/// By ElementType.
INGOT_TABLE ElementRow kElements[] = {
    {32, true},  {16, true}, {16, true},  {8, true},   {8, true},   {8, false},  {8, false},
    {4, false},  {4, false}, {16, false}, {16, false}, {32, false}, {32, false}, {64, false},
    {64, false}, {64, true}, {2, false},  {3, false},  {5, false},  {6, false}};
INGOT_TABLE int kElementTypes = sizeof(kElements) / sizeof(ElementRow);

INGOT_FACT int elementBits(long long type) { return kElements[type].bits; }
INGOT_FACT bool isFloat(long long type) { return kElements[type].isFloat; }

/// What unsigned integers of the type stand around; 0 for those with a sign.
INGOT_FACT int middleOf(long long type) {
  return elementBits(type) < 8 ? 1 << (elementBits(type) - 1) : 0;
}

/// A float format of at most 16 bits: sign, exponent, `mantissaBits`; with the codes (without sign)
/// of its largest finite value, of what larger values become, and of NaN.
struct SmallFloat {
  int mantissaBits, exponentBias;
  unsigned largest, overflow, nan;
};

/// The 8-bit formats saturate: a value that rounds beyond the largest becomes the largest.
INGOT_TABLE SmallFloat kFormatF16 = {10, 15, 0x7bff, 0x7c00, 0x7e00};
INGOT_TABLE SmallFloat kFormatE4m3 = {3, 7, 0x7e, 0x7e, 0x7f};
INGOT_TABLE SmallFloat kFormatE5m2 = {2, 15, 0x7b, 0x7b, 0x7f};

//===- Less than a byte ---------------------------------------------------------------------===//

/// Elements of 4 bits lie two in a byte, the first in the low bits. Those of 2, 3, 5 and 6 lie in
/// blocks of so many, the last one padded. In each, first the low bits of all elements, then the
/// bits above these: an element's part of such a plane stands at its place in the block, in the
/// order of bits from the lowest of the first byte on.
INGOT_TABLE int kPlanePlaces = 128;

INGOT_FACT bool hasPlanes(long long bits) { return bits < 8 && bits != 4; }

/// Bits of an element in each plane; `high` may be 0.
struct Planes {
  int low, high;

  INGOT_FACT int bits() const { return low + high; }
  /// Of a block, and of its lower plane.
  INGOT_FACT int blockBytes() const { return kPlanePlaces * bits() / 8; }
  INGOT_FACT int lowBytes() const { return kPlanePlaces * low / 8; }
};

/// Of elements of `bits` bits, less than 8; those of 4 bits have one plane.
INGOT_FACT Planes planesOf(long long bits) {
  int low = bits >= 4 ? 4 : 2;
  return {low, int(bits) - low};
}

/// The element at `place` of the block of planes at `block`.
template <class Word>
INGOT_FACT Word planeElement(const unsigned char *block, Word place, Planes planes) {
  Word value = block[place * planes.low / 8] >> (place * planes.low % 8) & ((1 << planes.low) - 1);
  if (planes.high)
    value |= (block[planes.lowBytes() + place * planes.high / 8] >> (place * planes.high % 8) &
              ((1 << planes.high) - 1))
             << planes.low;
  return value;
}

/// Elements of memory that `count` elements of `bits` bits fill, and their bytes.
template <class Count> INGOT_FACT Count filledPlaces(Count count, long long bits) {
  return hasPlanes(bits) ? (count + kPlanePlaces - 1) / kPlanePlaces * kPlanePlaces : count;
}
template <class Count> INGOT_FACT Count bytesOfPlaces(Count count, long long bits) {
  return (filledPlaces(count, bits) * bits + 7) / 8;
}

} // namespace ingot
