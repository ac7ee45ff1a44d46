// SPDX-License-Identifier: Apache-2.0
// AutoGPTQ; with zero points GPTQModel, in its second version.
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/quantize/layouts/Packing.h"

using namespace ingot;
using namespace ingot::quantize;
using namespace ingot::quantize::layouts;
using checkpoint::DType;
using checkpoint::Expected;
using json = nlohmann::ordered_json;
using recipe::NumberFormat;

namespace {

class Gptq : public StoredLayout {
public:
  std::string_view name() const override { return "gptq"; }
  bool holds(NumberFormat type) const override {
    return type == NumberFormat::Int4 || type == NumberFormat::Int8;
  }
  ScaleType scaleType(DType) const override { return ScaleType::F16; }

  std::string refusal(const ModuleRecord &record, int64_t rows, int64_t columns) const override {
    return rows * bitsOf(record.format.type) % 32 != 0 ? "its rows are no whole number of words"
                                                       : refusalOfWords(record.format, columns);
  }

  std::vector<TensorData> tensors(const ModuleRecord &record,
                                  const EncodedMatrix &encoded) const override {
    const auto &matrix = std::get<QuantizedMatrix>(encoded);
    const std::string &module = record.module;
    const int32_t bits = matrix.grid.bits;
    const auto rows = static_cast<uint64_t>(matrix.rows);
    const int64_t words = matrix.columns * bits / 32;
    std::vector<TensorData> tensors;
    auto packed = packWords(matrix.rows, matrix.columns, bits, [&](int64_t row, int64_t column) {
      return codeOf(matrix, row, column);
    });
    tensors.push_back({{module + ".qweight", DType::I32, {static_cast<uint64_t>(words), rows}},
                       transposeWords(packed, matrix.rows, words)});
    // Loaders add the one to whole words, so where zero points may be 0 they are stored themselves.
    const auto less = static_cast<uint8_t>(matrix.zeros.empty() ? 1 : 0);
    tensors.push_back(
        {{module + ".qzeros",
          DType::I32,
          {static_cast<uint64_t>(matrix.groups()), rows * static_cast<uint64_t>(bits) / 32}},
         packWords(matrix.groups(), matrix.rows, bits, [&](int64_t group, int64_t row) {
           return static_cast<uint8_t>(zeroOf(matrix, row, group) - less);
         })});
    tensors.push_back(scaleTensor(module + ".scales", matrix, true));
    std::vector<int32_t> groupOf(static_cast<size_t>(matrix.columns));
    const int64_t group = matrix.grid.group > 0 ? matrix.grid.group : matrix.columns;
    for (int64_t column = 0; column < matrix.columns; ++column)
      groupOf[static_cast<size_t>(column)] = static_cast<int32_t>(column / group);
    tensors.push_back(tensorOf(module + ".g_idx", DType::I32, {groupOf.size()}, groupOf));
    return tensors;
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept, NumberFormat) const override {
    auto format = onlyFormat(modules, name());
    if (!format)
      return format.error();
    return json{{"quant_method", "gptq"},
                {"bits", bitsOf(format->type)},
                {"group_size", format->group > 0 ? format->group : -1},
                {"desc_act", false},
                {"sym", !format->zeroPoints},
                {"lm_head", false},
                {"checkpoint_format", format->zeroPoints ? "gptq_v2" : "gptq"},
                {"modules_to_not_convert", listOf(kept)}};
  }
};

} // namespace

const StoredLayout &layouts::gptq() {
  static constexpr Gptq layout;
  return layout;
}
