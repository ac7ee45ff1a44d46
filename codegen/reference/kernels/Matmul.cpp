// SPDX-License-Identifier: Apache-2.0
// llm.matmul without an epilogue: a tile is one row and `tile_columns` columns of the result.
// Buffers: input, weight, input_scales?, what is beside the weight, order?, starts?, result.
#include "codegen/native/kernels/Groups.h"
#include "codegen/native/kernels/Mathematics.h"
#include "codegen/reference/kernels/RowMajorWeight.h"

INGOT_CONST(input_type);
INGOT_CONST(result_type);
INGOT_CONST(result_columns);
INGOT_CONST(tile_columns);
INGOT_CONST(experts);      ///< with groups; 0: without
INGOT_CONST(input_share);  ///< rows of the result that read one row of the input
INGOT_CONST(input_scales); ///< of a row of the input

constexpr int64_t kSegment = 512;

/// The products in f32, in segments of 512 columns.
static float floatSum(const void *input, int64_t row, const RowMajorWeight &weight,
                      int64_t column) {
  int64_t size = ingot_const_weight_columns;
  float sum = 0;
  for (int64_t begin = 0; begin < size; begin += kSegment) {
    float segment = 0;
    for (int64_t k = begin; k < begin + kSegment && k < size; ++k)
      segment +=
          loadElement(input, row * size + k, ingot_const_input_type) * weight.value(column, k);
    sum += segment;
  }
  return sum;
}

/// Exact integer sums per group, each times its scale, fused; sums of the input times the offsets.
/// `scales`: of groups of the input, of which the sum of a group is multiplied by its own.
static float integerSum(const void *input, const float *scales, int64_t row,
                        const RowMajorWeight &weight, int64_t column) {
  int64_t size = ingot_const_weight_columns, inputGroup = size / ingot_const_input_scales;
  int64_t group =
      ingot_const_group > 0 && ingot_const_group < inputGroup ? ingot_const_group : inputGroup;
  bool hasGroups = ingot_const_input_scales > 1;
  const int8_t *values = static_cast<const int8_t *>(input) + row * size;
  float sum = 0;
  for (int64_t begin = 0; begin < size; begin += group) {
    int64_t exact = 0, inputs = 0;
    for (int64_t k = begin; k < begin + group && k < size; ++k) {
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
  int64_t inputRow = row / ingot_const_input_share;
  const auto *scales = static_cast<const float *>(quantized ? launch->buffers[2] : nullptr);
  void *result = *next;
  int64_t begin = launch->tile[1] * ingot_const_tile_columns;
  int64_t end = begin + ingot_const_tile_columns;
  for (int64_t column = begin; column < end && column < ingot_const_result_columns; ++column) {
    float sum = ingot_const_input_type == kI8
                    ? integerSum(input, scales, inputRow, weight, firstWeight + column)
                    : floatSum(input, inputRow, weight, firstWeight + column);
    if (ingot_const_input_scales == 1)
      sum *= scales[inputRow];
    storeElement(result, row * ingot_const_result_columns + column, ingot_const_result_type, sum);
  }
}
