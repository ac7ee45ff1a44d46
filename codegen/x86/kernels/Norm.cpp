// SPDX-License-Identifier: Apache-2.0
// llm.norm, with residual, sum and quantized result where the operation has them: one row, or one
// head of a row, a tile. Buffers: input, residual?, weight?, bias?, static_scale?, result, scales?,
// sum?.
#include "codegen/x86/kernels/NormBlocks.h"
#include "codegen/x86/kernels/QuantizedRow.h"

INGOT_CONST(columns); // that are normed together
INGOT_CONST(heads);   // runs of so many columns in a row
INGOT_CONST(input_type);
INGOT_CONST(residual); // 1: a residual buffer follows the input
INGOT_CONST(residual_type);
INGOT_CONST(centered); // 1: the mean is taken off first
INGOT_CONST(weighted); // 1: a weight buffer follows
INGOT_CONST(weight_type);
INGOT_CONST(biased); // 1: a bias buffer follows
INGOT_CONST(bias_type);
INGOT_CONST(heads_differ); // 1: each head has its own numbers in both
INGOT_CONST(static_scale); // 1: a buffer of it follows
INGOT_CONST(result_type);  // kI8 or kE4m3: quantized, with scales
INGOT_CONST(scales);       // of a quantized row: one for each of so many groups
INGOT_CONST(store_type);   // what quantized results are rounded to before
INGOT_CONST(sum);          // 1: the sum is stored
INGOT_CONST(sum_type);     // what the sum is rounded to
INGOT_REAL(eps);

namespace ingot::x86 {
namespace {

using Four = float __attribute__((vector_size(16)));
constexpr int64_t fours = normSegments / 4, fourColumns = 4 * normSegmentColumns;
/// Columns that sums read: of the last block those of fours that are not empty.
constexpr int64_t readColumns(int64_t columns) {
  return (columns + fourColumns - 1) / fourColumns * fourColumns;
}

/// sum[s] += the numbers of segment `s` of four, columns [i, i + 4), one after the other.
[[gnu::always_inline]] inline Four addColumns(Four sum, const float *numbers, int64_t i) {
  Four of[4];
#pragma clang loop unroll(full)
  for (int64_t s = 0; s < 4; ++s)
    of[s] = loadVector<Four>(numbers + s * normSegmentColumns + i);
  Four low = __builtin_shufflevector(of[0], of[1], 0, 4, 1, 5),
       lowBehind = __builtin_shufflevector(of[2], of[3], 0, 4, 1, 5),
       high = __builtin_shufflevector(of[0], of[1], 2, 6, 3, 7),
       highBehind = __builtin_shufflevector(of[2], of[3], 2, 6, 3, 7);
  sum += __builtin_shufflevector(low, lowBehind, 0, 1, 4, 5);
  sum += __builtin_shufflevector(low, lowBehind, 2, 3, 6, 7);
  sum += __builtin_shufflevector(high, highBehind, 0, 1, 4, 5);
  return sum + __builtin_shufflevector(high, highBehind, 2, 3, 6, 7);
}

/// Sum of [columns] numbers that are followed by zeros up to readColumns(columns).
float sumInOrder(const float *numbers) {
  float total = 0;
  for (int64_t first = 0; first < ingot_const_columns; first += normBlock) {
    // One chain of additions per segment, a lane each, and as many as hide their latency.
    Four part[fours] = {};
    for (int64_t i = 0; i < normSegmentColumns && i < ingot_const_columns; i += 4)
#pragma clang loop unroll(full)
      for (int64_t four = 0; four < fours; ++four)
        if (first + four * fourColumns < ingot_const_columns)
          part[four] = addColumns(part[four], numbers + first + four * fourColumns, i);
    for (int64_t s = 0; s < normSegments; ++s)
      total += part[s / 4][s % 4];
  }
  return total;
}

void normRow(const IngotLaunch *launch) {
  void *const *next = launch->buffers;
  const void *input = *next++;
  const void *residual = ingot_const_residual ? *next++ : nullptr;
  const void *weight = ingot_const_weighted ? *next++ : nullptr;
  const void *bias = ingot_const_biased ? *next++ : nullptr;
  const void *fixed = ingot_const_static_scale ? *next++ : nullptr;
  void *result = *next++;
  bool quantized = sizeOf(ingot_const_result_type) == 1;
  float *scales = static_cast<float *>(quantized ? *next++ : nullptr);
  void *sum = ingot_const_sum ? *next++ : nullptr;

  int64_t head = ingot_const_heads > 1 ? launch->tile[1] : 0;
  int64_t row = launch->tile[0] * ingot_const_heads + head, first = row * ingot_const_columns;
  float *values = static_cast<float *>(launch->scratch);
  int64_t ofHead = ingot_const_heads_differ ? head * ingot_const_columns : 0;
  float *summed = values + roundUpToBlock(ingot_const_columns);
  for (int64_t i = ingot_const_columns / lanes * lanes; i < readColumns(ingot_const_columns);
       i += lanes)
    storeVector(summed + i, Floats{});
  for (int64_t i = 0; i < ingot_const_columns; i += lanes) {
    int64_t left = ingot_const_columns - i;
    Floats x = load(ingot_const_input_type, input, first + i);
    if (ingot_const_residual)
      x = roundTo(ingot_const_sum_type, x + load(ingot_const_residual_type, residual, first + i));
    if (ingot_const_sum)
      store(ingot_const_sum_type, sum, first + i, x, left);
    storeVector(values + i, x);
    storeVector(summed + i,
                laneIndex() < int32_t(left) ? (ingot_const_centered ? x : x * x) : Floats{});
  }
  if (ingot_const_centered) {
    Floats mean = splat(sumInOrder(summed) / float(ingot_const_columns));
    for (int64_t i = 0; i < ingot_const_columns; i += lanes) {
      Floats x = loadVector<Floats>(values + i) - mean;
      storeVector(values + i, x);
      storeVector(summed + i, laneIndex() < int32_t(ingot_const_columns - i) ? x * x : Floats{});
    }
  }
  float mean = sumInOrder(summed) / float(ingot_const_columns);
  Divisor root(__builtin_sqrtf(mean + float(ingot_real_eps)));
  for (int64_t i = 0; i < ingot_const_columns; i += lanes) {
    Floats y = root.divide(loadVector<Floats>(values + i));
    if (ingot_const_weighted)
      y *= load(ingot_const_weight_type, weight, ofHead + i);
    if (ingot_const_biased)
      y += load(ingot_const_bias_type, bias, ofHead + i);
    if (quantized)
      storeVector(values + i, roundTo(ingot_const_store_type, y));
    else
      store(ingot_const_result_type, result, first + i, y, ingot_const_columns - i);
  }
  if (quantized)
    quantizeGroups(row, ingot_const_scales, ingot_const_columns / ingot_const_scales,
                   ingot_const_result_type, result, scales, static_cast<const float *>(fixed),
                   [&](int64_t i)
                       __attribute__((always_inline)) { return loadVector<Floats>(values + i); });
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) { ingot::x86::normRow(launch); }
