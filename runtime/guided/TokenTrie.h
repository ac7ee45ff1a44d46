// SPDX-License-Identifier: Apache-2.0
// Tokens as a tree of their bytes, in flat arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::runtime::guided {

/// The nodes stand in depth-first order: the children of node i begin at i + 1, and what is not
/// under it begins at nodes[i].end. The last node is a sentinel.
class TokenTrie {
public:
  struct Node {
    uint32_t end;        ///< the first node that is not under this one
    uint32_t firstToken; ///< in tokens(): those that end here go to the next node's
    uint16_t depth;      ///< bytes before this one
    uint8_t byte;
    uint8_t under; ///< Plain: what all texts below consist of, from a character's start on
  };

  /// A text and the token that it stands for; texts may come up twice.
  using Entry = std::pair<std::string_view, uint32_t>;

  /// The longest text; longer ones are left out.
  static constexpr size_t longest = 0xFFFF;

  TokenTrie() : TokenTrie(std::vector<Entry>()) {}
  /// Empty texts are left out.
  explicit TokenTrie(std::vector<Entry> entries);
  std::span<const Node> nodes() const { return nodeList; }
  std::span<const uint32_t> tokens() const { return tokenList; }
  /// Nodes without the sentinel.
  uint32_t size() const { return uint32_t(nodeList.size() - 1); }
  /// The tokens that end at a node.
  std::span<const uint32_t> tokensAt(uint32_t node) const {
    return {tokenList.data() + nodeList[node].firstToken,
            nodeList[node + 1].firstToken - nodeList[node].firstToken};
  }
  /// The tokens that end at a node or under it.
  std::span<const uint32_t> tokensUnder(uint32_t node) const {
    return {tokenList.data() + nodeList[node].firstToken,
            nodeList[nodeList[node].end].firstToken - nodeList[node].firstToken};
  }
  size_t depth() const { return deepest; }
  /// Bytes of the longest text below a node, 255 for more.
  uint8_t height(uint32_t node) const { return heights[node]; }

private:
  void markPlain();

  std::vector<Node> nodeList;
  std::vector<uint32_t> tokenList;
  std::vector<uint8_t> heights;
  size_t deepest = 0;
};

} // namespace ingot::runtime::guided
