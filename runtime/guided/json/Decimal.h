// SPDX-License-Identifier: Apache-2.0
// Decimal numbers as JSON writes them, compared without rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime::guided {

/// `digits` as a whole number × 10^`exponent`. Without zeros at either end of the
/// digits, so that equal numbers are equal members; zero has no digits and is not negative.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;

  /// A number by JSON's grammar; nothing for other texts and beyond 10^±4096.
  static std::optional<Decimal> parse(std::string_view text);
  static Decimal of(uint64_t value);

  bool isZero() const { return digits.empty(); }
  bool isWhole() const { return exponent >= 0; }
  /// This number × 10^power.
  Decimal scaled(int power) const;
  Decimal opposite() const;

  /// Digits before the point, "0" for none, and those after it; of the magnitude.
  std::string wholeDigits() const;
  std::string fractionDigits() const;
  /// The value where it is a whole number of at most `most`.
  std::optional<uint64_t> count(uint64_t most = uint64_t(1) << 53) const;
  /// Plain notation where that is short, else with an exponent.
  std::string text() const;

  bool operator==(const Decimal &) const = default;
  /// Negative, zero, positive: this is below, equal to, above `other`.
  int compare(const Decimal &other) const;
};

} // namespace ingot::runtime::guided
