// SPDX-License-Identifier: Apache-2.0
// Granite 3 with experts in all layers, and an MLP for all tokens beside them or not.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/GraniteKeys.h"

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias};

static void readShared(JsonFields &fields, ConfigDraft &config) {
  config.experts->sharedSize =
      fields.unsignedIntegerOr("shared_intermediate_size", 0, 0, ModelConfig::widest);
}

static constexpr ConfigJson json(void (*readOwn)(JsonFields &fields, ConfigDraft &config)) {
  return {.bos = 1,
          .eos = 2,
          .expertsPerToken = 2,
          .expertCount = "num_local_experts",
          .keys = {.flags = flags, .numbers = kGraniteMultipliers},
          .readOwn = readOwn};
}

static constexpr LayerPattern layers = {.mlp = {.fusedGateUp = true}, .experts = graniteExperts()};

constinit const Family graniteMoe = {.architecture = "GraniteMoeForCausalLM",
                                     .form = kGraniteForm,
                                     .layers = layers,
                                     .json = json(nullptr),
                                     .gguf = {.name = "granitemoe",
                                              .ropeInterleaved = true,
                                              .ropeIsSwitched = true,
                                              .keys = {.numbers = kGgufGraniteMultipliers},
                                              .readOwn = readGraniteExperts}};

constinit const Family graniteMoeShared = {.architecture = "GraniteMoeSharedForCausalLM",
                                           .form = kGraniteForm,
                                           .layers = layers,
                                           .json = json(readShared)};

} // namespace ingot::checkpoint::families
