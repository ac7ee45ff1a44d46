// SPDX-License-Identifier: Apache-2.0
// What GGUF files of Gemma 3n and 4 say alike: which layers slide, which read what others keep, and
// inputs of layers.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

#include <cmath>

namespace ingot::checkpoint {

/// How many last layers read keys and values of earlier ones.
inline constexpr std::string_view kSharingKey = "attention.shared_kv_layers";

inline void readSliding(GgufFields &fields, ConfigDraft &config) {
  config.slidingLayers =
      fields.flagsOfLayers("attention.sliding_window_pattern", config.layerCount());
  config.attention.slidingWindow =
      fields.unsignedInteger("attention.sliding_window", 1, Rope::mostPositions);
}

/// INGOT-E1051 where a layer has no keys and values to read. It is known which layers slide.
inline void checkSharing(GgufFields &fields, const ConfigDraft &config) {
  const uint64_t layers = config.layerCount();
  for (uint64_t layer = layers - config.sharingLayers; layer < layers; ++layer)
    if (!config.sharedLayer(layer))
      fields.fail(kSharingKey,
                  message("no layer has keys and values that layer ", layer, " could read"),
                  "convert the model again", "INGOT-E1051");
}

/// Inputs of tokens and of layers; converters fill the table of the latter up to the vocabulary.
/// `least`: the fewest columns of each layer's.
inline void readInputs(GgufFields &fields, ConfigDraft &config, uint64_t least) {
  config.embeddingMultiplier = std::sqrt(static_cast<float>(config.hiddenSize));
  LayerInputs &inputs = config.layerInputs;
  inputs.columns =
      fields.unsignedInteger("embedding_length_per_layer_input", least, ModelConfig::widest);
  inputs.rows = config.vocabSize;
  inputs.multiplier = std::sqrt(static_cast<float>(inputs.columns));
}

} // namespace ingot::checkpoint
