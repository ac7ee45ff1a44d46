// SPDX-License-Identifier: Apache-2.0
// llm.gather_columns: one row a tile. Buffers: input, columns, result.
#include "codegen/native/kernels/Kernel.h"

INGOT_CONST(input_columns);
INGOT_CONST(columns); ///< of the result
INGOT_CONST(element_bytes);

template <class Element> static void gather(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  const auto *from =
      static_cast<const Element *>(launch->buffers[0]) + row * ingot_const_input_columns;
  const auto *columns = static_cast<const int32_t *>(launch->buffers[1]);
  auto *to = static_cast<Element *>(launch->buffers[2]) + row * ingot_const_columns;
  for (int64_t k = 0; k < ingot_const_columns; ++k)
    to[k] = from[columns[k]];
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  if (ingot_const_element_bytes == 4)
    gather<uint32_t>(launch);
  else
    gather<uint16_t>(launch);
}
