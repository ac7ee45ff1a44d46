// SPDX-License-Identifier: Apache-2.0
// Each type's bits as an f32, which holds all of them but f64 exactly.
#include "runtime/engine/ElementValue.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace ingot::runtime {
namespace {

float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    float value = std::ldexp(float(mantissa), -24);
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

template <class T> T load(const uint8_t *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

} // namespace

bool elementValue(schema::DType type, const uint8_t *data, size_t index, float &value) {
  switch (type) {
  case schema::DType::F32:
    value = load<float>(data, index);
    return true;
  case schema::DType::F64:
    value = float(load<double>(data, index));
    return true;
  case schema::DType::F16:
    value = halfToFloat(load<uint16_t>(data, index));
    return true;
  case schema::DType::BF16:
    value = std::bit_cast<float>(uint32_t(load<uint16_t>(data, index)) << 16);
    return true;
  case schema::DType::I32:
    value = float(load<int32_t>(data, index));
    return true;
  case schema::DType::I8:
    value = load<int8_t>(data, index);
    return true;
  default:
    return false;
  }
}

} // namespace ingot::runtime
