// SPDX-License-Identifier: Apache-2.0
// GPTQ: words along the inputs, in columns.
#include "compiler/importers/formats/FormatReaders.h"

#include "compiler/importers/formats/PackedWords.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::QuantizationConfig;
using llm::EncodedWeight;

/// qweight [K * bits / 32, N] with words along K, qzeros [K / group, N * bits / 32] with words
/// along N, scales [K / group, N].
Expected<EncodedWeight> compiler::readGptq(StoredMatrix &matrix) {
  const QuantizationConfig &config = matrix.checkpoint.quantization();
  bool hasZeros = !config.symmetric;
  int64_t rows = matrix.shape[0];
  auto words = wordsOf(matrix, ".qweight", ".scales", 0);
  if (!words)
    return words.error();
  if (auto done = readColumnOrder(matrix, ".g_idx", words->fields); !done)
    return done.error();
  auto values = matrix.read(".qweight", matrix.integer(32), {words->extent, rows});
  auto scales = matrix.readScales(".scales", {rows, words->groups}, true);
  if (!values)
    return values.error();
  if (!scales)
    return scales.error();
  int64_t bits = words->fields.bits;
  auto weight = encodedFrom(matrix, *words, matrix.transpose(*values), hasZeros);
  if (!weight)
    return weight;
  weight->scales = *scales;
  if (hasZeros) {
    auto zeros = matrix.read(".qzeros", matrix.integer(32), {words->groups, wordsFor(rows * bits)});
    if (!zeros)
      return zeros.error();
    weight->zeros = matrix.transpose(
        matrix.unpack(*zeros, rows, matrix.integer(8), bits, config.zeroIncrement, zeroBias(bits)));
  }
  return weight;
}
