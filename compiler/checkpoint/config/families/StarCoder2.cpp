// SPDX-License-Identifier: Apache-2.0
// StarCoder 2: LayerNorm, biases everywhere, and a feed-forward without gate.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static constexpr CountKey window[] = {slidingWindow(0)};

static void readBiases(JsonFields &fields, ConfigDraft &config) {
  config.attention.bias = config.attention.outputBias = config.mlp.bias =
      fields.booleanOr("use_bias", true);
}

constinit const Family starCoder2 = {
    .architecture = "Starcoder2ForCausalLM",
    .form = {.norm = NormKind::LayerBias, .names = {.up = "c_fc", .down = "c_proj"}},
    .layers = {.mlp = {.activation = Activation::GeluTanh, .isGated = false}},
    .json = {.positions = 4096,
             .kvHeads = 2,
             .bos = 50256,
             .eos = 50256,
             .epsilonKey = "norm_epsilon",
             .epsilon = 1e-5,
             .tied = true,
             .activation = "gelu_pytorch_tanh",
             .keys = {.counts = window},
             .readOwn = readBiases},
    .gguf = {.name = "starcoder2"}};

} // namespace ingot::checkpoint::families
