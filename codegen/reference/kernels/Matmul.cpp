// SPDX-License-Identifier: Apache-2.0
// llm.matmul without an epilogue: a tile is one row and `tile_columns` columns of the result.
// Buffers: input, weight, input_scales?, what is beside the weight, order?, starts?, result.
#include "codegen/native/kernels/Groups.h"
#include "codegen/native/kernels/Mathematics.h"
#include "codegen/reference/kernels/RowMajorWeight.h"
#include "codegen/reference/kernels/SumUnits.h"

INGOT_CONST(input_type);
INGOT_CONST(result_type);
INGOT_CONST(result_columns);
INGOT_CONST(tile_columns);
INGOT_CONST(experts);     ///< with groups; 0: without
INGOT_CONST_OR(heads, 0); ///< whose rows take turns, with weights of `head_rows` each; 0: without
INGOT_CONST_OR(head_rows, 0);
INGOT_CONST(input_share);  ///< rows of the result that read one row of the input
INGOT_CONST(input_scales); ///< of a row of the input

INGOT_CONST(sum_group); ///< columns whose sum is scaled; 0: weights are

/// One row of the input by one row of the weight.
struct Product {
  const void *input;
  int64_t row;
  const RowMajorWeight &weight;
  int64_t column; ///< of the result

  float left(int64_t k) const {
    return loadElement(input, row * ingot_const_weight_columns + k, ingot_const_input_type);
  }
  float right(int64_t k) const {
    return ingot_const_sum_group ? weight.stored(column, k) : weight.value(column, k);
  }
  /// The sum of columns [begin, end) in units.
  float sumOf(int64_t begin, int64_t end) const {
    return ::sumOf(
        begin, end, [&](int64_t k) { return left(k); }, [&](int64_t k) { return right(k); });
  }

  /// Likewise, group by group.
  float scaledSumOf(int64_t begin, int64_t end) const {
    float sum = 0;
    for (int64_t k = begin; k < end; k += ingot_const_sum_group) {
      int64_t groupEnd = least(k + ingot_const_sum_group, end);
      sum = multiplyAdd(sumOf(k, groupEnd),
                        ingot_const_scale_extent ? weight.scale(column, k) : 1.0f, sum);
      if (ingot_const_zeros == kOffsets) {
        float inputs = 0;
        for (int64_t i = k; i < groupEnd; ++i)
          inputs += left(i);
        sum = multiplyAdd(inputs, weight.offset(column, k), sum);
      }
    }
    return sum;
  }

  /// The segments' sums, in order.
  float sum() const {
    return sumOfSegments(ingot_const_weight_columns, [&](int64_t begin, int64_t end) {
      return ingot_const_sum_group ? scaledSumOf(begin, end) : sumOf(begin, end);
    });
  }

  /// Exact integer sums per group, each times its scale, fused; sums of the input times the
  /// offsets. `scales`: of groups of the input, of which the sum of a group is multiplied by its
  /// own.
  float integerSum(const float *scales) const;

  /// Of blocks of scale codes: what the super-block scales multiply is exact.
  float blockSum() const;
};

float Product::integerSum(const float *scales) const {
  int64_t size = ingot_const_weight_columns, inputGroup = size / ingot_const_input_scales;
  bool hasGroups = ingot_const_input_scales > 1;
  const int8_t *values = static_cast<const int8_t *>(input) + row * size;
  float sum = 0;
  for (int64_t begin = 0; begin < size; begin += ingot_const_sum_group) {
    int64_t exact = 0, inputs = 0;
    for (int64_t k = begin; k < begin + ingot_const_sum_group && k < size; ++k) {
      exact += int64_t(values[k]) * int64_t(weight.stored(column, k));
      inputs += values[k];
    }
    float part = multiplyAdd(float(exact), weight.scale(column, begin), hasGroups ? 0.0f : sum);
    if (ingot_const_zeros == kOffsets)
      part = multiplyAdd(float(inputs), weight.offset(column, begin), part);
    sum = hasGroups
              ? multiplyAdd(part, scales[row * ingot_const_input_scales + begin / inputGroup], sum)
              : part;
  }
  return sum;
}

float Product::blockSum() const {
  int64_t size = ingot_const_weight_columns;
  const int8_t *values = static_cast<const int8_t *>(input) + row * size;
  float sum = 0;
  for (int64_t begin = 0; begin < size; begin += kSuperColumns) {
    int64_t exact = 0, offsets = 0;
    for (int64_t k = begin; k < begin + kSuperColumns; ++k) {
      exact += int64_t(values[k]) * int64_t(weight.stored(column, k)) *
               int64_t(weight.scaleCode(column, k));
      if (ingot_const_zeros == kOffsets)
        offsets += int64_t(values[k]) * int64_t(weight.offsetCode(column, k));
    }
    sum = multiplyAdd(float(exact), weight.super(column, begin, 0), sum);
    if (ingot_const_zeros == kOffsets)
      sum = multiplyAdd(float(offsets), weight.super(column, begin, 1), sum);
  }
  return sum;
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  bool quantized = ingot_const_input_type == kI8 || ingot_const_input_type == kE4m3;
  const void *input = launch->buffers[0];
  void *const *next = launch->buffers + (quantized ? 3 : 2);
  RowMajorWeight weight = {WeightBuffers::take(launch->buffers[1], next)};
  int64_t row = launch->tile[0], firstWeight = 0;
  if (ingot_const_experts) {
    const auto *order = static_cast<const int32_t *>(*next++);
    const auto *starts = static_cast<const int32_t *>(*next++);
    GroupTile tile = groupTile(starts, ingot_const_experts, 1, row);
    row = order[tile.first];
    firstWeight = tile.expert * ingot_const_result_columns;
  }
  if (ingot_const_heads)
    firstWeight = row % ingot_const_heads * ingot_const_head_rows;
  int64_t inputRow = row / ingot_const_input_share;
  const auto *scales = static_cast<const float *>(quantized ? launch->buffers[2] : nullptr);
  void *result = *next;
  int64_t begin = launch->tile[1] * ingot_const_tile_columns;
  int64_t end = begin + ingot_const_tile_columns;
  for (int64_t column = begin; column < end && column < ingot_const_result_columns; ++column) {
    Product product = {input, inputRow, weight, firstWeight + column};
    bool isBlocks =
        ingot_const_scale_form == kBlockScales && ingot_const_sum_group == kSuperColumns;
    float sum = ingot_const_input_type != kI8 ? product.sum()
                : isBlocks                    ? product.blockSum()
                                              : product.integerSum(scales);
    if (ingot_const_input_scales == 1)
      sum *= scales[inputRow];
    storeElement(result, row * ingot_const_result_columns + column, ingot_const_result_type, sum);
  }
}
