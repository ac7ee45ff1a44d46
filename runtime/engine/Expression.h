// SPDX-License-Identifier: Apache-2.0
// Integer expressions over dims (schema Expr): bounds for verification, values for steps.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/schema/Engine_generated.h"

#include <cstdint>
#include <span>

namespace ingot::runtime {

/// Elements of an optional FlatBuffer vector.
template <class T> uint32_t count(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

/// Inclusive range of an integer.
struct Interval {
  int64_t min = 0;
  int64_t max = 0;
  bool contains(const Interval &other) const { return min <= other.min && other.max <= max; }
};

inline constexpr size_t maximumExpressionNodes = 256;
inline constexpr size_t maximumExpressionDepth = 16;

/// Checks `expression` (postfix order, known operators and dims, no stack underflow, one result,
/// divisors positive, no overflow for any values of the dims within `dims`) and returns bounds of
/// its value; they are exact where it is monotone in every dim. INGOT-E5007.
Result<Interval> boundExpression(const schema::Expr &expression, std::span<const Interval> dims);

/// Value for dims within the ranges that `boundExpression` accepted.
int64_t evaluate(const schema::Expr &expression, std::span<const int64_t> dims);

} // namespace ingot::runtime
