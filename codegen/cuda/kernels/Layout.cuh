// SPDX-License-Identifier: Apache-2.0
// Element places of weights in any #engine.layout. A provider gives the digits, outermost first, as
// constants <name>_axis_<i>, <name>_stride_<i>, <name>_radix_<i>.
#pragma once

#include "Kernel.cuh"

/// One digit of a layout.
struct LayoutDigit {
  i64 axis, stride, radix;
};
constexpr int kMostDigits = 12;

/// The digits called `name` as an array; unused ones have radix 1.
#define INGOT_LAYOUT(name)                                                                         \
  {                                                                                                \
    {constants::name##_axis_0, constants::name##_stride_0, constants::name##_radix_0},             \
        {constants::name##_axis_1, constants::name##_stride_1, constants::name##_radix_1},         \
        {constants::name##_axis_2, constants::name##_stride_2, constants::name##_radix_2},         \
        {constants::name##_axis_3, constants::name##_stride_3, constants::name##_radix_3},         \
        {constants::name##_axis_4, constants::name##_stride_4, constants::name##_radix_4},         \
        {constants::name##_axis_5, constants::name##_stride_5, constants::name##_radix_5},         \
        {constants::name##_axis_6, constants::name##_stride_6, constants::name##_radix_6},         \
        {constants::name##_axis_7, constants::name##_stride_7, constants::name##_radix_7},         \
        {constants::name##_axis_8, constants::name##_stride_8, constants::name##_radix_8},         \
        {constants::name##_axis_9, constants::name##_stride_9, constants::name##_radix_9},         \
        {constants::name##_axis_10, constants::name##_stride_10, constants::name##_radix_10}, {    \
      constants::name##_axis_11, constants::name##_stride_11, constants::name##_radix_11           \
    }                                                                                              \
  }

/// Defines the type `Type`, whose digits are those called `name`.
#define INGOT_LAYOUT_TYPE(Type, name)                                                              \
  struct Type {                                                                                    \
    static __device__ constexpr LayoutDigit digit(int index) {                                     \
      constexpr LayoutDigit digits[kMostDigits] = INGOT_LAYOUT(name);                              \
      return digits[index];                                                                        \
    }                                                                                              \
  }

/// The element's place in memory. `Layout::digit(i)` gives the digits.
template <class Layout, int Index = 0>
INGOT_DEVICE i64 placeOf(u32 row, u32 column, i64 place = 0) {
  if constexpr (Index == kMostDigits) {
    return place;
  } else {
    constexpr LayoutDigit digit = Layout::digit(Index);
    if constexpr (digit.radix > 1)
      place = place * digit.radix +
              (digit.axis == 0 ? row : column) / u32(digit.stride) % u32(digit.radix);
    return placeOf<Layout, Index + 1>(row, column, place);
  }
}
