// SPDX-License-Identifier: Apache-2.0
// Transitions are derivatives, made when they are asked for.
#include "runtime/guided/Lexemes.h"

#include <algorithm>

namespace ingot::runtime::guided {

Lexemes::Lexemes(const ExpressionArena &source)
    // Derivatives make new sets, but only unions and intersections of these.
    : expressions(source), classes(source.byteSets()), rows(classes.count, unknown) {
  // Bytes that neither the classes nor plain text tell apart stand for one another.
  std::vector<uint64_t> known;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const uint8_t kinds = plainKindsOf(uint8_t(byte));
    uint64_t key = classes.of[byte] | uint64_t(kinds) << 8;
    for (uint8_t state = 0; state < utf8States; ++state)
      key = key << 4 | (utf8Step(state, uint8_t(byte)) & 15);
    if (kinds != 0 && std::ranges::find(known, key) == known.end()) {
      known.push_back(key);
      plainBytes.push_back({uint8_t(byte), kinds});
    }
  }
}

ExpressionId Lexemes::fill(ExpressionId state, uint8_t which) {
  ExpressionId next = ExpressionArena::nothing;
  if (expressions.simpleStep(state, classes.representative[which], next))
    return next; // As fast as a row, and there may be thousands.
  next = expressions.derivative(state, classes.representative[which]);
  if (expressions.isEmpty(next))
    next = ExpressionArena::nothing;
  if (state >= rowOf.size())
    rowOf.resize(std::max<size_t>(state + 1, rowOf.size() * 2));
  if (!rowOf[state]) {
    rowOf[state] = uint32_t(rows.size() / classes.count);
    rows.resize(rows.size() + classes.count, unknown);
  }
  rows[size_t(rowOf[state]) * classes.count + which] = next;
  return next;
}

uint32_t Lexemes::safeBytes(ExpressionId start, Plain kind, uint32_t most) {
  constexpr size_t mostStates = 160;
  auto [place, isNew] =
      safe.try_emplace(uint64_t(start) << 32 | uint64_t(kind) << 24 | std::min(most, 0xFFFFu), 0);
  if (!isNew)
    return place->second;
  struct Place {
    ExpressionId state;
    uint8_t utf8;
    uint32_t depth;
  };
  std::vector<Place> open{{start, 0, 0}};
  std::unordered_map<uint64_t, bool> seen{{uint64_t(start) << 8, true}};
  uint32_t depth = most;
  for (size_t i = 0; i < open.size() && open[i].depth < depth; ++i)
    for (auto [byte, kinds] : plainBytes) {
      const Place at = open[i];
      const uint8_t utf8 = utf8Step(at.utf8, byte);
      if (!(kinds & kind) || utf8 == notUtf8)
        continue;
      const ExpressionId following = next(at.state, byte);
      if (following == ExpressionArena::nothing || open.size() == mostStates) {
        depth = at.depth;
        break;
      }
      if (seen.emplace(uint64_t(following) << 8 | utf8, true).second)
        open.push_back({following, utf8, at.depth + 1});
    }
  return safe[place->first] = depth;
}

} // namespace ingot::runtime::guided
