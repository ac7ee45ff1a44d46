// SPDX-License-Identifier: Apache-2.0
// The multiple-choice knapsack against trying every choice, and at the sizes of real models.
#include "compiler/quantize/search/Knapsack.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace ingot::quantize {
namespace {

using Classes = std::vector<std::vector<KnapsackItem>>;

/// Whole numbers, so that many choices tie, or any.
Classes randomClasses(std::mt19937 &random, size_t count, size_t items, bool whole) {
  Classes classes(count);
  for (auto &group : classes)
    for (size_t i = 0; i < 1 + random() % items; ++i)
      group.push_back(whole ? KnapsackItem{double(random() % 8), double(random() % 8)}
                            : KnapsackItem{1e-6 * double(random() % 1'000'000),
                                           1e-9 * double(random() % 1'000'000'000)});
  return classes;
}

/// The least cost of all choices that fit; infinite where none does.
double leastCost(const Classes &classes, double capacity) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<size_t> choice(classes.size());
  for (;;) {
    double weight = 0, cost = 0;
    for (size_t i = 0; i < classes.size(); ++i) {
      weight += classes[i][choice[i]].weight;
      cost += classes[i][choice[i]].cost;
    }
    if (weight <= capacity)
      least = std::min(least, cost);
    size_t i = 0;
    while (i < classes.size() && ++choice[i] == classes[i].size())
      choice[i++] = 0;
    if (i == classes.size())
      return least;
  }
}

void expectSolves(const Classes &classes, double capacity, const KnapsackSolution &solution) {
  double weight = 0, cost = 0;
  ASSERT_EQ(solution.items.size(), classes.size());
  for (size_t i = 0; i < classes.size(); ++i) {
    ASSERT_LT(solution.items[i], classes[i].size());
    weight += classes[i][solution.items[i]].weight;
    cost += classes[i][solution.items[i]].cost;
  }
  EXPECT_EQ(solution.weight, weight);
  EXPECT_EQ(solution.cost, cost);
  EXPECT_LE(weight, capacity);
  EXPECT_LE(solution.bound, cost);
}

TEST(Knapsack, CostsAsLittleAsTheBestOfAllChoices) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const bool whole = round % 2 == 0;
    const Classes classes = randomClasses(random, 1 + random() % 6, 5, whole);
    const double capacity = whole ? double(random() % 30) : 3e-6 * double(random() % 1'000'000);
    const double least = leastCost(classes, capacity);
    const auto solution = solveKnapsack(classes, capacity);
    ASSERT_EQ(solution.has_value(), least < std::numeric_limits<double>::infinity());
    if (!solution)
      continue;
    expectSolves(classes, capacity, *solution);
    EXPECT_NEAR(solution->cost, least, 1e-12 * least);
    EXPECT_EQ(solution->bound, solution->cost);
  }
}

TEST(Knapsack, CostsNoMoreWithALargerCapacity) {
  std::mt19937 random(2);
  const Classes classes = randomClasses(random, 40, 5, false);
  double before = std::numeric_limits<double>::infinity();
  for (double capacity = 0; capacity < 40; capacity += 0.25) {
    const auto solution = solveKnapsack(classes, capacity);
    if (!solution)
      continue;
    EXPECT_LE(solution->cost, before);
    before = solution->cost;
  }
  EXPECT_LT(before, std::numeric_limits<double>::infinity());
}

/// Matrices of a few shapes in a few formats, as models have them.
Classes classesOfModel(std::mt19937 &random, size_t layers) {
  Classes classes;
  for (size_t layer = 0; layer < layers; ++layer)
    for (double elements : {16.8e6, 4.2e6, 4.2e6, 16.8e6, 58.7e6, 58.7e6, 58.7e6}) {
      const double error = 1e-5 * double(1 + random() % 1000);
      auto &group = classes.emplace_back();
      for (const auto &[bits, part] :
           {std::pair(4.125, 1.0), {4.25, 0.82}, {4.5, 0.68}, {8.0, 0.01}, {16.0, 0.0}})
        group.push_back({elements * bits / 8, error * part});
    }
  return classes;
}

TEST(Knapsack, IsExactAtTheSizesOfModels) {
  std::mt19937 random(3);
  const Classes classes = classesOfModel(random, 32);
  for (double bits : {4.2, 4.5, 5.0, 6.0, 9.0}) {
    const double capacity = 32 * 218.1e6 * bits / 8;
    const auto solution = solveKnapsack(classes, capacity);
    ASSERT_TRUE(solution);
    expectSolves(classes, capacity, *solution);
    EXPECT_EQ(solution->bound, solution->cost) << bits;
    EXPECT_GT(solution->weight, 0.999 * capacity);
  }
}

TEST(Knapsack, SaysWhatACutSearchMayHaveMissed) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const Classes classes = randomClasses(random, 7, 5, false);
    const double capacity = 3e-6 * double(random() % 1'000'000);
    const double least = leastCost(classes, capacity);
    const auto solution = solveKnapsack(classes, capacity, 2);
    ASSERT_EQ(solution.has_value(), least < std::numeric_limits<double>::infinity());
    if (!solution)
      continue;
    expectSolves(classes, capacity, *solution);
    EXPECT_GE(solution->cost, least * (1 - 1e-12));
    EXPECT_LE(solution->bound, least * (1 + 1e-12));
  }
}

} // namespace
} // namespace ingot::quantize
