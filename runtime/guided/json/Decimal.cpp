// SPDX-License-Identifier: Apache-2.0
// Decimals: texts to digits and back.
#include "runtime/guided/json/Decimal.h"

#include <algorithm>
#include <cstdint>

namespace ingot::runtime::guided {

constexpr int farthest = 4096;

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Takes the zeros off both ends of the digits.
static void normalise(Decimal &number) {
  size_t last = number.digits.find_last_not_of('0');
  if (last == std::string::npos) {
    number = {};
    return;
  }
  number.exponent += int(number.digits.size() - last - 1);
  number.digits.erase(last + 1);
  number.digits.erase(0, number.digits.find_first_not_of('0'));
}

/// The number after an `e`; nothing beyond the farthest.
static std::optional<int> exponentOf(std::string_view text) {
  bool isNegative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+'))
    text.remove_prefix(1);
  int value = 0;
  for (char c : text) {
    if (!isDigit(c))
      return {};
    value = std::min(value * 10 + (c - '0'), 10 * farthest);
  }
  if (text.empty() || value > farthest)
    return {};
  return isNegative ? -value : value;
}

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal number;
  size_t at = 0;
  if (at < text.size() && text[at] == '-') {
    number.negative = true;
    ++at;
  }
  bool afterPoint = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.' && !afterPoint) {
      afterPoint = true;
      continue;
    }
    if (!isDigit(text[at]))
      return {};
    number.digits += text[at];
    number.exponent -= afterPoint;
  }
  if (number.digits.empty() || number.digits.size() > size_t(farthest))
    return {};
  if (at < text.size()) {
    std::optional<int> power = exponentOf(text.substr(at + 1));
    if (!power)
      return {};
    number.exponent += *power;
  }
  normalise(number);
  return number;
}

Decimal Decimal::of(uint64_t value) {
  Decimal number;
  number.digits = std::to_string(value);
  normalise(number);
  return number;
}

Decimal Decimal::scaled(int power) const {
  Decimal result = *this;
  if (!isZero())
    result.exponent += power;
  return result;
}

Decimal Decimal::opposite() const {
  Decimal result = *this;
  result.negative = !isZero() && !negative;
  return result;
}

std::string Decimal::wholeDigits() const {
  if (exponent >= 0)
    return isZero() ? "0" : digits + std::string(size_t(exponent), '0');
  int count = int(digits.size()) + exponent;
  return count > 0 ? digits.substr(0, size_t(count)) : "0";
}

std::string Decimal::fractionDigits() const {
  if (exponent >= 0)
    return {};
  int count = int(digits.size()) + exponent;
  return count >= 0 ? digits.substr(size_t(count)) : std::string(size_t(-count), '0') + digits;
}

std::optional<uint64_t> Decimal::count(uint64_t most) const {
  if (negative || !isWhole() || digits.size() + size_t(exponent) > 18)
    return {};
  uint64_t value = std::stoull(wholeDigits());
  if (value > most)
    return {};
  return value;
}

std::string Decimal::text() const {
  std::string sign = negative ? "-" : "";
  if (exponent > 32 || exponent < -64)
    return sign + digits + "e" + std::to_string(exponent);
  std::string fraction = fractionDigits();
  return sign + wholeDigits() + (fraction.empty() ? "" : "." + fraction);
}

/// Of magnitudes, neither zero.
static int compareMagnitudes(const Decimal &left, const Decimal &right) {
  int leftTop = int(left.digits.size()) + left.exponent;
  int rightTop = int(right.digits.size()) + right.exponent;
  if (leftTop != rightTop)
    return leftTop < rightTop ? -1 : 1;
  int order = left.digits.compare(right.digits); // a beginning of the other is less: no end zeros
  return order < 0 ? -1 : order > 0;
}

int Decimal::compare(const Decimal &other) const {
  if (isZero() || other.isZero()) {
    int left = isZero()   ? 0
               : negative ? -1
                          : 1,
        right = other.isZero()   ? 0
                : other.negative ? -1
                                 : 1;
    return left - right;
  }
  if (negative != other.negative)
    return negative ? -1 : 1;
  int order = compareMagnitudes(*this, other);
  return negative ? -order : order;
}

} // namespace ingot::runtime::guided
