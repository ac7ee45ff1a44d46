// SPDX-License-Identifier: Apache-2.0
// TorchAO. `quant_type` says which configuration it is. What is read of it holds for all matrices
// that are quantized; the metadata of their files say the rest.
#include "compiler/checkpoint/quantized/methods/Methods.h"

namespace ingot::checkpoint::methods {

using namespace rows;

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
    {.packings = {"Int8WeightOnlyConfig", "Float8WeightOnlyConfig"},
     .refusal = "its files hold tensors as TorchAO's own classes lay them out",
     .instead = exportAgain},
    {.packings = {"Int8DynamicActivationInt4WeightConfig", "Int8DynamicActivationInt8WeightConfig",
                  "Float8DynamicActivationFloat8WeightConfig", "FqnToConfig"},
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

static void readInt4(MethodReader &reader, const Json &data) {
  constexpr std::string_view key = "quant_type";
  auto packing = data.find("int4_packing_format");
  if (packing && !packing->isNull())
    if (std::string stated = nameOf(packing, "_data"); stated != "PLAIN" && stated != "plain")
      reader.refuse(key, message("TorchAO's packing ", inQuotes(stated)), exportAgain);
  reader.config.deviations.push_back({"scales", "bf16, with the value of the middle",
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
}

constinit const QuantizationMethod torchAo = {{"torchao"}, formats, read};

} // namespace ingot::checkpoint::methods
