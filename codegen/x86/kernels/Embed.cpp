// SPDX-License-Identifier: Apache-2.0
// llm.embed: one token a tile, from a table in row-major order or in a layout of llm.matmul.
// Buffers: tokens, table, scales?, zeros?, result.
#include "codegen/x86/kernels/MatmulBlocks.h"
#include "codegen/x86/kernels/Vector.h"

INGOT_CONST(columns);
INGOT_CONST(weight_type);
INGOT_CONST(inner);   // columns stored together in a panel's row; 0: row-major
INGOT_CONST(encoded); // 1: a scales buffer follows the table
INGOT_CONST(scale_type);
INGOT_CONST(scale_panels); // 1: scales and zeros are in panels, [n/16][groups][16]
INGOT_CONST(zeros);        // ZerosCode; their buffer follows the scales
INGOT_CONST(group);        // columns that share a scale; 0: one per row; -1: one for the table
INGOT_CONST(groups);       // scales in a row
INGOT_CONST(result_type);

namespace ingot::x86 {
namespace {

/// Element places before that of (row, column), padding included.
int64_t placeOf(int64_t row, int64_t column) {
  if (ingot_const_inner == 0)
    return row * ingot_const_columns + column;
  int64_t inner = ingot_const_inner, blocks = (ingot_const_columns + inner - 1) / inner;
  int64_t within = column % inner;
  if (ingot_const_weight_type == kI4)
    within = within % 4 * 2 + within / 4;
  int64_t panel = row / panelRows, lane = row % panelRows;
  return ((panel * blocks + column / inner) * panelRows + lane) * inner + within;
}

float storedAt(const void *table, int64_t place) {
  if (ingot_const_weight_type == kI4)
    return float(static_cast<const uint8_t *>(table)[place / 2] >> (place % 2 * 4) & 15);
  return loadOne(ingot_const_weight_type, table, place);
}

/// Index of the scale and zero point of (row, column).
int64_t scaleIndex(int64_t row, int64_t column) {
  if (ingot_const_group < 0)
    return 0;
  int64_t group = ingot_const_group ? column / ingot_const_group : 0;
  if (!ingot_const_scale_panels)
    return row * ingot_const_groups + group;
  return (row / panelRows * ingot_const_groups + group) * panelRows + row % panelRows;
}

/// The value of a stored element whose scale and zero have that index.
float decode(float stored, const void *scales, const void *zeros, int64_t index) {
  if (ingot_const_zeros == kCodeBook)
    stored = static_cast<const float *>(zeros)[int64_t(stored)];
  else if (ingot_const_zeros == kZeroPoints)
    stored -= float(static_cast<const int8_t *>(zeros)[index]);
  else if (ingot_const_weight_type == kI4 && ingot_const_zeros == kNoZeros)
    stored -= 8.0f;
  float value = stored * loadOne(ingot_const_scale_type, scales, index);
  return ingot_const_zeros == kOffsets ? value + loadOne(ingot_const_scale_type, zeros, index)
                                       : value;
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  void *const *next = launch->buffers;
  const int32_t *tokens = static_cast<const int32_t *>(*next++);
  const void *table = *next++;
  const void *scales = ingot_const_encoded ? *next++ : nullptr;
  const void *zeros = ingot_const_zeros ? *next++ : nullptr;
  void *result = *next;
  int64_t row = launch->tile[0], token = tokens[row];
  bool contiguous = ingot_const_inner == 0 && !ingot_const_encoded;
  for (int64_t column = 0; column < ingot_const_columns; column += lanes) {
    int64_t count = ingot_const_columns - column < lanes ? ingot_const_columns - column : lanes;
    Floats value = {};
    if (contiguous)
      value = load(ingot_const_weight_type, table, placeOf(token, column));
    else
      for (int64_t i = 0; i < count; ++i) {
        float stored = storedAt(table, placeOf(token, column + i));
        value[i] = ingot_const_encoded
                       ? decode(stored, scales, zeros, scaleIndex(token, column + i))
                       : stored;
      }
    store(ingot_const_result_type, result, row * ingot_const_columns + column, value, count);
  }
}
