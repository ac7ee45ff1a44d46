// SPDX-License-Identifier: Apache-2.0
// llm.group_rows: one expert a tile. Buffers: experts, order, starts.
#include "codegen/native/kernels/Kernel.h"

INGOT_CONST(rows_dim);  ///< scalar that counts the rows,
INGOT_CONST(rows_each); ///< so many for each of it
INGOT_CONST(experts);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t rows = launch->scalars[ingot_const_rows_dim] * ingot_const_rows_each;
  const auto *experts = static_cast<const int32_t *>(launch->buffers[0]);
  auto *order = static_cast<int32_t *>(launch->buffers[1]);
  auto *starts = static_cast<int32_t *>(launch->buffers[2]);
  int32_t expert = int32_t(launch->tile[0]), place = 0;
  for (int64_t row = 0; row < rows; ++row)
    place += experts[row] < expert;
  starts[expert] = place;
  for (int64_t row = 0; row < rows; ++row)
    if (experts[row] == expert)
      order[place++] = int32_t(row);
  if (expert == ingot_const_experts - 1)
    starts[expert + 1] = place;
}
