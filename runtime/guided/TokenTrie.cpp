// SPDX-License-Identifier: Apache-2.0
// Sorted texts to a tree.
#include "runtime/guided/TokenTrie.h"

#include <algorithm>

namespace ingot::runtime::guided {

static size_t commonLength(std::string_view left, std::string_view right) {
  return size_t(std::ranges::mismatch(left, right).in1 - left.begin());
}

TokenTrie::TokenTrie(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry &entry) {
    return entry.first.empty() || entry.first.size() > longest;
  });
  std::ranges::sort(entries);
  std::vector<uint32_t> path; // The nodes of the text before.
  std::string_view before;
  auto closeTo = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back())
      nodeList[path.back()].end = uint32_t(nodeList.size());
  };
  for (const auto &[text, token] : entries) {
    const size_t common = commonLength(before, text);
    closeTo(common);
    for (size_t i = common; i < text.size(); ++i) {
      path.push_back(uint32_t(nodeList.size()));
      nodeList.push_back({0, uint32_t(tokenList.size()), uint16_t(i), uint8_t(text[i])});
    }
    tokenList.push_back(token);
    deepest = std::max(deepest, text.size());
    before = text;
  }
  closeTo(0);
  nodeList.push_back({uint32_t(nodeList.size() + 1), uint32_t(tokenList.size()), 0, 0});
}

} // namespace ingot::runtime::guided
