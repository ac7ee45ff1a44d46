// SPDX-License-Identifier: Apache-2.0
// Transitions are derivatives, made when they are asked for.
#include "runtime/guided/Lexemes.h"

#include <algorithm>

namespace ingot::runtime::guided {

Lexemes::Lexemes(const ExpressionArena &source)
    // Derivatives make new sets, but only unions and intersections of these.
    : expressions(source), classes(source.byteSets()), rows(classes.count, unknown) {}

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

} // namespace ingot::runtime::guided
