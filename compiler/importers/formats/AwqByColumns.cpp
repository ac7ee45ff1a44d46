// SPDX-License-Identifier: Apache-2.0
// AWQ, and Quark: words along the outputs.
#include "compiler/importers/formats/FormatReaders.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::compiler;
using checkpoint::Expected;
using checkpoint::message;
using checkpoint::QuantizationConfig;
using llm::EncodedWeight;

/// Where output j of eight lies in AWQ's words.
static constexpr int64_t kOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};

/// qweight [K, N / 8], qzeros [K / group, N / 8], scales [K / group, N]; words run along N. Quark
/// has weight, weight_zero_point and weight_scale.
Expected<EncodedWeight> compiler::readAwqByColumns(StoredMatrix &matrix) {
  const QuantizationConfig &config = matrix.checkpoint.quantization();
  bool isAwq = matrix.find(".qweight") != nullptr, hasZeros = isAwq || !config.symmetric;
  StringRef valuesName = isAwq ? ".qweight" : ".weight",
            zerosName = isAwq ? ".qzeros" : ".weight_zero_point",
            scalesName = isAwq ? ".scales" : ".weight_scale";
  int64_t rows = matrix.shape[0], columns = matrix.shape[1], words = rows * kNibble / kWordBits;
  auto scale = matrix.part(scalesName);
  if (!scale)
    return scale.error();
  auto fields = matrix.fieldsOf(**scale, kNibble * static_cast<uint64_t>(columns),
                                (*scale)->shape.empty() ? 0 : (*scale)->shape[0]);
  if (!fields)
    return fields.error();
  int64_t groups = static_cast<int64_t>((*scale)->shape[0]);
  if (rows % 8 != 0)
    return matrix.unsupported(message(config.method, " with ", rows, " outputs"),
                              "8 must divide them");
  auto values = matrix.read(valuesName, matrix.integer(32), {columns, words});
  auto scales = matrix.readScales(scalesName, {rows, groups}, true);
  auto zeros = hasZeros ? matrix.read(zerosName, matrix.integer(32), {groups, words})
                        : Expected<Value>(Value());
  for (const auto *value : {&values, &zeros, &scales})
    if (!*value)
      return value->error();
  auto held = matrix.encoding(kNibble, fields->group, hasZeros);
  if (!held)
    return held.error();
  auto byOutput = [&](Value packed, unsigned bits, int64_t increment) {
    return matrix.transpose(
        matrix.unpack(packed, rows, matrix.integer(bits), kNibble, increment, 0,
                      config.outputsInOrder ? ArrayRef<int64_t>() : ArrayRef(kOrder)));
  };
  return EncodedWeight{byOutput(*values, 4, config.increment),
                       *scales,
                       hasZeros ? byOutput(*zeros, 8, config.zeroIncrement) : Value(),
                       {},
                       *held};
}
