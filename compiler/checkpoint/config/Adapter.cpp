// SPDX-License-Identifier: Apache-2.0
// Keys as `LoraConfig` of PEFT has them, names as its `get_peft_model_state_dict` writes them.
#include "compiler/checkpoint/config/Adapter.h"

#include "compiler/checkpoint/files/JsonFields.h"

#include <algorithm>
#include <cmath>

namespace ingot::checkpoint {

namespace {

constexpr std::string_view prefix = "base_model.model.";
constexpr std::string_view firstSuffix = ".lora_A.weight", secondSuffix = ".lora_B.weight";
constexpr std::string_view matrixSuffix = ".weight";
/// Of PEFT's wrappers around a module with several parameters.
constexpr std::string_view innerModule = ".base_layer", expertsModule = ".experts",
                           gateUpParameter = ".gate_up_proj", downParameter = ".down_proj";

/// What is more than a product added to a matrix, where its key says that it is used.
constexpr struct {
  std::string_view key, what;
} unmergeable[] = {
    {"use_dora", "DoRA scales whole rows, which"},
    {"fan_in_fan_out", "a matrix stored with its inputs first"},
    {"lora_bias", "an adapter with biases"},
    {"modules_to_save", "a module that was trained whole"},
    {"layer_replication", "a model with repeated layers"},
    {"alora_invocation_tokens", "an adapter that acts behind its invocation only"},
    {"trainable_token_indices", "an embedding with trained rows"},
    {"use_qalora", "QALoRA averages inputs, which"},
    {"use_bdlora", "an adapter of diagonal blocks"},
    {"arrow_config", "an adapter that is chosen for each token"},
    {"kasa_config", "an adapter with singular values between its factors"},
    {"monteclora_config", "an adapter that is drawn at random"},
};

/// Keys that say how an adapter was made, and for what; what was trained shows in the tensors.
constexpr std::string_view harmless[] = {
    "auto_mapping",
    "base_model_name_or_path",
    "corda_config",
    "ensure_weight_tying",
    "eva_config",
    "exclude_modules",
    "inference_mode",
    "layers_pattern",
    "layers_to_transform",
    "loftq_config",
    "lora_dropout",
    "lora_ga_config",
    "megatron_config",
    "megatron_core",
    "peft_version",
    "qalora_group_size",
    "revision",
    "runtime_config",
    "target_modules",
    "task_type",
    "velora_config",
    "alpha_pattern",
    "rank_pattern",
};

/// Ways to begin that take from the model's matrices what the adapter begins with: what was saved
/// belongs to the rest of them.
constexpr std::string_view takingBeginnings[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};

bool takesFromModel(std::string_view beginning) {
  return std::any_of(std::begin(takingBeginnings), std::end(takingBeginnings),
                     [&](std::string_view name) { return beginning.starts_with(name); });
}

/// Parameters that no module has as its weight: those of stacked experts are known.
void readTargetParameters(const Json &root, JsonFields &fields, AdapterConfig &config) {
  constexpr std::string_view key = "target_parameters";
  if (fields.isOff(key))
    return;
  const Json list = *root.find(key);
  for (size_t i = 0; i < list.size(); ++i) {
    auto name = list.isArray() ? list.element(i).string() : list.string();
    if (name && name->ends_with(message(expertsModule.substr(1), gateUpParameter)))
      config.gateAndUp = true;
    else if (name && name->ends_with(message(expertsModule.substr(1), downParameter)))
      config.down = true;
    else
      fields.fail(key, "INGOT-E1120", "only experts.gate_up_proj and experts.down_proj are known",
                  "merge the adapter with PEFT and give the merged model");
  }
  if (!list.isArray())
    fields.fail(key, "INGOT-E1120", "this is no list of parameters", "correct the list");
}

/// The keys that nothing here knows, to be told.
void findUnread(const Json &root, const JsonFields &fields, AdapterConfig &config) {
  std::string unread;
  for (const std::string &key : root.keys())
    if (!fields.asked().contains(key) &&
        std::find(std::begin(harmless), std::end(harmless), key) == std::end(harmless))
      unread += message(unread.empty() ? "" : ", ", printable(key));
  if (!unread.empty())
    config.deviations.push_back({"adapter_config.json", unread, "not read",
                                 "no meaning of it is known for LoRA", /*isTold=*/true});
}

/// As many as keep the time bounded that hostile patterns take.
constexpr size_t maxPatterns = 4096, maxMatches = size_t{1} << 20;
constexpr std::string_view alphaPattern = "alpha_pattern", rankPattern = "rank_pattern";

/// Appends the patterns of `key`.
Outcome readPatterns(const Json &root, std::string_view key, double least, double most,
                     std::vector<AdapterPattern> &patterns) {
  const auto member = root.find(key);
  if (!member || member->isNull())
    return {};
  if (!member->isObject())
    return member->wrongType("an object");
  if (member->size() > maxPatterns)
    return member->error("INGOT-E1120", message("more than ", maxPatterns, " patterns"),
                         "name modules with patterns that match many");
  for (const std::string &text : member->keysInOrder()) {
    const Json value = *member->find(text);
    auto number = value.number(least, most);
    auto pattern = ModulePattern::compile(text, value.where());
    if (!number || !pattern)
      return number ? pattern.error() : number.error();
    patterns.push_back({std::string(key), text, *std::move(pattern), *number});
  }
  return {};
}

std::string_view moduleOf(std::string_view matrix) {
  if (matrix.ends_with(matrixSuffix))
    matrix.remove_suffix(matrixSuffix.size());
  return matrix;
}

} // namespace

double AdapterConfig::scale(std::string_view matrix, uint64_t rank) const {
  const auto own = alphas.find(moduleOf(matrix));
  const auto count = static_cast<double>(rank);
  return (own == alphas.end() ? alpha : own->second) * factor /
         (rootOfRank ? std::sqrt(count) : count);
}

std::optional<std::string> AdapterConfig::tensorNamed(std::string_view stored) const {
  auto name = adapterTensorNamed(stored);
  if (!name || !(gateAndUp || down))
    return name;
  std::string_view module = *name, factor = firstSuffix;
  if (!module.ends_with(factor))
    factor = secondSuffix;
  module.remove_suffix(factor.size());
  const bool isInner = module.ends_with(innerModule);
  if (isInner)
    module.remove_suffix(innerModule.size());
  if (!module.ends_with(expertsModule))
    return isInner ? std::nullopt : name;
  if (isInner && !(gateAndUp && down))
    return std::nullopt;
  return message(module, isInner || !down ? gateUpParameter : downParameter, factor);
}

Outcome AdapterConfig::settle(std::span<const Tensor> tensors, const std::string &where,
                              uint64_t experts) {
  size_t tries = 0;
  for (const Tensor &tensor : tensors) {
    std::string_view module = tensor.name;
    if (!module.ends_with(firstSuffix))
      continue;
    module.remove_suffix(firstSuffix.size());
    std::optional<double> ownAlpha, ownRank;
    for (AdapterPattern &pattern : patterns) {
      std::optional<double> &own = pattern.key == alphaPattern ? ownAlpha : ownRank;
      if (own)
        continue;
      if (++tries > maxMatches)
        return Error{"INGOT-E1120", "too many patterns for so many matrices", where,
                     "name modules with patterns that match many"};
      auto matches = pattern.pattern.matches(module);
      if (!matches)
        return matches.error();
      if (!*matches)
        continue;
      pattern.isUsed = true;
      own = pattern.number;
    }
    if (ownAlpha)
      alphas.emplace(module, *ownAlpha);
    if (ownRank || rank) {
      const bool isStack = isStackedExperts(module);
      const double stated = (ownRank ? *ownRank : static_cast<double>(*rank)) *
                            static_cast<double>(isStack ? experts : 1);
      if (!tensor.shape.empty() && static_cast<double>(tensor.shape[0]) != stated)
        return Error{"INGOT-E1080",
                     message("tensor ", tensor.name, " has rank ", tensor.shape[0],
                             ", adapter_config.json says ", stated),
                     where,
                     "configuration and weights do not belong together; download both again"};
    }
  }
  return {};
}

Expected<AdapterConfig> AdapterConfig::read(const std::filesystem::path &path) {
  auto root = Json::readFile(path, JsonLimits::ofPython());
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
  for (const auto &[key, what] : unmergeable)
    if (!fields.isOff(key))
      refuse(key, message(what, " cannot be merged"));
  if (auto beginning = root->find("init_lora_weights"); fields.has("init_lora_weights"))
    if (auto text = beginning->string(); text && takesFromModel(*text))
      refuse("init_lora_weights",
             message("what begins with parts of the model's matrices (", inQuotes(*text),
                     ") and was not converted to plain LoRA cannot be merged"));
  if (const std::string bias = fields.stringOr("bias", "none"); bias != "none")
    refuse("bias", message("trained biases (", inQuotes(bias), ") cannot be merged"));
  readTargetParameters(*root, fields, config);
  constexpr uint64_t maxRank = uint64_t{1} << 31;
  if (fields.has("r"))
    config.rank = fields.unsignedInteger("r", 1, maxRank);
  if (fields.error())
    return *fields.error();
  findUnread(*root, fields, config);
  if (auto read = readPatterns(*root, alphaPattern, -1e9, 1e9, config.patterns); !read)
    return read.error();
  if (auto read =
          readPatterns(*root, rankPattern, 1, static_cast<double>(maxRank), config.patterns);
      !read)
    return read.error();
  return config;
}

std::string adapterTensor(std::string_view matrix, char factor) {
  return message(moduleOf(matrix), factor == 'A' ? firstSuffix : secondSuffix);
}

std::optional<std::string> adapterTensorNamed(std::string_view stored) {
  if (!stored.starts_with(prefix) || !isAdapterTensor(stored))
    return std::nullopt;
  return std::string(stored.substr(prefix.size()));
}

bool isStackedExperts(std::string_view module) {
  return module.ends_with(message(expertsModule, gateUpParameter)) ||
         module.ends_with(message(expertsModule, downParameter));
}

bool isAdapterTensor(std::string_view name) {
  return name.ends_with(firstSuffix) || name.ends_with(secondSuffix);
}

} // namespace ingot::checkpoint
