// SPDX-License-Identifier: Apache-2.0
// llm.pointwise and llm.round: a tile is `tile_columns` columns of one row. Buffers: the operands,
// result.
#include "codegen/x86/kernels/Epilogue.h"

INGOT_CONST(columns);
INGOT_CONST(result_type);
INGOT_CONST(tile_columns);
INGOT_CONST(operands); // with their Address and ElementType
INGOT_CONST(address_0);
INGOT_CONST(address_1);
INGOT_CONST(address_2);
INGOT_CONST(address_3);
INGOT_CONST(address_4);
INGOT_CONST(address_5);
INGOT_CONST(type_0);
INGOT_CONST(type_1);
INGOT_CONST(type_2);
INGOT_CONST(type_3);
INGOT_CONST(type_4);
INGOT_CONST(type_5);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const int64_t address[regionOperands] = {ingot_const_address_0, ingot_const_address_1,
                                           ingot_const_address_2, ingot_const_address_3,
                                           ingot_const_address_4, ingot_const_address_5};
  const int64_t type[regionOperands] = {ingot_const_type_0, ingot_const_type_1, ingot_const_type_2,
                                        ingot_const_type_3, ingot_const_type_4, ingot_const_type_5};
  int64_t row = launch->tile[1], first = launch->tile[0] * ingot_const_tile_columns;
  int64_t end = first + ingot_const_tile_columns < ingot_const_columns
                    ? first + ingot_const_tile_columns
                    : ingot_const_columns;
  for (int64_t column = first; column < end; column += lanes) {
    Floats x[regionOperands] = {};
#pragma clang loop unroll(full)
    for (int i = 0; i < regionOperands; ++i)
      if (i < ingot_const_operands)
        x[i] =
            loadOperand(address[i], type[i], launch->buffers[i], row, column, ingot_const_columns);
    store(ingot_const_result_type, launch->buffers[ingot_const_operands],
          row * ingot_const_columns + column, epilogue(x), end - column);
  }
}
