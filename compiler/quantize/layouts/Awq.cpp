// SPDX-License-Identifier: Apache-2.0
// AutoAWQ.
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

class Awq : public StoredLayout {
public:
  std::string_view name() const override { return "awq"; }
  bool holds(NumberFormat type) const override { return type == NumberFormat::Int4; }
  ScaleType scaleType(DType) const override { return ScaleType::F16; }

  std::string refusal(const ModuleRecord &record, int64_t rows, int64_t columns) const override {
    return rows % 8 != 0 ? "its rows are no whole number of words"
                         : refusalOfWords(record.format, columns);
  }

  std::vector<TensorData> tensors(const ModuleRecord &record,
                                  const EncodedMatrix &encoded) const override {
    const auto &matrix = std::get<QuantizedMatrix>(encoded);
    const std::string &module = record.module;
    // The field i of a word is that of row kOrder[i] of eight.
    static constexpr std::array<int64_t, 8> kOrder = {0, 2, 4, 6, 1, 3, 5, 7};
    auto rowOf = [](int64_t place) {
      return place / 8 * 8 + kOrder[static_cast<size_t>(place % 8)];
    };
    const auto words = static_cast<uint64_t>(matrix.rows / 8);
    std::vector<TensorData> tensors;
    tensors.push_back(
        {{module + ".qweight", DType::I32, {static_cast<uint64_t>(matrix.columns), words}},
         packWords(matrix.columns, matrix.rows, 4, [&](int64_t column, int64_t place) {
           return codeOf(matrix, rowOf(place), column);
         })});
    tensors.push_back(
        {{module + ".qzeros", DType::I32, {static_cast<uint64_t>(matrix.groups()), words}},
         packWords(matrix.groups(), matrix.rows, 4, [&](int64_t group, int64_t place) {
           return zeroOf(matrix, rowOf(place), group);
         })});
    tensors.push_back(scaleTensor(module + ".scales", matrix, true));
    return tensors;
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept, NumberFormat) const override {
    auto format = onlyFormat(modules, name());
    if (!format)
      return format.error();
    return json{{"quant_method", "awq"},
                {"bits", bitsOf(format->type)},
                {"group_size", format->group > 0 ? format->group : -1},
                {"zero_point", true},
                {"version", "gemm"},
                {"modules_to_not_convert", listOf(kept)}};
  }
};

} // namespace

const StoredLayout &layouts::awq() {
  static constexpr Awq layout;
  return layout;
}
