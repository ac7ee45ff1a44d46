// SPDX-License-Identifier: Apache-2.0
// Qwen 1.5 to 3: biases on q, k and v, then norms of the heads of q and k; both also with experts
// in all layers, or in some.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/SparseLayers.h"

namespace ingot::checkpoint::families {

static constexpr std::string_view meaningless[] = {"sliding_window", "max_window_layers"};
static constexpr FlagKey attentionBias[] = {kAttentionBias};
static constexpr FlagKey qkvBias[] = {{"qkv_bias", &Attention::bias, true}};

/// Where use_sliding_window is false, the keys that describe the window mean nothing.
static void readWindow(JsonFields &fields, ConfigDraft &config) {
  if (!fields.booleanOr("use_sliding_window", false))
    return;
  static constexpr CountKey window[] = {slidingWindow(4096)};
  readKeys(fields, {.counts = window}, config);
  uint64_t full = fields.unsignedIntegerOr("max_window_layers", 28, 0, ModelConfig::mostLayers);
  for (uint64_t i = 0; i < config.layerCount(); ++i)
    config.slidingLayers.push_back(i >= full);
}

/// Layers without experts are as in the family without.
static void readExperts(JsonFields &fields, ConfigDraft &config, uint64_t innerSize) {
  Experts &experts = *config.experts;
  experts.innerSize =
      fields.unsignedIntegerOr("moe_intermediate_size", innerSize, 1, ModelConfig::widest);
  experts.routing.normTopkProb = fields.booleanOr("norm_topk_prob", false);
  readSparseLayers(fields, config);
  readWindow(fields, config);
}

constinit const Family qwen2 = {
    .architecture = "Qwen2ForCausalLM",
    .layers = {.attention = {.bias = true}},
    .json = {.positions = 32768, .kvHeads = 32, .meaningless = meaningless, .readOwn = readWindow},
    .gguf = {.name = "qwen2", .writtenAs = &qwen2}};

/// Qwen1.5-MoE, Qwen2-57B-A14B.
constinit const Family qwen2Moe = {
    .architecture = "Qwen2MoeForCausalLM",
    .layers = {.experts = Experts{.routing = {.normTopkProb = false},
                                  .sharedGated = true,
                                  .shared = "shared_expert"}},
    .json = {.positions = 32768,
             .kvHeads = 16,
             .expertsPerToken = 4,
             .keys = {.flags = qkvBias},
             .meaningless = meaningless,
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &config) {
                   readExperts(fields, config, 1408);
                   config.experts->sharedSize = fields.unsignedIntegerOr(
                       "shared_expert_intermediate_size", 5632, 1, ModelConfig::widest);
                 }},
    .gguf = {.name = "qwen2moe", .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               config.experts->sharedSize =
                   fields.unsignedIntegerOr("expert_shared_feed_forward_length",
                                            config.mlp.innerSize, 1, ModelConfig::widest);
             }}};

constinit const Family qwen3 = {.architecture = "Qwen3ForCausalLM",
                                .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads}},
                                .json = {.positions = 32768,
                                         .kvHeads = 32,
                                         .headDim = 128,
                                         .keys = {.flags = attentionBias},
                                         .meaningless = meaningless,
                                         .readOwn = readWindow},
                                .gguf = {.name = "qwen3", .writtenAs = &qwen3}};

constinit const Family qwen3Moe = {
    .architecture = "Qwen3MoeForCausalLM",
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads}, .experts = Experts{}},
    .json = {.positions = 32768,
             .kvHeads = 4,
             .expertsPerToken = 8,
             .keys = {.flags = attentionBias},
             .meaningless = meaningless,
             .readOwn = [](JsonFields &fields,
                           ConfigDraft &config) { readExperts(fields, config, 768); }},
    .gguf = {.name = "qwen3moe"}};

/// The text part of Qwen3-VL with experts.
constinit const Family qwen3VlMoeText = {
    .architecture = "Qwen3VLMoeTextModel",
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads},
               .experts = Experts{.storage = ExpertStorage::Halves}},
    .json = {.positions = 128000,
             .kvHeads = 16,
             .expertsPerToken = 4,
             .keys = {.flags = attentionBias},
             .meaningless = meaningless,
             .readOwn = [](JsonFields &fields, ConfigDraft &config) {
               readExperts(fields, config, 1408);
               config.experts->routing.normTopkProb = fields.booleanOr("norm_topk_prob", true);
             }}};

} // namespace ingot::checkpoint::families
