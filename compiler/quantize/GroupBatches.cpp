// SPDX-License-Identifier: Apache-2.0
// Results do not depend on how groups are shared out.
#include "compiler/quantize/GroupBatches.h"

#include "compiler/quantize/methods/Gptq.h"

#include <algorithm>
#include <map>

using namespace ingot;
using namespace ingot::quantize;
using compiler::Product;
using compiler::ProductGroup;

uint64_t quantize::memoryFor(const LayerSettings &settings,
                             std::span<const ProductGroup *const> groups) {
  const recipe::Method method = settings.recipe.method;
  uint64_t held = 0, scratch = 0;
  uint64_t waiting = 0, ordering = 0; // of rows, before any matrix is rounded
  for (const ProductGroup *group : groups) {
    const auto columns = static_cast<uint64_t>(group->columns);
    for (const Product &product : group->products) // weights, and what they become
      held += static_cast<uint64_t>(product.rows) * columns * 2 * sizeof(float);
    if (!readsInputs(settings.recipe))
      continue;
    held += 2 * kSampledRows * columns * sizeof(float);
    if (!recipe::usesGptq(method))
      continue;
    held += columns * columns * sizeof(float) * 2;
    scratch = std::max(scratch, gptqScratch(group->columns));
    waiting += Moments::waitingBytes(group->columns);
    ordering = std::max(ordering, columns * columns * sizeof(float));
  }
  return held == 0 ? 0 : held + std::max(scratch, waiting + ordering) + kProgramMemory;
}

/// Whether experts of `group` lie in a tensor with all others.
static bool isStacked(const ProductGroup &group) {
  return group.products.front().stack.has_value();
}

std::vector<GroupBatch> quantize::batchesOf(const LayerSettings &settings,
                                            const compiler::ProductList &products, uint64_t most) {
  std::vector<GroupBatch> batches(1);
  std::map<int64_t, GroupBatch> experts;
  // Where one matrix is taken out of a stack, all are.
  const bool takesApart = std::ranges::any_of(products.groups, [&](const ProductGroup &group) {
    return isStacked(group) && isQuantized(settings, group);
  });
  for (const ProductGroup &group : products.groups)
    if (isQuantized(settings, group) || (takesApart && isStacked(group)))
      (group.routed ? experts[group.routed->expert] : batches.front()).push_back(&group);
  for (const auto &[expert, groups] : experts) {
    GroupBatch larger = batches.back();
    larger.insert(larger.end(), groups.begin(), groups.end());
    if (batches.back().empty() || memoryFor(settings, larger) <= most)
      batches.back() = std::move(larger);
    else
      batches.push_back(groups);
  }
  return batches;
}
