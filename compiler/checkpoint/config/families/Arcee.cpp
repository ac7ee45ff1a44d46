// SPDX-License-Identifier: Apache-2.0
// Arcee's AFM: a feed-forward without gate, of squared ReLU.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};

constinit const Family arcee = {
    .architecture = "ArceeForCausalLM",
    .layers = {.mlp = {.activation = Activation::Relu2, .isGated = false}},
    .json = {.positions = 4096,
             .bos = 128000,
             .eos = 128001,
             .epsilon = 1e-5,
             .activation = "relu2",
             .keys = {.flags = flags}},
    .gguf = {.name = "arcee", .ropeInterleaved = true, .writtenAs = &arcee}};

} // namespace ingot::checkpoint::families
