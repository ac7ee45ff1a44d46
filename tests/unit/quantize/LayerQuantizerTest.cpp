// SPDX-License-Identifier: Apache-2.0
// What experts get of which the calibration text says too little.
#include "compiler/quantize/LayerQuantizer.h"
#include "compiler/quantize/layouts/Layouts.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::quantize;
using recipe::NumberFormat;

namespace {

TEST(LayerQuantizer, RareExpertsHaveTheInputScaleOfTheLayersLargest) {
  const auto model = checkpoint::Checkpoint::open(INGOT_SOURCE_DIR "/examples/fables/model");
  ASSERT_TRUE(model);
  recipe::Recipe recipe;
  recipe.weights = {{"*", {NumberFormat::E4M3, recipe::kWholeRow}}};
  recipe.activations.compute = NumberFormat::E4M3Static;
  constexpr int64_t rows = 768, columns = 256;
  std::vector<compiler::ProductGroup> groups(3);
  std::vector<const compiler::ProductGroup *> pointers;
  std::vector<InputStatistics> statistics;
  for (int64_t expert = 0; expert < 3; ++expert) {
    compiler::ProductGroup &group = groups[static_cast<size_t>(expert)];
    group.columns = columns;
    group.routed.emplace().expert = expert;
    group.products = {{"model.layers.0.mlp.gate_proj.weight", rows, columns}};
    pointers.push_back(&group);
    // Enough tokens went to the first, fewer to the second, none to the third.
    InputStatistics &own = statistics.emplace_back(InputStatistics{Moments::ofSquares(columns)});
    const int64_t tokens = expert == 0 ? kFewestRows : expert == 1 ? 2 : 0;
    own.add(std::vector<float>(static_cast<size_t>(tokens * columns), 4.48f), {}, 1);
    own.moments.finish();
    own.mostOfAll = 44.8f;
  }
  const LayerSettings settings{*model, recipe, *findLayout("compressed-tensors"), ScaleType::BF16,
                               1};
  const auto result = quantizeGroups(settings, pointers, statistics);
  ASSERT_TRUE(result) << result.error().str();
  ASSERT_EQ(result->modules.size(), 3u);
  EXPECT_FLOAT_EQ(result->modules[0].inputScale, 0.01f);
  EXPECT_FLOAT_EQ(result->modules[1].inputScale, 0.1f);
  EXPECT_FLOAT_EQ(result->modules[2].inputScale, 0.1f);
}

} // namespace
