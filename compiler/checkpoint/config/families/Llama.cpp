// SPDX-License-Identifier: Apache-2.0
// Llama 1 to 3, and what calls itself so. In GGUF, Mistral's models are llamas too.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};

constinit const Family llama = {
    .architecture = "LlamaForCausalLM",
    .json = {.bos = 1, .eos = 2, .keys = {.flags = flags}},
    .gguf = {
        .name = "llama", .ropeInterleaved = true, .withExperts = &mixtral, .writtenAs = &llama}};

} // namespace ingot::checkpoint::families
