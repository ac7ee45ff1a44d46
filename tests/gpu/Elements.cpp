// SPDX-License-Identifier: Apache-2.0
// Values of stored elements, from the definitions of their formats.
#include "tests/gpu/Elements.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace ingot::record {

namespace {

template <class T> T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// A float of one sign bit, `exponentBits` and `mantissaBits`. `finite`: without infinities, and
/// only the largest code is no number (e4m3).
double decode(uint32_t code, int exponentBits, int mantissaBits, bool finite) {
  uint32_t mantissa = code & ((1u << mantissaBits) - 1);
  uint32_t exponent = code >> mantissaBits & ((1u << exponentBits) - 1);
  double sign = code >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
  bool largest = exponent == (1u << exponentBits) - 1;
  if (largest && finite && mantissa == (1u << mantissaBits) - 1)
    return std::numeric_limits<double>::quiet_NaN();
  if (largest && !finite)
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  int bias = (1 << (exponentBits - 1)) - 1;
  if (exponent == 0)
    return sign * std::ldexp(double(mantissa), 1 - bias - mantissaBits);
  return sign *
         std::ldexp(double(mantissa | 1u << mantissaBits), int(exponent) - bias - mantissaBits);
}

} // namespace

double elementValue(Element element, const uint8_t *bytes) {
  switch (element) {
  case Element::F32:
    return double(load<float>(bytes));
  case Element::F16:
    return decode(load<uint16_t>(bytes), 5, 10, false);
  case Element::BF16:
    return double(std::bit_cast<float>(uint32_t{load<uint16_t>(bytes)} << 16));
  case Element::E4M3:
    return decode(*bytes, 4, 3, true);
  case Element::E5M2:
    return decode(*bytes, 5, 2, false);
  case Element::I8:
    return load<int8_t>(bytes);
  case Element::I32:
    return load<int32_t>(bytes);
  }
  return 0;
}

} // namespace ingot::record
