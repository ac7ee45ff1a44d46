// SPDX-License-Identifier: Apache-2.0
// The keys of experts that DeepSeek-V3 introduced, which many families have: groups of experts,
// scaled weights, experts that all tokens go through, and dense first layers.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

namespace ingot::checkpoint {

/// Names of keys that differ, and what absent ones mean.
struct RoutedExperts {
  uint64_t innerSize = 0; ///< moe_intermediate_size
  std::string_view shared = "n_shared_experts";
  std::string_view scaleKey = "routed_scaling_factor";
  double scale = 1;
  uint64_t dense = 1; ///< first_k_dense_replace

  void read(JsonFields &fields, ModelConfig &config) const {
    Experts &experts = *config.experts;
    Router &routing = experts.routing;
    experts.innerSize =
        fields.unsignedIntegerOr("moe_intermediate_size", innerSize, 1, ModelConfig::widest);
    const uint64_t count = fields.unsignedIntegerOr(shared, 1, 0, Experts::most);
    experts.sharedSize = count * experts.innerSize;
    routing.normalized = fields.booleanOr("norm_topk_prob", true);
    routing.scale = fields.numberOr(scaleKey, scale, kLeastFactor, kMostFactor);
    routing.groups = fields.unsignedIntegerOr("n_group", 1, 1, experts.count);
    routing.keptGroups = fields.unsignedIntegerOr("topk_group", 1, 1, routing.groups);
    const uint64_t each = experts.count / routing.groups;
    if (experts.count % routing.groups != 0 || experts.perToken > routing.keptGroups * each ||
        routing.best > each)
      fields.fail("n_group", "INGOT-E1051",
                  message(routing.groups, " groups, of which ", routing.keptGroups,
                          " are kept, do not fit ", experts.count, " experts, ", experts.perToken,
                          " of each token"),
                  "correct n_group, topk_group or the numbers of experts");
    const uint64_t first =
        fields.unsignedIntegerOr("first_k_dense_replace", dense, 0, config.layers);
    for (uint64_t layer = 0; layer < config.layers; ++layer)
      config.sparseLayers.push_back(layer >= first);
  }
};

/// Sigmoid scores with a bias for the choice, in groups by their two best.
constexpr Experts sigmoidExperts(std::string_view bias) {
  Experts experts;
  experts.routing.sigmoid = true;
  experts.routing.best = 2;
  experts.routing.epsilon = 1e-20;
  experts.routing.bias = bias;
  return experts;
}

} // namespace ingot::checkpoint
