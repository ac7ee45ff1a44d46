// SPDX-License-Identifier: Apache-2.0
// What is left of expressions after a byte, and whether anything is.
#include "runtime/guided/Expression.h"

#include <algorithm>
#include <string>

namespace ingot::runtime::guided {

/// How deep expressions nest: what is recursive has this much stack.
constexpr int deepest = 1000;

/// How many derivatives and clamped parts are remembered.
constexpr size_t mostRemembered = size_t(1) << 20;

ExpressionId ExpressionArena::derivative(ExpressionId id, uint8_t byte) {
  return derive(id, byte, 0);
}

ExpressionId ExpressionArena::deriveConcatenation(ExpressionId id, uint8_t byte, int depth) {
  std::vector<ExpressionId> results;
  for (;;) {
    const Node node = nodes[id];
    if (node.kind != Kind::Concatenation) {
      results.push_back(derive(id, byte, depth + 1));
      break;
    }
    results.push_back(concatenation(derive(node.a, byte, depth + 1), node.b));
    if (!nullable(node.a))
      break;
    id = node.b;
  }
  return results.size() == 1 ? results.front() : alternation(results);
}

ExpressionId ExpressionArena::deriveCompound(const Node &node, uint8_t byte, int depth) {
  if (node.kind == Kind::Complement)
    return complement(derive(node.a, byte, depth + 1));
  if (node.kind == Kind::Repeat) {
    uint32_t most = node.c == unbounded ? unbounded : node.c - 1;
    ExpressionId once = derive(node.a, byte, depth + 1);
    return once == nothing ? nothing
                           : concatenation(once, repeat(node.a, node.b ? node.b - 1 : 0, most));
  }
  std::vector<ExpressionId> results;
  results.reserve(node.b);
  for (uint32_t i = 0; i < node.b; ++i) { // The list may move meanwhile.
    results.push_back(derive(operands[node.a + i], byte, depth + 1));
    if (results.back() == nothing && node.kind == Kind::Intersection)
      return nothing;
  }
  return node.kind == Kind::Alternation ? alternation(results) : intersection(results);
}

ExpressionId ExpressionArena::derive(ExpressionId id, uint8_t byte, int depth) {
  const Node node = nodes[id];
  if (id == anything)
    return anything;
  switch (node.kind) {
  case Kind::Nothing:
  case Kind::Empty:
    return nothing;
  case Kind::Bytes:
    return sets[node.a].contains(byte) ? empty : nothing;
  default:
    break;
  }
  if (depth > deepest)
    return fail("nested more than " + std::to_string(deepest) + " deep");
  if (node.kind == Kind::Concatenation)
    return deriveConcatenation(id, byte, depth);
  // Parts may be shared by many: without a memory the time would double with every level.
  uint64_t key = uint64_t(id) << 8 | byte;
  if (auto known = derived.find(key); known != derived.end())
    return known->second;
  ExpressionId result = deriveCompound(node, byte, depth);
  if (derived.size() >= mostRemembered)
    derived.clear();
  derived.emplace(key, result);
  return result;
}

bool ExpressionArena::isEmpty(ExpressionId id, size_t stateLimit) {
  const uint8_t flags = nodes[id].flags;
  if (flags & (Alive | Dead))
    return flags & Dead;
  if (flags & Positive) {
    nodes[id].flags |= Alive;
    return false;
  }
  return !explore(id, stateLimit);
}

/// Breadth first to a derivative that is known to match something.
bool ExpressionArena::explore(ExpressionId id, size_t stateLimit) {
  if (classified != sets.size()) {
    classes = ByteClasses(sets);
    classified = sets.size();
  }
  std::vector<ExpressionId> seen{id};
  std::vector<size_t> parent{0};
  std::unordered_map<ExpressionId, bool> known{{id, true}};
  for (size_t i = 0; i < seen.size(); ++i) {
    for (uint32_t which = 0; which < classes.count; ++which) {
      ExpressionId next = derive(seen[i], classes.representative[which], 0);
      if (nodes[next].flags & Dead || !known.emplace(next, true).second)
        continue;
      if (nodes[next].flags & (Alive | Positive)) {
        nodes[next].flags |= Alive;
        for (size_t at = i;; at = parent[at]) {
          nodes[seen[at]].flags |= Alive;
          if (at == 0)
            return true;
        }
      }
      seen.push_back(next);
      parent.push_back(i);
    }
    if (!failure.ok())
      return true;
    if (seen.size() > stateLimit) {
      fail("whether an expression matches anything takes more than " + std::to_string(stateLimit) +
           " states");
      return true;
    }
  }
  for (ExpressionId dead : seen)
    nodes[dead].flags |= Dead;
  return false;
}

bool ExpressionArena::matches(ExpressionId id, std::string_view text) {
  for (char byte : text) {
    id = derive(id, uint8_t(byte), 0);
    if (id == nothing)
      return false;
  }
  return nullable(id);
}

ExpressionId ExpressionArena::clamped(ExpressionId id, uint32_t steps) {
  return nodes[id].flags & Positive ? clamp(id, steps, 0) : id;
}

/// A count that `steps` bytes cannot reach is steps + 1: every round takes a byte at least, or
/// the operand is nullable and the minimum 0.
ExpressionId ExpressionArena::clamp(ExpressionId id, uint32_t steps, int depth) {
  if (!countsAbove(id, steps + 1))
    return id;
  if (depth > deepest)
    return fail("nested more than " + std::to_string(deepest) + " deep");
  uint64_t key = uint64_t(id) << 32 | steps;
  if (auto known = clampedParts.find(key); known != clampedParts.end())
    return known->second;
  const Node node = nodes[id];
  ExpressionId result = id;
  auto count = [&](uint32_t value) {
    return value == unbounded ? value : std::min(value, steps + 1);
  };
  if (node.kind == Kind::Concatenation) {
    std::vector<ExpressionId> parts;
    ExpressionId rest = id;
    for (; nodes[rest].kind == Kind::Concatenation; rest = nodes[rest].b)
      parts.push_back(clamp(nodes[rest].a, steps, depth + 1));
    parts.push_back(clamp(rest, steps, depth + 1));
    result = concatenation(parts);
  } else if (node.kind == Kind::Repeat) {
    result = repeat(clamp(node.a, steps, depth + 1), count(node.b), count(node.c));
  } else if (node.kind == Kind::Complement) {
    result = complement(clamp(node.a, steps, depth + 1));
  } else {
    std::vector<ExpressionId> parts;
    for (uint32_t i = 0; i < node.b; ++i)
      parts.push_back(clamp(operands[node.a + i], steps, depth + 1));
    result = node.kind == Kind::Alternation ? alternation(parts) : intersection(parts);
  }
  if (clampedParts.size() >= mostRemembered)
    clampedParts.clear();
  clampedParts.emplace(key, result);
  return result;
}

} // namespace ingot::runtime::guided
