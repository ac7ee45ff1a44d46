// SPDX-License-Identifier: Apache-2.0
// Numbers as text and back, as int(), float() and the formats of Python have them.
#include "runtime/jinja/NumberText.h"

#include "runtime/jinja/Characters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace ingot::runtime::jinja {

static std::string_view withoutSpace(std::string_view text) {
  size_t begin = 0, end = text.size();
  while (begin < end && isSpace(characterAt(text, begin)))
    begin += characterLength(text, begin);
  while (end > begin && isSpace(characterAt(text, previousCharacter(text, end))))
    end = previousCharacter(text, end);
  return text.substr(begin, end - begin);
}

/// The digits without the underscores between them; nothing where one stands elsewhere.
static std::optional<std::string> withoutUnderscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
      continue;
    }
    auto isDigit = [](char c) {
      return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    };
    if (i == 0 || i + 1 == text.size() || !isDigit(text[i - 1]) || !isDigit(text[i + 1]))
      return std::nullopt;
  }
  return digits;
}

std::optional<int64_t> parseInteger(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36))
    return std::nullopt;
  text = withoutSpace(text);
  const bool isNegative = text.starts_with('-');
  if (isNegative || text.starts_with('+'))
    text.remove_prefix(1);
  const char kind = text.size() > 2 && text[0] == '0' ? char(text[1] | 32) : 0;
  const int64_t prefixed = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (prefixed != 0 && (base == 0 || base == prefixed)) {
    base = prefixed;
    text.remove_prefix(text[2] == '_' ? 3 : 2);
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != text.npos)
      return std::nullopt;
  }
  const std::optional<std::string> digits = withoutUnderscores(text);
  if (!digits || digits->empty())
    return std::nullopt;
  const std::string signedDigits = (isNegative ? "-" : "") + *digits;
  int64_t value = 0;
  const char *end = signedDigits.data() + signedDigits.size();
  const auto [last, error] = std::from_chars(signedDigits.data(), end, value, int(base));
  if (last != end || digits->front() == '-')
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    fail("the integer " + signedDigits.substr(0, 40) + " has more than 64 bits");
  return value;
}

std::optional<double> parseFloat(std::string_view text) {
  text = withoutSpace(text);
  std::string_view digits = text;
  if (digits.starts_with('-') || digits.starts_with('+'))
    digits.remove_prefix(1);
  const bool isNegative = text.starts_with('-');
  std::string lower(digits);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 32) : c; });
  if (lower == "inf" || lower == "infinity")
    return isNegative ? -HUGE_VAL : HUGE_VAL;
  if (lower == "nan")
    return std::nan("");
  const std::optional<std::string> plain = withoutUnderscores(lower);
  if (!plain || plain->empty() || plain->find_first_not_of("0123456789.e+-") != plain->npos ||
      plain->front() == '-' || plain->front() == '+')
    return std::nullopt;
  double value = 0;
  const char *end = plain->data() + plain->size();
  const auto [last, error] = std::from_chars(plain->data(), end, value);
  if (last != end)
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = std::strtod(plain->c_str(), nullptr);
  else if (error != std::errc())
    return std::nullopt;
  return isNegative ? -value : value;
}

std::optional<double> floatOf(const Value &value) {
  if (value.isNumber())
    return value.number();
  if (value.isString())
    return parseFloat(value.view());
  return std::nullopt;
}

std::string formatFloat(double value, char form, int precision) {
  const char format[] = {'%', '.', '*', form, 0};
  std::string text(size_t(std::clamp(precision, 0, 1000)) + 340, '\0');
  text.resize(size_t(
      std::snprintf(text.data(), text.size(), format, std::clamp(precision, 0, 1000), value)));
  return text;
}

std::string formatMagnitude(uint64_t magnitude, int base, bool isUpper) {
  char digits[64];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, magnitude, base);
  std::string text(digits, end);
  if (isUpper)
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' ? char(c - 32) : c; });
  return text;
}

} // namespace ingot::runtime::jinja
