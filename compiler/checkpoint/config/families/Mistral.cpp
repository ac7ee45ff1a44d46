// SPDX-License-Identifier: Apache-2.0
// Mistral; Mixtral: the same with experts; Ministral 3: queries that grow with their position.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr CountKey window[] = {slidingWindow(4096)};

constinit const Family mistral = {
    .architecture = "MistralForCausalLM",
    .json = {.positions = 131072, .kvHeads = 8, .bos = 1, .eos = 2, .keys = {.counts = window}},
    .gguf = {.writtenAs = &llama}};

static constexpr CountKey noWindow[] = {slidingWindow(0)};

constinit const Family mixtral = {
    .architecture = "MixtralForCausalLM",
    .layers = {.experts =
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

constinit const Family ministral3 = {
    .architecture = "Ministral3ForCausalLM",
    .json = {.positions = 262144,
             .kvHeads = 8,
             .bos = 1,
             .eos = 2,
             .headDim = 128,
             .epsilon = 1e-5,
             .rope = {.theta = 1e6, .takesBeta = true},
             .keys = {.counts = noWindow},
             .readOwn = [](JsonFields &fields, ConfigDraft &) {
               if (!fields.has("rope_parameters") && !fields.has("rope_scaling"))
                 fields.fail("rope_parameters", "INGOT-E1052",
                             "rope_parameters must be given for Ministral3ForCausalLM",
                             "write the type and its numbers");
             }}};

} // namespace ingot::checkpoint::families
