// SPDX-License-Identifier: Apache-2.0
// llm.rms_norm without residual and quantization: one row, or one head of a row, a tile. Buffers:
// input, weight?, result.
#include "codegen/native/kernels/Elements.h"

INGOT_CONST(columns); ///< that are normed together
INGOT_CONST(heads);   ///< runs of so many columns in a row
INGOT_CONST(input_type);
INGOT_CONST(weighted); ///< 1: a weight buffer follows the input
INGOT_CONST(weight_type);
INGOT_CONST(result_type);
INGOT_REAL(eps);

constexpr int64_t kSegment = 256;

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  const void *input = launch->buffers[0];
  const void *weight = launch->buffers[1];
  void *result = launch->buffers[ingot_const_weighted ? 2 : 1];
  int64_t head = ingot_const_heads > 1 ? launch->tile[1] : 0;
  int64_t first = (launch->tile[0] * ingot_const_heads + head) * ingot_const_columns;
  float sum = 0;
  for (int64_t begin = 0; begin < ingot_const_columns; begin += kSegment) {
    float segment = 0;
    for (int64_t i = begin; i < begin + kSegment && i < ingot_const_columns; ++i) {
      float value = loadElement(input, first + i, ingot_const_input_type);
      segment += value * value;
    }
    sum += segment;
  }
  float root = __builtin_sqrtf(sum / float(ingot_const_columns) + float(ingot_real_eps));
  for (int64_t i = 0; i < ingot_const_columns; ++i) {
    float value = loadElement(input, first + i, ingot_const_input_type) / root;
    if (ingot_const_weighted)
      value *= loadElement(weight, i, ingot_const_weight_type);
    storeElement(result, first + i, ingot_const_result_type, value);
  }
}
