// SPDX-License-Identifier: Apache-2.0
// Stored element types: exact conversions to f32 and, to nearest even, back; the same results on
// every architecture and as codegen/native/kernels/Elements.h.
#pragma once

#include "Ptx.cuh"
#include "numerics/EncodingForms.h"

using namespace ingot;

/// The code of `value` in a format of 8 bits, in integer arithmetic.
INGOT_DEVICE u8 encodeSmallFloat(float value, SmallFloat format) {
  u32 bits = __float_as_uint(value) & 0x7fffffff;
  u32 sign = __float_as_uint(value) >> 24 & 0x80;
  if (bits > 0x7f800000)
    return u8(sign | format.nan);
  int exponent = int(bits >> 23) - 127;
  int smallest = 1 - format.exponentBias;
  int shift = 23 - format.mantissaBits + (exponent < smallest ? smallest - exponent : 0);
  if (shift > 24)
    return u8(sign);
  u32 mantissa = (bits & 0x7fffff) | 0x800000;
  u32 half = 1u << (shift - 1);
  u32 code = (mantissa + half - 1 + ((mantissa >> shift) & 1)) >> shift;
  if (exponent >= smallest)
    code += u32(exponent - smallest) << format.mantissaBits;
  return u8(sign | (code > format.largest ? format.overflow : code));
}

INGOT_DEVICE u16 f16FromFloat(float value) { return ptx::f16FromFloat(value); }
INGOT_DEVICE float floatFromF16(u16 code) { return ptx::floatFromF16(code); }
INGOT_DEVICE u16 bf16FromFloat(float value) { return ptx::bf16FromFloat(value); }
INGOT_DEVICE float floatFromBf16(u16 code) { return __uint_as_float(u32(code) << 16); }

/// Two values; `low` goes to the low byte.
INGOT_DEVICE u16 e4m3x2FromFloats(float low, float high) {
#if __CUDA_ARCH__ >= 890
  return ptx::e4m3x2FromFloats(low, high);
#else
  return u16(encodeSmallFloat(low, kFormatE4m3) | encodeSmallFloat(high, kFormatE4m3) << 8);
#endif
}
INGOT_DEVICE u16 e5m2x2FromFloats(float low, float high) {
#if __CUDA_ARCH__ >= 890
  return ptx::e5m2x2FromFloats(low, high);
#else
  return u16(encodeSmallFloat(low, kFormatE5m2) | encodeSmallFloat(high, kFormatE5m2) << 8);
#endif
}
INGOT_DEVICE u8 e4m3FromFloat(float value) { return u8(e4m3x2FromFloats(value, 0.0f)); }
INGOT_DEVICE u8 e5m2FromFloat(float value) { return u8(e5m2x2FromFloats(value, 0.0f)); }

INGOT_DEVICE float floatFromE4m3(u8 code) {
  if ((code & 0x7f) == 0x7f)
    return __uint_as_float(0x7fc00000);
  // As the f16 of 2^-8 times the value: exact, subnormals included.
  return floatFromF16(u16((code & 0x80) << 8 | (code & 0x7f) << 7)) * 256.0f;
}
INGOT_DEVICE float floatFromE5m2(u8 code) { return floatFromF16(u16(code << 8)); }

/// To nearest even, clamped to +-127; NaN gives 0.
INGOT_DEVICE i8 i8FromFloat(float value) {
  i32 rounded = ptx::roundEven(value);
  return i8(rounded > 127 ? 127 : rounded < -127 ? -127 : rounded);
}

/// Element `index` of planes.
template <i64 Code> INGOT_DEVICE u32 loadPlanes(const void *base, i64 index) {
  constexpr Planes planes = planesOf(elementBits(Code));
  const u8 *block = static_cast<const u8 *>(base) + index / kPlanePlaces * planes.blockBytes();
  return planeElement(block, u32(index % kPlanePlaces), planes);
}

/// Element `index` of an array as f32; elements of less than a byte are unsigned; of i4 two are in
/// a byte, low bits first.
template <i64 Code> INGOT_DEVICE float loadElement(const void *base, i64 index) {
  if constexpr (Code == kF32)
    return static_cast<const float *>(base)[index];
  else if constexpr (Code == kF16)
    return floatFromF16(static_cast<const u16 *>(base)[index]);
  else if constexpr (Code == kBf16)
    return floatFromBf16(static_cast<const u16 *>(base)[index]);
  else if constexpr (Code == kE4m3)
    return floatFromE4m3(static_cast<const u8 *>(base)[index]);
  else if constexpr (Code == kE5m2)
    return floatFromE5m2(static_cast<const u8 *>(base)[index]);
  else if constexpr (Code == kI4)
    return float(static_cast<const u8 *>(base)[index / 2] >> (index % 2 * 4) & 15);
  else if constexpr (hasPlanes(elementBits(Code)))
    return float(loadPlanes<Code>(base, index));
  else
    return float(static_cast<const i8 *>(base)[index]);
}

/// Stores `value`, rounded to the element type.
template <i64 Code> INGOT_DEVICE void storeElement(void *base, i64 index, float value) {
  if constexpr (Code == kF32)
    static_cast<float *>(base)[index] = value;
  else if constexpr (Code == kF16)
    static_cast<u16 *>(base)[index] = f16FromFloat(value);
  else if constexpr (Code == kBf16)
    static_cast<u16 *>(base)[index] = bf16FromFloat(value);
  else if constexpr (Code == kE4m3)
    static_cast<u8 *>(base)[index] = e4m3FromFloat(value);
  else if constexpr (Code == kE5m2)
    static_cast<u8 *>(base)[index] = e5m2FromFloat(value);
  else
    static_cast<i8 *>(base)[index] = i8FromFloat(value);
}

/// `value` as storing and reading it in the type gives it.
template <i64 Code> INGOT_DEVICE float roundElement(float value) {
  if constexpr (Code == kF32)
    return value;
  else if constexpr (Code == kF16)
    return floatFromF16(f16FromFloat(value));
  else
    return floatFromBf16(bf16FromFloat(value));
}

/// `Bytes` bytes (1, 2, 4, 8 or a multiple of 16) in as few accesses as possible; `from` and `to`
/// are aligned to them, at most to 16.
template <int Bytes> INGOT_DEVICE void copyBytes(void *to, const void *from) {
  if constexpr (Bytes >= 16) {
#pragma unroll
    for (int i = 0; i < Bytes / 16; ++i)
      static_cast<uint4 *>(to)[i] = static_cast<const uint4 *>(from)[i];
  } else if constexpr (Bytes == 8) {
    *static_cast<uint2 *>(to) = *static_cast<const uint2 *>(from);
  } else if constexpr (Bytes == 4) {
    *static_cast<u32 *>(to) = *static_cast<const u32 *>(from);
  } else if constexpr (Bytes == 2) {
    *static_cast<u16 *>(to) = *static_cast<const u16 *>(from);
  } else {
    *static_cast<u8 *>(to) = *static_cast<const u8 *>(from);
  }
}

/// Elements [index, index + Count) as f32: the memory they fill is aligned to its size (at most 16
/// bytes). Of types of whole bytes.
template <i64 Code, int Count>
INGOT_DEVICE void loadElements(const void *base, i64 index, float (&values)[Count]) {
  constexpr int bytes = Count * elementBits(Code) / 8;
  alignas(16) u8 raw[bytes];
  copyBytes<bytes>(raw, static_cast<const u8 *>(base) + index * (elementBits(Code) / 8));
#pragma unroll
  for (int i = 0; i < Count; ++i)
    values[i] = loadElement<Code>(raw, i);
}

/// Stores elements [index, index + Count), aligned alike.
template <i64 Code, int Count>
INGOT_DEVICE void storeElements(void *base, i64 index, const float (&values)[Count]) {
  constexpr int bytes = Count * elementBits(Code) / 8;
  alignas(16) u8 raw[bytes];
  if constexpr ((Code == kE4m3 || Code == kE5m2) && Count % 2 == 0) {
#pragma unroll
    for (int i = 0; i < Count; i += 2)
      reinterpret_cast<u16 *>(raw)[i / 2] = Code == kE4m3
                                                ? e4m3x2FromFloats(values[i], values[i + 1])
                                                : e5m2x2FromFloats(values[i], values[i + 1]);
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i)
      storeElement<Code>(raw, i, values[i]);
  }
  copyBytes<bytes>(static_cast<u8 *>(base) + index * (elementBits(Code) / 8), raw);
}
