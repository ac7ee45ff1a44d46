// SPDX-License-Identifier: Apache-2.0
// The keys of experts that DeepSeek-V3 introduced, which many families have: groups of experts,
// scaled weights, experts that all tokens go through, and dense first layers.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// Whether the experts are whole groups, and those that are kept have enough for a token.
inline bool groupsFit(const Experts &experts) {
  const Router &routing = experts.routing;
  const uint64_t each = experts.count / routing.groups;
  return experts.count % routing.groups == 0 && experts.perToken <= routing.topkGroup * each &&
         routing.groupTopk <= each;
}

/// All layers but the `first` ones have experts.
inline void makeFirstDense(ConfigDraft &config, uint64_t first) {
  for (uint64_t layer = 0; layer < config.layerCount(); ++layer)
    config.sparseLayers.push_back(layer >= first);
}

/// Names of keys that differ, and what absent ones mean.
struct RoutedExperts {
  uint64_t innerSize = 0; ///< moe_intermediate_size
  std::string_view shared = "n_shared_experts";
  std::string_view scaleKey = "routed_scaling_factor";
  double scale = 1;
  uint64_t absentShared = 1;
  uint64_t dense = 1;                 ///< first_k_dense_replace
  uint64_t groups = 1, topkGroup = 1; ///< n_group, 0: none, and topk_group

  /// Of routers that choose by groups of experts; of others the keys say nothing.
  void readGroups(JsonFields &fields, Experts &experts) const {
    Router &routing = experts.routing;
    if (groups == 0) {
      fields.has("n_group");
      fields.has("topk_group");
      return;
    }
    routing.groups = fields.unsignedIntegerOr("n_group", groups, 1, experts.count);
    routing.topkGroup = fields.unsignedIntegerOr("topk_group", std::min(topkGroup, routing.groups),
                                                 1, routing.groups);
    if (!groupsFit(experts))
      fields.fail("n_group", "INGOT-E1051",
                  message(routing.groups, " groups, of which ", routing.topkGroup,
                          " are kept, do not fit ", experts.count, " experts, ", experts.perToken,
                          " of each token"),
                  "correct n_group, topk_group or the numbers of experts");
  }

  void read(JsonFields &fields, ConfigDraft &config) const {
    Experts &experts = *config.experts;
    Router &routing = experts.routing;
    experts.innerSize =
        fields.unsignedIntegerOr("moe_intermediate_size", innerSize, 1, ModelConfig::widest);
    const uint64_t count = fields.unsignedIntegerOr(shared, absentShared, 0, Experts::most);
    experts.sharedSize = count * experts.innerSize;
    routing.normTopkProb = fields.booleanOr("norm_topk_prob", true);
    routing.scale = fields.numberOr(scaleKey, scale, kLeastFactor, kMostFactor);
    readGroups(fields, experts);
    makeFirstDense(config, fields.unsignedIntegerOr("first_k_dense_replace", dense, 0,
                                                    ModelConfig::mostLayers));
  }
};

/// The same of GGUF files, whose number of experts is known. `gating`: the function that the family
/// has, as llama.cpp counts them: 1 softmax, 2 sigmoid.
inline void readRoutedExperts(GgufFields &fields, ConfigDraft &config, uint64_t gating) {
  Experts &experts = *config.experts;
  Router &routing = experts.routing;
  fields.has("expert_shared_feed_forward_length"); // follows from the others
  experts.sharedSize =
      experts.innerSize * fields.unsignedIntegerOr("expert_shared_count", 0, 0, Experts::most);
  if (fields.unsignedIntegerOr("expert_gating_func", gating, 0, 16) != gating)
    fields.fail("expert_gating_func", "experts are chosen otherwise than this family's are",
                "use a model of the family as its makers publish it");
  routing.normTopkProb = fields.booleanOr("expert_weights_norm", routing.normTopkProb);
  routing.scale = fields.numberOr("expert_weights_scale", 1, 0, kMostFactor);
  if (routing.scale == 0) // says nothing
    routing.scale = 1;
  routing.groups = fields.unsignedIntegerOr("expert_group_count", 1, 1, experts.count);
  routing.topkGroup = fields.unsignedIntegerOr("expert_group_used_count", 1, 1, routing.groups);
  if (!groupsFit(experts))
    fields.fail("expert_group_count", "the groups do not fit the numbers of experts",
                "convert the model again", "INGOT-E1051");
  makeFirstDense(config,
                 fields.unsignedIntegerOr("leading_dense_block_count", 0, 0, config.layerCount()));
}

/// Sigmoid scores with a bias for the choice, in groups by their two best.
constexpr Experts sigmoidExperts(std::string_view bias) {
  Experts experts;
  experts.routing.sigmoid = true;
  experts.routing.groupTopk = 2;
  experts.routing.epsilon = 1e-20;
  experts.routing.bias = bias;
  return experts;
}

} // namespace ingot::checkpoint
