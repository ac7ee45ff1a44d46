// SPDX-License-Identifier: Apache-2.0
// The table of tensor names. Source of the GGUF names: `gguf-py/gguf/constants.py` of llama.cpp.
#include "compiler/checkpoint/GgufNames.h"

#include <algorithm>
#include <span>

namespace ingot::checkpoint {

namespace {

struct NameRow {
  std::string_view gguf, model;
};

constexpr NameRow suffixes[] = {{".weight", ".weight"}, {".bias", ".bias"}};

constexpr NameRow ofModel[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
};

constexpr NameRow layerPrefix = {"blk.", "model.layers."};

constexpr NameRow ofLayer[] = {
    {"attn_q", "self_attn.q_proj"},      {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},      {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

// Hugging Face's names count from attention on, so a norm's name depends on which others there are.
constexpr NameRow inputNorms[] = {{"attn_norm", "input_layernorm"},
                                  {"ffn_norm", "post_attention_layernorm"}};
constexpr NameRow resultNorms[] = {{"post_attention_norm", "post_attention_layernorm"},
                                   {"post_ffw_norm", "post_feedforward_layernorm"}};
constexpr NameRow bothNorms[] = {{"attn_norm", "input_layernorm"},
                                 {"post_attention_norm", "post_attention_layernorm"},
                                 {"ffn_norm", "pre_feedforward_layernorm"},
                                 {"post_ffw_norm", "post_feedforward_layernorm"}};

std::span<const NameRow> normsOf(LayerNorms norms) {
  switch (norms) {
  case LayerNorms::Inputs:
    return inputNorms;
  case LayerNorms::Results:
    return resultNorms;
  case LayerNorms::Both:
    return bothNorms;
  }
  return {};
}

using Side = std::string_view NameRow::*;

std::optional<std::string> translate(std::string_view name, LayerNorms norms, Side from, Side to) {
  const auto suffix = std::find_if(std::begin(suffixes), std::end(suffixes),
                                   [&](const NameRow &row) { return name.ends_with(row.*from); });
  if (suffix == std::end(suffixes))
    return std::nullopt;
  name.remove_suffix((suffix->*from).size());
  std::string out;
  std::span<const NameRow> rows = ofModel, more;
  if (name.starts_with(layerPrefix.*from)) {
    name.remove_prefix((layerPrefix.*from).size());
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits == 0 || digits == name.size() || name[digits] != '.')
      return std::nullopt;
    out.append(layerPrefix.*to).append(name.substr(0, digits + 1));
    name.remove_prefix(digits + 1);
    rows = ofLayer;
    more = normsOf(norms);
  }
  for (std::span<const NameRow> list : {rows, more})
    for (const NameRow &row : list)
      if (row.*from == name)
        return out.append(row.*to).append(suffix->*to);
  return std::nullopt;
}

} // namespace

std::optional<std::string> modelNameOf(std::string_view ggufName, LayerNorms norms) {
  return translate(ggufName, norms, &NameRow::gguf, &NameRow::model);
}

std::optional<std::string> ggufNameOf(std::string_view modelName, LayerNorms norms) {
  return translate(modelName, norms, &NameRow::model, &NameRow::gguf);
}

} // namespace ingot::checkpoint
