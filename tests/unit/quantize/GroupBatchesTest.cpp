// SPDX-License-Identifier: Apache-2.0
// Which groups are quantized at a time, by the memory that there is.
#include "compiler/quantize/GroupBatches.h"
#include "compiler/quantize/layouts/Layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::quantize;
using compiler::Product;
using compiler::ProductGroup;
using compiler::ProductList;
using testing::ElementsAre;

namespace {

const checkpoint::Checkpoint &model() {
  static const auto opened =
      checkpoint::Checkpoint::open(INGOT_SOURCE_DIR "/examples/fables/model");
  return *opened;
}

class GroupBatches : public testing::Test {
protected:
  GroupBatches() {
    recipe.weights = {{"*", {recipe::NumberFormat::Int4, 128}}};
    recipe.method = recipe::Method::Gptq;
    add("x", {"router", 8, 256, true});
    add("y", {"o", 256, 256});
    // Inputs of gate and up of all experts come before those of down.
    for (const char *tap : {"x", "z"})
      for (int64_t expert = 0; expert < 5; ++expert) {
        add(tap, {"e", 256, 512});
        list.groups.back().routed.emplace().expert = expert;
      }
  }

  void add(const char *tap, const Product &product) {
    ProductGroup &group = list.groups.emplace_back();
    group.tap = tap;
    group.columns = product.columns;
    group.products = {product};
  }

  /// The experts of each batch; -1 is a group of none.
  std::vector<std::vector<int64_t>> batches(uint64_t most) const {
    std::vector<std::vector<int64_t>> result;
    for (const GroupBatch &batch : batchesOf(settings, list, most))
      for (auto &experts = result.emplace_back(); const ProductGroup *group : batch)
        experts.push_back(expertOf(*group));
    return result;
  }

  recipe::Recipe recipe;
  ProductList list;
  LayerSettings settings{model(), recipe, *findLayout("compressed-tensors"), ScaleType::BF16, 1};
};

TEST_F(GroupBatches, AllAreOneWhereTheyFit) {
  EXPECT_THAT(batches(uint64_t{1} << 40),
              ElementsAre(ElementsAre(-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4)));
}

TEST_F(GroupBatches, ExpertsStayWholeAndBatchesWithinMemory) {
  std::vector<const ProductGroup *> two;
  for (size_t i : {2, 3, 7, 8})
    two.push_back(&list.groups[i]);
  const uint64_t most = memoryFor(settings, two);
  EXPECT_THAT(batches(most),
              ElementsAre(ElementsAre(-1, 0, 0), ElementsAre(1, 1, 2, 2), ElementsAre(3, 3, 4, 4)));
  EXPECT_THAT(batches(most - 1),
              ElementsAre(ElementsAre(-1, 0, 0), ElementsAre(1, 1), ElementsAre(2, 2),
                          ElementsAre(3, 3), ElementsAre(4, 4)));
}

TEST_F(GroupBatches, OneIsThereWithoutGroupsToo) {
  list.groups.clear();
  EXPECT_THAT(batches(0), ElementsAre(ElementsAre()));
  EXPECT_EQ(memoryFor(settings, {}), 0u);
}

} // namespace
