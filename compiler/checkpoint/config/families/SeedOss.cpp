// SPDX-License-Identifier: Apache-2.0
// Seed-OSS: biases on q, k and v.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {{"attention_bias", &Attention::bias, true},
                                    {"attention_out_bias", &Attention::outputBias},
                                    {"mlp_bias", &Mlp::bias}};
static constexpr std::string_view meaningless[] = {"residual_dropout"};

constinit const Family seedOss = {.architecture = "SeedOssForCausalLM",
                                  .form = {.names = {.ggufFeedForwardNorm = "post_attention_norm"}},
                                  .json = {.positions = 524288,
                                           .kvHeads = 8,
                                           .bos = 0,
                                           .eos = 2,
                                           .headDim = 128,
                                           .keys = {.flags = flags},
                                           .meaningless = meaningless},
                                  .gguf = {.name = "seed_oss", .writtenAs = &seedOss}};

} // namespace ingot::checkpoint::families
