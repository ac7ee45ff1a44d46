// SPDX-License-Identifier: Apache-2.0
// llm.pointwise: one row a tile. Buffers: the operands, result.
#include "codegen/native/kernels/Elements.h"

using Vec = float;
#include "codegen/native/kernels/RegionMath.h"

INGOT_CONST(columns);
INGOT_CONST(result_type);
INGOT_CONST(operands);
/// How operand i is addressed (0: absent, 1: row and column, 2: column, 3: row), and its type.
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

/// Defined from the kernel's region when the engine is built.
extern "C" Vec ingot_epilogue(Vec, Vec, Vec, Vec, Vec, Vec);

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  int64_t column = 0;
  auto operand = [&](int64_t index, int64_t address, int64_t type) {
    switch (address) {
    case 1:
      return loadElement(launch->buffers[index], row * ingot_const_columns + column, type);
    case 2:
      return loadElement(launch->buffers[index], column, type);
    case 3:
      return loadElement(launch->buffers[index], row, type);
    default:
      return 0.0f;
    }
  };
  for (; column < ingot_const_columns; ++column) {
    float value = ingot_epilogue(operand(0, ingot_const_address_0, ingot_const_type_0),
                                 operand(1, ingot_const_address_1, ingot_const_type_1),
                                 operand(2, ingot_const_address_2, ingot_const_type_2),
                                 operand(3, ingot_const_address_3, ingot_const_type_3),
                                 operand(4, ingot_const_address_4, ingot_const_type_4),
                                 operand(5, ingot_const_address_5, ingot_const_type_5));
    storeElement(launch->buffers[ingot_const_operands], row * ingot_const_columns + column,
                 ingot_const_result_type, value);
  }
}
