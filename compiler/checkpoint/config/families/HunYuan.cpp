// SPDX-License-Identifier: Apache-2.0
// Hunyuan's dense models: heads of q and k are normed after they rotate; the base of the
// frequencies is stretched by a fixed number.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};
static constexpr std::string_view meaningless[] = {"eod_token_id", "use_qk_norm", "norm_type",
                                                   "cla_share_factor"};

constinit const Family hunYuanDense = {
    .architecture = "HunYuanDenseV1ForCausalLM",
    .facts = {.queryKeyNorm = QueryKeyNorm::Heads,
              .normsRotated = true,
              .names = {.queryNorm = "query_layernorm", .keyNorm = "key_layernorm"}},
    .json = {.bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .rope = {.takesAlpha = true},
             .keys = {.flags = flags},
             .meaningless = meaningless},
    .gguf = {.name = "hunyuan-dense"}};

} // namespace ingot::checkpoint::families
