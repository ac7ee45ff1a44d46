// SPDX-License-Identifier: Apache-2.0
// The multipliers of Granite models, and how they store experts.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

inline constexpr NumberKey kGraniteMultipliers[] = {
    factorKey("embedding_multiplier", &ModelConfig::embeddingMultiplier, 1),
    factorKey("residual_multiplier", &ModelConfig::residualMultiplier, 1),
    factorKey("attention_multiplier", &Attention::scaling, 1),
    factorKey("logits_scaling", &ModelConfig::logitsDivisor, 1)};

/// The same of GGUF files.
inline constexpr NumberKey kGgufGraniteMultipliers[] = {
    factorKey("embedding_scale", &ModelConfig::embeddingMultiplier, 1),
    factorKey("residual_scale", &ModelConfig::residualMultiplier, 1),
    factorKey("attention.scale", &Attention::scaling, 0),
    factorKey("logit_scale", &ModelConfig::logitsDivisor, 1)};

/// One matrix of gates and ups, of the MLP for all tokens and of each expert.
inline constexpr ModelForm kGraniteForm = {
    .names = {.feedForward = "shared_mlp", .gateUp = "input_linear", .down = "output_linear"}};

constexpr Experts graniteExperts() {
  return {.storage = ExpertStorage::Halves,
          .stacks = "block_sparse_moe",
          .stackedGateUp = "input_linear.weight",
          .stackedDown = "output_linear.weight",
          .module = "",
          .router = "block_sparse_moe.router.layer",
          .shared = "shared_mlp"};
}

/// Of GGUF files, whose converters take gates and ups apart.
inline void readGraniteExperts(GgufFields &fields, ConfigDraft &config) {
  config.mlp.fusedGateUp = false;
  config.experts->stacks = "experts";
  config.experts->sharedSize =
      fields.unsignedIntegerOr("expert_shared_feed_forward_length", 0, 0, ModelConfig::widest);
}

} // namespace ingot::checkpoint
