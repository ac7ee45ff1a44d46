// SPDX-License-Identifier: Apache-2.0
// Slow, exact conversion between floating-point formats.
#include "runtime/simulator/Rounding.h"

namespace ingot::simulator {

long double decodeFloat(uint64_t bits, const Format &format) {
  uint64_t fraction = bits & ((uint64_t(1) << format.fractionBits) - 1);
  uint32_t exponentMask = (1u << format.exponentBits) - 1;
  uint32_t exponent = uint32_t(bits >> format.fractionBits) & exponentMask;
  bool negative = bits >> (format.exponentBits + format.fractionBits) & 1;
  int bias = int(exponentMask >> 1);
  long double magnitude;
  if (format.hasInfinity && exponent == exponentMask)
    magnitude = fraction ? (long double)NAN : (long double)INFINITY;
  else if (!format.hasInfinity && exponent == exponentMask &&
           fraction == (uint64_t(1) << format.fractionBits) - 1)
    magnitude = (long double)NAN;
  else if (exponent == 0)
    magnitude = std::ldexp((long double)fraction, 1 - bias - int(format.fractionBits));
  else
    magnitude = std::ldexp((long double)(fraction | uint64_t(1) << format.fractionBits),
                           int(exponent) - bias - int(format.fractionBits));
  return negative ? -magnitude : magnitude;
}

uint64_t encodeFloat(long double value, const Format &format, Round mode, bool saturate,
                     bool awayFromZeroOnTies) {
  uint32_t exponentMask = (1u << format.exponentBits) - 1;
  int bias = int(exponentMask >> 1);
  uint64_t sign = uint64_t(std::signbit(value)) << (format.exponentBits + format.fractionBits);
  uint64_t infinity = format.hasInfinity
                          ? uint64_t(exponentMask) << format.fractionBits
                          : (uint64_t(1) << (format.exponentBits + format.fractionBits)) - 1;
  uint64_t largest = infinity - 1;
  if (std::isnan(value)) {
    if (!format.hasInfinity)
      return infinity; // e4m3: the only NaN, positive
    return infinity | ((uint64_t(1) << format.fractionBits) - 1);
  }
  long double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(value))
    return sign | (saturate ? largest : infinity);
  int exponent = std::ilogb(magnitude);
  exponent = exponent < 1 - bias ? 1 - bias : exponent;
  long double scaled = std::ldexp(magnitude, int(format.fractionBits) - exponent);
  long double whole = std::floor(scaled), rest = scaled - whole;
  uint64_t significand = uint64_t(whole);
  bool up = false;
  switch (mode) {
  case Round::Nearest:
    up = rest > 0.5L || (rest == 0.5L && (awayFromZeroOnTies || (significand & 1)));
    break;
  case Round::Zero:
    break;
  case Round::Down:
    up = sign && rest > 0;
    break;
  case Round::Up:
    up = !sign && rest > 0;
    break;
  }
  significand += up;
  // The hidden bit adds one to the exponent field; a carry does so by itself.
  uint64_t bits = significand;
  if (exponent > bias + 1)
    bits = infinity;
  else
    bits += uint64_t(exponent + bias - 1) << format.fractionBits;
  if (bits >= infinity) {
    bool towardsZero =
        mode == Round::Zero || (mode == Round::Down && !sign) || (mode == Round::Up && sign);
    bits = saturate || towardsZero ? largest : infinity;
  }
  return sign | bits;
}

} // namespace ingot::simulator
