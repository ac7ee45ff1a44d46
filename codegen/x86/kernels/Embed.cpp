// SPDX-License-Identifier: Apache-2.0
// llm.embed: one token a tile, from a table in row-major order or in a layout of llm.matmul.
// Buffers: tokens, table, scales?, zeros?, supers?, result.
#include "codegen/native/kernels/Elements.h"
#include "codegen/x86/kernels/MatmulBlocks.h"
#include "codegen/x86/kernels/Vector.h"

INGOT_CONST(columns);
INGOT_CONST(weight_type);
INGOT_CONST(inner);   // columns stored together in a panel's row; 0: row-major
INGOT_CONST(encoded); // 1: a scales buffer follows the table
INGOT_CONST(scale_type);
INGOT_CONST(scale_form); // ScaleFormCode; a buffer of supers follows the zeros
INGOT_CONST(super_type);
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
  if (elementBits(ingot_const_weight_type) < 8)
    within = within % 4 * 2 + within / 4;
  int64_t panel = row / panelRows, lane = row % panelRows;
  return ((panel * blocks + column / inner) * panelRows + lane) * inner + within;
}

float storedAt(const void *table, int64_t place) {
  if (elementBits(ingot_const_weight_type) < 8)
    return loadElement(table, place, ingot_const_weight_type);
  return loadOne(ingot_const_weight_type, table, place);
}

/// Place of the scale and zero point of (row, column).
int64_t scaleIndex(int64_t row, int64_t column) {
  if (ingot_const_group < 0)
    return 0;
  int64_t group = ingot_const_group ? column / ingot_const_group : 0;
  if (!ingot_const_scale_panels)
    return row * ingot_const_groups + group;
  return (row / panelRows * ingot_const_groups + group) * panelRows + row % panelRows;
}

/// The encoded table.
struct Encoded {
  const void *scales, *zeros, *supers;

  /// The scale (`part` = 0) or offset (1) with place `index` in `numbers`, which has them or their
  /// codes.
  float scaleFrom(const void *numbers, int64_t index, int64_t row, int64_t column,
                  int64_t part) const {
    if (ingot_const_scale_form == kTableScales)
      return loadTableScale(numbers, index, supers);
    if (ingot_const_scale_form == kPlainScales)
      return loadOne(ingot_const_scale_type, numbers, index);
    bool affine = ingot_const_zeros == kOffsets;
    int64_t parts = affine ? 2 : 1, columns = ingot_const_columns / kSuperColumns * parts;
    int64_t superColumn = column / kSuperColumns * parts + part;
    int64_t place = ingot_const_scale_panels
                        ? (row / panelRows * columns + superColumn) * panelRows + row % panelRows
                        : row * columns + superColumn;
    return loadOne(ingot_const_super_type, supers, place) *
           loadScaleCode(numbers, index, ingot_const_scale_type, affine);
  }

  /// The value of element (row, column).
  float decode(float stored, int64_t row, int64_t column) const {
    int64_t index = scaleIndex(row, column);
    if (ingot_const_zeros == kCodeBook)
      stored = static_cast<const float *>(zeros)[int64_t(stored)];
    else if (ingot_const_zeros == kZeroPoints)
      stored -= float(static_cast<const int8_t *>(zeros)[index]);
    else if (elementBits(ingot_const_weight_type) < 8 && ingot_const_zeros == kNoZeros)
      stored -= float(middleOf(ingot_const_weight_type));
    float value = stored * scaleFrom(scales, index, row, column, 0);
    return ingot_const_zeros == kOffsets ? value + scaleFrom(zeros, index, row, column, 1) : value;
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  void *const *next = launch->buffers;
  const int32_t *tokens = static_cast<const int32_t *>(*next++);
  const void *table = *next++;
  Encoded encoded = {};
  if (ingot_const_encoded)
    encoded.scales = *next++;
  if (ingot_const_zeros)
    encoded.zeros = *next++;
  if (ingot_const_scale_form)
    encoded.supers = *next++;
  void *result = *next;
  int64_t row = launch->tile[0], token = tokens[row] < 0 ? 0 : tokens[row];
  bool contiguous = ingot_const_inner == 0 && !ingot_const_encoded;
  for (int64_t column = 0; column < ingot_const_columns; column += lanes) {
    int64_t count = ingot_const_columns - column < lanes ? ingot_const_columns - column : lanes;
    Floats value = {};
    if (contiguous)
      value = load(ingot_const_weight_type, table, placeOf(token, column));
    else
      for (int64_t i = 0; i < count; ++i) {
        float stored = storedAt(table, placeOf(token, column + i));
        value[i] = ingot_const_encoded ? encoded.decode(stored, token, column + i) : stored;
      }
    store(ingot_const_result_type, result, row * ingot_const_columns + column, value, count);
  }
}
