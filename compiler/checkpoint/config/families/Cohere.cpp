// SPDX-License-Identifier: Apache-2.0
// Cohere's Command R and R7B: attention and feed-forward read one LayerNorm without bias; rotary
// pairs stand side by side; logits are multiplied. In the second, full layers do not rotate.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr NumberKey multiplier[] = {
    factorKey("logit_scale", &ModelConfig::logitsMultiplier, 0.0625)};
static constexpr FamilyFacts facts = {
    .layerForm = LayerForm::Shared, .norm = NormKind::Layer, .rotaryPairRows = true};

static void readNorms(JsonFields &fields, ModelConfig &config) {
  if (fields.booleanOr("use_qk_norm", false))
    config.queryKeyNorm = QueryKeyNorm::HeadsApart;
}

static void readGgufNorms(GgufFields &fields, ModelConfig &config) {
  if (fields.hasTensor("blk.0.attn_q_norm.weight"))
    config.queryKeyNorm = QueryKeyNorm::HeadsApart;
}

constinit const Family cohere = {.architecture = "CohereForCausalLM",
                                 .facts = facts,
                                 .json = {.positions = 8192,
                                          .bos = 5,
                                          .eos = 255001,
                                          .epsilonKey = "layer_norm_eps",
                                          .epsilon = 1e-5,
                                          .rope = {.theta = 500000},
                                          .tied = true,
                                          .keys = {.flags = flags, .numbers = multiplier},
                                          .readOwn = readNorms},
                                 .gguf = {.name = "command-r",
                                          .rotaryPairRows = true,
                                          .keys = {.numbers = multiplier},
                                          .readOwn = readGgufNorms}};

//===- Cohere 2 -----------------------------------------------------------------------------===//

static constexpr CountKey windows[] = {
    {"sliding_window", &ModelConfig::slidingWindow, 4096, 1, Rope::mostPositions},
    {"sliding_window_pattern", &ModelConfig::fullEvery, 4, 1, ModelConfig::mostLayers}};
static constexpr CountKey ggufWindow[] = {
    {"attention.sliding_window", &ModelConfig::slidingWindow, 4096, 1, Rope::mostPositions}};
/// What its makers' own programs read; the second repeats `sliding_window_pattern`.
static constexpr std::string_view meaningless[] = {
    "_sliding_window_pattern", "layer_switch",       "order_of_interleaved_layers",
    "position_embedding_type", "rotary_pct",         "use_embedding_sharing",
    "use_gated_activation",    "use_parallel_block", "use_parallel_embedding"};

static constexpr FamilyFacts slidingFacts() {
  FamilyFacts sliding = facts;
  sliding.onlySlidingRotates = true;
  sliding.fullEvery = 4;
  return sliding;
}

constinit const Family cohere2 = {
    .architecture = "Cohere2ForCausalLM",
    .facts = slidingFacts(),
    .json = {.positions = 8192,
             .bos = 5,
             .eos = 255001,
             .epsilonKey = "layer_norm_eps",
             .epsilon = 1e-5,
             .tied = true,
             .keys = {.flags = flags, .counts = windows, .numbers = multiplier},
             .meaningless = meaningless},
    .gguf = {.name = "cohere2",
             .rotaryPairRows = true,
             .keys = {.counts = ggufWindow, .numbers = multiplier}}};

} // namespace ingot::checkpoint::families
