// SPDX-License-Identifier: Apache-2.0
// Bamba: state spaces, but for the layers that a list names, which attend and rotate half of each
// head.
#include "compiler/checkpoint/config/families/Families.h"
#include "compiler/checkpoint/config/families/StateSpaceKeys.h"

#include <algorithm>

namespace ingot::checkpoint::families {

static constexpr FlagKey flags[] = {kAttentionBias, {"mlp_bias", &Mlp::bias}};

static void readOwn(JsonFields &fields, ConfigDraft &config) {
  readStateSpace(fields, config, std::get<StateSpace>(*config.other));
  const auto attends = fields.unsignedIntegers("attn_layer_indices", 0, config.layerCount() - 1);
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
    config.otherLayers.push_back(!attends || std::ranges::count(*attends, layer) == 0);
}

constinit const Family bamba = {
    .architecture = "BambaForCausalLM",
    .form = {.names = {.norm = "model.final_layernorm",
                       .feedForward = "feed_forward",
                       .feedForwardNorm = "pre_ff_layernorm"}},
    .layers = {.other = StateSpace{}, .otherType = "linear_attention", .hasOldTypes = true},
    .rotatesParts = true,
    .json = {.positions = 262144,
             .kvHeads = 8,
             .bos = 1,
             .eos = 2,
             .epsilon = 1e-5,
             .rope = {.rotated = 0.5},
             .keys = {.flags = flags},
             .readOwn = readOwn}};

} // namespace ingot::checkpoint::families
