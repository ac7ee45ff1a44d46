// SPDX-License-Identifier: Apache-2.0
// Elements of less than a byte in the panels of PanelLayout.h: values, and codes of scales.
#pragma once

#include "codegen/x86/kernels/MatmulConstants.h"
#include "codegen/x86/kernels/Vector.h"

namespace ingot::x86 {

/// 32, 16 or 8 bits for each lane, as `bits` says.
[[gnu::always_inline]] inline UInts loadLanes(const char *from, int64_t bits) {
  if (bits == 32)
    return loadVector<UInts>(from);
  return bits == 16 ? __builtin_convertvector(loadVector<Shorts>(from), UInts)
                    : __builtin_convertvector(loadVector<UBytes>(from), UInts);
}

/// Eight columns of the 16 rows of a panel of weights: 128 places, a block of planes
/// (kPlanePlaces). A lane holds its row's part of each plane, in which column j + 4h stands
/// at place 2j + h.
struct PanelFields {
  UInts low, high; ///< of the lowest four (or two) bits of an element, and of those above

  static int64_t bits() { return elementBits(ingot_const_weight_type); }
  static int64_t lowBits() { return planesOf(bits()).low; }
  static int64_t highBits() { return planesOf(bits()).high; }
  /// Of a panel with so many columns, which are whole eights.
  static int64_t bytes(int64_t columns) { return columns * 2 * bits(); }

  /// `column` is a multiple of 8.
  [[gnu::always_inline]] static PanelFields load(const char *panel, int64_t column) {
    const char *block = panel + bytes(column);
    PanelFields fields = {loadLanes(block, 8 * lowBits()), UInts{}};
    if (highBits())
      fields.high = loadLanes(block + 16 * lowBits(), 8 * highBits());
    return fields;
  }

  /// Elements of column `i` of the eight, in the lowest bits; bits above these are anything for
  /// elements of four bits, and zero for others.
  [[gnu::always_inline]] UInts column(int i) const {
    int place = (i & 3) * 2 + (i >> 2);
    UInts value = low >> uint32_t(place * lowBits());
    if (bits() == 4)
      return value;
    value &= (1u << lowBits()) - 1;
    if (highBits())
      value |= (high >> uint32_t(place * highBits()) & ((1u << highBits()) - 1))
               << uint32_t(lowBits());
    return value;
  }

  /// Four fields of `width` bits, side by side in the lowest bits of a lane, one in each byte.
  [[gnu::always_inline]] static UInts spread(UInts x, int width) {
    uint32_t each = (1u << width) - 1, pair = (1u << 2 * width) - 1;
    x = (x | x << (16 - 2 * width)) & (pair * 0x10001u);
    return (x | x << (8 - width)) & (each * 0x01010101u);
  }

  /// Columns 0 to 3 and 4 to 7 as the bytes of each lane.
  [[gnu::always_inline]] void toBytes(Ints &first, Ints &second) const {
    UInts pairs = lowBits() == 4 ? low : spread(low, 4);
    uint32_t mask = ((1u << lowBits()) - 1) * 0x01010101u;
    UInts a = pairs & mask, b = pairs >> uint32_t(lowBits()) & mask;
    if (highBits()) {
      UInts above = spread(high, int(2 * highBits()));
      uint32_t highMask = ((1u << highBits()) - 1) * 0x01010101u;
      a |= (above & highMask) << uint32_t(lowBits());
      b |= (above >> uint32_t(highBits()) & highMask) << uint32_t(lowBits());
    }
    first = (Ints)a;
    second = (Ints)b;
  }
};

/// Codes of a group of 16 rows, sixteen of type `type` from place `place` (a multiple of 16) on, as
/// they are stored: i8 with its sign, others without.
[[gnu::always_inline]] inline Ints loadCodes(int64_t type, const char *base, int64_t place) {
  if (type == kI8)
    return __builtin_convertvector(loadVector<Bytes>(base + place), Ints);
  Ints lane = laneIndex();
  auto field = [&](const char *from, int64_t width) __attribute__((always_inline)) {
    uint32_t words[2] = {};
    __builtin_memcpy(words, from, 2 * width);
    UInts of = UInts{} + words[0];
    if (width == 4)
      of = (UInts)(lane < 8 ? (Ints)of : Ints{} + int32_t(words[1]));
    UInts shift = (UInts)(lane * int32_t(width)) & 31u;
    return (Ints)(of >> shift & ((1u << width) - 1));
  };
  if (type == kI4)
    return field(base + place / 2, 4);
  constexpr Planes planes = planesOf(6);
  const char *block = base + place / kPlanePlaces * planes.blockBytes();
  int64_t in = place % kPlanePlaces;
  return field(block + in * planes.low / 8, planes.low) |
         field(block + planes.lowBytes() + in * planes.high / 8, planes.high) << planes.low;
}

} // namespace ingot::x86
