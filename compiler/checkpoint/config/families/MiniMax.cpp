// SPDX-License-Identifier: Apache-2.0
// MiniMax-M2: experts in all layers, chosen by sigmoid scores with a bias; q and k are normed over
// all heads; a part of each head rotates.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static constexpr CountKey columns[] = {
    {"rotary_dim", &LayerPattern::rotaryColumns, 0, 2, ModelConfig::widestHead}};
static constexpr std::string_view meaningless[] = {"attn_type_list",
                                                   "layernorm_full_attention_alpha",
                                                   "layernorm_full_attention_beta",
                                                   "layernorm_linear_attention_alpha",
                                                   "layernorm_linear_attention_beta",
                                                   "layernorm_mlp_alpha",
                                                   "layernorm_mlp_beta",
                                                   "max_model_len",
                                                   "mlp_intermediate_size",
                                                   "mtp_transformer_layers",
                                                   "num_mtp_modules",
                                                   "qk_norm_type",
                                                   "scoring_func",
                                                   "shared_intermediate_size",
                                                   "shared_moe_mode",
                                                   "use_mtp",
                                                   "use_qk_norm",
                                                   "use_routing_bias"};

static constexpr Experts experts() {
  Experts own = {.module = "block_sparse_moe", .gate = "w1", .up = "w3", .down = "w2"};
  own.routing.sigmoid = true;
  own.routing.bias = "e_score_correction_bias";
  return own;
}

constinit const Family miniMaxM2 = {
    .architecture = "MiniMaxM2ForCausalLM",
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Rows}, .experts = experts()},
    .rotatesParts = true,
    .json = {.positions = 196608,
             .kvHeads = 8,
             .bos = 200034,
             .eos = 200020,
             .headDim = 128,
             .rope = {.theta = 5e6},
             .expertsPerToken = 8,
             .expertCount = "num_local_experts",
             .keys = {.counts = columns},
             .meaningless = meaningless},
    .gguf = {.name = "minimax-m2", .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               readRoutedExperts(fields, config, 2);
             }}};

} // namespace ingot::checkpoint::families
