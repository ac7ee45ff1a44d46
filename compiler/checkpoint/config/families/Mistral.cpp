// SPDX-License-Identifier: Apache-2.0
// Mistral, and Mixtral: the same with experts.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr CountKey window[] = {slidingWindow(4096)};

constinit const Family mistral = {
    .architecture = "MistralForCausalLM",
    .json = {.positions = 131072, .kvHeads = 8, .bos = 1, .eos = 2, .keys = {.counts = window}}};

static constexpr CountKey noWindow[] = {slidingWindow(0)};

constinit const Family mixtral = {
    .architecture = "MixtralForCausalLM",
    .facts = {.experts =
                  Experts{.module = "block_sparse_moe", .gate = "w1", .up = "w3", .down = "w2"}},
    .json = {.positions = 131072,
             .kvHeads = 8,
             .bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .rope = {.theta = 1e6},
             .expertsPerToken = 2,
             .expertCount = "num_local_experts",
             .keys = {.counts = noWindow}}};

} // namespace ingot::checkpoint::families
