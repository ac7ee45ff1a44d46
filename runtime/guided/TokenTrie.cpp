// SPDX-License-Identifier: Apache-2.0
// Sorted texts to a tree.
#include "runtime/guided/TokenTrie.h"

#include "runtime/guided/PlainText.h"

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
      nodeList.push_back({0, uint32_t(tokenList.size()), uint16_t(i), uint8_t(text[i]), 0});
    }
    tokenList.push_back(token);
    deepest = std::max(deepest, text.size());
    before = text;
  }
  closeTo(0);
  nodeList.push_back({uint32_t(nodeList.size() + 1), uint32_t(tokenList.size()), 0, 0, 0});
  markPlain();
}

/// From the leaves up. Of UTF-8 each node knows from which states all below it is valid.
void TokenTrie::markPlain() {
  std::vector<uint8_t> valid(nodeList.size(), 0xFF);
  heights.resize(nodeList.size());
  for (Node &node : nodeList)
    node.under = LowerCase | Alphanumeric | Text;
  std::vector<uint32_t> parents(nodeList.size());
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < size(); ++i) {
    path.resize(nodeList[i].depth);
    parents[i] = path.empty() ? i : path.back();
    path.push_back(i);
  }
  for (uint32_t i = size(); i-- > 0;) {
    Node &node = nodeList[i];
    if (!(valid[i] & 1))
      node.under &= uint8_t(~Text);
    if (parents[i] == i)
      continue;
    Node &parent = nodeList[parents[i]];
    uint8_t &height = heights[parents[i]];
    height = uint8_t(std::max<int>(height, std::min(heights[i] + 1, 0xFF)));
    const uint8_t kinds = plainKindsOf(node.byte);
    uint8_t from = 0;
    for (uint8_t state = 0; state < utf8States; ++state) {
      const uint8_t next = kinds & Text ? utf8Step(state, node.byte) : notUtf8;
      if (next != notUtf8 && valid[i] >> next & 1)
        from |= uint8_t(1 << state);
    }
    valid[parents[i]] &= from;
    const uint8_t ascii = LowerCase | Alphanumeric;
    parent.under &= uint8_t((kinds & node.under & ascii) | Text);
  }
}

} // namespace ingot::runtime::guided
