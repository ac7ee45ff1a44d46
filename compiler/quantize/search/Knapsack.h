// SPDX-License-Identifier: Apache-2.0
// The multiple-choice knapsack: one item of each class, within a capacity, at the least cost.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace ingot::quantize {

/// Both finite and not below 0.
struct KnapsackItem {
  double weight, cost;
};

struct KnapsackSolution {
  std::vector<size_t> items;   ///< of each class, the index of the one that is taken
  double weight = 0, cost = 0; ///< summed in the order of classes
  double bound = 0;            ///< no solution costs less; `cost` where this one is the best
};

/// The cheapest choice of an item of each class, none of which is empty, whose weights are at most
/// `capacity`; nothing where there is none. Dynamic programming over the choices that no other one
/// beats in both sums and that Lagrange's bound allows. Beyond `mostStates` of them at a class, the
/// ones of the lowest bound are followed, and `bound` says what that may have missed. Sums in f64
/// decide, so that about 1e-12 of a cost is open. Scratch: 8 bytes for each state.
std::optional<KnapsackSolution> solveKnapsack(std::span<const std::vector<KnapsackItem>> classes,
                                              double capacity, size_t mostStates = size_t{1} << 16);

} // namespace ingot::quantize
