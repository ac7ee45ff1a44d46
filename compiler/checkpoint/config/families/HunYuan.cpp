// SPDX-License-Identifier: Apache-2.0
// Hunyuan: heads of q and k are normed after they rotate; the base of the frequencies is stretched
// by a fixed number; also with experts. Hy3: experts in all layers but the first, chosen by sigmoid
// scores with a bias.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/RoutedExperts.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr ModelForm form = {
    .names = {.queryNorm = "query_layernorm", .keyNorm = "key_layernorm"}};
static constexpr Attention attention = {.queryKeyNorm = QueryKeyNorm::Heads, .normsRotated = true};
static constexpr std::string_view meaningless[] = {"eod_token_id", "use_qk_norm", "norm_type",
                                                   "cla_share_factor"};

constinit const Family hunYuanDense = {.architecture = "HunYuanDenseV1ForCausalLM",
                                       .form = form,
                                       .layers = {.attention = attention},
                                       .json = {.bos = 1,
                                                .eos = 2,
                                                .epsilon = 1e-5,
                                                .rope = {.takesAlpha = true},
                                                .keys = {.flags = flags},
                                                .meaningless = meaningless},
                                       .gguf = {.name = "hunyuan-dense"}};

static constexpr std::string_view meaninglessExperts[] = {"cla_share_factor",
                                                          "eod_token_id",
                                                          "moe_intermediate_size",
                                                          "moe_layer_num_skipped",
                                                          "norm_type",
                                                          "num_shared_expert",
                                                          "use_cla",
                                                          "use_mixed_mlp_moe",
                                                          "use_qk_norm"};

constinit const Family hunYuanMoe = {
    .architecture = "HunYuanMoEV1ForCausalLM",
    .form = form,
    .layers = {.attention = attention,
               .experts = Experts{.router = "gate.wg", .shared = "shared_mlp"}},
    .json = {.bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .rope = {.takesAlpha = true},
             .expertsPerToken = 1,
             .expertsOfToken = "moe_topk",
             .keys = {.flags = flags},
             .meaningless = meaninglessExperts,
             .readOwn =
                 [](JsonFields &, ConfigDraft &config) {
                   config.experts->sharedSize = config.mlp.innerSize;
                 }},
    .gguf = {.name = "hunyuan-moe", .readOwn = [](GgufFields &fields, ConfigDraft &config) {
               readRoutedExperts(fields, config, 1);
             }}};

//===- Hy3 ----------------------------------------------------------------------------------===//

static constexpr FlagKey hy3Flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};
static constexpr std::string_view hy3Meaningless[] = {"enable_moe_fp32_combine"};

static constexpr Experts hy3Experts() {
  Experts experts = sigmoidExperts("expert_bias");
  experts.router = "router.gate";
  experts.shared = "shared_mlp";
  return experts;
}

constinit const Family hy3 = {
    .architecture = "HYV3ForCausalLM",
    .layers = {.attention = {.queryKeyNorm = QueryKeyNorm::Heads}, .experts = hy3Experts()},
    .json = {.positions = 131072,
             .kvHeads = 8,
             .headDim = 128,
             .epsilon = 1e-5,
             .rope = {.theta = 11158840},
             .expertsPerToken = 8,
             .keys = {.flags = hy3Flags},
             .meaningless = hy3Meaningless,
             .readOwn = [](JsonFields &fields, ConfigDraft &config) {
               RoutedExperts{.innerSize = 1536,
                             .shared = "num_shared_experts",
                             .scaleKey = "router_scaling_factor",
                             .scale = 2.826}
                   .read(fields, config);
             }}};

} // namespace ingot::checkpoint::families
