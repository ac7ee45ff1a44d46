// SPDX-License-Identifier: Apache-2.0
// A greedy solution along the convex hulls of the classes gives the multiplier of the bound and a
// cost to beat; then states of a prefix of the classes are extended by one class at a time.
#include "compiler/quantize/search/Knapsack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

namespace ingot::quantize {

namespace {

using Classes = std::span<const std::vector<KnapsackItem>>;

/// Indices of the items that no other of the class beats, from light and dear to heavy and cheap.
std::vector<size_t> undominated(const std::vector<KnapsackItem> &items) {
  std::vector<size_t> order(items.size()), kept;
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(items[a].weight, items[a].cost, a) <
           std::tuple(items[b].weight, items[b].cost, b);
  });
  for (size_t i : order)
    if (kept.empty() || items[i].cost < items[kept.back()].cost)
      kept.push_back(i);
  return kept;
}

/// A step of a class from one corner of its lower convex hull to the next heavier one.
struct HullStep {
  size_t group, item;
  double weight, saved;
  double rate() const { return saved / weight; }
};

void addHullSteps(const std::vector<KnapsackItem> &items, const std::vector<size_t> &kept,
                  size_t group, std::vector<HullStep> &steps) {
  const size_t first = steps.size();
  size_t at = kept.front();
  for (size_t i = 1; i < kept.size(); ++i) {
    const size_t to = kept[i];
    HullStep step{group, to, items[to].weight - items[at].weight, items[at].cost - items[to].cost};
    while (steps.size() > first && steps.back().rate() <= step.rate()) {
      step.weight += steps.back().weight;
      step.saved += steps.back().saved;
      steps.pop_back();
    }
    steps.push_back(step);
    at = to;
  }
}

/// Items of a class until one is taken, and what was taken before.
struct State {
  double weight, cost;
  uint32_t before, item;
};

struct Link {
  uint32_t before, item;
};

class Solver {
public:
  Solver(Classes classes, double capacity, size_t mostStates)
      : classes(classes), capacity(capacity), mostStates(mostStates), lightest(classes.size() + 1),
        cheapest(classes.size() + 1) {
    for (const auto &items : classes)
      kept.push_back(undominated(items));
    for (size_t i = classes.size(); i-- > 0;)
      lightest[i] = lightest[i + 1] + classes[i][kept[i].front()].weight;
  }

  std::optional<KnapsackSolution> run() {
    if (!(lightest.front() <= capacity))
      return std::nullopt;
    best = greedy();
    for (size_t i = classes.size(); i-- > 0;) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t item : kept[i])
        least = std::min(least, penalised(classes[i][item].weight, classes[i][item].cost));
      cheapest[i] = cheapest[i + 1] + least;
    }
    improve();
    best.bound = std::min(best.cost, missed);
    return best;
  }

private:
  double penalised(double weight, double cost) const { return cost + multiplier * weight; }
  /// What no completion of a choice of the first `count` classes costs less than.
  double boundOf(const State &state, size_t count) const {
    return penalised(state.weight, state.cost) + cheapest[count] - multiplier * capacity;
  }

  KnapsackSolution solutionOf(std::vector<size_t> items) const {
    KnapsackSolution solution;
    for (size_t i = 0; i < items.size(); ++i) {
      solution.weight += classes[i][items[i]].weight;
      solution.cost += classes[i][items[i]].cost;
    }
    solution.items = std::move(items);
    return solution;
  }

  /// Sets the multiplier to the rate of the first step that does not fit.
  KnapsackSolution greedy() {
    std::vector<HullStep> steps;
    std::vector<size_t> items;
    for (size_t i = 0; i < classes.size(); ++i) {
      addHullSteps(classes[i], kept[i], i, steps);
      items.push_back(kept[i].front());
    }
    std::sort(steps.begin(), steps.end(), [](const HullStep &a, const HullStep &b) {
      return std::tuple(-a.rate(), a.group) < std::tuple(-b.rate(), b.group);
    });
    double weight = lightest.front();
    std::vector<bool> stopped(classes.size());
    for (const HullStep &step : steps) {
      if (stopped[step.group])
        continue;
      if (weight + step.weight > capacity) {
        stopped[step.group] = true;
        if (multiplier == 0)
          multiplier = step.rate();
        continue;
      }
      weight += step.weight;
      items[step.group] = step.item;
    }
    return solutionOf(std::move(items));
  }

  /// The states behind the class `index`.
  std::vector<State> extended(const std::vector<State> &states, size_t index) {
    const double tolerated = best.cost + 1e-12 * penalised(capacity, best.cost);
    std::vector<State> next;
    for (size_t i = 0; i < states.size(); ++i)
      for (size_t item : kept[index]) {
        const State state{states[i].weight + classes[index][item].weight,
                          states[i].cost + classes[index][item].cost, static_cast<uint32_t>(i),
                          static_cast<uint32_t>(item)};
        if (state.weight + lightest[index + 1] <= capacity &&
            boundOf(state, index + 1) <= tolerated)
          next.push_back(state);
      }
    std::sort(next.begin(), next.end(), [](const State &a, const State &b) {
      return std::tie(a.weight, a.cost, a.before, a.item) <
             std::tie(b.weight, b.cost, b.before, b.item);
    });
    size_t count = 0;
    for (const State &state : next)
      if (count == 0 || state.cost < next[count - 1].cost)
        next[count++] = state;
    next.resize(count);
    if (count > mostStates) {
      std::sort(next.begin(), next.end(), [&](const State &a, const State &b) {
        return std::tuple(boundOf(a, index + 1), a.weight) <
               std::tuple(boundOf(b, index + 1), b.weight);
      });
      missed = std::min(missed, boundOf(next[mostStates], index + 1));
      next.resize(mostStates);
    }
    return next;
  }

  void improve() {
    std::vector<State> states = {{0, 0, 0, 0}};
    std::vector<std::vector<Link>> links;
    for (size_t i = 0; i < classes.size(); ++i) {
      states = extended(states, i);
      std::vector<Link> &level = links.emplace_back();
      for (const State &state : states)
        level.push_back({state.before, state.item});
    }
    const auto found =
        std::min_element(states.begin(), states.end(),
                         [](const State &a, const State &b) { return a.cost < b.cost; });
    if (found == states.end() || found->cost >= best.cost)
      return;
    std::vector<size_t> items(classes.size());
    auto at = static_cast<uint32_t>(found - states.begin());
    for (size_t i = classes.size(); i-- > 0;) {
      items[i] = links[i][at].item;
      at = links[i][at].before;
    }
    best = solutionOf(std::move(items));
  }

  Classes classes;
  double capacity;
  size_t mostStates;
  std::vector<std::vector<size_t>> kept;
  std::vector<double> lightest, cheapest; ///< of the classes from an index on: weight; penalised
  double multiplier = 0;                  ///< cost of a unit of weight
  double missed = std::numeric_limits<double>::infinity();
  KnapsackSolution best;
};

} // namespace

std::optional<KnapsackSolution> solveKnapsack(std::span<const std::vector<KnapsackItem>> classes,
                                              double capacity, size_t mostStates) {
  return Solver(classes, capacity, mostStates).run();
}

} // namespace ingot::quantize
