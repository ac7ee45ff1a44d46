// SPDX-License-Identifier: Apache-2.0
// Parts of the plans of a model's layers, as tests ask for them.
#pragma once

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"

namespace ingot::test {

inline checkpoint::Attention &attentionOf(checkpoint::ModelConfig &config, size_t layer = 0) {
  return std::get<checkpoint::Attention>(config.layers.at(layer).tokenMixer);
}
inline const checkpoint::Attention &attentionOf(const checkpoint::ModelConfig &config,
                                                size_t layer = 0) {
  return std::get<checkpoint::Attention>(config.layers.at(layer).tokenMixer);
}

/// What the layer's MLP is, or each of its experts.
inline const checkpoint::Mlp &mlpOf(const checkpoint::ModelConfig &config, size_t layer = 0) {
  const checkpoint::LayerPlan &plan = config.layers.at(layer);
  return plan.experts() ? plan.experts()->form : *plan.mlp();
}

inline bool slides(const checkpoint::ModelConfig &config, size_t layer) {
  return attentionOf(config, layer).slidingWindow != 0;
}

inline bool isSparse(const checkpoint::ModelConfig &config, size_t layer) {
  return config.layers.at(layer).experts() != nullptr;
}

inline uint64_t rotaryPairs(const checkpoint::ModelConfig &config) {
  const checkpoint::Attention &attention = attentionOf(config);
  return config.ropes.at(*attention.rope).pairs(attention.headDim);
}

} // namespace ingot::test
