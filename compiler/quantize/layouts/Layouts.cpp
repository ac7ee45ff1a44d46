// SPDX-License-Identifier: Apache-2.0
// The list of layouts.
#include "compiler/quantize/layouts/Layouts.h"

using namespace ingot;
using namespace ingot::quantize;

/// In the order in which people are told of them.
static constexpr const StoredLayout &(*kLayouts[])() = {layouts::compressedTensors, layouts::awq,
                                                        layouts::gptq, layouts::bitsAndBytes,
                                                        layouts::modelOpt};

const StoredLayout *quantize::findLayout(std::string_view name) {
  for (const auto &layout : kLayouts)
    if (layout().name() == name)
      return &layout();
  return nullptr;
}

const StoredLayout &quantize::layoutFor(const recipe::Recipe &recipe) {
  for (const auto &layout : kLayouts)
    if (std::all_of(recipe.weights.begin(), recipe.weights.end(), [&](const auto &rule) {
          return !recipe::isNarrow(rule.format.type) || layout().holds(rule.format.type);
        }))
      return layout();
  return kLayouts[0]();
}

std::vector<std::string> quantize::layoutNames() {
  std::vector<std::string> names;
  for (const auto &layout : kLayouts)
    names.emplace_back(layout().name());
  return names;
}
