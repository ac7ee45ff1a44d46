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

const Experts *ModelConfig::firstExperts() const {
  for (const LayerPlan &layer : layers)
    if (const Experts *experts = layer.experts())
      return experts;
  return nullptr;
}

} // namespace ingot::checkpoint
