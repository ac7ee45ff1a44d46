// SPDX-License-Identifier: Apache-2.0
// The automaton of expressions, made as it is walked.
#pragma once

#include "runtime/guided/Expression.h"
#include "runtime/guided/PlainText.h"

#include <vector>

namespace ingot::runtime::guided {

/// Its states are the expressions of its own copy of an arena: what may still follow. Not for
/// several threads at once.
class Lexemes {
public:
  explicit Lexemes(const ExpressionArena &source);

  /// The state after `byte`; ExpressionArena::nothing where no text goes on like this.
  ExpressionId next(ExpressionId state, uint8_t byte) {
    const uint8_t which = classes.of[byte];
    if (state < rowOf.size() && rowOf[state]) {
      ExpressionId known = rows[size_t(rowOf[state]) * classes.count + which];
      if (known != unknown)
        return known;
    }
    return fill(state, which);
  }

  bool nullable(ExpressionId state) const { return expressions.nullable(state); }
  /// Up to how many bytes of a kind of plain text, from a character's start on, no such text leads
  /// to nothing; `most` at the most, and as many as `mostStates` states can tell.
  uint32_t safeBytes(ExpressionId state, Plain kind, uint32_t most, uint32_t mostStates);

  ExpressionArena &arena() { return expressions; }
  const ExpressionArena &arena() const { return expressions; }
  const ByteClasses &byteClasses() const { return classes; }
  /// About what it takes.
  size_t bytes() const { return rows.size() * sizeof(ExpressionId) + expressions.size() * 64; }

private:
  static constexpr ExpressionId unknown = ~0u;

  ExpressionId fill(ExpressionId state, uint8_t which);

  ExpressionArena expressions;
  ByteClasses classes;
  BytePartitions::Id plainPartition; ///< by kinds and steps of UTF-8
  std::vector<uint32_t> rowOf;       ///< by state; 0: none yet
  std::vector<ExpressionId> rows;
  FlatMap safe; ///< by state, kind and most
};

} // namespace ingot::runtime::guided
