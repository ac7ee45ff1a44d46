// SPDX-License-Identifier: Apache-2.0
// Sums in the order that an operation prescribes (#engine.sums).
#pragma once

#include "codegen/native/kernels/Mathematics.h"

INGOT_CONST(sum_unit);    ///< SumUnit
INGOT_CONST(sum_width);   ///< columns of a unit
INGOT_CONST(sum_segment); ///< columns whose sum is formed alone; 0: all
INGOT_CONST(sum_fields);  ///< 1: eight columns change places

// As engine::SumUnit.
enum SumUnit : int64_t {
  kProducts,
  kColumns,
  kPairs,
  kHalves,
  kTensor,
  kIntegers,
  kLanes,
  kWarpGroup,
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// `sum` and the products of a unit's columns [begin, end): left(k) * right(k).
template <class Left, class Right>
static float addUnit(float sum, int64_t begin, int64_t end, Left left, Right right) {
  auto plus = [&](float sum, int64_t k) {
    constexpr int64_t places[] = {0, 2, 1, 3, 4, 6, 5, 7};
    if (ingot_const_sum_fields)
      k += places[k % 8] - k % 8;
    return multiplyAdd(left(k), right(k), sum);
  };
  if (ingot_const_sum_unit == kProducts)
    return sum + left(begin) * right(begin);
  if (ingot_const_sum_unit == kColumns)
    return plus(sum, begin);
  if (ingot_const_sum_unit == kPairs)
    return plus(begin + 1 < end ? plus(sum, begin + 1) : sum, begin);
  if (ingot_const_sum_unit == kHalves) {
    float halves[2] = {0, 0};
    for (int64_t k = begin; k < end; ++k)
      halves[(k - begin) % 2] = plus(halves[(k - begin) % 2], k);
    return sum + (halves[0] + halves[1]);
  }
  // A tensor core keeps what bits it has; the reference nearly all.
  double all = sum;
  for (int64_t k = begin; k < end; ++k)
    all += double(left(k)) * double(right(k));
  return float(all);
}

/// The sum of columns [begin, end) as a warp's lanes form it.
template <class Left, class Right>
static float sumOfLanes(int64_t begin, int64_t end, Left left, Right right) {
  constexpr int64_t kLaneCount = 32;
  float lanes[kLaneCount] = {};
  for (int64_t k = begin; k < end; ++k) {
    float &lane = lanes[(k - begin) / ingot_const_sum_width % kLaneCount];
    lane += left(k) * right(k);
  }
  for (int64_t distance = kLaneCount / 2; distance > 0; distance /= 2)
    for (int64_t lane = 0; lane < distance; ++lane)
      lanes[lane] += lanes[lane + distance];
  return lanes[0];
}

/// The sum of columns [begin, end) in units.
template <class Left, class Right>
static float sumOf(int64_t begin, int64_t end, Left left, Right right) {
  if (ingot_const_sum_unit == kLanes)
    return sumOfLanes(begin, end, left, right);
  float sum = 0;
  for (int64_t k = begin; k < end; k += ingot_const_sum_width)
    sum = addUnit(sum, k, least(k + ingot_const_sum_width, end), left, right);
  return sum;
}

/// Of columns [0, size): ofSegment(begin, end) for each segment, added in order.
template <class Sum> static float sumOfSegments(int64_t size, Sum ofSegment) {
  int64_t segment = ingot_const_sum_segment ? ingot_const_sum_segment : size;
  float sum = 0;
  for (int64_t begin = 0; begin < size; begin += segment)
    sum += ofSegment(begin, least(begin + segment, size));
  return sum;
}
