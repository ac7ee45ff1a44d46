// SPDX-License-Identifier: Apache-2.0
// MXFP8: e4m3 with scales that are powers of two.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::message;
using llm::EncodedWeight;

/// weight [N, K] of e4m3, weight_scale [N, K / 32]: powers of two, by their exponent plus 127.
Expected<EncodedWeight> compiler::readMxFp8(StoredMatrix &matrix) {
  constexpr int64_t group = 32;
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  if (columns % group != 0)
    return matrix.unsupported(message("MXFP8 with ", columns, " inputs"), "32 must divide them");
  auto values =
      matrix.read(".weight", Float8E4M3FNType::get(matrix.builder.getContext()), matrix.shape);
  if (!values)
    return values.error();
  auto scales = matrix.readBytes(".weight_scale", DType::U8, {rows, columns / group});
  if (!scales)
    return scales.error();
  auto held = matrix.encoding(8, group == columns ? 0 : group);
  if (!held)
    return held.error();
  return EncodedWeight{*values, *scales, {}, matrix.powersOfTwo(2), *held};
}
