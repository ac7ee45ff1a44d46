// SPDX-License-Identifier: Apache-2.0
// Layers that do not rotate q and k (NoPE): keys that SmolLM3 and Llama 4 have, and those without a
// window.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// Each `each`-th layer does not rotate.
inline void rotateBut(uint64_t each, ConfigDraft &config) {
  for (uint64_t layer = 1; layer <= config.layerCount(); ++layer)
    config.rotatingLayers.push_back(layer % each != 0);
}

/// `no_rope_layers` has 1 where a layer rotates; without it `no_rope_layer_interval` counts.
inline void readNopeLayers(JsonFields &fields, ConfigDraft &config) {
  const auto rotates = fields.unsignedIntegers("no_rope_layers", 0, 1);
  const uint64_t interval =
      fields.unsignedIntegerOr("no_rope_layer_interval", 4, 1, ModelConfig::mostLayers);
  if (!rotates || rotates->empty())
    return rotateBut(interval, config);
  if (rotates->size() != config.layerCount())
    return fields.fail(
        "no_rope_layers", "INGOT-E1057",
        message("this is no list of one number for each of ", config.layerCount(), " layers"),
        "correct it, or leave it out");
  config.rotatingLayers.assign(rotates->begin(), rotates->end());
}

/// Where there is a window, layers without it do not rotate.
inline void rotateInWindows(const ConfigDraft &config, LayerPlan &layer) {
  Attention &attention = std::get<Attention>(layer.tokenMixer);
  if (config.attention.slidingWindow != 0 && attention.slidingWindow == 0)
    attention.rope.reset();
}

} // namespace ingot::checkpoint
