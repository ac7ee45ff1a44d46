// SPDX-License-Identifier: Apache-2.0
// AWQ (arXiv 2306.00978): columns that meet large inputs are scaled up before they are rounded, and
// their inputs down.
#pragma once

#include "compiler/quantize/methods/Grid.h"

namespace ingot::quantize {

/// A matrix [rows, columns].
struct AwqMatrix {
  const float *weight;
  int64_t rows;
};

struct AwqOptions {
  int32_t steps = 20;        ///< exponents tried: 0, 1 / steps, ... (steps - 1) / steps
  bool weightScales = false; ///< also meanAbs^a / weightMax^(1-a)
  unsigned threads = 1;
};

struct AwqScale {
  std::vector<float> scales; ///< [columns], > 0: of weights; inputs are divided by them
  double error = 0;          ///< the mean squared error of a row of outputs of all matrices
  double errorWithout = 0;   ///< the same where all scales are 1
  float exponent = 0;        ///< a
  bool usesWeights = false;  ///< the second form was best
};

/// The scale for matrices that read the same inputs: s = meanAbs^a, at least 1e-4, divided by
/// sqrt(max s * min s), for the a with the smallest || (Q(W s) / s - W) Xᵀ ||² over all matrices,
/// Q rounding to nearest. X is `inputs` [count, columns], sampled rows. s = 1 is a candidate. Of
/// equals the first is taken. Where there are 512 inputs or more, a quarter of them chooses the
/// seven candidates that are tried on all beside s = 1. Scratch: candidates * columns * 4 bytes,
/// and for each thread 64 rows of (columns + count) * 4. Refuses numbers that are not finite, and
/// magnitudes below 0.
Expected<AwqScale> searchScale(std::span<const AwqMatrix> matrices, int64_t columns,
                               const float *inputs, int64_t count,
                               std::span<const float> meanMagnitudes, const Grid &grid,
                               const AwqOptions &options);

struct AwqClipOptions {
  int32_t steps = 10;  ///< shares tried: 1, then equal steps
  float least = 0.55f; ///< the smallest share
  unsigned threads = 1;
};

/// AWQ's clipping: the weights of each group clamped to the share of their largest magnitude with
/// the smallest squared error of the group's part of the outputs for `inputs` [count, columns].
/// The result [rows, columns] is rounded to nearest afterwards. Scratch, for each thread: 64 rows
/// of 12 bytes a column of a group and 4 bytes an input. Refuses numbers that are not finite.
Expected<std::vector<float>> clipWeights(const float *weight, int64_t rows, int64_t columns,
                                         const float *inputs, int64_t count, const Grid &grid,
                                         const AwqClipOptions &options);

} // namespace ingot::quantize
