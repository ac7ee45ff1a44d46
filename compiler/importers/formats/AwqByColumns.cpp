// SPDX-License-Identifier: Apache-2.0
// AWQ: words along the outputs.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using llm::EncodedWeight;

/// Where output j of eight lies in AWQ's words.
static constexpr int64_t kOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};

/// qweight [K, N / 8], qzeros [K / group, N / 8], scales [K / group, N]; words run along N.
Expected<EncodedWeight> compiler::readAwqByColumns(StoredMatrix &matrix) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1], words = rows * kNibble / kWordBits;
  auto scale = matrix.part(".scales");
  if (!scale)
    return scale.error();
  auto fields = matrix.fieldsOf(**scale, kNibble * static_cast<uint64_t>(columns),
                                (*scale)->shape.empty() ? 0 : (*scale)->shape[0]);
  if (!fields)
    return fields.error();
  int64_t groups = static_cast<int64_t>((*scale)->shape[0]);
  if (rows % 8 != 0)
    return matrix.unsupported("AWQ with " + std::to_string(rows) + " outputs",
                              "8 must divide them");
  auto values = matrix.read(".qweight", matrix.integer(32), {columns, words});
  auto zeros = matrix.read(".qzeros", matrix.integer(32), {groups, words});
  auto scales = matrix.readScales(".scales", {rows, groups}, true);
  for (const auto *value : {&values, &zeros, &scales})
    if (!*value)
      return value->error();
  auto held = matrix.encoding(kNibble, fields->group, true);
  if (!held)
    return held.error();
  return EncodedWeight{
      matrix.transpose(matrix.unpack(*values, rows, matrix.integer(4), kNibble, 0, 0, kOrder)),
      *scales,
      matrix.transpose(matrix.unpack(*zeros, rows, matrix.integer(8), kNibble, 0, 0, kOrder)),
      {},
      *held};
}
