// SPDX-License-Identifier: Apache-2.0
// llm.rope: one row a tile. Buffers: input, positions, inv_freq, result.
#include "codegen/x86/kernels/Rotation.h"

INGOT_CONST(columns);
INGOT_CONST(input_type);
INGOT_CONST(result_type);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  int64_t row = launch->tile[0];
  float *factors = static_cast<float *>(launch->scratch);
  rotationFactors(launch->buffers[1], row, static_cast<const float *>(launch->buffers[2]), factors);
  for (int64_t head = 0; head < ingot_const_columns; head += ingot_const_head_dim) {
    int64_t first = row * ingot_const_columns + head;
    rotateHead(ingot_const_input_type, launch->buffers[0], first, factors, ingot_const_result_type,
               launch->buffers[3], first);
  }
}
