// SPDX-License-Identifier: Apache-2.0
// What is left of expressions after a byte, and whether anything is.
#include "runtime/guided/Expression.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

namespace ingot::runtime::guided {

/// How deep expressions nest: what is recursive has this much stack.
constexpr int deepest = 1000;

/// How many derivatives and clamped parts are remembered.
constexpr size_t mostRemembered = size_t(1) << 20;

ExpressionId ExpressionArena::derivative(ExpressionId id, uint8_t byte) {
  return derive(id, byte, 0);
}

ExpressionId ExpressionArena::deriveConcatenation(ExpressionId id, uint8_t byte, int depth) {
  if (const Node node = nodes[id]; !nullable(node.a))
    return concatenation(derive(node.a, byte, depth + 1), node.b);
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
  if (ExpressionId next = nothing; simpleStep(id, byte, next))
    return next;
  if (depth > deepest)
    return fail("nested more than " + std::to_string(deepest) + " deep");
  // Parts may be shared by many: without a memory the time would double with every level.
  const uint64_t key = uint64_t(id) << 8 | partitions[node.partition].of[byte];
  if (const uint32_t known = derived.find(key); known != FlatMap::missing)
    return known;
  const ExpressionId result = node.kind == Kind::Concatenation
                                  ? deriveConcatenation(id, byte, depth)
                                  : deriveCompound(node, byte, depth);
  if (derived.size() >= mostRemembered)
    derived.clear();
  derived.put(key, result);
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

/// To a derivative that is known to match something, by way of those whose shortest text may be
/// the shortest.
bool ExpressionArena::explore(ExpressionId id, size_t stateLimit) {
  struct Place {
    ExpressionId state;
    uint32_t parent;
  };
  std::vector<Place> seen{{id, 0}};
  FlatMap known;
  known.put(id, 0);
  using Open = std::pair<uint32_t, uint32_t>; // the shortest text, and where in `seen`
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  open.push({nodes[id].shortest, 0});
  auto foundAlive = [&](ExpressionId state, uint32_t from) {
    nodes[state].flags |= Alive;
    for (uint32_t at = from;; at = seen[at].parent) {
      nodes[seen[at].state].flags |= Alive;
      if (at == 0)
        return true;
    }
  };
  while (!open.empty()) {
    const uint32_t from = open.top().second;
    const ExpressionId state = seen[from].state;
    open.pop();
    const size_t parts = partition(state).representative.size();
    for (size_t part = 0; part < parts; ++part) {
      const ExpressionId next = derive(state, partition(state).representative[part], 0);
      if (nodes[next].flags & Dead || known.find(next) != FlatMap::missing)
        continue;
      if (nodes[next].flags & (Alive | Positive))
        return foundAlive(next, from);
      known.put(next, 0);
      open.push({nodes[next].shortest, uint32_t(seen.size())});
      seen.push_back({next, from});
    }
    if (!failure.ok())
      return true;
    if (seen.size() > stateLimit) {
      fail("whether an expression matches anything takes more than " + std::to_string(stateLimit) +
           " states");
      return true;
    }
  }
  for (const Place &dead : seen)
    nodes[dead.state].flags |= Dead;
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
  if (!countsAbove(id, steps))
    return id;
  if (nodes[id].flags & Positive)
    return clamp(id, {steps, false}, 0);
  // Whether an intersection has an end depends on counts beyond `steps`. Without the upper bounds
  // above n it has the same texts of up to n bytes, and maybe longer ones: where whatever is
  // reached can end within n - steps bytes, the bounds take no end away.
  for (uint32_t slack : {16u, 40u}) {
    if (!countsAbove(id, steps + slack))
      break;
    const ExpressionId open = clamp(id, {steps + slack, true}, 0);
    if (open != id && longestEnd(open) <= slack)
      return open;
  }
  return id;
}

/// A count above the horizon is endless: within so many bytes it is not used up, as every round
/// takes a byte at least (or the operand is nullable and the minimum 0). A minimum above it is
/// never reached, unless only upper bounds are to go.
ExpressionId ExpressionArena::clamp(ExpressionId id, Horizon horizon, int depth) {
  if (!countsAbove(id, horizon.steps))
    return id;
  if (depth > deepest)
    return fail("nested more than " + std::to_string(deepest) + " deep");
  uint64_t key = (uint64_t(id) << 32 | horizon.steps) << 1 | uint64_t(horizon.upperOnly);
  if (const uint32_t known = clampedParts.find(key); known != FlatMap::missing)
    return known;
  const Node node = nodes[id];
  ExpressionId result = id;
  if (node.kind == Kind::Concatenation) {
    std::vector<ExpressionId> parts;
    ExpressionId rest = id;
    for (; nodes[rest].kind == Kind::Concatenation; rest = nodes[rest].b)
      parts.push_back(clamp(nodes[rest].a, horizon, depth + 1));
    parts.push_back(clamp(rest, horizon, depth + 1));
    result = concatenation(parts);
  } else if (node.kind == Kind::Repeat) {
    const bool never = node.b > horizon.steps && !horizon.upperOnly;
    result = repeat(clamp(node.a, horizon, depth + 1), never ? unbounded : node.b,
                    node.c > horizon.steps ? unbounded : node.c);
  } else if (node.kind == Kind::Alternation || node.kind == Kind::Intersection) {
    std::vector<ExpressionId> parts;
    for (uint32_t i = 0; i < node.b; ++i)
      parts.push_back(clamp(operands[node.a + i], horizon, depth + 1));
    result = node.kind == Kind::Alternation ? alternation(parts) : intersection(parts);
  } // A complement stays: fewer texts in it are more outside.
  if (clampedParts.size() >= mostRemembered)
    clampedParts.clear();
  clampedParts.put(key, result);
  return result;
}

/// A bound on the bytes of the shortest way to an end from wherever `id` can lead; ~0u where there
/// are too many states to tell.
uint32_t ExpressionArena::longestEnd(ExpressionId id) {
  constexpr size_t mostStates = 192;
  constexpr uint32_t endless = FlatMap::missing - 1;
  if (const uint32_t known = longestEnds.find(id); known != FlatMap::missing)
    return known == endless ? ~0u : known;
  longestEnds.put(id, endless);
  std::vector<ExpressionId> states{id};
  FlatMap index;
  index.put(id, 0);
  std::vector<std::vector<size_t>> before(1);
  for (size_t i = 0; i < states.size(); ++i) {
    const size_t parts = partition(states[i]).representative.size();
    for (size_t part = 0; part < parts; ++part) {
      const ExpressionId next = derive(states[i], partition(states[i]).representative[part], 0);
      uint32_t place = index.find(next);
      if (place == FlatMap::missing) {
        if (states.size() == mostStates)
          return ~0u;
        place = uint32_t(states.size());
        index.put(next, place);
        states.push_back(next);
        before.emplace_back();
      }
      before[place].push_back(i);
    }
  }
  std::vector<size_t> reached;
  std::vector<uint32_t> distance(states.size(), ~0u);
  auto reach = [&](size_t state, uint32_t steps) {
    if (distance[state] == ~0u) {
      distance[state] = steps;
      reached.push_back(state);
    }
  };
  for (size_t i = 0; i < states.size(); ++i)
    if (nullable(states[i]))
      reach(i, 0);
  for (size_t i = 0; i < reached.size(); ++i)
    for (size_t previous : before[reached[i]])
      reach(previous, distance[reached[i]] + 1);
  // What is reached from here has no longer ways.
  const uint32_t longest = reached.empty() ? 0 : distance[reached.back()];
  for (ExpressionId state : states)
    longestEnds.put(state, longest);
  return longest;
}

} // namespace ingot::runtime::guided
