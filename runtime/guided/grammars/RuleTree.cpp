// SPDX-License-Identifier: Apache-2.0
// Nodes and rules by number.
#include "runtime/guided/grammars/RuleTree.h"

namespace ingot::runtime::guided {

RuleTree::NodeId RuleTree::add(Node node, std::span<const NodeId> childList) {
  node.firstChild = uint32_t(children.size());
  node.childCount = uint32_t(childList.size());
  children.insert(children.end(), childList.begin(), childList.end());
  nodes.push_back(std::move(node));
  return NodeId(nodes.size() - 1);
}

RuleTree::NodeId RuleTree::literal(std::string text) {
  Node node{Node::Kind::Literal};
  node.text = std::move(text);
  return add(std::move(node));
}

RuleTree::NodeId RuleTree::expression(ExpressionId expression) {
  Node node{Node::Kind::Expression};
  node.expression = expression;
  return add(std::move(node));
}

RuleTree::NodeId RuleTree::reference(std::string_view name, size_t place) {
  Node node{Node::Kind::Reference};
  node.rule = ruleOf(name, place);
  return add(std::move(node));
}

RuleTree::NodeId RuleTree::sequence(std::span<const NodeId> list) {
  return list.size() == 1 ? list.front() : add({Node::Kind::Sequence}, list);
}

RuleTree::NodeId RuleTree::choice(std::span<const NodeId> list) {
  return list.size() == 1 ? list.front() : add({Node::Kind::Choice}, list);
}

RuleTree::NodeId RuleTree::repeat(NodeId child, uint32_t minimum, uint32_t maximum) {
  Node node{Node::Kind::Repeat};
  node.minimum = minimum;
  node.maximum = maximum;
  return add(std::move(node), {&child, 1});
}

RuleTree::RuleId RuleTree::ruleOf(std::string_view name, size_t place) {
  if (const auto known = ids.find(name); known != ids.end())
    return known->second;
  const auto id = RuleId(ruleList.size());
  ids.emplace(name, id);
  ruleList.push_back({std::string(name), none, place});
  return id;
}

bool RuleTree::define(std::string_view name, size_t place, NodeId body, bool lexical) {
  Rule &rule = ruleList[ruleOf(name, place)];
  if (rule.body != none)
    return false;
  rule.body = body;
  rule.place = place;
  rule.lexical = lexical;
  return true;
}

std::optional<RuleTree::RuleId> RuleTree::find(std::string_view name) const {
  const auto known = ids.find(name);
  return known == ids.end() ? std::nullopt : std::optional(known->second);
}

std::vector<RuleTree::RuleId> RuleTree::references(NodeId body) const {
  std::vector<RuleId> result;
  std::vector<NodeId> open{body};
  while (!open.empty()) {
    const Node &at = nodes[open.back()];
    open.pop_back();
    if (at.kind == Node::Kind::Reference)
      result.push_back(at.rule);
    const auto list = childrenOf(at);
    open.insert(open.end(), list.rbegin(), list.rend());
  }
  return result;
}

} // namespace ingot::runtime::guided
