// SPDX-License-Identifier: Apache-2.0
// llm.embed: one token a tile, from a table in row-major order or in a layout of llm.matmul.
// Buffers: tokens, table with what is beside it, result.
#include "codegen/native/kernels/EncodedWeight.h"
#include "codegen/x86/kernels/MatmulBlocks.h"
#include "codegen/x86/kernels/Vector.h"

INGOT_CONST(table_rows);
INGOT_CONST(columns);
INGOT_CONST(inner);        // columns stored together in a panel's row; 0: row-major
INGOT_CONST(scale_panels); // 1: what is beside the table is in panels, [n/16][groups][16]
INGOT_CONST(groups);       // scales in a row
INGOT_CONST(result_type);

namespace ingot::x86 {
namespace {

/// The memory order of the table.
struct TableOrder {
  /// Places before that of (row, column), padding included.
  static int64_t element(int64_t row, int64_t column) {
    if (ingot_const_inner == 0)
      return row * ingot_const_columns + column;
    int64_t inner = ingot_const_inner, blocks = (ingot_const_columns + inner - 1) / inner;
    int64_t within = column % inner;
    if (elementBits(ingot_const_weight_type) < 8)
      within = within % 4 * 2 + within / 4;
    int64_t panel = row / panelRows, lane = row % panelRows;
    return ((panel * blocks + column / inner) * panelRows + lane) * inner + within;
  }
  static int64_t group(int64_t row, int64_t group) {
    return beside(row, group, ingot_const_groups);
  }
  static int64_t super(int64_t row, int64_t column) {
    int64_t parts = ingot_const_zeros == kOffsets ? 2 : 1;
    return beside(row, column, ingot_const_columns / kSuperColumns * parts);
  }
  static float load(int64_t type, const void *base, int64_t place) {
    return elementBits(type) < 8 ? loadElement(base, place, type) : loadOne(type, base, place);
  }

private:
  static int64_t beside(int64_t row, int64_t column, int64_t columns) {
    return ingot_const_scale_panels
               ? (row / panelRows * columns + column) * panelRows + row % panelRows
               : row * columns + column;
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const int32_t *tokens = static_cast<const int32_t *>(launch->buffers[0]);
  void *const *next = launch->buffers + 2;
  EncodedWeight<TableOrder> table = {WeightBuffers::take(launch->buffers[1], next)};
  void *result = *next;
  int64_t row = launch->tile[0], token = tokens[row];
  token = token < 0 || token >= ingot_const_table_rows ? 0 : token;
  bool contiguous = ingot_const_inner == 0 && !ingot_const_scale_extent;
  for (int64_t column = 0; column < ingot_const_columns; column += lanes) {
    int64_t count = ingot_const_columns - column < lanes ? ingot_const_columns - column : lanes;
    Floats value = {};
    if (contiguous)
      value = load(ingot_const_weight_type, table.values, TableOrder::element(token, column));
    else
      for (int64_t i = 0; i < count; ++i)
        value[i] = table.value(token, column + i);
    store(ingot_const_result_type, result, row * ingot_const_columns + column, value, count);
  }
}
