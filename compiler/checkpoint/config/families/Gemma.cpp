// SPDX-License-Identifier: Apache-2.0
// Gemma 2 and 3 (text): norms before and behind attention and feed-forward, factors stored less 1;
// GELU; soft-capping or norms of the heads of q and k; most layers slide.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GemmaRoot.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr ModuleNames names = {.feedForwardNorm = "pre_feedforward_layernorm"};
static constexpr std::string_view meaningless[] = {
    "hidden_act", "_sliding_window_pattern", "sliding_window_pattern", "rope_local_base_freq"};

static constexpr NumberKey capKey(std::string_view key, Field<double> field, double absent) {
  NumberKey row = factorKey(key, field, absent);
  row.nullIsNone = true;
  return row;
}

//===- Gemma 2 ------------------------------------------------------------------------------===//

static constexpr CountKey window[] = {slidingWindow(4096)};
static constexpr NumberKey caps[] = {
    capKey("attn_logit_softcapping", &Attention::softcap, 50),
    capKey("final_logit_softcapping", &ModelConfig::logitsSoftcap, 30)};
static constexpr CountKey ggufWindow[] = {
    {"attention.sliding_window", &Attention::slidingWindow, 4096, 0, Rope::mostPositions}};

static void readMultipliers(JsonFields &fields, ConfigDraft &config) {
  config.embeddingMultiplier = rootInOwnType(config, config.hiddenSize);
  config.attention.scaling =
      1 / std::sqrt(fields.numberOr("query_pre_attn_scalar", 256, 1, kMostFactor));
}

/// No key says what scores are multiplied by: the largest model of each family, known by its
/// layers, differs from the others.
static void setMultipliers(ConfigDraft &config, uint64_t layersOfLargest) {
  config.embeddingMultiplier = std::sqrt(static_cast<float>(config.hiddenSize));
  const uint64_t scaled = config.layerCount() == layersOfLargest
                              ? config.hiddenSize / config.attention.heads
                              : config.attention.headDim;
  config.attention.scaling = 1 / std::sqrt(static_cast<double>(scaled));
}

constinit const Family gemma2 = {
    .architecture = "Gemma2ForCausalLM",
    .form = {.normsLessOne = true, .names = names},
    .layers = {.mlp = {.activation = Activation::GeluTanh},
               .norms = NormPlacement::Sandwich,
               .fullEvery = 2},
    .json = {.positions = 8192,
             .kvHeads = 4,
             .bos = 2,
             .eos = 1,
             .headDim = 256,
             .tied = true,
             .activationKey = "hidden_activation",
             .activation = "gelu_pytorch_tanh",
             .keys = {.flags = flags, .counts = window, .numbers = caps},
             .meaningless = meaningless,
             .readOwn = readMultipliers},
    .gguf = {.name = "gemma2",
             .keys = {.counts = ggufWindow, .numbers = caps},
             .readOwn = [](GgufFields &, ConfigDraft &config) { setMultipliers(config, 46); },
             .writtenAs = &gemma2}};

//===- Gemma 3 ------------------------------------------------------------------------------===//

static constexpr CountKey windows[] = {
    slidingWindow(4096), {"sliding_window_pattern", &LayerPattern::fullEvery, 6, 1, 1u << 14}};
static constexpr NumberKey cap[] = {
    capKey("final_logit_softcapping", &ModelConfig::logitsSoftcap, 0)};
static constexpr CountKey ggufNoWindow[] = {
    {"attention.sliding_window", &Attention::slidingWindow, 0, 0, Rope::mostPositions}};
static constexpr NumberKey ggufCap[] = {
    {"final_logit_softcapping", &ModelConfig::logitsSoftcap, 0, 0, kMostFactor}};

static void readJson(JsonFields &fields, ConfigDraft &config) {
  readMultipliers(fields, config);
  // transformers has the key, and computes without it.
  if (fields.has("attn_logit_softcapping"))
    config.deviations.push_back({"attn_logit_softcapping", "a cap of scores", "not read",
                                 "transformers reads none for Gemma3ForCausalLM",
                                 /*isTold=*/true});
  config.slidingRope.emplace().theta = fields.numberOr("rope_local_base_freq", 10000, 1, 1e15);
}

static void readGguf(GgufFields &fields, ConfigDraft &config) {
  setMultipliers(config, 62);
  config.slidingRope.emplace().theta = fields.numberOr("rope.freq_base_swa", 10000, 1, 1e15);
}

constinit const Family gemma3 = {
    .architecture = "Gemma3ForCausalLM",
    .form = {.normsLessOne = true, .names = names},
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads},
               .mlp = {.activation = Activation::GeluTanh},
               .norms = NormPlacement::Sandwich,
               .fullEvery = 6},
    .json = {.positions = 131072,
             .kvHeads = 4,
             .bos = 2,
             .eos = 1,
             .headDim = 256,
             .heads = 8,
             .vocabulary = 262208,
             .rope = {.theta = 1e6},
             .tied = true,
             .activationKey = "hidden_activation",
             .activation = "gelu_pytorch_tanh",
             .keys = {.flags = flags, .counts = windows, .numbers = cap},
             .meaningless = meaningless,
             .readOwn = readJson},
    .gguf = {.name = "gemma3",
             .keys = {.counts = ggufNoWindow, .numbers = ggufCap},
             .readOwn = readGguf,
             .writtenAs = &gemma3}};

} // namespace ingot::checkpoint::families
