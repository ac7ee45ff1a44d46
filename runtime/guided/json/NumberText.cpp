// SPDX-License-Identifier: Apache-2.0
// Bounds become trees of digits: along a bound's own digits, free as soon as one differs.
#include "runtime/guided/json/NumberText.h"

#include <algorithm>

namespace ingot::runtime::guided {

constexpr size_t mostDigits = 64;
constexpr int leastPower = -6, mostPower = 12;
constexpr uint64_t mostRemainders = 4096;
constexpr size_t longestBound = 330;

NumberText::NumberText(ExpressionArena &arena) : arena(arena) {}

ExpressionId NumberText::digit(int first, int last) {
  return arena.range(uint8_t('0' + first), uint8_t('0' + last));
}

/// Nothing, or a point and 1 to `places` digits.
ExpressionId NumberText::afterPoint(size_t places) {
  return arena.optional(arena.concatenation(
      arena.literal("."), arena.repeat(digit(0, 9), 1, uint32_t(std::max<size_t>(places, 1)))));
}

NumberText::Interval NumberText::Interval::scaled(int power) const {
  Interval result = *this;
  result.low = low.scaled(power);
  if (high)
    result.high = high->scaled(power);
  return result;
}

bool NumberText::Interval::holds() const {
  if (!high)
    return true;
  int order = low.compare(*high);
  return order < 0 || (order == 0 && !lowExclusive && !highExclusive);
}

static bool zerosFrom(const std::string &digits, size_t at) {
  return digits.find_first_not_of('0', std::min(at, digits.size())) == std::string::npos;
}

/// Whether a number may end behind `at` digits of its fraction.
bool NumberText::mayEnd(const Walk &walk, size_t at, bool onLow, bool onHigh) {
  if (onLow && (walk.lowExclusive || !zerosFrom(walk.lowFraction, at)))
    return false;
  return !onHigh || !walk.highExclusive || !zerosFrom(walk.highFraction, at);
}

static int digitAt(const std::string &digits, size_t at) {
  return at < digits.size() ? digits[at] - '0' : 0;
}

ExpressionId NumberText::fraction(Walk &walk, size_t at, bool onLow, bool onHigh) {
  if (walk.whole)
    return mayEnd(walk, 0, onLow, onHigh) ? ExpressionArena::empty : ExpressionArena::nothing;
  if (!onLow && !onHigh)
    return at ? arena.repeat(digit(0, 9), 0, uint32_t(walk.places - at)) : afterPoint(walk.places);
  auto [place, isNew] = walk.fractions.try_emplace({at, onLow, onHigh}, ExpressionArena::nothing);
  if (!isNew)
    return place->second;
  std::vector<ExpressionId> alternatives;
  int first = onLow ? digitAt(walk.lowFraction, at) : 0;
  int last = onHigh ? digitAt(walk.highFraction, at) : 9;
  for (int value = first; at < walk.places && value <= last; ++value)
    alternatives.push_back(
        arena.concatenation(digit(value, value), fraction(walk, at + 1, onLow && value == first,
                                                          onHigh && value == last)));
  ExpressionId digits = arena.alternation(alternatives);
  if (at == 0)
    digits = arena.concatenation(arena.literal("."), digits);
  if (mayEnd(walk, at, onLow, onHigh))
    digits = arena.alternation(ExpressionArena::empty, digits);
  walk.fractions[{at, onLow, onHigh}] = digits;
  return digits;
}

ExpressionId NumberText::wholePart(Walk &walk, size_t at, bool onLow, bool onHigh) {
  size_t length = std::max(walk.low.size(), walk.high.size());
  if (at == length)
    return fraction(walk, 0, onLow, onHigh);
  if (!onLow && !onHigh)
    return arena.concatenation(
        arena.repeat(digit(0, 9), uint32_t(length - at), uint32_t(length - at)),
        walk.whole ? ExpressionArena::empty : afterPoint(walk.places));
  auto [place, isNew] = walk.wholes.try_emplace({at, onLow, onHigh}, ExpressionArena::nothing);
  if (!isNew)
    return place->second;
  std::vector<ExpressionId> alternatives;
  int first = onLow ? digitAt(walk.low, at) : 0, last = onHigh ? digitAt(walk.high, at) : 9;
  for (int value = first; value <= last; ++value)
    if (value > 0 || at > 0 || length == 1)
      alternatives.push_back(
          arena.concatenation(digit(value, value), wholePart(walk, at + 1, onLow && value == first,
                                                             onHigh && value == last)));
  ExpressionId result = arena.alternation(alternatives);
  walk.wholes[{at, onLow, onHigh}] = result;
  return result;
}

/// The magnitudes of `length` digits before the point, which is the length of one of the bounds.
ExpressionId NumberText::ofLength(const Interval &interval, size_t length, size_t places) {
  Walk walk{};
  bool onLow = interval.low.wholeDigits().size() == length &&
               !(interval.low.isZero() && !interval.lowExclusive);
  bool onHigh = interval.high && interval.high->wholeDigits().size() == length;
  walk.low = onLow ? interval.low.wholeDigits() : std::string(length, '0');
  walk.high = onHigh ? interval.high->wholeDigits() : std::string(length, '9');
  walk.lowFraction = onLow ? interval.low.fractionDigits() : "";
  walk.highFraction = onHigh ? interval.high->fractionDigits() : "";
  walk.lowExclusive = interval.lowExclusive;
  walk.highExclusive = interval.highExclusive;
  walk.whole = interval.whole;
  walk.places = std::max({places, walk.lowFraction.size() + 1, walk.highFraction.size() + 1});
  if (onLow || onHigh)
    return wholePart(walk, 0, onLow, onHigh);
  ExpressionId first = length == 1 ? digit(0, 9) : digit(1, 9);
  ExpressionId rest = arena.repeat(digit(0, 9), uint32_t(length - 1), uint32_t(length - 1));
  return arena.concatenation(
      {first, rest, walk.whole ? ExpressionArena::empty : afterPoint(walk.places)});
}

/// Magnitudes without exponents.
ExpressionId NumberText::plain(const Interval &interval, size_t places) {
  if (!interval.holds())
    return ExpressionArena::nothing;
  size_t shortest = interval.low.wholeDigits().size();
  size_t longest =
      interval.high ? interval.high->wholeDigits().size() : std::max(mostDigits, shortest + 1);
  std::vector<ExpressionId> alternatives{ofLength(interval, shortest, places)};
  if (interval.high && longest > shortest)
    alternatives.push_back(ofLength(interval, longest, places));
  size_t to = interval.high ? longest - 1 : longest;
  if (shortest + 1 <= to)
    alternatives.push_back(arena.concatenation(
        {digit(1, 9), arena.repeat(digit(0, 9), uint32_t(shortest), uint32_t(to - 1)),
         interval.whole ? ExpressionArena::empty : afterPoint(places)}));
  return arena.alternation(alternatives);
}

/// What spells this exponent.
ExpressionId NumberText::power(int exponent) {
  std::string digits = std::to_string(std::abs(exponent));
  ExpressionId sign = exponent < 0 ? arena.literal("-") : arena.optional(arena.literal("+"));
  if (exponent == 0)
    sign = arena.optional(arena.alternation(arena.literal("+"), arena.literal("-")));
  ExpressionId zero = digits.size() == 1 ? arena.optional(arena.literal("0"))
                                         : ExpressionId(ExpressionArena::empty);
  return arena.concatenation({arena.alternation(arena.literal("e"), arena.literal("E")), sign, zero,
                              arena.literal(digits)});
}

ExpressionId NumberText::withExponents(const Interval &interval) {
  std::vector<ExpressionId> alternatives;
  if (interval.isOpen()) {
    // Any exponent keeps such a number in its bounds. No value is beyond a double.
    ExpressionId sign = arena.optional(arena.alternation(arena.literal("+"), arena.literal("-")));
    ExpressionId mark =
        arena.concatenation(arena.alternation(arena.literal("e"), arena.literal("E")), sign);
    ExpressionId two = arena.repeat(digit(0, 9), 1, 2);
    ExpressionId three = arena.concatenation(digit(1, 2), arena.repeat(digit(0, 9), 2, 2));
    Interval small = interval;
    small.high = Decimal::of(10);
    small.highExclusive = true;
    alternatives.push_back(
        arena.concatenation({plain(small, mostDigits), mark, arena.alternation(two, three)}));
    alternatives.push_back(arena.concatenation({plain(interval, mostDigits), mark, two}));
    return arena.alternation(alternatives);
  }
  for (int exponent = leastPower; exponent <= mostPower; ++exponent) {
    Interval mantissa = interval.scaled(-exponent);
    size_t places = std::max(mantissa.low.fractionDigits().size(),
                             mantissa.high ? mantissa.high->fractionDigits().size() : 0);
    alternatives.push_back(
        arena.concatenation(plain(mantissa, std::max<size_t>(places + 1, 16)), power(exponent)));
  }
  return arena.alternation(alternatives);
}

ExpressionId NumberText::magnitudes(const Interval &interval, bool exponents) {
  if (!interval.holds())
    return ExpressionArena::nothing;
  ExpressionId texts = plain(interval, mostDigits);
  return exponents ? arena.alternation(texts, withExponents(interval)) : texts;
}

/// The texts, without sign and exponent, of the multiples of `step`.
Result<ExpressionId> NumberText::multiplesOf(const Decimal &step) {
  size_t places = step.exponent < 0 ? size_t(-step.exponent) : 0;
  std::optional<uint64_t> modulus = Decimal{false, step.digits, 0}.count(mostRemainders);
  if (!modulus || places > mostDigits || step.exponent > int(longestBound))
    return Status::error("INGOT-E6611",
                         "multipleOf " + step.text() + " has more remainders than can be followed");
  uint64_t base = *modulus;
  // fractions[r] after `at` digits behind the point, r the remainder of all digits so far.
  std::vector<ExpressionId> rest(base, ExpressionArena::nothing), before(base);
  rest[0] = ExpressionArena::empty;
  auto step10 = [&](std::vector<ExpressionId> &from, uint64_t remainder) {
    std::vector<ExpressionId> alternatives;
    for (int value = 0; value <= 9; ++value)
      alternatives.push_back(arena.concatenation(digit(value, value),
                                                 from[(remainder * 10 + uint64_t(value)) % base]));
    return arena.alternation(alternatives);
  };
  uint64_t shift = 1;
  for (size_t at = places; at-- > 0;) {
    shift = shift * 10 % base;
    for (uint64_t r = 0; r < base; ++r) {
      ExpressionId digits = step10(rest, r);
      if (at == 0)
        digits = arena.concatenation(arena.literal("."), digits);
      bool mayEnd = r * shift % base == 0;
      before[r] = mayEnd ? arena.alternation(ExpressionArena::empty, digits) : digits;
    }
    rest.swap(before);
  }
  ExpressionId zeros = step.exponent > 0 ? arena.literal(std::string(size_t(step.exponent), '0'))
                                         : ExpressionId(ExpressionArena::empty);
  for (ExpressionId &end : rest)
    end = arena.concatenation(zeros, end);
  std::vector<ExpressionId> ends = rest;
  size_t most = base > 16 ? 20 : mostDigits;
  for (size_t left = 1; left < most; ++left) {
    for (uint64_t r = 0; r < base; ++r)
      before[r] = arena.alternation(ends[r], step10(rest, r));
    rest.swap(before);
  }
  std::vector<ExpressionId> firsts;
  for (int value = 1; value <= 9; ++value)
    firsts.push_back(arena.concatenation(digit(value, value), rest[uint64_t(value) % base]));
  ExpressionId zero = places ? arena.concatenation(digit(0, 0), ends[0]) : digit(0, 0);
  return arena.alternation(zero, arena.alternation(firsts));
}

Result<ExpressionId> NumberText::of(const NumberSet &set) {
  for (const std::optional<Decimal> &bound : {set.low, set.high})
    if (bound && bound->wholeDigits().size() + bound->fractionDigits().size() > longestBound)
      return Status::error("INGOT-E6614", "a bound has more than 330 digits");
  using Whole = NumberSet::Whole;
  bool exponents = set.whole == Whole::Either && set.multiples.empty() && set.nonMultiples.empty();
  Interval above{{}, false, set.high, set.highExclusive, set.whole == Whole::Only};
  if (set.low && !set.low->negative)
    above.low = *set.low, above.lowExclusive = set.lowExclusive;
  Interval below{{}, false, {}, false, above.whole};
  if (set.high && (set.high->negative || set.high->isZero()))
    below.low = set.high->opposite(), below.lowExclusive = set.highExclusive;
  if (set.low)
    below.high = set.low->opposite(), below.highExclusive = set.lowExclusive;
  ExpressionId texts = ExpressionArena::nothing;
  if (!set.high || !set.high->negative)
    texts = magnitudes(above, exponents);
  if (!set.low || set.low->negative || set.low->isZero())
    texts = arena.alternation(
        texts, arena.concatenation(arena.literal("-"), magnitudes(below, exponents)));
  ExpressionId sign = arena.optional(arena.literal("-"));
  for (const Decimal &step : set.multiples) {
    Result<ExpressionId> multiples = multiplesOf(step);
    if (!multiples.ok())
      return multiples;
    texts = arena.intersection(texts, arena.concatenation(sign, *multiples));
  }
  for (const Decimal &step : set.nonMultiples) {
    Result<ExpressionId> multiples = multiplesOf(step);
    if (!multiples.ok())
      return multiples;
    // Zeros may follow behind the point, and a point and zeros.
    ExpressionId zeros = arena.star(digit(0, 0)), point = arena.literal(".");
    ExpressionId withPoint =
        arena.concatenation({arena.star(digit(0, 9)), point, ExpressionArena::anything});
    ExpressionId longer = arena.concatenation(arena.intersection(*multiples, withPoint), zeros);
    ExpressionId pointed = arena.concatenation(
        {arena.intersection(*multiples, arena.star(digit(0, 9))), point, zeros});
    texts = arena.difference(
        texts, arena.concatenation(sign, arena.alternation({*multiples, longer, pointed})));
  }
  if (set.whole == Whole::Never) {
    ExpressionId zeros = arena.concatenation(arena.literal("."), arena.star(digit(0, 0)));
    ExpressionId whole =
        arena.concatenation({sign, arena.star(digit(0, 9)), arena.optional(zeros)});
    texts = arena.difference(texts, whole);
  }
  return texts;
}

} // namespace ingot::runtime::guided
