// SPDX-License-Identifier: Apache-2.0
// AWQ's packing `gemv_fast`: four outputs in turn.
#include "compiler/importers/formats/FormatReaders.h"

#include <array>

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::DType;
using checkpoint::Expected;
using checkpoint::message;
using llm::EncodedWeight;

/// Where input j of 32 lies in the words.
static constexpr std::array<int64_t, 32> kOrder = [] {
  std::array<int64_t, 32> order{};
  for (int64_t j = 0; j < 32; ++j)
    order[j] = j % 8 / 2 * 8 + j % 2 * 4 + j / 8;
  return order;
}();

/// Packing `gemv_fast`: qweight [N / 4, K] of I16. A row has four outputs; for every 64 inputs come
/// the fields of the first, of the second, ... The values are scale * stored + offset, where scales
/// and qzeros (scaled_zeros in the files of llm-awq) are [at least K / group, N].
Expected<EncodedWeight> compiler::readAwqFast(StoredMatrix &matrix) {
  constexpr int64_t interleaved = 4, run = 64, wordBits = 16;
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  StringRef offsetName = matrix.find(".qzeros") ? ".qzeros" : ".scaled_zeros";
  auto words = matrix.part(".qweight"), scale = matrix.part(".scales");
  if (!words || !scale)
    return words ? scale.error() : words.error();
  if (rows % interleaved != 0 || columns % run != 0)
    return matrix.unsupported(message("packing gemv_fast of ", rows, " x ", columns),
                              "4 must divide the outputs, and 64 the inputs");
  if ((*words)->shape.size() != 2 || (*words)->dtype != DType::I16 || (*scale)->shape.size() != 2)
    return matrix.unsupported("a packed weight of " + std::string(dtypeName((*words)->dtype)) +
                                  " elements",
                              "supported: matrices of I16 words");
  int64_t group = static_cast<int64_t>(matrix.checkpoint.quantization().group.value_or(0));
  int64_t groups = group > 0 ? llvm::divideCeil(columns, group) : 1;
  auto extent = static_cast<int64_t>((*scale)->shape[0]);
  auto fields = matrix.fieldsOf(**words, (*words)->shape[1] * wordBits / interleaved,
                                static_cast<uint64_t>(groups));
  if (!fields)
    return fields.error();
  if (extent < groups)
    return matrix.unsupported(message("scales for ", extent, " of ", groups, " groups"),
                              "download the checkpoint again");
  const int64_t bytes = run * kNibble / 8;
  auto values = matrix.read(".qweight", matrix.integer(8), {rows * columns / run, bytes},
                            ArrayRef<int64_t>({rows / interleaved, columns}));
  auto scales = matrix.readScales(".scales", {extent, rows}, false);
  auto offsets = matrix.readScales(offsetName, {extent, rows}, false);
  auto held = matrix.encoding(kNibble, fields->group);
  for (const auto *value : {&values, &scales, &offsets})
    if (!*value)
      return value->error();
  if (!held)
    return held.error();
  Value inOrder = matrix.reshape(
      matrix.permuteRows(*values, {rows / interleaved, columns / run, interleaved}, {0, 2, 1}),
      {rows, columns / 2});
  auto byRow = [&](Value part) { return matrix.transpose(matrix.repeatRows(part, 1, groups)); };
  return EncodedWeight{matrix.unpack(inOrder, columns, matrix.integer(4), kNibble, 0, 0, kOrder),
                       byRow(*scales),
                       byRow(*offsets),
                       {},
                       *held};
}
