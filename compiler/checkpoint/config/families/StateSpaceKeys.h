// SPDX-License-Identifier: Apache-2.0
// The keys of state spaces (Mamba-2), as Bamba introduced them beside attention.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// What steps are kept within, of all tokens (transformers forgets it in cached decoding).
inline void readStepLimits(JsonFields &fields, StateSpace &space) {
  constexpr std::string_view key = "time_step_limit";
  const auto given = fields.numbers(key, 0, std::numeric_limits<double>::infinity());
  if (!given)
    return;
  if (given->size() != 2 || (*given)[0] > (*given)[1])
    return fields.fail(key, "INGOT-E1051", "these are no least and most of steps", "correct it");
  space.least = std::min((*given)[0], space.most);
  space.most = std::min((*given)[1], space.most);
}

/// Reads the state space that layers of `config` have. `columns`: of all heads; 0: mamba_expand
/// times the model's.
inline void readStateSpace(JsonFields &fields, const ConfigDraft &config, StateSpace &space,
                           uint64_t columns = 0) {
  space.heads = fields.unsignedIntegerOr("mamba_n_heads", 128, 1, ModelConfig::mostHeads);
  if (columns == 0)
    columns =
        config.hiddenSize *
        fields.unsignedIntegerOr("mamba_expand", 2, 1, ModelConfig::widest / config.hiddenSize + 1);
  space.headDim = columns / space.heads;
  if (!fields.isText("mamba_d_head", "auto"))
    space.headDim = fields.unsignedIntegerOr("mamba_d_head", space.headDim, 1, columns);
  space.groups = fields.unsignedIntegerOr("mamba_n_groups", 1, 1, space.heads);
  space.stateDim = fields.unsignedIntegerOr("mamba_d_state", 256, 1, StateSpace::widestState);
  space.taps = fields.unsignedIntegerOr("mamba_d_conv", 4, 2, ShortConv::mostTaps);
  space.convBias = fields.booleanOr("mamba_conv_bias", true);
  space.bias = space.outputBias = fields.booleanOr("mamba_proj_bias", false);
  if (space.columns() != columns || space.heads % space.groups != 0)
    fields.fail("mamba_n_heads", "INGOT-E1051",
                message(space.heads, " heads of ", space.headDim, " columns in ", space.groups,
                        " groups do not make ", columns),
                "correct mamba_n_heads, mamba_d_head, mamba_n_groups or mamba_expand");
  readStepLimits(fields, space);
}

} // namespace ingot::checkpoint
