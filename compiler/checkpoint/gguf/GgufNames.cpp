// SPDX-License-Identifier: Apache-2.0
// The table of tensor names. Source of the GGUF names: `gguf-py/gguf/constants.py` of llama.cpp.
#include "compiler/checkpoint/gguf/GgufNames.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"

#include <algorithm>

namespace ingot::checkpoint {

namespace {

struct NameRow {
  std::string gguf, model;
};

using NameRows = std::vector<NameRow>;

const NameRow layerPrefix = {"blk.", "model.layers."};

NameRows namesOfModel(const ModuleNames &names) {
  return {{"token_embd.", message(names.embedding, ".")},
          {"position_embd.", message(names.positions, ".")},
          {"output_norm.", message(names.norm, ".")},
          {"output.", message(names.head, ".")}};
}

/// Names are those of all layers, whatever mixers each has.
bool haveSinks(const ModelConfig &config) {
  return std::ranges::any_of(config.layers, [](const LayerPlan &layer) {
    return layer.attention() && layer.attention()->sinks;
  });
}

/// Names of norms count from attention on, so one depends on which others there are.
NameRows namesOfNorms(const ModelConfig &config) {
  const NameRow input = {"attn_norm.", message(config.names.inputNorm, ".")},
                attention = {"post_attention_norm.", message(config.names.attentionNorm, ".")},
                feedForward = {"ffn_norm.", message(config.names.feedForwardNorm, ".")},
                result = {"post_ffw_norm.", message(config.names.resultNorm, ".")};
  switch (config.layers.front().norms) {
  case NormPlacement::ParallelShared:
    return {input};
  case NormPlacement::Pre:
  case NormPlacement::Parallel:
    return {input, {message(config.names.ggufFeedForwardNorm, "."), feedForward.model}};
  case NormPlacement::Post:
    return {attention, result};
  case NormPlacement::Sandwich:
    return {input, attention, feedForward, result};
  }
  return {};
}

NameRows namesOfProjections(const ModelConfig &config) {
  const ModuleNames &names = config.names;
  auto attention = [&](std::string_view part) { return message(names.attention, ".", part, "."); };
  auto feedForward = [&](std::string_view part) {
    return message(names.feedForward, ".", part, ".");
  };
  NameRows rows = {{"attn_output.", attention(names.output)},
                   {"ffn_down.", feedForward(names.down)},
                   {"attn_q_norm.", attention(names.queryNorm)},
                   {"attn_k_norm.", attention(names.keyNorm)}};
  const LayerPlan &layer = config.layers.front();
  if (layer.attention() && layer.attention()->fusedQkv)
    rows.push_back({"attn_qkv.", attention(names.queryKeyValue)});
  else
    rows.insert(rows.end(), {{"attn_q.", attention(names.query)},
                             {"attn_k.", attention(names.key)},
                             {"attn_v.", attention(names.value)}});
  if (layer.experts() ? layer.experts()->form.fusedGateUp : layer.mlp()->fusedGateUp)
    rows.push_back({"ffn_up.", feedForward(names.gateUp)});
  else
    rows.insert(rows.end(),
                {{"ffn_gate.", feedForward(names.gate)}, {"ffn_up.", feedForward(names.up)}});
  return rows;
}

/// The parts of an expert, as GGUF calls them before "_exps".
NameRows partsOfExperts(const Experts &experts) {
  return {{"ffn_gate", std::string(experts.gate)},
          {"ffn_up", std::string(experts.up)},
          {"ffn_down", std::string(experts.down)}};
}

/// What a layer has beside each expert's own matrices.
NameRows namesOfExperts(const Experts &experts) {
  const std::string module = message(experts.module, "."), shared = message(module, experts.shared);
  NameRows rows = {{"ffn_gate_inp.", message(module, experts.router, ".")},
                   {"ffn_gate_inp_shexp.", shared + "_gate."},
                   {"ffn_gate_shexp.", shared + ".gate_proj."},
                   {"ffn_up_shexp.", shared + ".up_proj."},
                   {"ffn_down_shexp.", shared + ".down_proj."}};
  if (!experts.routing.bias.empty())
    rows.push_back({"exp_probs_b.bias", message(module, experts.routing.bias)});
  for (const auto &[gguf, model] : partsOfExperts(experts))
    rows.push_back({gguf + "_exps.bias", message(module, "experts.", model, "_bias")});
  return rows;
}

/// The beginnings of names in a layer, which end at a dot, and names that are whole.
NameRows namesOfLayer(const ModelConfig &config) {
  NameRows rows = namesOfProjections(config);
  auto add = [&](const NameRows &more) { rows.insert(rows.end(), more.begin(), more.end()); };
  add(namesOfNorms(config));
  if (haveSinks(config))
    add({{"attn_sinks.weight", message(config.names.attention, ".", config.names.sinks)}});
  if (const Experts *experts = config.firstExperts())
    add(namesOfExperts(*experts));
  return rows;
}

using Side = std::string NameRow::*;

/// Takes `prefix` off `name`.
bool consume(std::string_view &name, std::string_view prefix) {
  if (!name.starts_with(prefix))
    return false;
  name.remove_prefix(prefix.size());
  return true;
}

/// Takes a number and a dot off `name`; nothing where it does not begin so.
std::string_view consumeNumber(std::string_view &name) {
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  const std::string_view number = name.substr(0, digits);
  if (digits == 0 || digits == name.size() || name[digits] != '.')
    return {};
  name.remove_prefix(digits + 1);
  return number;
}

std::optional<std::string> translate(std::string_view name, const NameRows &rows, Side from,
                                     Side to) {
  for (const NameRow &row : rows) {
    std::string_view rest = name;
    if (!consume(rest, row.*from))
      continue;
    if ((row.*from).ends_with('.') ? rest == "weight" || rest == "bias" : rest.empty())
      return message(row.*to, rest);
  }
  return std::nullopt;
}

std::string expertName(const Experts &experts, std::string_view expert, std::string_view part) {
  return message(experts.module, ".experts.", expert, ".", part, ".weight");
}

/// A matrix of one expert, as older converters and Hugging Face's checkpoints call it.
std::optional<std::string> translateExpert(std::string_view name, const Experts &experts) {
  for (const auto &[gguf, model] : partsOfExperts(experts)) {
    std::string_view rest = name;
    if (!consume(rest, gguf + "."))
      continue;
    if (const auto expert = consumeNumber(rest); !expert.empty() && rest == "weight")
      return expertName(experts, expert, model);
  }
  return std::nullopt;
}

std::optional<std::string> stackOfExpert(std::string_view name, const Experts &experts) {
  if (!consume(name, message(experts.module, ".experts.")) || consumeNumber(name).empty())
    return std::nullopt;
  for (const auto &[gguf, model] : partsOfExperts(experts))
    if (name == model + ".weight")
      return gguf + "_exps.weight";
  return std::nullopt;
}

/// Which part of the experts of a layer a stack called `name` holds; nothing for other tensors.
std::optional<std::string> partOfStack(std::string_view name, const ModelConfig &config) {
  const Experts *experts = config.firstExperts();
  if (!experts || !consume(name, layerPrefix.gguf) || consumeNumber(name).empty())
    return std::nullopt;
  for (const auto &[gguf, model] : partsOfExperts(*experts))
    if (name == gguf + "_exps.weight")
      return model;
  return std::nullopt;
}

/// Adds the experts' matrices, which lie behind each other.
Outcome addExperts(const Tensor &stack, const std::string &part, const ModelConfig &config,
                   const std::string &where, std::vector<Tensor> &tensors) {
  const Experts &experts = *config.firstExperts();
  if (stack.shape.size() != 3 || stack.shape[0] != experts.count)
    return Error{"INGOT-E1124",
                 message("tensor ", inQuotes(stack.name), " is no stack of ", experts.count,
                         " matrices, one for each expert"),
                 where, "convert the model again"};
  std::string_view layer = stack.name;
  consume(layer, layerPrefix.gguf);
  layer = consumeNumber(layer);
  for (uint64_t expert = 0; expert < experts.count; ++expert) {
    Tensor matrix = stack;
    matrix.name =
        message(layerPrefix.model, layer, ".", expertName(experts, std::to_string(expert), part));
    matrix.shape.erase(matrix.shape.begin());
    matrix.bytes = stack.bytes / experts.count;
    matrix.offset += expert * matrix.bytes;
    tensors.push_back(std::move(matrix));
  }
  return {};
}

} // namespace

std::optional<std::string> modelNameOf(std::string_view ggufName, const ModelConfig &config) {
  std::string_view rest = ggufName;
  if (!consume(rest, layerPrefix.gguf))
    return translate(ggufName, namesOfModel(config.names), &NameRow::gguf, &NameRow::model);
  const std::string_view layer = consumeNumber(rest);
  auto name = translate(rest, namesOfLayer(config), &NameRow::gguf, &NameRow::model);
  if (const Experts *experts = config.firstExperts(); !name && experts)
    name = translateExpert(rest, *experts);
  if (layer.empty() || !name)
    return std::nullopt;
  return message(layerPrefix.model, layer, ".", *name);
}

std::optional<std::string> ggufNameOf(std::string_view modelName, const ModelConfig &config) {
  std::string_view rest = modelName;
  if (!consume(rest, layerPrefix.model))
    return translate(modelName, namesOfModel(config.names), &NameRow::model, &NameRow::gguf);
  const std::string_view layer = consumeNumber(rest);
  auto name = translate(rest, namesOfLayer(config), &NameRow::model, &NameRow::gguf);
  if (const Experts *experts = config.firstExperts(); !name && experts)
    name = stackOfExpert(rest, *experts);
  if (layer.empty() || !name)
    return std::nullopt;
  return message(layerPrefix.gguf, layer, ".", *name);
}

Expected<std::vector<Tensor>> nameTensors(std::vector<Tensor> tensors, const ModelConfig &config,
                                          const std::string &where) {
  std::vector<Tensor> named;
  for (Tensor &tensor : tensors) {
    if (const auto part = partOfStack(tensor.name, config)) {
      if (auto added = addExperts(tensor, *part, config, where, named); !added)
        return added.error();
      continue;
    }
    if (tensor.name.ends_with(".ffn_gate_inp_shexp.weight") && tensor.shape.size() == 1)
      tensor.shape.insert(tensor.shape.begin(), 1);
    if (auto known = modelNameOf(tensor.name, config))
      tensor.name = *std::move(known);
    named.push_back(std::move(tensor));
  }
  return named;
}

} // namespace ingot::checkpoint
