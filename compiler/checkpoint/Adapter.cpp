// SPDX-License-Identifier: Apache-2.0
// Keys as `LoraConfig` of PEFT has them, names as its `get_peft_model_state_dict` writes them.
#include "compiler/checkpoint/Adapter.h"

#include "compiler/checkpoint/JsonFields.h"

#include <cmath>

namespace ingot::checkpoint {

namespace {

constexpr std::string_view prefix = "base_model.model.";
constexpr std::string_view firstSuffix = ".lora_A.weight", secondSuffix = ".lora_B.weight";
constexpr std::string_view matrixSuffix = ".weight";

/// Refuses a list or an object that is not empty.
void refuseMembers(const Json &root, JsonFields &fields, std::string_view key,
                   std::string_view what) {
  auto member = root.find(key);
  if (member && !member->isNull() && member->size() != 0)
    fields.fail(key, "INGOT-E1120", message(what, " cannot be merged"),
                "merge the adapter with PEFT and give the merged model");
}

} // namespace

double AdapterConfig::scale(uint64_t rank) const {
  const auto count = static_cast<double>(rank);
  return alpha / (rootOfRank ? std::sqrt(count) : count);
}

Expected<AdapterConfig> AdapterConfig::read(const std::filesystem::path &path) {
  auto root = Json::readFile(path);
  if (!root)
    return root.error();
  JsonFields fields(*root);
  auto refuse = [&](std::string_view key, std::string what) {
    fields.fail(key, "INGOT-E1120", std::move(what),
                "merge the adapter with PEFT and give the merged model");
  };
  const std::string type = fields.stringOr("peft_type", "");
  if (type != "LORA")
    refuse("peft_type", message("an adapter of type ", inQuotes(type), " is not supported"));
  AdapterConfig config;
  config.alpha = fields.number("lora_alpha", -1e9, 1e9);
  config.rootOfRank = fields.booleanOr("use_rslora", false);
  for (auto [key, what] : {std::pair("use_dora", "DoRA scales whole rows, which"),
                           {"fan_in_fan_out", "a matrix stored with its inputs first"},
                           {"lora_bias", "an adapter with biases"}})
    if (fields.booleanOr(key, false))
      refuse(key, message(what, " cannot be merged"));
  if (const std::string bias = fields.stringOr("bias", "none"); bias != "none")
    refuse("bias", message("trained biases (", inQuotes(bias), ") cannot be merged"));
  refuseMembers(*root, fields, "modules_to_save", "a module that was trained whole");
  refuseMembers(*root, fields, "alpha_pattern", "lora_alpha that differs from matrix to matrix");
  refuseMembers(*root, fields, "layer_replication", "a model with repeated layers");
  if (fields.error())
    return *fields.error();
  return config;
}

std::string adapterTensor(std::string_view matrix, char factor) {
  if (matrix.ends_with(matrixSuffix))
    matrix.remove_suffix(matrixSuffix.size());
  return message(matrix, factor == 'A' ? firstSuffix : secondSuffix);
}

std::optional<std::string> adapterTensorNamed(std::string_view stored) {
  if (!stored.starts_with(prefix) || !isAdapterTensor(stored))
    return std::nullopt;
  return std::string(stored.substr(prefix.size()));
}

bool isAdapterTensor(std::string_view name) {
  return name.ends_with(firstSuffix) || name.ends_with(secondSuffix);
}

} // namespace ingot::checkpoint
