// SPDX-License-Identifier: Apache-2.0
// AWQ's packing `gemv`: words along the inputs.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::message;
using llm::EncodedWeight;

/// Packing `gemv`: qweight [N, K / 8] with words along K, qzeros [N, Z] and scales [N, 8 * Z] for
/// at least as many groups as there are.
Expected<EncodedWeight> compiler::readAwqByRows(StoredMatrix &matrix) {
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  auto zeroWords = matrix.part(".qzeros"), qweight = matrix.part(".qweight");
  if (!zeroWords || !qweight)
    return zeroWords ? qweight.error() : zeroWords.error();
  int64_t group = static_cast<int64_t>(matrix.checkpoint.quantization().group.value_or(0));
  int64_t groups = group > 0 ? llvm::divideCeil(columns, group) : 1;
  auto fields = matrix.fieldsOf(**qweight, llvm::alignTo(columns * kNibble, kWordBits),
                                static_cast<uint64_t>(groups));
  if (!fields)
    return fields.error();
  int64_t extent = (*zeroWords)->shape.size() == 2 ? static_cast<int64_t>((*zeroWords)->shape[1])
                                                   : 0; // in words
  constexpr int64_t inWord = kWordBits / kNibble;
  if (extent * inWord < groups)
    return matrix.unsupported(
        message("zero points for ", extent * inWord, " of ", groups, " groups"),
        "download the checkpoint again");
  auto values = matrix.read(".qweight", matrix.integer(32), {rows, wordsFor(columns * kNibble)});
  auto zeros = matrix.read(".qzeros", matrix.integer(32), {rows, extent});
  auto scales = matrix.readScales(".scales", {rows, extent * inWord}, false);
  for (const auto *value : {&values, &zeros, &scales})
    if (!*value)
      return value->error();
  auto held = matrix.encoding(kNibble, fields->group, true);
  if (!held)
    return held.error();
  return EncodedWeight{matrix.unpack(*values, columns, matrix.integer(4), kNibble),
                       extent * inWord == groups ? *scales
                                                 : matrix.transpose(matrix.repeatRows(
                                                       matrix.transpose(*scales), 1, groups)),
                       matrix.unpack(*zeros, groups, matrix.integer(8), kNibble),
                       {},
                       *held};
}
