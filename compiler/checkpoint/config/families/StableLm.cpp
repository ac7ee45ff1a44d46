// SPDX-License-Identifier: Apache-2.0
// StableLM 2 and 3B: LayerNorm; a quarter of each head rotates; in StableLM 2 12B attention and
// feed-forward read one norm, and heads of q and k are normed, each with its own factors.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {{"use_qkv_bias", &Attention::bias}};
static constexpr std::string_view meaningless[] = {"rope_pct", "norm_eps", "rotary_scaling_factor"};

static void readForm(JsonFields &fields, ConfigDraft &config) {
  if (fields.booleanOr("use_parallel_residual", false))
    config.norms = NormPlacement::ParallelShared;
  if (fields.booleanOr("qk_layernorm", false))
    config.attention.queryKeyNorm = QueryKeyNorm::HeadsListed;
}

/// The converter makes one tensor of the heads' factors.
static void readGgufForm(GgufFields &fields, ConfigDraft &config) {
  if (fields.booleanOr("use_parallel_residual", false))
    config.norms = NormPlacement::ParallelShared;
  if (fields.hasTensor("blk.0.attn_q_norm.weight"))
    config.attention.queryKeyNorm = QueryKeyNorm::HeadsApart;
}

constinit const Family stableLm = {
    .architecture = "StableLmForCausalLM",
    .form = {.norm = NormKind::LayerBias,
             .names = {.queryNorm = "q_layernorm", .keyNorm = "k_layernorm"}},
    .rotatesParts = true,
    .json = {.positions = 4096,
             .kvHeads = 32,
             .bos = 0,
             .eos = 0,
             .epsilonKey = "layer_norm_eps",
             .epsilon = 1e-5,
             .rope = {.rotated = 0.25},
             .keys = {.flags = flags},
             .meaningless = meaningless,
             .readOwn = readForm},
    .gguf = {.name = "stablelm", .readOwn = readGgufForm}};

} // namespace ingot::checkpoint::families
