// SPDX-License-Identifier: Apache-2.0
// Packed integers of compressed-tensors: words along the inputs, in rows.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/importers/formats/PackedWords.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using llm::EncodedWeight;

/// compressed-tensors: weight_packed [N, K * bits / 32], weight_scale [N, groups],
/// weight_zero_point [N * bits / 32, groups] with words along N. Fields are signed values plus half
/// the range; the zero points are alike, so both halves cancel.
Expected<EncodedWeight> compiler::readPackedIntegers(StoredMatrix &matrix) {
  bool hasZeros = matrix.find(".weight_zero_point") != nullptr;
  int64_t rows = matrix.shape[0];
  auto words = wordsOf(matrix, ".weight_packed", ".weight_scale", 1);
  if (!words)
    return words.error();
  if (auto done = readColumnOrder(matrix, ".weight_g_idx", words->fields); !done)
    return done.error();
  auto values = matrix.read(".weight_packed", matrix.integer(32), {rows, words->extent});
  auto scales = matrix.readScales(".weight_scale", {rows, words->groups}, false);
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  int64_t bits = words->fields.bits;
  auto weight = encodedFrom(matrix, *words, *values, hasZeros);
  if (!weight)
    return weight;
  weight->scales = *scales;
  if (hasZeros) {
    auto zeros = matrix.read(".weight_zero_point", matrix.integer(32),
                             {wordsFor(rows * bits), words->groups});
    if (!zeros)
      return zeros.error();
    weight->zeros = matrix.transpose(
        matrix.unpack(matrix.transpose(*zeros), rows, matrix.integer(8), bits, 0, zeroBias(bits)));
  }
  return weight;
}
