// SPDX-License-Identifier: Apache-2.0
// compressed-tensors: integers in words and in bytes, FP8, NVFP4, MXFP4; modules may differ.
#include "compiler/quantize/layouts/Layouts.h"
#include "compiler/quantize/layouts/Packing.h"

#include <map>
#include <set>

using namespace ingot;
using namespace ingot::quantize;
using namespace ingot::quantize::layouts;
using checkpoint::DType;
using checkpoint::Expected;
using json = nlohmann::ordered_json;
using recipe::NumberFormat;

namespace {

/// Tensors of one module.
class ModuleTensors {
public:
  explicit ModuleTensors(const ModuleRecord &record) : record(record) {}

  std::vector<TensorData> take(const EncodedMatrix &matrix) {
    std::visit([&](const auto &encoded) { add(encoded); }, matrix);
    if (recipe::isStatic(record.inputs))
      addVector(".input_scale", DType::F32, std::span(&record.inputScale, 1));
    return std::move(tensors);
  }

private:
  void add(const QuantizedMatrix &matrix) {
    if (record.inputs != NumberFormat::Stored)
      return addBytes(matrix);
    const auto rows = static_cast<uint64_t>(matrix.rows),
               groups = static_cast<uint64_t>(matrix.groups());
    const auto bits = static_cast<uint64_t>(matrix.grid.bits);
    tensors.push_back(
        {{record.module + ".weight_packed",
          DType::I32,
          {rows, static_cast<uint64_t>(matrix.columns) * bits / 32}},
         packWords(matrix.rows, matrix.columns, matrix.grid.bits,
                   [&](int64_t row, int64_t column) { return codeOf(matrix, row, column); })});
    tensors.push_back(scaleTensor(record.module + ".weight_scale", matrix, false));
    const int64_t extents[] = {matrix.rows, matrix.columns};
    addVector(".weight_shape", DType::I64, std::span(extents));
    if (!matrix.zeros.empty()) {
      // Words run along the rows, of each group's column.
      auto words =
          packWords(matrix.groups(), matrix.rows, matrix.grid.bits,
                    [&](int64_t group, int64_t row) { return zeroOf(matrix, row, group); });
      tensors.push_back(
          {{record.module + ".weight_zero_point", DType::I32, {rows * bits / 32, groups}},
           transposeWords(words, matrix.groups(), static_cast<int64_t>(rows * bits / 32))});
    }
  }

  /// int8 whose products read 8 bits.
  void addBytes(const QuantizedMatrix &matrix) {
    addMatrix(".weight", DType::I8, matrix.rows, matrix.columns, signedBytes(matrix));
    tensors.push_back(scaleTensor(record.module + ".weight_scale", matrix, false));
  }

  void add(const Float8Matrix &matrix) {
    addMatrix(".weight", DType::F8E4M3, matrix.rows, matrix.columns, matrix.codes);
    const std::span<const float> scales(matrix.scales);
    if (record.format.group == recipe::kWholeTensor)
      addVector(".weight_scale", DType::F32, scales);
    else
      tensors.push_back(tensorOf(record.module + ".weight_scale", DType::F32,
                                 {static_cast<uint64_t>(matrix.rows), 1}, scales));
  }

  void add(const FloatBlocks &matrix) {
    addMatrix(".weight_packed", DType::U8, matrix.rows, matrix.columns / 2,
              packNibbles(matrix.codes, false));
    addMatrix(".weight_scale", matrix.isPowerOfTwo ? DType::U8 : DType::F8E4M3, matrix.rows,
              matrix.blocks(), matrix.scales);
    if (!matrix.isPowerOfTwo)
      addVector(".weight_global_scale", DType::F32, std::span(&matrix.globalScale, 1));
  }

  void add(const BookBlocks &) {} // not held

  void addMatrix(const char *name, DType type, int64_t rows, int64_t columns,
                 std::span<const uint8_t> bytes) {
    tensors.push_back(tensorOf(record.module + name, type,
                               {static_cast<uint64_t>(rows), static_cast<uint64_t>(columns)},
                               bytes));
  }
  template <class Values> void addVector(const char *name, DType type, const Values &values) {
    tensors.push_back(tensorOf(record.module + name, type, {values.size()}, values));
  }

  const ModuleRecord &record;
  std::vector<TensorData> tensors;
};

/// What config.json says of a type: its format, and of numbers and scales what they are.
struct TypeRow {
  std::string_view format;
  bool isFloat;
  int32_t bits, group; ///< of a block; 0: as the recipe has it
  std::string_view strategy;
};

TypeRow rowOf(const ModuleRecord &record) {
  const recipe::WeightFormat &format = record.format;
  switch (format.type) {
  case NumberFormat::NVFP4:
    return {"nvfp4-pack-quantized", true, 4, 16, "tensor_group"};
  case NumberFormat::MXFP4:
    return {"mxfp4-pack-quantized", true, 4, 32, "group"};
  case NumberFormat::E4M3:
    return {"float-quantized", true, 8, 0,
            format.group == recipe::kWholeTensor ? "tensor" : "channel"};
  default:
    return {record.inputs == NumberFormat::Stored ? "pack-quantized" : "int-quantized", false,
            bitsOf(format.type), format.group, format.group > 0 ? "group" : "channel"};
  }
}

json schemeOf(const TypeRow &row, std::string_view strategy, bool isSymmetric, int32_t group,
              bool isDynamic) {
  return {{"num_bits", row.bits},
          {"type", row.isFloat ? "float" : "int"},
          {"symmetric", isSymmetric},
          {"strategy", strategy},
          {"group_size", group > 0 ? json(group) : json()},
          {"dynamic", isDynamic},
          {"actorder", nullptr},
          {"block_structure", nullptr},
          {"observer", "minmax"},
          {"observer_kwargs", json::object()}};
}

json inputsOf(const ModuleRecord &record, const TypeRow &row) {
  if (record.inputs == NumberFormat::Stored)
    return nullptr;
  const bool isStatic = recipe::isStatic(record.inputs);
  return schemeOf(row, isStatic ? "tensor" : "token", true, 0, !isStatic);
}

json schemeOfCache(NumberFormat kvCache) {
  if (!recipe::isStatic(kvCache))
    return nullptr;
  return schemeOf({"", kvCache == NumberFormat::E4M3Static, 8, 0, ""}, "tensor", true, 0, false);
}

class CompressedTensors : public StoredLayout {
public:
  std::string_view name() const override { return "compressed-tensors"; }

  bool holds(NumberFormat type) const override {
    using enum NumberFormat;
    return type == Int4 || type == Int8 || type == E4M3 || type == NVFP4 || type == MXFP4;
  }

  std::optional<compiler::KvScaleNames> cacheScales(NumberFormat) const override {
    return compiler::KvScaleNames{"k_scale", "v_scale"};
  }

  ScaleType scaleType(DType own) const override { return ownScaleType(own); }

  std::string refusal(const ModuleRecord &record, int64_t rows, int64_t columns) const override {
    const recipe::WeightFormat &format = record.format;
    const TypeRow row = rowOf(record);
    if (row.isFloat)
      return row.group > 0 && columns % row.group != 0 ? "its columns are no whole number of blocks"
                                                       : "";
    if (record.inputs != NumberFormat::Stored)
      return "";
    if (format.zeroPoints && rows * row.bits % 32 != 0)
      return "its rows are no whole number of words of zero points";
    return refusalOfWords(format, columns);
  }

  std::vector<TensorData> tensors(const ModuleRecord &record,
                                  const EncodedMatrix &matrix) const override {
    return ModuleTensors(record).take(matrix);
  }

  Expected<json> configuration(std::span<const ModuleRecord> modules,
                               std::span<const std::string> kept,
                               NumberFormat kvCache) const override {
    using Key = std::tuple<int64_t, int32_t, bool, NumberFormat, NumberFormat>;
    std::map<Key, std::vector<const ModuleRecord *>> alike;
    std::set<std::string_view> formats;
    for (const ModuleRecord &record : modules) {
      const TypeRow row = rowOf(record);
      formats.insert(row.format);
      alike[{record.format.group, row.bits, record.format.zeroPoints, record.format.type,
             record.inputs}]
          .push_back(&record);
    }
    json groups = json::object();
    for (const auto &[key, records] : alike) {
      const ModuleRecord &first = *records.front();
      const TypeRow row = rowOf(first);
      json targets = json::array();
      for (const ModuleRecord *record : records)
        targets.push_back(record->module);
      json group = {
          {"targets", alike.size() == 1 ? json({"Linear"}) : std::move(targets)},
          {"weights", schemeOf(row, row.strategy, !first.format.zeroPoints, row.group, false)},
          {"input_activations", inputsOf(first, row)},
          {"output_activations", nullptr}};
      if (first.format.type == NumberFormat::MXFP4)
        group["weights"]["scale_dtype"] = "torch.uint8";
      if (formats.size() > 1)
        group["format"] = row.format;
      groups["group_" + std::to_string(groups.size())] = std::move(group);
    }
    return json{{"quant_method", "compressed-tensors"},
                {"format", formats.size() > 1 ? "mixed-precision" : *formats.begin()},
                {"quantization_status", "compressed"},
                {"global_compression_ratio", nullptr},
                {"kv_cache_scheme", schemeOfCache(kvCache)},
                {"config_groups", std::move(groups)},
                {"ignore", listOf(kept)}};
  }
};

} // namespace

const StoredLayout &layouts::compressedTensors() {
  static constexpr CompressedTensors layout;
  return layout;
}
