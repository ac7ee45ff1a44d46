// SPDX-License-Identifier: Apache-2.0
// The table of tensor names. Source of the GGUF names: `gguf-py/gguf/constants.py` of llama.cpp.
#include "compiler/checkpoint/gguf/GgufNames.h"

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace ingot::checkpoint {

namespace {

struct NameRow {
  std::string gguf, model;
};

using NameRows = std::vector<NameRow>;

const NameRow layerPrefix = {"blk.", "model.layers."};

/// Matrices of streams, which files stack: what either calls them before ".weight", or a number.
const NameRow streamRows[] = {{"altup_proj", "model.altup_projections."},
                              {"altup_unembd_proj", "model.altup_unembed_projections."}};

/// Names are those of all layers, whatever mixers each has.
bool haveSinks(const ModelConfig &config) {
  return std::ranges::any_of(config.layers, [](const LayerPlan &layer) {
    return layer.attention() && layer.attention()->sinks;
  });
}

template <class Mixer> bool haveTokenMixer(const ModelConfig &config) {
  return std::ranges::any_of(config.layers, [](const LayerPlan &layer) {
    return std::holds_alternative<Mixer>(layer.tokenMixer);
  });
}

/// The state space of the first layer that has one; null: none has.
const StateSpace *firstStateSpace(const ModelConfig &config) {
  for (const LayerPlan &layer : config.layers) {
    if (const auto *both = std::get_if<AttentionAndStateSpace>(&layer.tokenMixer))
      return &both->space;
    if (const auto *space = std::get_if<StateSpace>(&layer.tokenMixer))
      return space;
  }
  return nullptr;
}

NameRows namesOfStateSpace(const StateSpace &space) {
  NameRows rows;
  for (auto [gguf, model] : {std::pair("ssm_in.", "in_proj."),
                             {"ssm_conv1d.", "conv1d."},
                             {"ssm_dt.bias", "dt_bias"},
                             {"ssm_a", "A_log"},
                             {"ssm_d", "D"},
                             {"ssm_norm.", "norm."},
                             {"ssm_out.", "out_proj."}})
    rows.push_back({gguf, message(space.module, ".", model)});
  return rows;
}

bool haveExpertsBesideMlps(const ModelConfig &config) {
  return std::ranges::any_of(config.layers, [](const LayerPlan &layer) {
    return std::holds_alternative<MlpAndExperts>(layer.channelMixer);
  });
}

NameRows namesOfModel(const ModelConfig &config) {
  const ModuleNames &names = config.names;
  // LFM2's converter goes by how Hugging Face calls the last norm.
  NameRows rows = {{"token_embd.", message(names.embedding, ".")},
                   {"position_embd.", message(names.positions, ".")},
                   {haveTokenMixer<ShortConv>(config) ? "token_embd_norm." : "output_norm.",
                    message(names.norm, ".")},
                   {"output.", message(names.head, ".")}};
  if (config.layerInputs.columns != 0)
    rows.insert(rows.end(), {{"per_layer_token_embd.", "model.embed_tokens_per_layer."},
                             {"per_layer_model_proj.", "model.per_layer_model_projection."},
                             {"per_layer_proj_norm.", "model.per_layer_projection_norm."}});
  return rows;
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
  const Mlp *mlp = layer.experts() ? &layer.experts()->form : layer.mlp();
  if (mlp && mlp->fusedGateUp)
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
NameRows namesOfExperts(const Experts &experts, const ModuleNames &names) {
  const std::string module = experts.path(), shared = message(module, experts.shared);
  NameRows rows = {{"ffn_gate_inp.", message(module, experts.router, ".")},
                   {"ffn_gate_inp_shexp.", shared + "_gate."},
                   {"ffn_gate_shexp.", message(shared, ".", names.gate, ".")},
                   {"ffn_up_shexp.", message(shared, ".", names.up, ".")},
                   {"ffn_down_shexp.", message(shared, ".", names.down, ".")}};
  if (!experts.routing.bias.empty())
    rows.push_back({"exp_probs_b.bias", message(module, experts.routing.bias)});
  if (!experts.routing.inputScale.empty())
    rows.push_back({"ffn_gate_inp.scale", message(module, experts.routing.inputScale)});
  if (!experts.routing.expertScale.empty())
    rows.push_back({"ffn_down_exps.scale", message(module, experts.routing.expertScale)});
  if (experts.latentSize != 0)
    rows.insert(rows.end(), {{"ffn_latent_down.", message(module, "fc1_latent_proj.")},
                             {"ffn_latent_up.", message(module, "fc2_latent_proj.")}});
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
  if (haveTokenMixer<ShortConv>(config))
    for (std::string_view part : {"conv.", "in_proj.", "out_proj."})
      rows.push_back({message("shortconv.", part), message("conv.", part)});
  if (haveTokenMixer<GatedDeltaNet>(config))
    add({{"attn_qkv.", "linear_attn.in_proj_qkv."},
         {"attn_gate.", "linear_attn.in_proj_z."},
         {"ssm_in.", "linear_attn.in_proj_qkvz."},
         {"ssm_ba.", "linear_attn.in_proj_ba."},
         {"ssm_beta.", "linear_attn.in_proj_b."},
         {"ssm_alpha.", "linear_attn.in_proj_a."},
         {"ssm_conv1d.", "linear_attn.conv1d."},
         {"ssm_dt.bias", "linear_attn.dt_bias"},
         {"ssm_a", "linear_attn.A_log"},
         {"ssm_norm.", "linear_attn.norm."},
         {"ssm_out.", "linear_attn.out_proj."}});
  if (haveTokenMixer<LatentAttention>(config))
    for (auto [gguf, model] : {std::pair("attn_q_a.", "q_a_proj."),
                               {"attn_q_a_norm.", "q_a_layernorm."},
                               {"attn_q_b.", "q_b_proj."},
                               {"attn_kv_a_mqa.", "kv_a_proj_with_mqa."},
                               {"attn_kv_a_norm.", "kv_a_layernorm."},
                               {"attn_kv_b.", "kv_b_proj."},
                               {"attn_k_b.", "k_b_proj."},
                               {"attn_v_b.", "v_b_proj."}})
      rows.push_back({gguf, message(config.names.attention, ".", model)});
  if (const StateSpace *space = firstStateSpace(config))
    add(namesOfStateSpace(*space));
  if (haveTokenMixer<AttentionAndStateSpace>(config)) // Falcon-H1's converter leaves ".weight" out.
    add({{"ffn_norm", message(config.names.feedForwardNorm, ".weight")}});
  if (const Experts *experts = config.firstExperts())
    add(namesOfExperts(*experts, config.names));
  if (haveExpertsBesideMlps(config))
    add({{"pre_ffw_norm_2.", message(config.names.feedForwardNorm, "_2.")},
         {"post_ffw_norm_1.", message(config.names.resultNorm, "_1.")},
         {"post_ffw_norm_2.", message(config.names.resultNorm, "_2.")}});
  if (config.layerInputs.columns != 0)
    add({{"inp_gate.", "per_layer_input_gate."},
         {"proj.", "per_layer_projection."},
         {"post_norm.", "post_per_layer_input_norm."}});
  if (config.altUp.streams > 1)
    add({{"altup_correct_coef.", "altup.correction_coefs."},
         {"altup_correct_scale.weight", "altup.correct_output_scale"},
         {"altup_predict_coef.", "altup.prediction_coefs."},
         {"altup_router.", "altup.modality_router."},
         {"altup_router_norm.", "altup.router_norm."}});
  if (config.laurelRank != 0)
    add({{"laurel_l.", "laurel.linear_left."},
         {"laurel_r.", "laurel.linear_right."},
         {"laurel_post_norm.", "laurel.post_laurel_norm."}});
  if (config.scaledLayers)
    add({{"layer_output_scale.weight", "layer_scalar"}});
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
  return message(experts.path(), "experts.", expert, ".", part, ".weight");
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
  if (!consume(name, message(experts.path(), "experts.")) || consumeNumber(name).empty())
    return std::nullopt;
  for (const auto &[gguf, model] : partsOfExperts(experts))
    if (name == model + ".weight")
      return gguf + "_exps.weight";
  return std::nullopt;
}

std::optional<std::string> stackOfStream(std::string_view name) {
  for (const auto &[gguf, model] : streamRows) {
    std::string_view rest = name;
    if (consume(rest, model) && !consumeNumber(rest).empty() && rest == "weight")
      return gguf + ".weight";
  }
  return std::nullopt;
}

/// What a tensor holds that is a stack of matrices.
struct Stack {
  uint64_t count = 0;             ///< of its matrices
  std::vector<std::string> names; ///< of each matrix, or of each of its parts of one height
};

/// Which parts of each expert a stack called `name` in its layer holds; none for other tensors.
std::vector<std::string> partsOfStack(std::string_view name, const Experts &experts) {
  if (name == "ffn_gate_up_exps.weight")
    return {std::string(experts.gate), std::string(experts.up)};
  for (const auto &[gguf, model] : partsOfExperts(experts))
    if (name == gguf + "_exps.weight")
      return {model};
  return {};
}

/// Nothing for tensors that are no stacks.
std::optional<Stack> stackCalled(std::string_view name, const ModelConfig &config) {
  const uint64_t added = config.altUp.streams - 1;
  for (const auto &[gguf, model] : streamRows)
    if (added != 0 && name == gguf + ".weight") {
      Stack stack{added, {}};
      for (uint64_t stream = 0; stream < added; ++stream)
        stack.names.push_back(message(model, stream, ".weight"));
      return stack;
    }
  const Experts *experts = config.firstExperts();
  if (!experts || !consume(name, layerPrefix.gguf))
    return std::nullopt;
  const std::string_view layer = consumeNumber(name);
  const std::vector<std::string> parts = partsOfStack(name, *experts);
  if (layer.empty() || parts.empty())
    return std::nullopt;
  Stack stack{experts->count, {}};
  for (uint64_t expert = 0; expert < experts->count; ++expert)
    for (const std::string &part : parts)
      stack.names.push_back(message(layerPrefix.model, layer, ".",
                                    expertName(*experts, std::to_string(expert), part)));
  return stack;
}

/// Adds the matrices of a tensor, which lie behind each other.
Outcome addMatrices(const Tensor &tensor, const Stack &stack, const std::string &where,
                    std::vector<Tensor> &tensors) {
  const uint64_t parts = stack.names.size() / stack.count;
  if (tensor.shape.size() != 3 || tensor.shape[0] != stack.count || tensor.shape[1] % parts != 0)
    return Error{"INGOT-E1124",
                 message("tensor ", inQuotes(tensor.name), " is no stack of ", stack.count,
                         " matrices, one for each expert or stream"),
                 where, "convert the model again"};
  for (size_t i = 0; i < stack.names.size(); ++i) {
    Tensor matrix = tensor;
    matrix.name = stack.names[i];
    matrix.shape = {tensor.shape[1] / parts, tensor.shape[2]};
    matrix.bytes = tensor.bytes / stack.names.size();
    matrix.offset += i * matrix.bytes;
    tensors.push_back(std::move(matrix));
  }
  return {};
}

/// A part of a tensor: its rows, which follow those of the parts before it, and what it is called.
struct RowPart {
  std::string name;
  uint64_t rows = 0;
};

/// The parts of a tensor of q, k and v, which converters may write in place of three, of a layer
/// whose model has three; none of other tensors.
std::vector<RowPart> partsOfFused(std::string_view name, const ModelConfig &config) {
  if (!consume(name, layerPrefix.gguf))
    return {};
  const std::string_view number = consumeNumber(name);
  uint64_t layer = config.layers.size();
  std::from_chars(number.data(), number.data() + number.size(), layer);
  if (layer >= config.layers.size() || !consume(name, "attn_qkv.") ||
      (name != "weight" && name != "bias"))
    return {};
  const Attention *attention = config.layers[layer].attention();
  if (!attention || attention->fusedQkv)
    return {};
  const uint64_t query = attention->heads * attention->headDim,
                 key = attention->kvHeads * attention->headDim;
  const ModuleNames &names = config.names;
  auto part = [&](std::string_view own, uint64_t rows) {
    return RowPart{message(layerPrefix.model, number, ".", names.attention, ".", own, ".", name),
                   rows};
  };
  return {part(names.query, attention->outputGate ? 2 * query : query), part(names.key, key),
          part(names.value, key)};
}

/// Numbers of heads, which converters give a second dimension, or a norm's factors by groups.
bool isVectorOfStateSpace(const Tensor &tensor) {
  constexpr std::string_view ends[] = {".ssm_a", ".ssm_d", ".ssm_norm.weight"};
  return tensor.shape.size() == 2 && std::ranges::any_of(ends, [&](std::string_view end) {
           return tensor.name.ends_with(end);
         });
}

/// The two that latent attention has of kv_b, by heads.
bool isOfHeads(const Tensor &tensor) {
  return tensor.shape.size() == 3 &&
         (tensor.name.ends_with(".attn_k_b.weight") || tensor.name.ends_with(".attn_v_b.weight"));
}

/// Of files that have kv_b whole as well as by heads, leaves it whole.
void dropCopies(std::vector<Tensor> &tensors) {
  std::set<std::string, std::less<>> wholes;
  for (const Tensor &tensor : tensors)
    if (tensor.name.ends_with(".attn_kv_b.weight"))
      wholes.insert(tensor.name);
  std::erase_if(tensors, [&](const Tensor &tensor) {
    std::string_view name = tensor.name;
    if (wholes.empty() ||
        !(name.ends_with(".attn_k_b.weight") || name.ends_with(".attn_v_b.weight")))
      return false;
    name.remove_suffix(std::string_view("k_b.weight").size());
    return wholes.contains(message(name, "kv_b.weight"));
  });
}

Outcome addParts(const Tensor &tensor, const std::vector<RowPart> &parts, const std::string &where,
                 std::vector<Tensor> &tensors) {
  uint64_t rows = 0;
  for (const RowPart &part : parts)
    rows += part.rows;
  if (tensor.shape.empty() || tensor.shape.front() != rows)
    return Error{"INGOT-E1124",
                 message("tensor ", inQuotes(tensor.name), " does not hold the ", rows,
                         " rows of q, k and v"),
                 where, "convert the model again"};
  uint64_t offset = tensor.offset;
  for (const RowPart &part : parts) {
    Tensor own = tensor;
    own.name = part.name;
    own.shape.front() = part.rows;
    own.bytes = tensor.bytes / rows * part.rows;
    own.offset = offset;
    offset += own.bytes;
    tensors.push_back(std::move(own));
  }
  return {};
}

} // namespace

std::optional<std::string> modelNameOf(std::string_view ggufName, const ModelConfig &config) {
  std::string_view rest = ggufName;
  if (!consume(rest, layerPrefix.gguf))
    return translate(ggufName, namesOfModel(config), &NameRow::gguf, &NameRow::model);
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
  if (!consume(rest, layerPrefix.model)) {
    auto whole = translate(modelName, namesOfModel(config), &NameRow::model, &NameRow::gguf);
    return whole ? whole : stackOfStream(modelName);
  }
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
  dropCopies(tensors);
  std::vector<Tensor> named;
  for (Tensor &tensor : tensors) {
    if (const auto stack = stackCalled(tensor.name, config)) {
      if (auto added = addMatrices(tensor, *stack, where, named); !added)
        return added.error();
      continue;
    }
    if (const auto parts = partsOfFused(tensor.name, config); !parts.empty()) {
      if (auto added = addParts(tensor, parts, where, named); !added)
        return added.error();
      continue;
    }
    if (tensor.name.ends_with(".ffn_gate_inp_shexp.weight") && tensor.shape.size() == 1)
      tensor.shape.insert(tensor.shape.begin(), 1);
    if ((tensor.name.ends_with(".shortconv.conv.weight") ||
         tensor.name.ends_with(".ssm_conv1d.weight")) &&
        tensor.shape.size() == 2)
      tensor.shape.insert(tensor.shape.begin() + 1, 1);
    if (isVectorOfStateSpace(tensor) || isOfHeads(tensor)) {
      tensor.shape[1] *= tensor.shape[0];
      tensor.shape.erase(tensor.shape.begin());
    }
    if (auto known = modelNameOf(tensor.name, config))
      tensor.name = *std::move(known);
    named.push_back(std::move(tensor));
  }
  return named;
}

} // namespace ingot::checkpoint
