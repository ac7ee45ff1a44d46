// SPDX-License-Identifier: Apache-2.0
// SmoothQuant (arXiv 2211.10438): part of what makes inputs hard to round moves into the weights.
#pragma once

#include "compiler/quantize/methods/Awq.h"

namespace ingot::quantize {

/// s = maxInput^strength / maxWeight^(1 - strength), > 0; inputs are divided by it, weights
/// multiplied. Maxima under 1e-5 count as that. Both spans are as long.
std::vector<float> smoothScale(std::span<const float> maxInput, std::span<const float> maxWeight,
                               float strength);

struct SmoothOptions {
  int32_t steps = 20; ///< strengths tried: 0, 1 / steps, ... 1; and no scale
  unsigned threads = 1;
};

struct SmoothScale {
  std::vector<float> scales; ///< [columns]
  double error = 0;          ///< the mean squared error of a row of outputs of all matrices
  double errorWithout = 0;   ///< the same where all scales are 1
  float strength = 0;
  bool isNone = false; ///< no strength was better than scales of 1
};

/// The strength with the smallest squared error of the outputs for `inputs` [count, columns], where
/// these are rounded to int8 by row (absmax / 127) and weights by row likewise. `maxInput` is that
/// of all inputs. Scratch: count * columns * 4 bytes, and for each thread 64 rows of (columns +
/// count) * 4. Refuses numbers that are not finite, and maxima below 0.
Expected<SmoothScale> searchStrength(std::span<const AwqMatrix> matrices, int64_t columns,
                                     const float *inputs, int64_t count,
                                     std::span<const float> maxInput, const SmoothOptions &options);

} // namespace ingot::quantize
