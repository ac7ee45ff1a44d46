// SPDX-License-Identifier: Apache-2.0
// OLMo 2: norms behind attention and feed-forward, and over all heads of q and of k.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};

constinit const Family olmo2 = {
    .architecture = "Olmo2ForCausalLM",
    .facts = {.queryKeyNorm = QueryKeyNorm::Rows, .layerNorms = LayerNorms::Results},
    .json = {.eos = 50279, .epsilon = 1e-5, .keys = {.flags = flags}},
    .gguf = {.name = "olmo2"}};

} // namespace ingot::checkpoint::families
