// SPDX-License-Identifier: Apache-2.0
// ModuleNames: what a family's checkpoints call the parts of a model.
#pragma once

#include <span>
#include <string_view>

namespace ingot::checkpoint {

/// How names of stored tensors begin, and how they do here.
struct NameBeginning {
  std::string_view stored, known;
};

/// By default, as Llama's. Those of a layer stand behind "model.layers.N."; a tensor's name adds
/// ".weight" or ".bias".
struct ModuleNames {
  std::string_view embedding = "model.embed_tokens", norm = "model.norm", head = "lm_head";
  std::string_view positions = {}; ///< embeddings of positions
  std::string_view attention = "self_attn", query = "q_proj", key = "k_proj", value = "v_proj",
                   queryKeyValue = "qkv_proj", output = "o_proj"; ///< behind `attention`
  std::string_view queryNorm = "q_norm", keyNorm = "k_norm";      ///< likewise
  std::string_view feedForward = "mlp";
  std::string_view gate = "gate_proj", up = "up_proj", gateUp = "gate_up_proj",
                   down = "down_proj"; ///< behind `feedForward`
  /// Norms of what attention reads and adds, and of what the feed-forward reads and adds, as far as
  /// the layer's form has them.
  std::string_view inputNorm = "input_layernorm", attentionNorm = "post_attention_layernorm",
                   feedForwardNorm = "post_attention_layernorm",
                   resultNorm = "post_feedforward_layernorm";
  /// What GGUF files call `feedForwardNorm`, in layers whose results are not normed.
  std::string_view ggufFeedForwardNorm = "ffn_norm";
  std::string_view sinks = "sinks"; ///< behind `attention`
  /// What checkpoints of other programs than GGUF's say otherwise. The first that fits counts.
  std::span<const NameBeginning> beginnings = {};
};

} // namespace ingot::checkpoint
