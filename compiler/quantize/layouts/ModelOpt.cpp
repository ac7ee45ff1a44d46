// SPDX-License-Identifier: Apache-2.0
// NVIDIA ModelOpt: FP8, NVFP4 and integers, one algorithm for all modules.
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

/// What ModelOpt calls matrices of a type whose products read certain inputs.
struct Algorithm {
  std::string_view name;
  NumberFormat type, inputs;
  int32_t bits;
  int32_t group; ///< as of a WeightFormat; kAsked: as the recipe has it
};
constexpr int32_t kAsked = 1;

constexpr Algorithm kAlgorithms[] = {
    {"FP8", NumberFormat::E4M3, NumberFormat::E4M3Static, 8, recipe::kWholeTensor},
    {"FP8_PER_CHANNEL_PER_TOKEN", NumberFormat::E4M3, NumberFormat::E4M3, 8, recipe::kWholeRow},
    {"W4A16_NVFP4", NumberFormat::NVFP4, NumberFormat::Stored, 4, 16},
    {"W4A16_AWQ", NumberFormat::Int4, NumberFormat::Stored, 4, kAsked},
    {"W8A16", NumberFormat::Int8, NumberFormat::Stored, 8, recipe::kWholeRow},
    {"W8A8_SQ_PER_CHANNEL", NumberFormat::Int8, NumberFormat::Int8Static, 8, recipe::kWholeRow},
};

const Algorithm *algorithmOf(const ModuleRecord &record) {
  const auto *found =
      std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms), [&](const Algorithm &algorithm) {
        return algorithm.type == record.format.type && algorithm.inputs == record.inputs;
      });
  return found == std::end(kAlgorithms) ? nullptr : found;
}

/// Tensors of one module.
class ModuleTensors {
public:
  explicit ModuleTensors(const ModuleRecord &record) : record(record) {}

  std::vector<TensorData> take(const EncodedMatrix &matrix) {
    std::visit([&](const auto &encoded) { add(encoded); }, matrix);
    if (recipe::isStatic(record.inputs))
      add(".input_scale", DType::F32, {1}, std::span(&record.inputScale, 1));
    return std::move(tensors);
  }

private:
  void add(const QuantizedMatrix &matrix) {
    const auto rows = static_cast<uint64_t>(matrix.rows),
               columns = static_cast<uint64_t>(matrix.columns);
    tensors.push_back(scaleTensor(record.module + ".weight_scale", matrix, false));
    if (matrix.grid.bits == 8) {
      tensors.back().header.shape = {rows};
      add(".weight", DType::I8, {rows, columns}, signedBytes(matrix));
    } else {
      add(".weight", DType::U8, {rows / 2, columns}, packRows(matrix));
      // What makes inputs has their scales already; loaders ask for some.
      add(".pre_quant_scale", DType::F32, {columns}, std::vector<float>(columns, 1));
    }
  }

  /// Rows 2n and 2n + 1 in a byte, the first in its low half, in two's complement.
  static std::vector<uint8_t> packRows(const QuantizedMatrix &matrix) {
    std::vector<uint8_t> bytes;
    bytes.reserve(matrix.codes.size() / 2);
    auto field = [&](int64_t row, int64_t column) { return codeOf(matrix, row, column) ^ 8; };
    for (int64_t row = 0; row < matrix.rows; row += 2)
      for (int64_t column = 0; column < matrix.columns; ++column)
        bytes.push_back(static_cast<uint8_t>(field(row, column) | field(row + 1, column) << 4));
    return bytes;
  }

  void add(const Float8Matrix &matrix) {
    add(".weight", DType::F8E4M3,
        {static_cast<uint64_t>(matrix.rows), static_cast<uint64_t>(matrix.columns)}, matrix.codes);
    add(".weight_scale", DType::F32, {matrix.scales.size()}, matrix.scales);
  }

  void add(const FloatBlocks &matrix) {
    const auto rows = static_cast<uint64_t>(matrix.rows);
    const float scale = 1 / matrix.globalScale; // which multiplies
    add(".weight", DType::U8, {rows, static_cast<uint64_t>(matrix.columns) / 2},
        packNibbles(matrix.codes, false));
    add(".weight_scale", DType::F8E4M3, {rows, static_cast<uint64_t>(matrix.blocks())},
        matrix.scales);
    add(".weight_scale_2", DType::F32, {1}, std::span(&scale, 1));
  }

  void add(const BookBlocks &) {} // not held

  template <class Values>
  void add(const char *name, DType type, std::vector<uint64_t> shape, const Values &values) {
    tensors.push_back(tensorOf(record.module + name, type, std::move(shape), values));
  }

  const ModuleRecord &record;
  std::vector<TensorData> tensors;
};

json numbersOf(const Algorithm &algorithm, bool isDynamic) {
  const bool isInteger =
      algorithm.type == NumberFormat::Int4 || algorithm.type == NumberFormat::Int8;
  return {
      {"dynamic", isDynamic}, {"num_bits", algorithm.bits}, {"type", isInteger ? "int" : "float"}};
}

class ModelOpt : public StoredLayout {
public:
  std::string_view name() const override { return "modelopt"; }

  bool holds(NumberFormat type) const override {
    return std::any_of(std::begin(kAlgorithms), std::end(kAlgorithms),
                       [&](const Algorithm &algorithm) { return algorithm.type == type; });
  }

  std::optional<compiler::KvScaleNames> cacheScales(NumberFormat kvCache) const override {
    if (kvCache != NumberFormat::E4M3Static)
      return std::nullopt;
    return compiler::KvScaleNames{"k_proj.k_scale", "v_proj.v_scale"};
  }

  ScaleType scaleType(DType own) const override { return ownScaleType(own); }

  recipe::WeightFormat nearest(const ModuleRecord &record) const override {
    recipe::WeightFormat format = record.format;
    if (const Algorithm *algorithm = algorithmOf(record); algorithm && algorithm->group <= 0)
      format.group = algorithm->group;
    return format;
  }

  std::string refusal(const ModuleRecord &record, int64_t rows, int64_t columns) const override {
    const recipe::WeightFormat &format = record.format;
    if (!algorithmOf(record))
      return "ModelOpt has no such weights with such activations";
    if (format.zeroPoints)
      return "ModelOpt's integers have no zero points";
    if (format.type == NumberFormat::NVFP4 && columns % 16 != 0)
      return "its columns are no whole number of blocks";
    if (format.type != NumberFormat::Int4)
      return "";
    if (format.group == recipe::kWholeRow)
      return "ModelOpt's 4-bit integers have groups";
    return rows % 2 != 0 ? "it has an odd number of rows" : refusalOfWords(format, columns);
  }

  std::vector<TensorData> tensors(const ModuleRecord &record,
                                  const EncodedMatrix &matrix) const override {
    return ModuleTensors(record).take(matrix);
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept,
                               NumberFormat kvCache) const override {
    auto format = onlyFormat(modules, name());
    if (!format)
      return format.error();
    const Algorithm &algorithm = *algorithmOf(modules.front());
    const int32_t group = algorithm.group == kAsked ? format->group : algorithm.group;
    json weights = numbersOf(algorithm, false),
         configuration = {{"quant_method", "modelopt"}, {"quant_algo", algorithm.name}};
    if (algorithm.group == kAsked) {
      configuration["has_zero_point"] = false;
      configuration["pre_quant_scale"] = true;
    }
    if (group > 0)
      configuration["group_size"] = weights["group_size"] = group;
    json groups = {{"weights", std::move(weights)}, {"targets", {"Linear"}}};
    if (algorithm.inputs != NumberFormat::Stored)
      groups["input_activations"] = numbersOf(algorithm, !recipe::isStatic(algorithm.inputs));
    configuration["config_groups"] = {{"group_0", std::move(groups)}};
    if (recipe::isStatic(kvCache))
      configuration["kv_cache_scheme"] = {{"dynamic", false}, {"num_bits", 8}, {"type", "float"}};
    configuration["ignore"] = listOf(kept);
    configuration["producer"] = producer();
    return configuration;
  }

  std::map<std::string, json> companions(const json &configuration) const override {
    json quantization = {
        {"quant_algo", configuration["quant_algo"]},
        {"kv_cache_quant_algo", configuration.contains("kv_cache_scheme") ? json("FP8") : json()}};
    for (const char *key : {"group_size", "has_zero_point", "pre_quant_scale"})
      if (configuration.contains(key))
        quantization[key] = configuration[key];
    quantization["exclude_modules"] = configuration["ignore"];
    return {{"hf_quant_config.json", {{"producer", producer()}, {"quantization", quantization}}}};
  }

private:
  /// Loaders look for this name; the version is one whose files look so.
  static json producer() { return {{"name", "modelopt"}, {"version", "0.29.0"}}; }
};

} // namespace

const StoredLayout &layouts::modelOpt() {
  static constexpr ModelOpt layout;
  return layout;
}
