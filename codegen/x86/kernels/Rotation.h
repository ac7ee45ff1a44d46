// SPDX-License-Identifier: Apache-2.0
// Rotary embedding of the heads of one token.
#pragma once

#include "codegen/native/kernels/Mathematics.h"
#include "codegen/native/kernels/RotaryAxes.h"
#include "codegen/x86/kernels/Vector.h"

INGOT_CONST(head_dim);
INGOT_CONST(rotary_pairs);
INGOT_CONST_OR(interleaved, 0); ///< 1: columns of a pair stand side by side
INGOT_REAL(factor);

namespace ingot::x86 {

/// Floats that the factors of a head take: cosines, then sines, each a multiple of 16.
constexpr int64_t rotationStride(int64_t headDim) { return (headDim / 2 + 15) / 16 * 16; }

/// The factors of all pairs of row `row`. `factors`: [2][rotationStride].
inline void rotationFactors(const void *positions, int64_t row, const float *inverseFrequencies,
                            float *factors) {
  const int32_t *own = static_cast<const int32_t *>(positions) + row * ingot_const_axes;
  int32_t position = own[0];
  int64_t stride = rotationStride(ingot_const_head_dim);
  for (int64_t i = 0; i < ingot_const_rotary_pairs; ++i) {
    float angle = float(hasAxes() ? own[axisOf(i)] : position) * inverseFrequencies[i];
    SineCosine exact = sineCosine(double(angle));
    factors[i] = float(exact.cosine) * float(ingot_real_factor);
    factors[stride + i] = float(exact.sine) * float(ingot_real_factor);
  }
}

/// Columns of pairs that stand side by side, of `count` columns at `first`, sixteen pairs at most.
struct AdjacentPairs {
  Floats a, b;

  static AdjacentPairs load(int64_t type, const void *input, int64_t first, int64_t count) {
    Floats low = x86::load(type, input, first),
           high = count > lanes ? x86::load(type, input, first + lanes) : Floats{};
    return {__builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26,
                                    28, 30),
            __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
                                    29, 31)};
  }
  void store(int64_t type, void *result, int64_t first, int64_t count) const {
    x86::store(
        type, result, first,
        __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        count);
    if (count > lanes)
      x86::store(type, result, first + lanes,
                 __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                                         15, 31),
                 count - lanes);
  }
};

/// Rotates the head at element `first` of `input` into element `resultFirst` of `result`; columns
/// behind the pairs are only rounded.
inline void rotateHead(int64_t inputType, const void *input, int64_t first, const float *factors,
                       int64_t resultType, void *result, int64_t resultFirst) {
  int64_t pairs = ingot_const_rotary_pairs, stride = rotationStride(ingot_const_head_dim);
  for (int64_t i = 0; i < pairs; i += lanes) {
    Floats cosine = loadVector<Floats>(factors + i),
           sine = loadVector<Floats>(factors + stride + i);
    if (ingot_const_interleaved) {
      const int64_t count = 2 * (pairs - i);
      auto [a, b] = AdjacentPairs::load(inputType, input, first + 2 * i, count);
      AdjacentPairs{a * cosine - b * sine, b * cosine + a * sine}.store(resultType, result,
                                                                        resultFirst + 2 * i, count);
      continue;
    }
    Floats a = load(inputType, input, first + i), b = load(inputType, input, first + pairs + i);
    store(resultType, result, resultFirst + i, a * cosine - b * sine, pairs - i);
    store(resultType, result, resultFirst + pairs + i, b * cosine + a * sine, pairs - i);
  }
  for (int64_t i = 2 * pairs; i < ingot_const_head_dim; i += lanes)
    store(resultType, result, resultFirst + i, load(inputType, input, first + i),
          ingot_const_head_dim - i);
}

} // namespace ingot::x86
