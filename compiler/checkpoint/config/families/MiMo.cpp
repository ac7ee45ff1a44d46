// SPDX-License-Identifier: Apache-2.0
// MiMo-V2-Flash: heads of v are smaller than those of k, and v is multiplied; layers that slide
// have more KV heads, attention sinks and a rotation of their own; experts in all layers but the
// first.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {{"attention_bias", &Attention::bias}};
static constexpr NumberKey numbers[] = {
    {"attention_value_scale", &Attention::valueScale, 0.707, kLeastFactor, kMostFactor}};
static constexpr KeyAlias aliases[] = {{"layernorm_epsilon", "rms_norm_eps"}};
/// What repeats others, or is so in all of these models.
static constexpr std::string_view meaningless[] = {"add_full_attention_sink_bias",
                                                   "add_swa_attention_sink_bias",
                                                   "attention_chunk_size",
                                                   "hybrid_block_size",
                                                   "scoring_func",
                                                   "swa_head_dim",
                                                   "swa_num_attention_heads",
                                                   "swa_v_head_dim",
                                                   "topk_method"};

/// Of each layer whether `key`, a list of 0 and 1, has 1; where there is none, `absent` says it.
static std::vector<bool> readPattern(JsonFields &fields, std::string_view key, uint64_t layers,
                                     bool (*absent)(uint64_t)) {
  const auto given = fields.unsignedIntegers(key, 0, 1);
  std::vector<bool> pattern;
  for (uint64_t layer = 0; layer < layers; ++layer)
    pattern.push_back(given && layer < given->size() ? (*given)[layer] == 1 : absent(layer));
  if (given && given->size() != layers)
    fields.fail(key, "INGOT-E1057",
                message("this is no list of one number for each of ", layers, " layers"),
                "correct it, or leave it out");
  return pattern;
}

static void readSliding(JsonFields &fields, ConfigDraft &config) {
  config.slidingLayers =
      readPattern(fields, "hybrid_layer_pattern", config.layerCount(),
                  [](uint64_t layer) { return layer != 0 && (layer + 1) % 6 != 0; });
  // A token attends to so many before it.
  config.attention.slidingWindow =
      fields.has("sliding_window_size")
          ? 1 + fields.unsignedInteger("sliding_window_size", 1, Rope::mostPositions - 1)
          : fields.unsignedIntegerOr("sliding_window", 129, 1, Rope::mostPositions);
  fields.has("sliding_window"); // in files with the other, what that says less 1
  config.slidingKvHeads = fields.unsignedIntegerOr(
      "swa_num_key_value_heads", 2 * config.attention.kvHeads, 1, config.attention.heads);
  if (config.attention.heads % config.slidingKvHeads != 0)
    fields.fail("swa_num_key_value_heads", "INGOT-E1051",
                message(config.slidingKvHeads, " KV heads do not divide ", config.attention.heads,
                        " heads"),
                "correct the two");
  config.slidingRope.emplace().theta = fields.numberOr("swa_rope_theta", 10000, 1, 1e15);
  config.attention.valueDim =
      fields.unsignedIntegerOr("v_head_dim", 128, 1, config.attention.headDim);
  if (config.attention.valueDim != config.attention.headDim)
    config.deviations.push_back({"v_head_dim", std::to_string(config.attention.valueDim),
                                 std::to_string(config.attention.headDim),
                                 "the KV cache has as many columns for v as for k"});
}

constinit const Family miMoV2 = {
    .architecture = "MiMoV2FlashForCausalLM",
    .form = {.names = {.sinks = "attention_sink_bias"}},
    .layers = {.attention = {.sinks = true},
               .experts = sigmoidExperts("gate.e_score_correction_bias")},
    .vary =
        [](const ConfigDraft &, LayerPlan &layer) {
          Attention &attention = std::get<Attention>(layer.tokenMixer);
          attention.sinks = attention.slidingWindow != 0;
        },
    .rotatesParts = true,
    .json = {.positions = 131072,
             .kvHeads = 4,
             .bos = 1,
             .headDim = 192,
             .epsilon = 1e-5,
             .rope = {.theta = 5e6, .rotated = 0.334},
             .expertsPerToken = 8,
             .aliases = aliases,
             .expertCount = "n_routed_experts",
             .keys = {.flags = flags, .numbers = numbers},
             .meaningless = meaningless,
             .readOwn = [](JsonFields &fields, ConfigDraft &config) {
               RoutedExperts{.innerSize = 2048}.read(fields, config);
               config.experts->sharedSize = 0;
               config.sparseLayers = readPattern(fields, "moe_layer_freq", config.layerCount(),
                                                 [](uint64_t layer) { return layer != 0; });
               readSliding(fields, config);
             }}};

} // namespace ingot::checkpoint::families
