// SPDX-License-Identifier: Apache-2.0
// Tokens as a tree of their bytes, in arrays that can be stored as they are.
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
  };

  /// A text and the token that it stands for; texts may come up twice.
  using Entry = std::pair<std::string_view, uint32_t>;

  /// The longest text; longer ones are left out.
  static constexpr size_t longest = 0xFFFF;

  TokenTrie() : TokenTrie(std::vector<Entry>()) {}
  /// Empty texts are left out.
  explicit TokenTrie(std::vector<Entry> entries);
  /// Of stored arrays, which must be those of a trie.
  TokenTrie(std::vector<Node> nodes, std::vector<uint32_t> tokens)
      : nodeList(std::move(nodes)), tokenList(std::move(tokens)) {}

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

private:
  std::vector<Node> nodeList;
  std::vector<uint32_t> tokenList;
  size_t deepest = 0;
};

} // namespace ingot::runtime::guided
