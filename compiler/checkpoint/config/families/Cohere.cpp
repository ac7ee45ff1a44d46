// SPDX-License-Identifier: Apache-2.0
// Cohere's Command R and R7B: attention and feed-forward read one LayerNorm without bias; rotary
// pairs stand side by side; logits are multiplied. In the second, full layers do not rotate.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/NopeLayers.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr NumberKey multiplier[] = {
    factorKey("logit_scale", &ModelConfig::logitsMultiplier, 0.0625)};
static constexpr ModelForm form = {.norm = NormKind::Layer};
static constexpr LayerPattern layers = {.attention = {.ropeInterleaved = true},
                                        .norms = NormPlacement::ParallelShared};

static void readNorms(JsonFields &fields, ConfigDraft &config) {
  if (fields.booleanOr("use_qk_norm", false))
    config.attention.queryKeyNorm = QueryKeyNorm::HeadsApart;
}

static void readGgufNorms(GgufFields &fields, ConfigDraft &config) {
  if (fields.hasTensor("blk.0.attn_q_norm.weight"))
    config.attention.queryKeyNorm = QueryKeyNorm::HeadsApart;
}

constinit const Family cohere = {.architecture = "CohereForCausalLM",
                                 .form = form,
                                 .layers = layers,
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
                                          .ropeInterleaved = true,
                                          .keys = {.numbers = multiplier},
                                          .readOwn = readGgufNorms}};

//===- Cohere 2 -----------------------------------------------------------------------------===//

static constexpr CountKey windows[] = {
    {"sliding_window", &Attention::slidingWindow, 4096, 1, Rope::mostPositions},
    {"sliding_window_pattern", &LayerPattern::fullEvery, 4, 1, ModelConfig::mostLayers}};
static constexpr CountKey ggufWindow[] = {
    {"attention.sliding_window", &Attention::slidingWindow, 4096, 1, Rope::mostPositions}};
/// What its makers' own programs read; the second repeats `sliding_window_pattern`.
static constexpr std::string_view meaningless[] = {
    "_sliding_window_pattern", "layer_switch",       "order_of_interleaved_layers",
    "position_embedding_type", "rotary_pct",         "use_embedding_sharing",
    "use_gated_activation",    "use_parallel_block", "use_parallel_embedding"};

static constexpr LayerPattern slidingLayers() {
  LayerPattern sliding = layers;
  sliding.fullEvery = 4;
  return sliding;
}

constinit const Family cohere2 = {
    .architecture = "Cohere2ForCausalLM",
    .form = form,
    .layers = slidingLayers(),
    .vary = rotateInWindows,
    .json = {.positions = 8192,
             .bos = 5,
             .eos = 255001,
             .epsilonKey = "layer_norm_eps",
             .epsilon = 1e-5,
             .tied = true,
             .keys = {.flags = flags, .counts = windows, .numbers = multiplier},
             .meaningless = meaningless},
    .gguf = {.name = "cohere2",
             .ropeInterleaved = true,
             .keys = {.counts = ggufWindow, .numbers = multiplier}}};

} // namespace ingot::checkpoint::families
