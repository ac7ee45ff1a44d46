// SPDX-License-Identifier: Apache-2.0
// The arena of expressions: constructors that simplify.
#include "runtime/guided/Expression.h"

#include "runtime/guided/Hash.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace ingot::runtime::guided {

constexpr uint32_t unbounded = ExpressionArena::unbounded;

/// The sum of two counts; unbounded where one is.
static uint32_t addCounts(uint32_t left, uint32_t right) {
  return left >= unbounded - right ? unbounded : left + right;
}

/// The flags of text of either kind.
constexpr uint8_t texts = 16 | 32;

ExpressionArena::ExpressionArena(ExpressionLimits limits) : limits(limits) {
  table.resize(1024);
  Node node{Kind::Nothing};
  node.flags = Positive | Dead;
  node.fingerprint = mixed(1);
  nodes.push_back(node);
  node = {Kind::Empty};
  node.flags = Nullable | Positive | Alive | texts;
  node.fingerprint = mixed(2);
  nodes.push_back(node);
  node = {Kind::Complement};
  node.flags = Nullable | Positive | Alive;
  node.fingerprint = mixed(3);
  nodes.push_back(node);
}

ExpressionId ExpressionArena::fail(std::string_view what) {
  if (failure.ok())
    failure = Status::error("INGOT-E6601",
                            "the expressions of this request are too large: " + std::string(what));
  return nothing;
}

void ExpressionArena::describe(Node &node, std::span<const ExpressionId> list,
                               const ByteSet &set) const {
  uint64_t hash = mixed(uint64_t(node.kind) + 16);
  uint8_t positive = Positive | texts, textOfAny = 0;
  bool isNullable = node.kind != Kind::Alternation && node.kind != Kind::Bytes;
  auto child = [&](ExpressionId id) {
    positive &= nodes[id].flags;
    textOfAny = uint8_t(textOfAny | (nodes[id].flags & texts));
    node.highest = std::max(node.highest, nodes[id].highest);
    return nodes[id].fingerprint;
  };
  switch (node.kind) {
  case Kind::Nothing:
  case Kind::Empty:
    break;
  case Kind::Bytes:
    positive = Positive;
    for (uint64_t word : set.words)
      hash = mixed(hash ^ word);
    break;
  case Kind::Concatenation:
    hash = mixed(hash ^ child(node.a));
    hash = mixed(hash ^ child(node.b));
    isNullable = nullable(node.a) && nullable(node.b);
    break;
  case Kind::Alternation:
  case Kind::Intersection: {
    uint64_t sum = 0; // The order of ids differs between arenas.
    for (ExpressionId id : list) {
      sum += mixed(child(id) + 7);
      isNullable =
          node.kind == Kind::Alternation ? isNullable || nullable(id) : isNullable && nullable(id);
    }
    hash = mixed(hash ^ sum);
    if (node.kind == Kind::Intersection)
      positive = textOfAny;
    break;
  }
  case Kind::Complement:
    hash = mixed(hash ^ child(node.a));
    isNullable = !nullable(node.a);
    positive = 0;
    break;
  case Kind::Repeat:
    hash = mixed(hash ^ child(node.a));
    hash = mixed(hash ^ (uint64_t(node.b) << 32 | node.c));
    for (uint32_t count : {node.b, node.c})
      node.highest = std::max(node.highest, count == unbounded ? 0 : count);
    isNullable = node.b == 0;
    break;
  }
  node.fingerprint = hash;
  node.flags = uint8_t((isNullable ? Nullable | Alive : 0) | positive);
}

BytePartitions::Id ExpressionArena::partitionOf(const Node &node) {
  BytePartitions::Id result = BytePartitions::coarsest;
  switch (node.kind) {
  case Kind::Nothing:
  case Kind::Empty:
    break;
  case Kind::Bytes:
    return partitions.ofSet(sets[node.a]);
  case Kind::Concatenation:
    return nullable(node.a) ? partitions.meet(nodes[node.a].partition, nodes[node.b].partition)
                            : nodes[node.a].partition;
  case Kind::Alternation:
  case Kind::Intersection:
    for (ExpressionId id : operandsOf(node))
      result = partitions.meet(result, nodes[id].partition);
    break;
  case Kind::Complement:
  case Kind::Repeat:
    return nodes[node.a].partition;
  }
  return result;
}

uint32_t ExpressionArena::shortestOf(const Node &node) const {
  auto ofOperands = [&](auto choose, uint32_t result) {
    for (ExpressionId id : operandsOf(node))
      result = choose(result, nodes[id].shortest);
    return result;
  };
  auto least = [](uint32_t left, uint32_t right) { return std::min(left, right); };
  auto most = [](uint32_t left, uint32_t right) { return std::max(left, right); };
  switch (node.kind) {
  case Kind::Bytes:
    return 1;
  case Kind::Concatenation:
    return addCounts(nodes[node.a].shortest, nodes[node.b].shortest);
  case Kind::Alternation:
    return ofOperands(least, unbounded);
  case Kind::Intersection:
    return ofOperands(most, 0);
  case Kind::Repeat:
    return uint32_t(std::min<uint64_t>(uint64_t(nodes[node.a].shortest) * node.b, unbounded));
  default:
    return 0;
  }
}

bool ExpressionArena::same(const Node &left, const Node &right, std::span<const ExpressionId> list,
                           const ByteSet &set) const {
  if (left.fingerprint != right.fingerprint || left.kind != right.kind)
    return false;
  if (left.kind == Kind::Bytes)
    return sets[left.a] == set;
  if (left.kind == Kind::Alternation || left.kind == Kind::Intersection)
    return std::ranges::equal(operandsOf(left), list);
  return left.a == right.a && left.b == right.b && left.c == right.c;
}

void ExpressionArena::grow() {
  std::vector<ExpressionId> larger(table.size() * 2);
  for (ExpressionId id : table) {
    if (!id)
      continue;
    size_t at = nodes[id].fingerprint & (larger.size() - 1);
    while (larger[at])
      at = (at + 1) & (larger.size() - 1);
    larger[at] = id;
  }
  table = std::move(larger);
}

ExpressionId ExpressionArena::intern(Node node, std::span<const ExpressionId> list, ByteSet set) {
  describe(node, list, set);
  size_t at = node.fingerprint & (table.size() - 1);
  for (; table[at]; at = (at + 1) & (table.size() - 1))
    if (same(nodes[table[at]], node, list, set))
      return table[at];
  if (nodes.size() >= limits.nodes)
    return fail("more than " + std::to_string(limits.nodes) + " parts");
  if (node.kind == Kind::Bytes) {
    node.a = uint32_t(sets.size());
    sets.push_back(set);
  } else if (!list.empty()) {
    if (operands.size() + list.size() > limits.operands)
      return fail("more than " + std::to_string(limits.operands) + " alternatives");
    node.a = uint32_t(operands.size());
    node.b = uint32_t(list.size());
    operands.insert(operands.end(), list.begin(), list.end());
  }
  node.partition = partitionOf(node);
  node.shortest = shortestOf(node);
  auto id = ExpressionId(nodes.size());
  nodes.push_back(node);
  table[at] = id;
  if (nodes.size() * 2 > table.size())
    grow();
  return id;
}

ExpressionId ExpressionArena::bytes(const ByteSet &set) {
  return set.none() ? nothing : intern({Kind::Bytes}, {}, set);
}

ExpressionId ExpressionArena::range(uint8_t first, uint8_t last) {
  return first > last ? nothing : bytes(ByteSet::range(first, last));
}

ExpressionId ExpressionArena::literal(std::string_view text) {
  ExpressionId result = empty;
  for (size_t i = text.size(); i-- > 0;)
    result = concatenation(range(uint8_t(text[i]), uint8_t(text[i])), result);
  return result;
}

/// How deep expressions nest: what is recursive has this much stack.
constexpr int deepest = 1000;

ExpressionId ExpressionArena::literalTree(std::span<const std::string> texts, size_t offset,
                                          int depth) {
  if (depth > deepest)
    return fail("texts that begin with one another");
  const std::string &first = texts.front(), &last = texts.back();
  size_t common = offset;
  while (common < first.size() && common < last.size() && first[common] == last[common])
    ++common;
  std::vector<ExpressionId> branches;
  size_t at = 0;
  if (first.size() == common) {
    branches.push_back(empty);
    ++at;
  }
  while (at < texts.size()) {
    size_t end = at;
    char head = texts[at][common];
    while (end < texts.size() && texts[end][common] == head)
      ++end;
    ExpressionId rest = literalTree(texts.subspan(at, end - at), common + 1, depth + 1);
    branches.push_back(concatenation(range(uint8_t(head), uint8_t(head)), rest));
    at = end;
  }
  return concatenation(literal(std::string_view(first).substr(offset, common - offset)),
                       alternation(branches));
}

ExpressionId ExpressionArena::literals(std::span<const std::string> texts) {
  if (texts.empty())
    return nothing;
  std::vector<std::string> sorted(texts.begin(), texts.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return literalTree(sorted, 0, 0);
}

/// `first` is no concatenation.
ExpressionId ExpressionArena::prepend(ExpressionId first, ExpressionId second) {
  if (first == nothing || second == nothing)
    return nothing;
  if (first == empty)
    return second;
  if (second == empty)
    return first;
  // Neighbours that repeat the same thing are one repeat: states that only counts tell apart.
  ExpressionId head = second, tail = empty;
  if (nodes[second].kind == Kind::Concatenation) {
    head = nodes[second].a;
    tail = nodes[second].b;
  }
  const Node left = nodes[first], right = nodes[head];
  if (first == anything && head == anything)
    return second;
  if (right.kind == Kind::Repeat) {
    bool repeats = left.kind == Kind::Repeat && left.a == right.a;
    if (repeats || first == right.a) {
      uint32_t least = addCounts(repeats ? left.b : 1, right.b);
      uint32_t most = addCounts(repeats ? left.c : 1, right.c);
      if (least != unbounded &&
          (most != unbounded || right.c == unbounded || (repeats && left.c == unbounded)))
        return prepend(repeat(right.a, least, most), tail);
    }
  }
  return intern({Kind::Concatenation, 0, first, second});
}

ExpressionId ExpressionArena::concatenation(ExpressionId first, ExpressionId second) {
  if (first == nothing || first == empty)
    return first == empty ? second : nothing;
  if (nodes[first].kind != Kind::Concatenation)
    return prepend(first, second);
  if (second == nothing || second == empty)
    return second == empty ? first : nothing;
  std::vector<ExpressionId> parts;
  for (; nodes[first].kind == Kind::Concatenation; first = nodes[first].b)
    parts.push_back(nodes[first].a);
  ExpressionId result = prepend(first, second);
  for (size_t i = parts.size(); i-- > 0;)
    result = prepend(parts[i], result);
  return result;
}

ExpressionId ExpressionArena::concatenation(std::span<const ExpressionId> parts) {
  ExpressionId result = empty;
  for (size_t i = parts.size(); i-- > 0;)
    result = concatenation(parts[i], result);
  return result;
}

std::vector<ExpressionId> ExpressionArena::flattened(Kind kind,
                                                     std::span<const ExpressionId> list) const {
  std::vector<ExpressionId> result;
  for (ExpressionId id : list) {
    const Node &node = nodes[id];
    if (node.kind == kind) // Its operands are flat already.
      result.insert(result.end(), operandsOf(node).begin(), operandsOf(node).end());
    else
      result.push_back(id);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

void ExpressionArena::mergeByteSets(Kind kind, std::vector<ExpressionId> &list) {
  ByteSet merged = kind == Kind::Alternation ? ByteSet() : ~ByteSet();
  auto isSet = [&](ExpressionId id) { return nodes[id].kind == Kind::Bytes; };
  if (std::ranges::count_if(list, isSet) < 2)
    return;
  for (ExpressionId id : list)
    if (isSet(id))
      merged = kind == Kind::Alternation ? merged | sets[nodes[id].a] : merged & sets[nodes[id].a];
  uint8_t text = texts;
  for (ExpressionId id : list)
    if (isSet(id))
      text &= nodes[id].flags;
  std::erase_if(list, isSet);
  ExpressionId id = bytes(merged);
  if (id != nothing && kind == Kind::Alternation)
    nodes[id].flags |= text;
  list.insert(std::ranges::lower_bound(list, id), id);
}

void ExpressionArena::declareText(ExpressionId id, int kind) {
  if (id == nothing)
    return;
  nodes[id].flags |= uint8_t(Text << kind);
  if (nodes[id].kind == Kind::Alternation)
    for (ExpressionId alternative : operandsOf(nodes[id]))
      nodes[alternative].flags |= uint8_t(Text << kind);
}

/// What all texts cover, of alternatives; all texts themselves, where another operand of an
/// intersection is text.
void ExpressionArena::dropCovered(Kind kind, std::vector<ExpressionId> &list) const {
  for (int which = 0; which < 2; ++which) {
    const ExpressionId all = allText[which];
    if (all == nothing || !std::ranges::binary_search(list, all))
      continue;
    auto isText = [&](ExpressionId id) {
      return id != all && nodes[id].flags & uint8_t(Text << which);
    };
    if (kind == Kind::Alternation)
      std::erase_if(list, isText);
    else if (std::ranges::any_of(list, isText))
      std::erase(list, all);
  }
}

/// Joins alternatives that repeat one thing, before one tail, by counts that touch. True where
/// the list has changed and has to be sorted again.
bool ExpressionArena::mergeRepeats(std::vector<ExpressionId> &list) {
  struct Counted {
    ExpressionId operand, tail;
    uint32_t least, most;
    size_t place;
  };
  std::vector<Counted> counted;
  for (size_t i = 0; i < list.size(); ++i) {
    const Node &node = nodes[list[i]];
    bool joined = node.kind == Kind::Concatenation;
    const Node &head = joined ? nodes[node.a] : node;
    if (head.kind == Kind::Repeat)
      counted.push_back({head.a, joined ? node.b : empty, head.b, head.c, i});
  }
  std::ranges::sort(counted, [](const Counted &left, const Counted &right) {
    return std::tie(left.operand, left.tail, left.least) <
           std::tie(right.operand, right.tail, right.least);
  });
  bool changed = false;
  for (size_t i = 0; i + 1 < counted.size(); ++i) {
    Counted &left = counted[i], &right = counted[i + 1];
    if (left.operand != right.operand || left.tail != right.tail ||
        (left.most != unbounded && right.least > left.most + 1))
      continue;
    list[left.place] = nothing;
    right.least = left.least;
    right.most = std::max(left.most, right.most);
    list[right.place] = concatenation(repeat(right.operand, right.least, right.most), right.tail);
    changed = true;
  }
  return changed;
}

ExpressionId ExpressionArena::alternation(ExpressionId first, ExpressionId second) {
  if (first == second || second == nothing)
    return first;
  return first == nothing ? second : alternation({first, second});
}

ExpressionId ExpressionArena::alternation(std::span<const ExpressionId> alternatives) {
  std::vector<ExpressionId> list = flattened(Kind::Alternation, alternatives);
  if (mergeRepeats(list))
    list = flattened(Kind::Alternation, list);
  std::erase(list, nothing);
  if (std::ranges::binary_search(list, anything))
    return anything;
  mergeByteSets(Kind::Alternation, list);
  dropCovered(Kind::Alternation, list);
  auto covered = [&](ExpressionId id) { return id != empty && nullable(id); };
  if (std::ranges::binary_search(list, empty) && std::ranges::any_of(list, covered))
    std::erase(list, empty);
  if (list.size() < 2)
    return list.empty() ? nothing : list.front();
  return intern({Kind::Alternation}, list);
}

ExpressionId ExpressionArena::intersection(ExpressionId first, ExpressionId second) {
  const ExpressionId both[] = {first, second};
  return intersection(both);
}

ExpressionId ExpressionArena::intersection(std::span<const ExpressionId> list) {
  std::vector<ExpressionId> flat = flattened(Kind::Intersection, list);
  std::erase(flat, anything);
  mergeByteSets(Kind::Intersection, flat);
  dropCovered(Kind::Intersection, flat);
  if (std::ranges::binary_search(flat, nothing))
    return nothing;
  if (std::ranges::binary_search(flat, empty)) {
    bool all = std::ranges::all_of(flat, [&](ExpressionId id) { return nullable(id); });
    return all ? empty : nothing;
  }
  if (flat.size() < 2)
    return flat.empty() ? anything : flat.front();
  return intern({Kind::Intersection}, flat);
}

ExpressionId ExpressionArena::complement(ExpressionId operand) {
  if (operand == nothing)
    return anything;
  if (operand == anything)
    return nothing;
  if (nodes[operand].kind == Kind::Complement)
    return nodes[operand].a;
  return intern({Kind::Complement, 0, operand});
}

ExpressionId ExpressionArena::difference(ExpressionId whole, ExpressionId without) {
  return intersection(whole, complement(without));
}

ExpressionId ExpressionArena::repeat(ExpressionId operand, uint32_t minimum, uint32_t maximum) {
  if (minimum > maximum)
    return nothing;
  if (maximum == 0 || operand == empty)
    return empty;
  if (operand == nothing)
    return minimum == 0 ? empty : nothing;
  if (operand == anything)
    return anything;
  if (nullable(operand))
    minimum = 0;
  if (minimum == 1 && maximum == 1)
    return operand;
  const Node node = nodes[operand];
  if (node.kind == Kind::Repeat && node.b == 0) {
    if (node.c == unbounded)
      return operand; // (r*){m,n}
    if (node.c == 1 || maximum == unbounded)
      return repeat(node.a, 0, maximum); // (r?){0,n}, (r{0,n})*
  }
  return intern({Kind::Repeat, 0, operand, minimum, maximum});
}

} // namespace ingot::runtime::guided
