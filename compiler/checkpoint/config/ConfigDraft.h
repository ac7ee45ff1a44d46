// SPDX-License-Identifier: Apache-2.0
// ConfigDraft: a configuration while its keys are read, from which the layers are planned.
#pragma once

#include "compiler/checkpoint/config/LayerPlan.h"
#include "compiler/checkpoint/config/ModelConfig.h"

namespace ingot::checkpoint {

/// What the layers of a model have in common, and how those with a window are placed.
struct LayerPattern {
  Attention attention = {};
  std::optional<TokenMixer> other = {}; ///< that layers may have in place of attention
  std::string_view otherType = {};      ///< what layer_types calls it
  bool hasOldTypes = false;             ///< layer_types may have words that newTypeOf() knows
  Mlp mlp = {};                         ///< of layers without experts, and the form of experts
  std::optional<Experts> experts = {};
  NormPlacement norms = NormPlacement::Pre;
  uint64_t fullEvery = 0; ///< where there is a window: each so many-th layer has none; 0: all have
  uint64_t slidingKvHeads = 0; ///< KV heads of layers that have it; 0: as many as others
  uint64_t slidingHeadDim = 0; ///< columns of their heads, likewise
  /// So many last layers have no keys and values, and read those of the last layer before them that
  /// has a window, or none, as they do.
  uint64_t sharingLayers = 0;
  bool sharingWide = false;   ///< the MLPs of these are twice as wide
  uint64_t rotaryColumns = 0; ///< of a head that rotate, where a key says so; 0: none does
};

/// What transformers 5 calls a type of layers that files before it call otherwise.
constexpr std::string_view newTypeOf(std::string_view type) {
  return type == "mamba" ? "linear_attention" : type == "attention" ? "full_attention" : type;
}

/// What a layer has of a mixer of tokens and one of channels.
enum class LayerParts : uint8_t { Both, Tokens, Channels };

/// `layers` has the right number of plans, which planLayers() makes.
struct ConfigDraft : ModelConfig, LayerPattern {
  ConfigDraft(Json raw, const ModelForm &form, const LayerPattern &pattern)
      : ModelConfig(std::move(raw), form), LayerPattern(pattern) {}

  Rope rope;
  std::optional<Rope> slidingRope;  ///< of the layers that slide, where it is not `rope`
  std::vector<bool> slidingLayers;  ///< of each layer whether it has the window; empty: `fullEvery`
  std::vector<bool> rotatingLayers; ///< of each layer whether it rotates; empty: all
  std::vector<bool> otherLayers;    ///< of each layer whether it has `other`; empty: none has
  std::vector<bool> sharedIndices;  ///< of each layer PositionIndex::isShared; empty: none is
  std::vector<LayerParts> parts;    ///< of each layer; empty: all have both
  std::vector<bool> sparseLayers;   ///< of each layer whether it has experts; empty: all
  std::vector<uint64_t> innerSizes; ///< of each layer's MLP, where they differ; else empty
  std::vector<double> gateSparsities; ///< of each layer's MLP; empty: 0

  /// Plans the layers; `vary`: changes the plan of each as only one family does, unless null.
  void planLayers(void (*vary)(const ConfigDraft &draft, LayerPlan &layer));

  bool slides(uint64_t layer) const;
  /// The layer whose keys and values `layer` reads; nothing where they are its own, or where no
  /// layer before has any that fit.
  std::optional<uint64_t> sharedLayer(uint64_t layer) const;

private:
  Attention attentionOf(uint64_t layer) const;
  Mlp mlpOf(uint64_t layer) const;
};

} // namespace ingot::checkpoint
