// SPDX-License-Identifier: Apache-2.0
// LFM2: short convolutions between gates in some layers, attention with normed heads in the others.
// LFM2-MoE: experts in all layers but the first.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/HybridGguf.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

#include <algorithm>

namespace ingot::checkpoint::families {

static constexpr KeyAlias aliases[] = {{"block_ff_dim", "intermediate_size"},
                                       {"block_norm_eps", "norm_eps"},
                                       {"tie_embedding", "tie_word_embeddings"}};
static constexpr std::string_view meaningless[] = {"block_mlp_init_scale",
                                                   "block_out_init_scale",
                                                   "block_use_xavier_init",
                                                   "conv_use_xavier_init",
                                                   "num_heads",
                                                   "use_pos_enc"};

/// Of the inner size that is given two thirds, times a factor, rounded up.
static void adjustInnerSize(JsonFields &fields, ConfigDraft &config) {
  const uint64_t multiple = fields.unsignedIntegerOr("block_multiple_of", 256, 1, 1 << 20);
  const double factor = fields.numberOr("block_ffn_dim_multiplier", 1, kLeastFactor, kMostFactor);
  if (!fields.booleanOr("block_auto_adjust_ff_dim", true))
    return;
  const double wanted = factor * static_cast<double>(2 * config.mlp.innerSize / 3);
  if (!(wanted >= 1) || wanted > static_cast<double>(ModelConfig::widest))
    return fields.fail("block_ffn_dim_multiplier", "INGOT-E1051",
                       message("it makes the feed-forward ", wanted, " wide"), "correct it");
  const auto size = static_cast<uint64_t>(wanted);
  config.mlp.innerSize = (size + multiple - 1) / multiple * multiple;
}

/// Without `layer_types`, `full_attn_idxs` lists the layers with attention.
static void readConvLayers(JsonFields &fields, ConfigDraft &config) {
  const auto attends = fields.unsignedIntegers("full_attn_idxs", 0, config.layerCount() - 1);
  if (fields.has("layer_types") || !attends)
    return;
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
    config.otherLayers.push_back(std::ranges::count(*attends, layer) == 0);
}

static void readConvolution(JsonFields &fields, ConfigDraft &config) {
  ShortConv &conv = std::get<ShortConv>(*config.other);
  conv.taps = fields.unsignedIntegerOr("conv_L_cache", 3, 2, ShortConv::mostTaps);
  conv.bias = fields.booleanOr("conv_bias", false);
}

static void readOwn(JsonFields &fields, ConfigDraft &config) {
  readConvolution(fields, config);
  for (std::string_view key : {"block_dim", "conv_dim", "conv_dim_out"})
    if (fields.unsignedIntegerOr(key, config.hiddenSize, 1, ModelConfig::widest) !=
        config.hiddenSize)
      fields.fail(key, "INGOT-E1057", "convolutions of another width than the model's",
                  "use a checkpoint where it is hidden_size");
  if (!fields.booleanOr("block_use_swiglu", true))
    fields.fail("block_use_swiglu", "INGOT-E1057", "a feed-forward without a gate is not supported",
                "use a checkpoint with one");
  adjustInnerSize(fields, config);
  readConvLayers(fields, config);
}

/// Of each layer that has no KV heads, the convolution takes the place of attention.
static void readGgufLayers(GgufFields &fields, ConfigDraft &config) {
  config.mlp.innerSize = fields.unsignedInteger("feed_forward_length", 1, ModelConfig::widest);
  for (uint64_t heads : readHybridHeads(fields, config))
    config.otherLayers.push_back(heads == 0);
}

static void readGgufConvolution(GgufFields &fields, ConfigDraft &config) {
  std::get<ShortConv>(*config.other).taps =
      fields.unsignedInteger("shortconv.l_cache", 2, ShortConv::mostTaps);
}

static constexpr ModelForm form = {.names = {.norm = "model.embedding_norm",
                                             .output = "out_proj",
                                             .queryNorm = "q_layernorm",
                                             .keyNorm = "k_layernorm",
                                             .feedForward = "feed_forward",
                                             .gate = "w1",
                                             .up = "w3",
                                             .down = "w2",
                                             .inputNorm = "operator_norm",
                                             .feedForwardNorm = "ffn_norm"}};

static constexpr LayerPattern layers = {
    .attention = {.queryKeyNorm = QueryKeyNorm::Heads}, .other = ShortConv{}, .otherType = "conv"};

static constexpr ConfigJson json(std::span<const KeyAlias> names,
                                 void (*read)(JsonFields &fields, ConfigDraft &config)) {
  return {.positions = 128000,
          .kvHeads = 8,
          .bos = 1,
          .eos = 2,
          .epsilonKey = "norm_eps",
          .epsilon = 1e-5,
          .rope = {.theta = 1e6},
          .tied = true,
          .aliases = names,
          .readOwn = read};
}

static constexpr ConfigJson denseJson() {
  ConfigJson own = json(aliases, readOwn);
  own.meaningless = meaningless;
  return own;
}

constinit const Family lfm2 = {
    .architecture = "Lfm2ForCausalLM",
    .form = form,
    .layers = layers,
    .json = denseJson(),
    .gguf = {.name = "lfm2", .readLayers = readGgufLayers, .readOwn = readGgufConvolution}};

//===- LFM2-MoE -----------------------------------------------------------------------------===//

static constexpr KeyAlias tieAlias[] = {{"tie_embedding", "tie_word_embeddings"}};

static constexpr Experts biasedExperts() {
  Experts experts = {.module = "feed_forward", .gate = "w1", .up = "w3", .down = "w2"};
  experts.routing.sigmoid = true;
  experts.routing.epsilon = 1e-6;
  return experts;
}

static void readExperts(JsonFields &fields, ConfigDraft &config) {
  readConvolution(fields, config);
  Experts &experts = *config.experts;
  experts.innerSize =
      fields.unsignedIntegerOr("moe_intermediate_size", 1792, 1, ModelConfig::widest);
  if (fields.booleanOr("use_expert_bias", true))
    experts.routing.bias = "expert_bias";
  experts.routing.normTopkProb = fields.booleanOr("norm_topk_prob", true);
  experts.routing.scale = fields.numberOr("routed_scaling_factor", 1, kLeastFactor, kMostFactor);
  makeFirstDense(config, fields.unsignedIntegerOr("num_dense_layers", 2, 0, config.layerCount()));
}

static void readGgufExperts(GgufFields &fields, ConfigDraft &config) {
  readGgufConvolution(fields, config);
  readRoutedExperts(fields, config, /*gating=*/2);
  config.experts->routing.bias = "expert_bias";
}

static constexpr LayerPattern sparseLayers() {
  LayerPattern own = layers;
  own.experts = biasedExperts();
  return own;
}

static constexpr ConfigJson sparseJson() {
  ConfigJson own = json(tieAlias, readExperts);
  own.expertsPerToken = 4;
  return own;
}

constinit const Family lfm2Moe = {
    .architecture = "Lfm2MoeForCausalLM",
    .form = form,
    .layers = sparseLayers(),
    .json = sparseJson(),
    .gguf = {.name = "lfm2moe", .readLayers = readGgufLayers, .readOwn = readGgufExperts}};

} // namespace ingot::checkpoint::families
