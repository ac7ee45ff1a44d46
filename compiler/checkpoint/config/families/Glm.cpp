// SPDX-License-Identifier: Apache-2.0
// GLM-4 0414: norms before and behind attention and feed-forward; gate and up are one matrix; half
// of each head rotates, in pairs that stand side by side. GLM-4.5 to 4.7: experts in all layers but
// the first.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {{"attention_bias", &Attention::bias, true}};

constinit const Family glm4 = {.architecture = "Glm4ForCausalLM",
                               .form = {.names = {.attentionNorm = "post_self_attn_layernorm",
                                                  .feedForwardNorm = "post_attention_layernorm",
                                                  .resultNorm = "post_mlp_layernorm"}},
                               .layers = {.attention = {.ropeInterleaved = true},
                                          .mlp = {.fusedGateUp = true},
                                          .norms = NormPlacement::Sandwich},
                               .rotatesParts = true,
                               .json = {.positions = 131072,
                                        .kvHeads = 2,
                                        .headDim = 128,
                                        .epsilon = 1.5625e-7,
                                        .rope = {.rotated = 0.5},
                                        .keys = {.flags = flags}},
                               .gguf = {.name = "glm4", .ropeInterleaved = true}};

//===- GLM-4.5, 4.6 and 4.7 -----------------------------------------------------------------===//

static constexpr FlagKey bias[] = {{"attention_bias", &Attention::bias}};
static constexpr std::string_view meaningless[] = {"num_mtp_layers", "topk_method", "scoring_func",
                                                   "moe_layer_freq", "ep_size"};

constinit const Family glm4Moe = {
    .architecture = "Glm4MoeForCausalLM",
    // Its converter took Hugging Face's name for the one that Gemma's files have.
    .form = {.names = {.ggufFeedForwardNorm = "post_attention_norm"}},
    .layers = {.experts = sigmoidExperts("gate.e_score_correction_bias")},
    .rotatesParts = true,
    .json = {.positions = 131072,
             .kvHeads = 8,
             .epsilon = 1e-5,
             .rope = {.rotated = 0.5},
             .expertsPerToken = 8,
             .expertCount = "n_routed_experts",
             .keys = {.flags = bias},
             .meaningless = meaningless,
             .readOwn =
                 [](JsonFields &fields, ConfigDraft &config) {
                   RoutedExperts{.innerSize = 1408}.read(fields, config);
                   if (fields.booleanOr("use_qk_norm", false))
                     config.attention.queryKeyNorm = QueryKeyNorm::Heads;
                 }},
    .gguf = {.name = "glm4moe", .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               readRoutedExperts(fields, config, 2);
               if (fields.hasTensor("blk.0.attn_q_norm.weight"))
                 config.attention.queryKeyNorm = QueryKeyNorm::Heads;
             }}};

} // namespace ingot::checkpoint::families
