// SPDX-License-Identifier: Apache-2.0
// What GGUF files say of Gemma 4. Keys with "_swa" are of layers that slide, the others of full
// ones.
#pragma once

#include "compiler/checkpoint/config/families/GemmaGguf.h"

namespace ingot::checkpoint::families {

/// Experts beside MLPs, whose tensors stand in the layer itself.
constexpr Experts gemma4Experts() {
  Experts experts = {.module = "", .router = "router.proj"};
  experts.routing.inputScale = "router.scale";
  experts.routing.expertScale = "router.per_expert_scale";
  return experts;
}

class Gemma4Gguf {
public:
  static void readLayers(GgufFields &fields, ConfigDraft &config) {
    Gemma4Gguf reader{fields, config};
    readSliding(fields, config);
    reader.readHeads();
    reader.readSlidingHeads();
    config.sharingLayers = fields.unsignedIntegerOr(kSharingKey, 0, 0, config.layerCount() - 1);
    checkSharing(fields, config);
    reader.readWidths();
    reader.findValues();
  }

  static void readOwn(GgufFields &fields, ConfigDraft &config) {
    config.slidingRope.emplace().theta = fields.number("rope.freq_base_swa", 1, 1e15);
    if (!fields.hasTensor(kDivisors))
      fields.fail("rope.freq_base",
                  message("there is no ", kDivisors, ", by which heads of full layers rotate"),
                  "convert the model again", "INGOT-E1115");
    readInputs(fields, config, /*least=*/0);
    Gemma4Gguf{fields, config}.readExperts();
  }

  static constexpr NumberKey cap[] = {
      {"final_logit_softcapping", &ModelConfig::logitsSoftcap, 0, 0, kMostFactor}};

private:
  Gemma4Gguf(GgufFields &fields, ConfigDraft &config) : fields(fields), config(config) {}

  /// The KV heads of layers that slide, and of those that do not.
  void readHeads() {
    constexpr std::string_view key = "attention.head_count_kv";
    const uint64_t heads = config.attention.heads;
    const std::vector<uint64_t> all = fields.countsOfLayers(key, config.layerCount(), 1, heads);
    uint64_t full = 0, sliding = 0;
    bool isAlike = true;
    for (uint64_t layer = 0; layer < config.layerCount(); ++layer) {
      uint64_t &own = config.slides(layer) ? sliding : full;
      isAlike &= own == 0 || own == all[layer];
      own = all[layer];
    }
    config.attention.kvHeads = full == 0 ? sliding : full;
    config.slidingKvHeads = sliding == 0 ? full : sliding;
    if (!isAlike)
      fields.fail(key, "layers that slide, or full ones, differ among each other",
                  "convert the model again");
    if (heads % config.slidingKvHeads != 0)
      fields.fail(key, message(config.slidingKvHeads, " KV heads do not divide ", heads, " heads"),
                  "correct the number", "INGOT-E1051");
  }

  void readSlidingHeads() {
    constexpr std::string_view size = "attention.key_length_swa";
    config.slidingHeadDim = fields.unsignedInteger(size, 2, ModelConfig::widestHead);
    if (config.slidingHeadDim % 2 != 0)
      fields.fail(size, "a head of an odd number of elements cannot be rotated in pairs",
                  "the head size must be even", "INGOT-E1051");
    for (std::string_view key : {"attention.value_length_swa", "rope.dimension_count_swa"})
      if (fields.unsignedIntegerOr(key, config.slidingHeadDim, 1, ModelConfig::widestHead) !=
          config.slidingHeadDim)
        fields.fail(key, message("it is not the ", config.slidingHeadDim, " of ", size),
                    "use a model of Gemma 4's form");
  }

  /// Layers without keys and values may have MLPs twice as wide.
  void readWidths() {
    constexpr std::string_view key = "feed_forward_length";
    const uint64_t layers = config.layerCount(), owners = layers - config.sharingLayers;
    const std::vector<uint64_t> all = fields.countsOfLayers(key, layers, 1, ModelConfig::widest);
    config.mlp.innerSize = all.front();
    config.sharingWide = all.back() != all.front();
    for (uint64_t layer = 0; layer < layers; ++layer)
      if (all[layer] != all.front() * (config.sharingWide && layer >= owners ? 2 : 1))
        fields.fail(key,
                    "only layers without keys and values may have other MLPs, twice as wide ones",
                    "use a model of Gemma 4's form");
  }

  /// Full layers without a matrix for v take what k is.
  void findValues() {
    uint64_t full = 0, found = 0;
    for (uint64_t layer = 0; layer < config.layerCount() - config.sharingLayers; ++layer)
      if (!config.slides(layer)) {
        ++full;
        found += fields.hasTensor(message("blk.", layer, ".attn_v.weight")) ||
                 fields.hasTensor(message("blk.", layer, ".attn_qkv.weight"));
      }
    config.attention.valueIsKey = found == 0;
    if (found != 0 && found != full)
      fields.fail("block_count",
                  message("of ", full, " full layers with keys, ", found, " have a tensor attn_v"),
                  "convert the model again");
  }

  void readExperts() {
    constexpr std::string_view ofToken = "expert_used_count", size = "expert_feed_forward_length";
    const uint64_t count = fields.unsignedIntegerOr("expert_count", 0, 0, Experts::most);
    if (count == 0) {
      for (std::string_view key : {ofToken, size})
        fields.has(key); // they say nothing then
      return;
    }
    Experts &experts = config.experts.emplace(gemma4Experts());
    experts.count = count;
    experts.perToken = fields.unsignedInteger(ofToken, 1, count);
    experts.innerSize = fields.unsignedInteger(size, 1, ModelConfig::widest);
  }

  GgufFields &fields;
  ConfigDraft &config;
};

} // namespace ingot::checkpoint::families
