// SPDX-License-Identifier: Apache-2.0
// GLM-4 0414: norms before and behind attention and feed-forward; gate and up are one matrix; half
// of each head rotates, in pairs that stand side by side.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {{"attention_bias", &ModelConfig::attentionBias, true}};

constinit const Family glm4 = {.architecture = "Glm4ForCausalLM",
                               .facts = {.layerForm = LayerForm::Both,
                                         .fusedFeedForward = true,
                                         .rotaryPairRows = true,
                                         .names = {.attentionNorm = "post_self_attn_layernorm",
                                                   .feedForwardNorm = "post_attention_layernorm",
                                                   .resultNorm = "post_mlp_layernorm"}},
                               .rotatesParts = true,
                               .json = {.positions = 131072,
                                        .kvHeads = 2,
                                        .headDim = 128,
                                        .epsilon = 1.5625e-7,
                                        .rope = {.rotated = 0.5},
                                        .keys = {.flags = flags}},
                               .gguf = {.name = "glm4", .rotaryPairRows = true}};

} // namespace ingot::checkpoint::families
