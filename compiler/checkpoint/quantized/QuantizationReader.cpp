// SPDX-License-Identifier: Apache-2.0
// Finds the configuration, and the method that reads it.
#include "compiler/checkpoint/quantized/QuantizationReader.h"

#include "compiler/checkpoint/files/Entry.h"
#include "compiler/checkpoint/quantized/methods/Methods.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

Expected<QuantizationConfig> readObject(const Json &object, std::string name) {
  std::string known;
  for (const QuantizationMethod *method : methods::all) {
    known += message(known.empty() ? "" : ", ", method->names[0]);
    if (name.empty() ||
        std::find(method->names.begin(), method->names.end(), name) == method->names.end())
      continue;
    QuantizationConfig config;
    config.method = std::move(name);
    MethodReader reader{object, method->formats, config};
    method->read(reader);
    if (reader.fields.error())
      return *reader.fields.error();
    return config;
  }
  return object.error("INGOT-E1054",
                      message("weights quantized by ", inQuotes(name), " are not supported"),
                      "supported methods: " + known);
}

/// Of weights that were trained to be quantized, and are not (Gemma's `qat-q4_0-unquantized`): the
/// file names a type, and no method. Nothing where it does not.
std::optional<QuantizationConfig> ofTraining(const Json &object) {
  auto type = object.find("quant_type");
  if (!type || !type->isString() || object.find("quant_method") || object.find("method"))
    return std::nullopt;
  QuantizationConfig config;
  config.deviations.push_back({"quantization_config", printable(*type->string()), "not used",
                               "weights were trained for it, and are stored unquantized",
                               /*isTold=*/true});
  return config;
}

/// Files that hold the configuration beside config.json, with the method they stand for.
struct Companion {
  std::string_view file, member, method;
};
constexpr std::array<Companion, 3> companions = {{
    {"quant_config.json", "", "awq"},
    {"quantize_config.json", "", "gptq"},
    {"hf_quant_config.json", "quantization", "modelopt"},
}};

} // namespace

Expected<QuantizationConfig> readQuantization(const Json &config,
                                              const std::filesystem::path &directory,
                                              std::vector<std::filesystem::path> &inputs) {
  if (auto own = config.find("quantization_config"); own && !own->isNull()) {
    if (auto trained = ofTraining(*own))
      return *std::move(trained);
    const bool isOther = !own->find("quant_method") && own->find("method");
    auto method = own->at(isOther ? "method" : "quant_method");
    if (!method)
      return method.error();
    auto name = method->string();
    if (!name)
      return name.error();
    return readObject(*own, *name);
  }
  for (const Companion &companion : companions) {
    std::filesystem::path path = directory / companion.file;
    if (!isThere(path))
      continue;
    auto file = Json::readFile(path, JsonLimits::ofPython());
    if (!file)
      return file.error();
    inputs.push_back(path);
    auto object = companion.member.empty() ? file : file->at(companion.member);
    if (!object)
      return object.error();
    auto method = object->find("quant_method");
    auto stated = method ? method->string() : Expected<std::string>(std::string(companion.method));
    return stated ? readObject(*object, *stated) : Expected<QuantizationConfig>(stated.error());
  }
  return QuantizationConfig();
}

} // namespace ingot::checkpoint
