// SPDX-License-Identifier: Apache-2.0
// TorchAO. `quant_type` says which configuration it is. What is read of it holds for all matrices
// that are quantized; the metadata of their files say the rest.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;
using Activations = MethodReader::Activations;

static constexpr std::string_view exportAgain =
    "quantize with TorchAO's Int4WeightOnlyConfig(int4_packing_format=\"plain\") or another that "
    "docs/formats.md has, and save safetensors";

static constexpr StoredFormat formats[] = {
    {{"Int4WeightOnlyConfig"},
     withOffsets,
     Reader::TorchAoInt4,
     4,
     16,
     {{Kind::Affine4, 128}, kF32}},
    {{"Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"},
     symmetric,
     Reader::Integers,
     8,
     32,
     int8Rows},
    {{"Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"},
     withZeros,
     Reader::Integers,
     8,
     32,
     int8RowZeros},
    {{"IntxWeightOnlyConfig", "Int8DynamicActivationIntxWeightConfig"},
     "integers of 1 to 8 bits, zero points",
     Reader::Integers,
     8,
     16,
     {{Kind::Int8, 32, true}}},
    {{"Float8WeightOnlyConfig", "Float8DynamicActivationFloat8WeightConfig"},
     byRows,
     Reader::Float8,
     8,
     32,
     fp8Rows},
    {{"Float8DynamicActivationFloat8WeightConfig"}, byTensor, Reader::Float8, 8, 32, fp8Tensor},
    {.packings = {"Int8DynamicActivationInt4WeightConfig",
                  "Float8DynamicActivationInt4WeightConfig", "Int8StaticActivationInt8WeightConfig",
                  "FqnToConfig"},
     .refusal = "its files hold tensors as TorchAO's own classes lay them out",
     .instead = exportAgain},
};

/// The members of a configuration, or of a value in it, which may say its type.
static std::optional<Json> dataOf(const std::optional<Json> &value) {
  if (auto data = value ? value->find("_data") : std::nullopt)
    return data;
  return value;
}

/// The name of an enumerator, or of a class; empty where there is none.
static std::string nameOf(const std::optional<Json> &value, std::string_view member) {
  auto found = value && value->isObject() ? value->find(member) : value;
  if (!found)
    return "";
  auto text = found->string();
  return text ? *text : "";
}

/// Whether each token has a scale of its own: `granularity` is PerRow, of inputs and weights.
static bool isByRow(const Json &data, std::string_view absent) {
  auto granularity = data.find("granularity");
  if (!granularity || granularity->isNull())
    return absent == "PerRow";
  if (!granularity->isArray())
    return nameOf(granularity, "_type") == "PerRow";
  for (size_t i = 0; i < granularity->size(); ++i)
    if (nameOf(granularity->element(i), "_type") != "PerRow")
      return false;
  return granularity->size() > 0;
}

static void readActivations(MethodReader &reader, const std::string &name, const Json &data) {
  bool isFloat = name.starts_with("Float8Dynamic"), isInteger = name.starts_with("Int8Dynamic");
  if (!isFloat && !isInteger)
    return;
  JsonFields own(data);
  std::string mapping = nameOf(data.find("act_mapping_type"), "_data");
  bool isSymmetric =
      isFloat || (name == "Int8DynamicActivationInt8WeightConfig" ? mapping != "ASYMMETRIC"
                                                                  : mapping == "SYMMETRIC");
  // Intx has no choice: a scale for each token.
  bool isByToken = name == "Int8DynamicActivationIntxWeightConfig" ||
                   isByRow(data, isFloat ? "PerTensor" : "PerRow");
  if (isSymmetric && isByToken && own.isOff("activation_value_ub") &&
      own.isOff("activation_value_lb"))
    reader.config.activations = isFloat ? Activations::Float8PerToken : Activations::Int8PerToken;
  else
    reader.declineActivations("quant_type", message("dynamic ", isFloat ? "FP8" : "int8",
                                                    isByToken ? " by token" : " by tensor",
                                                    isSymmetric ? "" : ", asymmetric"));
}

static void readInt4(MethodReader &reader, const Json &data) {
  constexpr std::string_view key = "quant_type";
  auto packing = data.find("int4_packing_format");
  if (packing && !packing->isNull())
    if (std::string stated = nameOf(packing, "_data"); stated != "PLAIN" && stated != "plain" &&
                                                       stated != "TILE_PACKED_TO_4D" &&
                                                       stated != "tile_packed_to_4d")
      reader.refuse(key, message("TorchAO's packing ", inQuotes(stated)), exportAgain);
  reader.config.deviations.push_back({"scales", "bf16, with the value of the midpoint",
                                      "f32, with that of the least code",
                                      "kernels count codes from the least one"});
}

static void read(MethodReader &reader) {
  auto type = reader.object.find("quant_type");
  if (type && type->isObject() && type->find("default"))
    type = type->find("default");
  std::string name = nameOf(type, "_type");
  const StoredFormat *format =
      reader.format("quant_type", name.empty() ? "of an unknown type" : name, "TorchAO's");
  auto data = dataOf(type);
  if (!format || !data || !data->isObject())
    return;
  if (format->reader == Reader::TorchAoInt4)
    readInt4(reader, *data);
  readActivations(reader, name, *data);
}

constinit const QuantizationMethod torchAo = {{"torchao"}, formats, read};

} // namespace ingot::checkpoint::methods
