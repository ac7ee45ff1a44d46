// SPDX-License-Identifier: Apache-2.0
// Loops over values that are rounded to a grid. Compiled for one instruction set: pointers and
// numbers alone cross this header.
#pragma once

#include <cstdint>
#include <span>

namespace ingot::quantize {

bool allFinite(const float *values, int64_t count);

/// Widens [least, most] by `count` values, a multiple of 8.
void rangeOf(const float *values, int64_t count, float &least, float &most);

/// The sum of importance * |scale * q - value|^power, where q is the integer in [low, high] nearest
/// to value / scale; `count` is a multiple of 8. No importance: 1. low is at most 0, high at least.
double gridError(const float *values, const float *importance, int64_t count, float scale,
                 float low, float high, float power);

/// codes[i] = that integer, less `low`.
void roundToGrid(const float *values, int64_t count, float scale, float low, float high,
                 uint8_t *codes);
/// values[i] = scale * that integer; `rounded` may be `values`.
void roundThroughGrid(const float *values, int64_t count, float scale, float low, float high,
                      float *rounded);

/// The grids of `rows` rows in one column: a step of GPTQ reads them side by side.
struct RowGrids {
  const float *scale, *low, *high;
  std::span<const float> book = {}; ///< at most 256, rising: values in place of integers
};
/// A column of a block of rows: target[i] = original[i] + feedback[i] is rounded. Writes codes, the
/// targets and what the rounding leaves, left[i] = original[i] - rounded; adds weight * (target -
/// rounded)^2 - distance * left[i]^2 to errors[i].
struct ColumnStep {
  const float *original, *feedback;
  RowGrids grids;
  uint8_t *codes;
  float *left, *target;
  double *errors;
  double weight, distance;
};
void roundColumn(const ColumnStep &step, int64_t rows);

/// sums[i] += factor * values[i], fused.
void addScaled(float *sums, const float *values, float factor, int64_t count);

/// A column of coordinate descent: gradient[i] is half the derivative of the error with respect to
/// the value, `curvature` the second one's half. Moves codes[i] to the best ones; changes[i] is
/// how much the value grew. Whether any did.
bool descendColumn(const float *gradient, float curvature, RowGrids grids, uint8_t *codes,
                   float *changes, int64_t rows);

/// value^exponent of value >= 0, to about 2^-20: the same bytes with every C library.
float power(float value, float exponent);
/// sum of a[i] * b[i], in an order that depends on `count` alone.
double dotProduct(const float *a, const float *b, int64_t count);
/// magnitudes[i] = max(magnitudes[i], |values[i]|)
void widenMagnitudes(float *magnitudes, const float *values, int64_t count);

} // namespace ingot::quantize
