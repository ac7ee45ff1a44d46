// SPDX-License-Identifier: Apache-2.0
// Bytes with the largest magnitude of each row, of bitsandbytes.
#include "compiler/importers/formats/FormatReaders.h"

#include "dialects/llm/LlmWeightOps.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using llm::EncodedWeight;

/// weight [N, K] of I8 with SCB [N], the largest magnitude that 127 stands for.
Expected<EncodedWeight> compiler::readBitsAndBytes8(StoredMatrix &matrix) {
  int64_t rows = matrix.shape[0];
  auto values = matrix.read(".weight", matrix.integer(8), matrix.shape);
  if (!values)
    return values.error();
  auto largest =
      matrix.read(".SCB", matrix.builder.getF32Type(), {rows, 1}, ArrayRef<int64_t>({rows}));
  if (!largest)
    return largest.error();
  auto one = RankedTensorType::get({1}, matrix.builder.getF32Type());
  Value factor = llm::LiteralOp::create(matrix.builder, matrix.location, one, "bitsandbytes.unit",
                                        DenseElementsAttr::get(one, 1.0f / 127.0f));
  Value scales = llm::ScaleColumnsOp::create(matrix.builder, matrix.location, largest->getType(),
                                             *largest, factor);
  auto held = matrix.encoding(8, 0);
  if (!held)
    return held.error();
  return EncodedWeight{*values, scales, {}, {}, *held};
}
