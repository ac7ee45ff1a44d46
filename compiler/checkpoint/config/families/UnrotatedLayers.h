// SPDX-License-Identifier: Apache-2.0
// The keys of layers that do not rotate, which SmolLM3 and Llama 4 have.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// Each `each`-th layer does not rotate.
inline void rotateBut(uint64_t each, ModelConfig &config) {
  for (uint64_t layer = 1; layer <= config.layers; ++layer)
    config.rotatingLayers.push_back(layer % each != 0);
}

/// `no_rope_layers` has 1 where a layer rotates; without it `no_rope_layer_interval` counts.
inline void readUnrotatedLayers(JsonFields &fields, ModelConfig &config) {
  const auto rotates = fields.unsignedIntegers("no_rope_layers", 0, 1);
  const uint64_t interval =
      fields.unsignedIntegerOr("no_rope_layer_interval", 4, 1, ModelConfig::mostLayers);
  if (!rotates || rotates->empty())
    return rotateBut(interval, config);
  if (rotates->size() != config.layers)
    return fields.fail(
        "no_rope_layers", "INGOT-E1057",
        message("this is no list of one number for each of ", config.layers, " layers"),
        "correct it, or leave it out");
  config.rotatingLayers.assign(rotates->begin(), rotates->end());
}

} // namespace ingot::checkpoint
