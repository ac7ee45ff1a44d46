// SPDX-License-Identifier: Apache-2.0
// The texts of numbers within bounds, exactly.
#pragma once

#include "runtime/guided/Expression.h"
#include "runtime/guided/json/Shape.h"

#include <map>
#include <tuple>

namespace ingot::runtime::guided {

/// How numbers are written. A number has at most 64 digits before the point and as many behind, so
/// that a list of digits ends; more where a bound has more. Whole numbers (`integer`) have no point
/// and no exponent. An exponent is at most three digits; where bounds other than zero hold it lies
/// in -6 to 12, and `multipleOf` allows none.
class NumberText {
public:
  explicit NumberText(ExpressionArena &arena);

  /// The texts of the numbers in `set`. Errors: INGOT-E6611 for a `multipleOf` with more than 4,096
  /// remainders, INGOT-E6614 for a bound of more than 330 digits.
  Result<ExpressionId> of(const NumberSet &set);

private:
  /// Magnitudes from low to high.
  struct Interval {
    Decimal low;
    bool lowExclusive = false;
    std::optional<Decimal> high;
    bool highExclusive = false;
    bool whole = false;

    bool isOpen() const { return low.isZero() && !high; }
    Interval scaled(int power) const;
    bool holds() const;
  };
  /// A walk along the digits of both bounds: whether what was written is still their beginning.
  struct Walk {
    std::string low, high, lowFraction, highFraction;
    bool lowExclusive, highExclusive, whole;
    size_t places; ///< most digits behind the point
    std::map<std::tuple<size_t, bool, bool>, ExpressionId> wholes, fractions;
  };

  ExpressionId plain(const Interval &interval, size_t places);
  ExpressionId ofLength(const Interval &interval, size_t length, size_t places);
  ExpressionId wholePart(Walk &walk, size_t at, bool onLow, bool onHigh);
  ExpressionId fraction(Walk &walk, size_t at, bool onLow, bool onHigh);
  static bool mayEnd(const Walk &walk, size_t at, bool onLow, bool onHigh);
  ExpressionId magnitudes(const Interval &interval, bool exponents);
  ExpressionId withExponents(const Interval &interval);
  Result<ExpressionId> multiplesOf(const Decimal &step);
  ExpressionId digit(int first, int last);
  ExpressionId power(int exponent);
  ExpressionId afterPoint(size_t places);

  ExpressionArena &arena;
};

} // namespace ingot::runtime::guided
