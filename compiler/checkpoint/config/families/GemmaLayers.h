// SPDX-License-Identifier: Apache-2.0
// What Gemma 3n and 4 have in common: inputs of layers, last layers that read what earlier ones
// keep, and the parts beside the text.
#pragma once

#include "compiler/checkpoint/config/families/GemmaRoot.h"

namespace ingot::checkpoint {

constexpr CountKey sharingLayers(uint64_t absent) {
  return {"num_kv_shared_layers", &LayerPattern::sharingLayers, absent, 0, ModelConfig::mostLayers};
}

/// Null is no cap.
constexpr NumberKey logitsCap(double absent) {
  return {"final_logit_softcapping", &ModelConfig::logitsSoftcap, absent, kLeastFactor, kMostFactor,
          /*nullIsNone=*/true};
}

/// Columns of each layer's input: where the key is absent, and the fewest.
struct InputColumns {
  uint64_t absent, least;
};

inline void readLayerInputs(JsonFields &fields, ConfigDraft &config, InputColumns columns) {
  LayerInputs &inputs = config.layerInputs;
  inputs.columns = fields.unsignedIntegerOr("hidden_size_per_layer_input", columns.absent,
                                            columns.least, ModelConfig::widest);
  inputs.rows = fields.unsignedIntegerOr("vocab_size_per_layer_input", 262144, columns.least,
                                         ModelConfig::largestVocabulary);
  inputs.multiplier = rootInOwnType(config, inputs.columns);
}

/// INGOT-E1051 where a layer has no keys and values to read. It is known which layers slide.
inline void checkSharing(JsonFields &fields, const ConfigDraft &config) {
  constexpr std::string_view key = "num_kv_shared_layers";
  const uint64_t layers = config.layerCount();
  if (config.sharingLayers >= layers)
    return fields.fail(key, "INGOT-E1051",
                       message(key, " must be below the ", layers, " layers of the model"),
                       "correct the two");
  for (uint64_t layer = layers - config.sharingLayers; layer < layers; ++layer)
    if (!config.sharedLayer(layer))
      fields.fail(key, "INGOT-E1051",
                  message("no layer has keys and values that layer ", layer, " could read"),
                  "correct it, or layer_types");
}

/// How tensors of other parts begin.
inline constexpr std::string_view partsBesideText[] = {
    "model.vision_tower.",    "model.audio_tower.", "model.embed_vision.", "model.embed_audio.",
    "model.vision_embedder.", "vision_tower.",      "audio_tower.",        "embed_vision.",
    "embed_audio.",           "vision_embedder."};

} // namespace ingot::checkpoint
