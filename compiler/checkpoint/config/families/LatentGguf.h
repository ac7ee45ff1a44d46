// SPDX-License-Identifier: Apache-2.0
// What GGUF files say of latent attention, and of the models that have it, all under one name:
// DeepSeek V2 and V3, Kimi K2, GLM-4.7-Flash.
#pragma once

#include "compiler/checkpoint/config/families/RoutedExperts.h"

#include <cmath>

namespace ingot::checkpoint {

/// Older files have kv_b whole and the sizes of heads, newer ones those of the latent that all
/// heads attend to, with the others under names of their own.
inline void readLatentHeads(GgufFields &fields, ConfigDraft &config) {
  constexpr uint64_t most = ModelConfig::widestHead;
  auto &latent = std::get<LatentAttention>(*config.other);
  config.mlp.innerSize = fields.unsignedInteger("feed_forward_length", 1, ModelConfig::widest);
  latent.heads = config.attention.kvHeads = config.attention.heads;
  latent.queryRank = fields.unsignedIntegerOr("attention.q_lora_rank", 0, 0, ModelConfig::widest);
  latent.latentRank = fields.unsignedInteger("attention.kv_lora_rank", 1, ModelConfig::widest);
  latent.rotaryDim = fields.unsignedInteger("rope.dimension_count", 2, most);
  for (std::string_view key :
       {"attention.head_count_kv", "attention.key_length", "attention.value_length"})
    fields.has(key);
  const bool isApart = fields.has("attention.key_length_mla");
  const std::string_view keys = isApart ? "attention.key_length_mla" : "attention.key_length",
                         values = isApart ? "attention.value_length_mla" : "attention.value_length";
  const uint64_t dim = fields.unsignedInteger(keys, 2, most);
  latent.valueDim = fields.unsignedInteger(values, 1, most);
  if (dim <= latent.rotaryDim || latent.rotaryDim % 2 != 0)
    fields.fail(
        keys,
        message("a head of ", dim, " elements, of which ", latent.rotaryDim, " rotate in pairs"),
        "correct it or rope.dimension_count", "INGOT-E1051");
  latent.plainDim = dim - std::min(dim, latent.rotaryDim);
  config.attention.headDim = latent.rotaryDim;
  config.otherLayers.assign(config.layerCount(), true);
}

/// Files without a scoring function are of models whose experts have no bias, or forgot it.
inline void readLatentModel(GgufFields &fields, ConfigDraft &config) {
  constexpr std::string_view growth = "rope.scaling.yarn_log_multiplier";
  if (config.rope.type == RopeType::Yarn) {
    // Queries and keys grow, and not what rotates them.
    config.rope.attentionFactor = 1;
    config.rope.allGrowth =
        1 + fields.numberOr(growth, 0, 0, kMostFactor) * std::log(config.rope.factor);
  } else {
    fields.has(growth);
  }
  const bool isBiased = fields.hasInLayers("exp_probs_b.bias", config.layerCount());
  const bool isSigmoid =
      fields.unsignedIntegerOr("expert_gating_func", isBiased ? 2 : 1, 0, 16) == 2;
  Router &routing = config.experts->routing;
  if (!isSigmoid) {
    config.architecture = "DeepseekV2ForCausalLM";
    routing = Router();
  } else if (!isBiased) {
    routing.bias = {};
  }
  routing.normTopkProb = false; // unless a key says so
  readRoutedExperts(fields, config, isSigmoid ? 2 : 1);
}

inline constexpr GgufMetadata kLatentGguf = {.name = "deepseek2",
                                             .ropeType = "yarn",
                                             .readLayers = readLatentHeads,
                                             .readOwn = readLatentModel};

} // namespace ingot::checkpoint
