// SPDX-License-Identifier: Apache-2.0
// Transitions are derivatives, made when they are asked for.
#include "runtime/guided/Lexemes.h"

#include <algorithm>
#include <bit>

namespace ingot::runtime::guided {

Lexemes::Lexemes(const ExpressionArena &source)
    // Derivatives make new sets, but only unions and intersections of these.
    : expressions(source), classes(source.byteSets()), rows(classes.count, unknown) {
  std::array<uint64_t, 256> numbers;
  for (unsigned byte = 0; byte < 256; ++byte) {
    numbers[byte] = plainKindsOf(uint8_t(byte));
    for (uint8_t state = 0; state < utf8States; ++state)
      numbers[byte] = numbers[byte] << 4 | (utf8Step(state, uint8_t(byte)) & 15);
  }
  plainPartition = expressions.bytePartitions().ofNumbers(numbers);
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
  // All bytes that the state does not tell apart at once.
  const BytePartitions::Partition &parts = expressions.partition(state);
  ExpressionId *row = rows.data() + size_t(rowOf[state]) * classes.count;
  const uint8_t part = parts.of[classes.representative[which]];
  for (uint32_t other = 0; other < classes.count; ++other)
    if (parts.of[classes.representative[other]] == part)
      row[other] = next;
  return next;
}

uint32_t Lexemes::safeBytes(ExpressionId start, Plain kind, uint32_t most, uint32_t mostStates) {
  const uint64_t key = uint64_t(start) << 32 | uint64_t(kind) << 24 |
                       uint64_t(std::bit_width(mostStates)) << 16 | std::min(most, 0xFFFFu);
  if (const uint32_t known = safe.find(key); known != FlatMap::missing)
    return known;
  BytePartitions &partitions = expressions.bytePartitions();
  struct Place {
    ExpressionId state;
    uint8_t utf8;
    uint32_t depth;
  };
  std::vector<Place> open{{start, 0, 0}};
  FlatMap seen;
  seen.put(uint64_t(start) << 8, 0);
  uint32_t depth = most;
  for (size_t i = 0; i < open.size() && open[i].depth < depth; ++i) {
    const Place at = open[i];
    // The bytes that neither the state nor plain text tells apart stand for one another.
    const auto parts = partitions.meet(expressions.partitionId(at.state), plainPartition);
    for (size_t part = 0; part < partitions[parts].representative.size(); ++part) {
      const uint8_t byte = partitions[parts].representative[part];
      const uint8_t utf8 = utf8Step(at.utf8, byte);
      if (!(plainKindsOf(byte) & kind) || utf8 == notUtf8)
        continue;
      const ExpressionId following = next(at.state, byte);
      if (following == ExpressionArena::nothing || open.size() == mostStates) {
        depth = at.depth;
        break;
      }
      const uint64_t place = uint64_t(following) << 8 | utf8;
      if (seen.find(place) == FlatMap::missing) {
        seen.put(place, 0);
        open.push_back({following, utf8, at.depth + 1});
      }
    }
  }
  safe.put(key, depth);
  return depth;
}

} // namespace ingot::runtime::guided
