// SPDX-License-Identifier: Apache-2.0
// ERNIE 4.5: rotary pairs stand side by side.
#include "compiler/checkpoint/config/families/Families.h"

namespace ingot::checkpoint::families {

static void readBiases(JsonFields &fields, ModelConfig &config) {
  config.attentionBias = config.outputBias = config.mlpBias = fields.booleanOr("use_bias", false);
}

constinit const Family ernie45 = {.architecture = "Ernie4_5ForCausalLM",
                                  .facts = {.rotaryPairRows = true},
                                  .json = {.positions = 131072,
                                           .kvHeads = 2,
                                           .bos = 1,
                                           .eos = 2,
                                           .headDim = 128,
                                           .epsilon = 1e-5,
                                           .rope = {.theta = 500000},
                                           .tied = true,
                                           .readOwn = readBiases},
                                  .gguf = {.name = "ernie4_5", .rotaryPairRows = true}};

} // namespace ingot::checkpoint::families
