// SPDX-License-Identifier: Apache-2.0
// bitsandbytes' 4 bits: blocks of the flattened matrix, scales that are quantized too.
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/quantize/layouts/Packing.h"

#include "compiler/recipe/RecipeWords.h"

#include <numeric>

using namespace ingot;
using namespace ingot::quantize;
using namespace ingot::quantize::layouts;
using checkpoint::DType;
using checkpoint::Expected;
using json = nlohmann::ordered_json;
using recipe::NumberFormat;

namespace {

class BitsAndBytes : public StoredLayout {
public:
  std::string_view name() const override { return "bitsandbytes"; }
  bool holds(NumberFormat type) const override {
    return type == NumberFormat::NF4 || type == NumberFormat::FP4;
  }
  ScaleType scaleType(DType) const override { return ScaleType::F32; }

  std::string refusal(const ModuleRecord &, int64_t rows, int64_t columns) const override {
    constexpr int64_t block = 64, least = 8; // of columns that share a scale, as readers have them
    if (rows * columns % 2 != 0)
      return "it has an odd number of weights";
    return std::gcd(block, columns) < least ? "8 does not divide its columns" : "";
  }

  std::vector<TensorData> tensors(const ModuleRecord &record,
                                  const EncodedMatrix &encoded) const override {
    const auto &matrix = std::get<BookBlocks>(encoded);
    const NestedScales &nested = matrix.nested;
    const std::string weight = record.module + ".weight",
                      type(recipe::wordFor(recipe::Format, record.format.type));
    const auto bytes = packNibbles(matrix.codes, true);
    const json state = {{"quant_type", type},
                        {"blocksize", matrix.block},
                        {"dtype", "bfloat16"},
                        {"shape", {matrix.rows, matrix.columns}},
                        {"nested_blocksize", NestedScales::kBlock},
                        {"nested_dtype", "float32"},
                        {"nested_offset", nested.offset}};
    const std::string text = state.dump();
    auto vector = [&](const char *name, DType type, const auto &values) {
      return tensorOf(weight + name, type, {values.size()}, values);
    };
    std::vector<TensorData> tensors;
    tensors.push_back(tensorOf(weight, DType::U8, {bytes.size(), 1}, bytes));
    tensors.push_back(vector(".absmax", DType::U8, nested.codes));
    tensors.push_back(vector(".quant_map", DType::F32, valuesOf(matrix.book)));
    tensors.push_back(vector(".nested_absmax", DType::F32, nested.absmax));
    tensors.push_back(vector(".nested_quant_map", DType::F32, dynamicBook()));
    tensors.push_back(
        tensorOf(weight + ".quant_state.bitsandbytes__" + type, DType::U8, {text.size()}, text));
    return tensors;
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept, NumberFormat) const override {
    auto format = onlyFormat(modules, name());
    if (!format)
      return format.error();
    return json{{"quant_method", "bitsandbytes"},
                {"_load_in_4bit", true},
                {"_load_in_8bit", false},
                {"load_in_4bit", true},
                {"load_in_8bit", false},
                {"bnb_4bit_quant_type", recipe::wordFor(recipe::Format, format->type)},
                {"bnb_4bit_use_double_quant", true},
                {"bnb_4bit_compute_dtype", "bfloat16"},
                {"bnb_4bit_quant_storage", "uint8"},
                {"llm_int8_enable_fp32_cpu_offload", false},
                {"llm_int8_has_fp16_weight", false},
                {"llm_int8_skip_modules", listOf(kept)},
                {"llm_int8_threshold", 6.0}};
  }
};

} // namespace

const StoredLayout &layouts::bitsAndBytes() {
  static constexpr BitsAndBytes layout;
  return layout;
}
