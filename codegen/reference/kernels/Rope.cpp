// SPDX-License-Identifier: Apache-2.0
// llm.rope: one row a tile. Buffers: input, positions, inv_freq, result.
#include "codegen/native/kernels/Elements.h"
#include "codegen/native/kernels/Mathematics.h"
#include "codegen/native/kernels/RotaryAxes.h"

INGOT_CONST(columns);
INGOT_CONST(head_dim);
INGOT_CONST(rotary_pairs);
INGOT_CONST(input_type);
INGOT_CONST(result_type);
INGOT_CONST_OR(interleaved, 0); ///< 1: columns of a pair stand side by side
INGOT_REAL(factor);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  const void *input = launch->buffers[0];
  void *result = launch->buffers[3];
  int64_t row = launch->tile[0];
  const int32_t *positions =
      static_cast<const int32_t *>(launch->buffers[1]) + row * ingot_const_axes;
  const int64_t pairs = ingot_const_rotary_pairs, apart = ingot_const_interleaved ? 1 : pairs;
  for (int64_t i = 0; i < pairs; ++i) {
    float position = float(positions[hasAxes() ? axisOf(i) : 0]);
    float angle = position * static_cast<const float *>(launch->buffers[2])[i];
    SineCosine exact = sineCosine(double(angle));
    float cosine = float(exact.cosine) * float(ingot_real_factor);
    float sine = float(exact.sine) * float(ingot_real_factor);
    for (int64_t head = 0; head < ingot_const_columns; head += ingot_const_head_dim) {
      int64_t first = row * ingot_const_columns + head + i * (ingot_const_interleaved ? 2 : 1);
      float a = loadElement(input, first, ingot_const_input_type);
      float b = loadElement(input, first + apart, ingot_const_input_type);
      storeElement(result, first, ingot_const_result_type, a * cosine - b * sine);
      storeElement(result, first + apart, ingot_const_result_type, b * cosine + a * sine);
    }
  }
  for (int64_t head = 0; head < ingot_const_columns; head += ingot_const_head_dim)
    for (int64_t i = 2 * pairs; i < ingot_const_head_dim; ++i) {
      int64_t at = row * ingot_const_columns + head + i;
      storeElement(result, at, ingot_const_result_type,
                   loadElement(input, at, ingot_const_input_type));
    }
}
