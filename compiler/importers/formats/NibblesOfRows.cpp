// SPDX-License-Identifier: Apache-2.0
// ModelOpt's W4A16_AWQ: two outputs in a byte.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using llm::EncodedWeight;

/// ModelOpt's W4A16_AWQ: weight [N / 2, K] with rows 2n and 2n + 1 in a byte, the first in its low
/// half, in two's complement; weight_scale [N, K / group].
Expected<EncodedWeight> compiler::readNibblesOfRows(StoredMatrix &matrix) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  auto scale = matrix.part(".weight_scale"), weight = matrix.part(".weight");
  if (!scale || !weight)
    return scale ? weight.error() : scale.error();
  if (rows % 2 != 0 || (*scale)->shape.size() != 2)
    return matrix.unsupported("rows in pairs, of " + std::to_string(rows), "2 must divide them");
  int64_t groups = static_cast<int64_t>((*scale)->shape[1]);
  auto fields = matrix.fieldsOf(**weight, llvm::alignTo(columns * kNibble, kWordBits),
                                static_cast<uint64_t>(groups));
  if (!fields)
    return fields.error();
  auto values = matrix.read(".weight", matrix.integer(8), {rows / 2, columns});
  auto scales = matrix.readScales(".weight_scale", {rows, groups}, false);
  if (!values || !scales)
    return values ? scales.error() : values.error();
  auto held = matrix.encoding(kNibble, fields->group);
  if (!held)
    return held.error();
  return EncodedWeight{
      matrix.transpose(matrix.unpack(matrix.transpose(*values), rows, matrix.integer(4), kNibble,
                                     /*increment=*/kNibbleZero)),
      *scales,
      {},
      {},
      *held};
}
