// SPDX-License-Identifier: Apache-2.0
// What needs the layers' plans: those who include the header alone do not change with them.
#include "compiler/checkpoint/config/ModelConfig.h"

#include "compiler/checkpoint/config/LayerPlan.h"

namespace ingot::checkpoint {

ModelConfig::ModelConfig(Json raw, const ModelForm &form) : ModelForm(form), raw(std::move(raw)) {}
ModelConfig::ModelConfig(const ModelConfig &) = default;
ModelConfig::ModelConfig(ModelConfig &&) noexcept = default;
ModelConfig &ModelConfig::operator=(const ModelConfig &) = default;
ModelConfig &ModelConfig::operator=(ModelConfig &&) noexcept = default;
ModelConfig::~ModelConfig() = default;

uint64_t ModelConfig::layerCount() const { return layers.size(); }

bool ModelConfig::keepsKeys(uint64_t layer) const {
  const Attention *attention = layers[layer].attention();
  return (attention && !attention->cacheLayer) ||
         std::holds_alternative<LatentAttention>(layers[layer].tokenMixer);
}

uint64_t ModelConfig::layersWithKeys() const {
  uint64_t count = 0;
  for (uint64_t layer = 0; layer < layers.size(); ++layer)
    count += keepsKeys(layer);
  return count;
}

const Experts *ModelConfig::firstExperts() const {
  for (const LayerPlan &layer : layers)
    if (const Experts *experts = layer.experts())
      return experts;
  return nullptr;
}

} // namespace ingot::checkpoint
