// SPDX-License-Identifier: Apache-2.0
// Softmax over segments of positions, and the values that it weighs, in the order that an operation
// prescribes.
#pragma once

#include "codegen/native/kernels/Mathematics.h"
#include "codegen/reference/kernels/SumUnits.h"

INGOT_CONST(value_dim);

/// What attention over some positions has come to: values are not yet divided by the sum.
struct Partial {
  float maximum, sum;
  float *values; ///< value_dim

  explicit Partial(float *values) : values(values) { clear(); }

  /// To no position.
  void clear() {
    maximum = -kInfinity;
    sum = 0;
    for (int64_t i = 0; i < ingot_const_value_dim; ++i)
      values[i] = 0;
  }
};

static float exponentialOf(float x) { return float(exponential(double(x))); }

/// The weights of positions [begin, end), of which score(position) is known, in `weights`; begins
/// `partial` with their maximum and their sum.
template <class Score>
static void weigh(int64_t begin, int64_t end, float *weights, Partial &partial, Score score) {
  partial.clear();
  for (int64_t position = begin; position < end; ++position) {
    float value = score(position);
    weights[position - begin] = value;
    partial.maximum = value > partial.maximum ? value : partial.maximum;
  }
  for (int64_t position = begin; position < end; ++position) {
    float &weight = weights[position - begin];
    weight = exponentialOf(weight - partial.maximum);
    partial.sum += weight;
  }
}

/// Positions of a unit.
static int64_t unitPositions() {
  return ingot_const_sum_unit == kLanes ? 1 : ingot_const_sum_width;
}

/// values += the weighted ones of a unit of `count` positions; value(k, i) is column i of its k-th.
template <class Value>
static void addUnitOfValues(int64_t count, const float *weights, float *values, Value value) {
  for (int64_t i = 0; i < ingot_const_value_dim; ++i) {
    auto weight = [&](int64_t k) { return weights[k]; };
    auto column = [&](int64_t k) { return value(k, i); };
    values[i] = ingot_const_sum_unit == kLanes ? multiplyAdd(weight(0), column(0), values[i])
                                               : addUnit(values[i], 0, count, weight, column);
  }
}

/// Takes the next segment into the total.
static void merge(Partial &total, const Partial &segment) {
  float maximum = segment.maximum > total.maximum ? segment.maximum : total.maximum;
  float before = exponentialOf(total.maximum - maximum);
  float now = exponentialOf(segment.maximum - maximum);
  total.sum = total.sum * before + segment.sum * now;
  for (int64_t i = 0; i < ingot_const_value_dim; ++i)
    total.values[i] = total.values[i] * before + segment.values[i] * now;
  total.maximum = maximum;
}
