// SPDX-License-Identifier: Apache-2.0
// The keys of multi-head latent attention, as DeepSeek-V2 introduced them.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

#include <cmath>

namespace ingot::checkpoint {

/// What absent keys mean.
struct LatentKeys {
  uint64_t queryRank = 1536, latentRank = 512, plainDim = 128, rotaryDim = 64, valueDim = 128;

  /// For all layers of `config`, whose `other` mixer it is. Rotation is of the rotary columns.
  void read(JsonFields &fields, ConfigDraft &config) const {
    constexpr uint64_t most = ModelConfig::widestHead;
    auto &latent = std::get<LatentAttention>(*config.other);
    latent.heads = config.attention.heads;
    latent.queryRank =
        fields.isNull("q_lora_rank")
            ? 0
            : fields.unsignedIntegerOr("q_lora_rank", queryRank, 1, ModelConfig::widest);
    latent.latentRank =
        fields.unsignedIntegerOr("kv_lora_rank", latentRank, 1, ModelConfig::widest);
    latent.plainDim = fields.unsignedIntegerOr("qk_nope_head_dim", plainDim, 1, most);
    latent.rotaryDim = fields.unsignedIntegerOr("qk_rope_head_dim", rotaryDim, 2, most);
    latent.valueDim = fields.unsignedIntegerOr("v_head_dim", valueDim, 1, most);
    latent.ropeInterleaved = fields.booleanOr("rope_interleave", true);
    latent.bias = fields.booleanOr("attention_bias", false);
    if (latent.rotaryDim % 2 != 0)
      fields.fail("qk_rope_head_dim", "INGOT-E1051",
                  message("a head of ", latent.rotaryDim, " elements cannot be rotated in pairs"),
                  "the number must be even");
    fields.has("head_dim");    // the rotary columns, or says nothing
    fields.has("qk_head_dim"); // of both
    config.attention.headDim = latent.rotaryDim;
    config.otherLayers.assign(config.layerCount(), true);
  }
};

/// What rotation says of the scores: YaRN's growth of q and of k, and of q by its position.
inline void scaleLatent(const ConfigDraft &config, LayerPlan &layer) {
  auto &latent = std::get<LatentAttention>(layer.tokenMixer);
  latent.scaling = config.rope.allGrowth * config.rope.allGrowth /
                   std::sqrt(static_cast<double>(latent.queryDim()));
  latent.temperature = config.attention.temperature;
  const auto number = static_cast<size_t>(&layer - config.layers.data());
  latent.index.isShared = !config.sharedIndices.empty() && config.sharedIndices[number];
}

} // namespace ingot::checkpoint
