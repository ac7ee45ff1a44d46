// SPDX-License-Identifier: Apache-2.0
// The rules of a grammar that is a text, as they were read.
#pragma once

#include "runtime/guided/Expression.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// Nodes refer to others by number, so that a tree of any depth ends without recursion.
class RuleTree {
public:
  using NodeId = uint32_t;
  using RuleId = uint32_t;
  static constexpr NodeId none = ~0u;

  struct Node {
    enum class Kind : uint8_t {
      Literal,    ///< `text`
      Expression, ///< `expression`
      Reference,  ///< `rule`
      Sequence,   ///< children, none for the empty text
      Choice,     ///< children, one at least
      Repeat      ///< the one child, `minimum` to `maximum` times
    };
    Kind kind;
    uint32_t firstChild = 0, childCount = 0;
    ExpressionId expression = ExpressionArena::nothing;
    RuleId rule = 0;
    uint32_t minimum = 0, maximum = 0;
    std::string text = {};
  };

  struct Rule {
    std::string name;
    NodeId body = none;   ///< none: referred to, but not defined
    size_t place = 0;     ///< of its definition, or of the first reference to it
    bool lexical = false; ///< one terminal, whatever it refers to
  };

  NodeId literal(std::string text);
  NodeId expression(ExpressionId expression);
  NodeId reference(std::string_view name, size_t place);
  NodeId sequence(std::span<const NodeId> children);
  NodeId choice(std::span<const NodeId> children);
  NodeId repeat(NodeId child, uint32_t minimum, uint32_t maximum);

  /// Gives the rule its body; false where it has one.
  bool define(std::string_view name, size_t place, NodeId body, bool lexical = false);

  std::optional<RuleId> find(std::string_view name) const;
  const Node &node(NodeId id) const { return nodes[id]; }
  std::span<const NodeId> childrenOf(const Node &node) const {
    return std::span(children).subspan(node.firstChild, node.childCount);
  }
  const std::vector<Rule> &rules() const { return ruleList; }
  /// The rules that a body refers to, in order.
  std::vector<RuleId> references(NodeId body) const;

private:
  NodeId add(Node node, std::span<const NodeId> childList = {});
  RuleId ruleOf(std::string_view name, size_t place);

  std::vector<Node> nodes;
  std::vector<NodeId> children;
  std::vector<Rule> ruleList;
  std::map<std::string, RuleId, std::less<>> ids;
};

} // namespace ingot::runtime::guided
