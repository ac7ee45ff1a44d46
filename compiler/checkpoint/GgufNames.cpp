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
    {"attn_norm", "input_layernorm"},    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},      {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},       {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
};

using Side = std::string_view NameRow::*;

std::optional<std::string> translate(std::string_view name, Side from, Side to) {
  const auto suffix = std::find_if(std::begin(suffixes), std::end(suffixes),
                                   [&](const NameRow &row) { return name.ends_with(row.*from); });
  if (suffix == std::end(suffixes))
    return std::nullopt;
  name.remove_suffix((suffix->*from).size());
  std::string out;
  std::span<const NameRow> rows = ofModel;
  if (name.starts_with(layerPrefix.*from)) {
    name.remove_prefix((layerPrefix.*from).size());
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits == 0 || digits == name.size() || name[digits] != '.')
      return std::nullopt;
    out.append(layerPrefix.*to).append(name.substr(0, digits + 1));
    name.remove_prefix(digits + 1);
    rows = ofLayer;
  }
  for (const NameRow &row : rows)
    if (row.*from == name)
      return out.append(row.*to).append(suffix->*to);
  return std::nullopt;
}

} // namespace

std::optional<std::string> modelNameOf(std::string_view ggufName) {
  return translate(ggufName, &NameRow::gguf, &NameRow::model);
}

std::optional<std::string> ggufNameOf(std::string_view modelName) {
  return translate(modelName, &NameRow::model, &NameRow::gguf);
}

} // namespace ingot::checkpoint
