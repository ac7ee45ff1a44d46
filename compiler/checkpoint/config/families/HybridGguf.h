// SPDX-License-Identifier: Apache-2.0
// What GGUF files of models with attention in some layers alone say alike, and of state spaces.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

#include <algorithm>

namespace ingot::checkpoint {

/// The KV heads of each layer, 0 where it does not attend.
inline std::vector<uint64_t> readHybridHeads(GgufFields &fields, ConfigDraft &config) {
  constexpr std::string_view key = "attention.head_count_kv";
  std::vector<uint64_t> all = fields.countsOfLayers(key, config.layerCount(), 0,
                                                    config.attention.heads, config.draftLayers);
  config.attention.kvHeads = std::max<uint64_t>(std::ranges::max(all), 1);
  for (uint64_t heads : all)
    if (heads != 0 && heads != config.attention.kvHeads)
      fields.fail(key, "layers with attention differ in this number, which is not supported",
                  "use a model whose layers with attention are all alike");
  return all;
}

/// Reads the state space of all layers that have one. Converters store what A_log stands for.
inline void readStateSpace(GgufFields &fields, const ConfigDraft &config, StateSpace &space) {
  constexpr std::string_view heads = "ssm.time_step_rank", inner = "ssm.inner_size";
  space.taps = fields.unsignedInteger("ssm.conv_kernel", 2, ShortConv::mostTaps);
  space.stateDim = fields.unsignedInteger("ssm.state_size", 1, StateSpace::widestState);
  space.heads = fields.unsignedInteger(heads, 1, ModelConfig::mostHeads);
  space.groups = fields.unsignedInteger("ssm.group_count", 1, ModelConfig::mostHeads);
  const uint64_t columns = fields.unsignedInteger(inner, 1, ModelConfig::widest);
  space.headDim = columns / space.heads;
  if (space.headDim == 0 || space.columns() != columns || space.heads % space.groups != 0)
    fields.fail(inner,
                message(columns, " columns are not those of ", space.heads, " heads in ",
                        space.groups, " groups"),
                "convert the model again", "INGOT-E1051");
  auto has = [&](std::string_view tensor) {
    return fields.hasInLayers(tensor, config.layerCount());
  };
  space.expDecay = true;
  space.convBias = has("ssm_conv1d.bias");
  space.bias = has("ssm_in.bias");
  space.outputBias = has("ssm_out.bias");
}

} // namespace ingot::checkpoint
