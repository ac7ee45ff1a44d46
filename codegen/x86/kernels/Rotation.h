// SPDX-License-Identifier: Apache-2.0
// Rotary embedding of the heads of one token.
#pragma once

#include "codegen/native/kernels/Mathematics.h"
#include "codegen/x86/kernels/Vector.h"

INGOT_CONST(head_dim);
INGOT_REAL(factor);

namespace ingot::x86 {

/// Floats that the factors of a head take: cosines, then sines, each a multiple of 16.
constexpr int64_t rotationStride(int64_t headDim) { return (headDim / 2 + 15) / 16 * 16; }

/// The factors of all pairs at `position`. `factors`: [2][rotationStride].
inline void rotationFactors(int32_t position, const float *inverseFrequencies, float *factors) {
  int64_t stride = rotationStride(ingot_const_head_dim);
  for (int64_t i = 0; i < ingot_const_head_dim / 2; ++i) {
    float angle = float(position) * inverseFrequencies[i];
    SineCosine exact = sineCosine(double(angle));
    factors[i] = float(exact.cosine) * float(ingot_real_factor);
    factors[stride + i] = float(exact.sine) * float(ingot_real_factor);
  }
}

/// Rotates the head at element `first` of `input` into element `resultFirst` of `result`.
inline void rotateHead(int64_t inputType, const void *input, int64_t first, const float *factors,
                       int64_t resultType, void *result, int64_t resultFirst) {
  int64_t half = ingot_const_head_dim / 2, stride = rotationStride(ingot_const_head_dim);
  for (int64_t i = 0; i < half; i += lanes) {
    Floats a = load(inputType, input, first + i), b = load(inputType, input, first + half + i);
    Floats cosine = loadVector<Floats>(factors + i),
           sine = loadVector<Floats>(factors + stride + i);
    store(resultType, result, resultFirst + i, a * cosine - b * sine, half - i);
    store(resultType, result, resultFirst + half + i, b * cosine + a * sine, half - i);
  }
}

} // namespace ingot::x86
