// SPDX-License-Identifier: Apache-2.0
// Which layers have experts, by the keys that Qwen2-MoE introduced.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// Each `decoder_sparse_step`-th, but those of `mlp_only_layers`.
inline void readSparseLayers(JsonFields &fields, ConfigDraft &config) {
  const uint64_t step =
      fields.unsignedIntegerOr("decoder_sparse_step", 1, 1, ModelConfig::mostLayers);
  for (uint64_t layer = 1; layer <= config.layerCount(); ++layer)
    config.sparseLayers.push_back(layer % step == 0);
  if (auto dense = fields.unsignedIntegers("mlp_only_layers", 0, config.layerCount() - 1))
    for (uint64_t layer : *dense)
      config.sparseLayers[layer] = false;
}

} // namespace ingot::checkpoint
