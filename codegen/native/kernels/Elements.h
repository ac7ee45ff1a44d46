// SPDX-License-Identifier: Apache-2.0
// Exact conversions between f32 and the stored element types, by integer arithmetic: they need no
// hardware support and give the same bits everywhere.
#pragma once

#include "codegen/native/kernels/Kernel.h"

/// The code of `value`, rounded to nearest even, without its sign.
INGOT_INLINE uint32_t encodeMagnitude(float value, SmallFloat format) {
  uint32_t bits = bitCast<uint32_t>(value) & 0x7fffffff;
  if (bits > 0x7f800000)
    return format.nan;
  if (bits == 0x7f800000)
    return format.overflow;
  int exponent = int(bits >> 23) - 127;
  int smallest = 1 - format.exponentBias;
  int shift = 23 - format.mantissaBits + (exponent < smallest ? smallest - exponent : 0);
  if (shift > 24)
    return 0;
  uint32_t mantissa = (bits & 0x7fffff) | 0x800000;
  uint32_t half = 1u << (shift - 1);
  uint32_t rounded = (mantissa + half - 1 + ((mantissa >> shift) & 1)) >> shift;
  uint32_t code = rounded;
  if (exponent >= smallest)
    code += uint32_t(exponent - smallest) << format.mantissaBits;
  return code > format.largest ? format.overflow : code;
}

/// The value of a magnitude code.
INGOT_INLINE float decodeMagnitude(uint32_t code, SmallFloat format) {
  if (code > format.largest) {
    bool isInfinity = code == (format.largest + 1) && format.mantissaBits != 3;
    return bitCast<float>(isInfinity ? 0x7f800000u : 0x7fc00000u);
  }
  uint32_t mantissa = code & ((1u << format.mantissaBits) - 1);
  int exponent = int(code >> format.mantissaBits);
  if (exponent == 0) {
    // A power of two times a small integer is exact.
    float unit =
        bitCast<float>(uint32_t(127 + 1 - format.exponentBias - format.mantissaBits) << 23);
    return float(int32_t(mantissa)) * unit;
  }
  return bitCast<float>(uint32_t(exponent - format.exponentBias + 127) << 23 |
                        mantissa << (23 - format.mantissaBits));
}

INGOT_INLINE uint16_t f16FromFloat(float value) {
  return uint16_t((bitCast<uint32_t>(value) >> 16 & 0x8000) | encodeMagnitude(value, kFormatF16));
}
INGOT_INLINE float floatFromF16(uint16_t code) {
  float magnitude = decodeMagnitude(code & 0x7fff, kFormatF16);
  return code & 0x8000 ? -magnitude : magnitude;
}

INGOT_INLINE uint16_t bf16FromFloat(float value) {
  uint32_t bits = bitCast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
INGOT_INLINE float floatFromBf16(uint16_t code) { return bitCast<float>(uint32_t(code) << 16); }

INGOT_INLINE uint8_t e4m3FromFloat(float value) {
  return uint8_t((bitCast<uint32_t>(value) >> 24 & 0x80) | encodeMagnitude(value, kFormatE4m3));
}
INGOT_INLINE float floatFromE4m3(uint8_t code) {
  float magnitude = decodeMagnitude(code & 0x7f, kFormatE4m3);
  return code & 0x80 ? -magnitude : magnitude;
}

INGOT_INLINE uint8_t e5m2FromFloat(float value) {
  return uint8_t((bitCast<uint32_t>(value) >> 24 & 0x80) | encodeMagnitude(value, kFormatE5m2));
}
INGOT_INLINE float floatFromE5m2(uint8_t code) {
  float magnitude = decodeMagnitude(code & 0x7f, kFormatE5m2);
  return code & 0x80 ? -magnitude : magnitude;
}

/// `value` to the nearest integer, ties to even, for |value| < 2^22.
INGOT_INLINE float roundEven(float value) {
  constexpr float kShift = 12582912.0f; // 1.5 * 2^23: the sum's last bit is worth one
  return (value + kShift) - kShift;
}

/// `value` as an i8, to nearest even, clamped to +-127; NaN gives 0.
INGOT_INLINE int8_t i8FromFloat(float value) {
  if (!(value == value))
    return 0;
  float clamped = value > 127.0f ? 127.0f : value < -127.0f ? -127.0f : value;
  return int8_t(int32_t(roundEven(clamped)));
}

/// Element `index` of planes.
INGOT_INLINE int64_t loadPlanes(const void *base, int64_t index, Planes planes) {
  const uint8_t *block =
      static_cast<const uint8_t *>(base) + index / kPlanePlaces * planes.blockBytes();
  return planeElement(block, index % kPlanePlaces, planes);
}

/// Element `index` of an array as f32; elements of less than a byte are unsigned; of i4 two are in
/// a byte, low bits first.
INGOT_INLINE float loadElement(const void *base, int64_t index, int64_t code) {
  switch (code) {
  case kF32:
    return static_cast<const float *>(base)[index];
  case kF16:
    return floatFromF16(static_cast<const uint16_t *>(base)[index]);
  case kBf16:
    return floatFromBf16(static_cast<const uint16_t *>(base)[index]);
  case kE4m3:
    return floatFromE4m3(static_cast<const uint8_t *>(base)[index]);
  case kE5m2:
    return floatFromE5m2(static_cast<const uint8_t *>(base)[index]);
  case kI4:
    return float(static_cast<const uint8_t *>(base)[index / 2] >> (index % 2 * 4) & 15);
  case kI2:
  case kI3:
  case kI5:
  case kI6:
    return float(loadPlanes(base, index, planesOf(elementBits(code))));
  default:
    return float(static_cast<const int8_t *>(base)[index]);
  }
}

/// What scale code `index` stands for before it meets its super. `affine`: codes count from 0.
INGOT_INLINE float loadScaleCode(const void *codes, int64_t index, int64_t code, bool affine) {
  return loadElement(codes, index, code) - float(affine ? 0 : middleOf(code));
}

/// The scale that byte `index` of `codes` names.
INGOT_INLINE float loadTableScale(const void *codes, int64_t index, const void *table) {
  return static_cast<const float *>(table)[static_cast<const uint8_t *>(codes)[index]];
}

/// Stores `value`, rounded to the element type (i8: to nearest even, clamped).
INGOT_INLINE void storeElement(void *base, int64_t index, int64_t code, float value) {
  switch (code) {
  case kF32:
    static_cast<float *>(base)[index] = value;
    return;
  case kF16:
    static_cast<uint16_t *>(base)[index] = f16FromFloat(value);
    return;
  case kBf16:
    static_cast<uint16_t *>(base)[index] = bf16FromFloat(value);
    return;
  case kE4m3:
    static_cast<uint8_t *>(base)[index] = e4m3FromFloat(value);
    return;
  case kE5m2:
    static_cast<uint8_t *>(base)[index] = e5m2FromFloat(value);
    return;
  default:
    static_cast<int8_t *>(base)[index] = i8FromFloat(value);
    return;
  }
}
