// SPDX-License-Identifier: Apache-2.0
// llm.norm without residual and quantization: one row, or one head of a row, a tile. Buffers:
// input, weight?, bias?, result.
#include "codegen/native/kernels/Elements.h"
#include "codegen/reference/kernels/SumUnits.h"

INGOT_CONST(columns); ///< that are normed together
INGOT_CONST(heads);   ///< runs of so many columns in a row
INGOT_CONST(input_type);
INGOT_CONST(centered); ///< 1: the mean is taken off first
INGOT_CONST(weighted); ///< 1: a weight buffer follows the input
INGOT_CONST(weight_type);
INGOT_CONST(biased); ///< 1: a bias buffer follows
INGOT_CONST(bias_type);
INGOT_CONST(heads_differ); ///< 1: each head has its own numbers in both
INGOT_CONST(result_type);
INGOT_REAL(eps);

/// The sum of left(i) * right(i) over the columns.
template <class Left, class Right> static float sumInOrder(Left left, Right right) {
  return sumOfSegments(ingot_const_columns,
                       [&](int64_t begin, int64_t end) { return sumOf(begin, end, left, right); });
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  void *const *next = launch->buffers;
  const void *input = *next++;
  const void *weight = ingot_const_weighted ? *next++ : nullptr;
  const void *bias = ingot_const_biased ? *next++ : nullptr;
  void *result = *next;
  int64_t head = ingot_const_heads > 1 ? launch->tile[1] : 0;
  int64_t first = (launch->tile[0] * ingot_const_heads + head) * ingot_const_columns;
  int64_t ofHead = ingot_const_heads_differ ? head * ingot_const_columns : 0;
  float mean = 0;
  auto number = [&](int64_t i) {
    return loadElement(input, first + i, ingot_const_input_type) - mean;
  };
  if (ingot_const_centered)
    mean = sumInOrder(number, [](int64_t) { return 1.0f; }) / float(ingot_const_columns);
  float squares = sumInOrder(number, number);
  float root = __builtin_sqrtf(squares / float(ingot_const_columns) + float(ingot_real_eps));
  for (int64_t i = 0; i < ingot_const_columns; ++i) {
    float value = number(i) / root;
    if (ingot_const_weighted)
      value *= loadElement(weight, ofHead + i, ingot_const_weight_type);
    if (ingot_const_biased)
      value += loadElement(bias, ofHead + i, ingot_const_bias_type);
    storeElement(result, first + i, ingot_const_result_type, value);
  }
}
