// SPDX-License-Identifier: Apache-2.0
// Layers planned of what they have in common and of the lists that say how they differ.
#include "compiler/checkpoint/config/ConfigDraft.h"

namespace ingot::checkpoint {

bool ConfigDraft::slides(uint64_t layer) const {
  if (!slidingLayers.empty())
    return slidingLayers[layer];
  return fullEvery == 0 || (layer + 1) % fullEvery != 0;
}

std::optional<uint64_t> ConfigDraft::sharedLayer(uint64_t layer) const {
  const uint64_t owners = layers.size() - sharingLayers;
  if (layer < owners)
    return std::nullopt;
  for (uint64_t owner = owners; owner-- > 0;)
    if (slides(owner) == slides(layer))
      return owner;
  return std::nullopt;
}

Attention ConfigDraft::attentionOf(uint64_t layer) const {
  Attention own = attention;
  if (own.slidingWindow == 0 || !slides(layer)) {
    own.slidingWindow = 0;
  } else {
    if (slidingKvHeads != 0)
      own.kvHeads = slidingKvHeads;
    if (slidingHeadDim != 0)
      own.headDim = slidingHeadDim;
    if (slidingRope)
      own.rope = 1;
  }
  if (learnedPositions || (!rotatingLayers.empty() && !rotatingLayers[layer]))
    own.rope.reset();
  own.cacheLayer = sharedLayer(layer);
  return own;
}

Mlp ConfigDraft::mlpOf(uint64_t layer) const {
  Mlp own = mlp;
  if (!innerSizes.empty())
    own.innerSize = innerSizes[layer];
  if (!gateSparsities.empty())
    own.gateSparsity = gateSparsities[layer];
  return own;
}

void ConfigDraft::planLayers(void (*vary)(const ConfigDraft &draft, LayerPlan &layer)) {
  ropes = {rope};
  if (slidingRope)
    ropes.push_back(*slidingRope);
  if (experts)
    experts->form = mlp;
  for (uint64_t i = 0; i < layers.size(); ++i) {
    LayerPlan &layer = layers[i];
    layer.tokenMixer = attentionOf(i);
    if (!otherLayers.empty() && otherLayers[i])
      layer.tokenMixer = *other;
    if (experts && (sparseLayers.empty() || sparseLayers[i]))
      layer.channelMixer = *experts;
    else
      layer.channelMixer = mlpOf(i);
    if (!parts.empty() && parts[i] == LayerParts::Tokens)
      layer.channelMixer = std::monostate();
    if (!parts.empty() && parts[i] == LayerParts::Channels)
      layer.tokenMixer = std::monostate();
    layer.norms = norms;
    if (vary)
      vary(*this, layer);
  }
}

} // namespace ingot::checkpoint
