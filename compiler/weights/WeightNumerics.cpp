// SPDX-License-Identifier: Apache-2.0
// Plain loops that compilers vectorise, cloned for wider vectors where the processor has them.
// Every step is an exact IEEE operation, so all clones give the same bytes; the build file forbids
// contraction to fused multiply-adds.
#include "compiler/weights/WeightNumerics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#define INGOT_VECTOR_CLONES                                                                        \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define INGOT_VECTOR_CLONES
#endif

namespace ingot::compiler {

//===- Single elements ----------------------------------------------------------------------===//
// Without branches, so that loops over them vectorise.

static inline uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }
static inline float floatOf(uint32_t bits) { return std::bit_cast<float>(bits); }

static inline uint16_t toBf16(float value) {
  uint32_t bits = bitsOf(value);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
  uint32_t quietNan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quietNan : rounded);
}

/// Adding 0.5, whose last mantissa bit is worth 2^-24, rounds to a multiple of f16's smallest
/// subnormal.
static inline uint16_t toF16(float value) {
  uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffffu;
  uint32_t normal = ((magnitude + 0xfffu + ((magnitude >> 13) & 1)) >> 13) - (112u << 10);
  uint32_t subnormal = bitsOf(floatOf(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t finite = magnitude < 0x38800000u ? subnormal : std::min(normal, 0x7c00u);
  uint32_t quietNan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  uint32_t result = magnitude > 0x7f800000u ? quietNan : finite;
  return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000u));
}

/// The same with 16384, whose last mantissa bit is worth 2^-9.
static inline uint8_t toF8(float value) {
  uint32_t bits = bitsOf(value), magnitude = bits & 0x7fffffffu;
  uint32_t clamped = std::min(magnitude, 0x43e00000u); // 448
  uint32_t normal = ((clamped + 0x7ffffu + ((clamped >> 20) & 1)) >> 20) - (120u << 3);
  uint32_t subnormal = bitsOf(floatOf(clamped) + 16384.0f) - 0x46800000u;
  uint32_t finite = clamped < 0x3c800000u ? subnormal : normal; // 2^-6
  uint32_t result = magnitude > 0x7f800000u ? 0x7fu : finite;
  return static_cast<uint8_t>(result | ((bits >> 24) & 0x80u));
}

static inline float fromF16(uint16_t half) {
  uint32_t magnitude = half & 0x7fffu, sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t special = (magnitude << 13) | 0x7f800000u;
  uint32_t subnormal = bitsOf(floatOf(0x3f000000u | magnitude) - 0.5f);
  uint32_t result = magnitude >= 0x7c00u ? special : magnitude < 0x400u ? subnormal : normal;
  return floatOf(result | sign);
}

static inline float fromF8(uint8_t byte) {
  uint32_t magnitude = byte & 0x7fu, sign = static_cast<uint32_t>(byte & 0x80u) << 24;
  uint32_t normal = (magnitude << 20) + (120u << 23);
  uint32_t subnormal = bitsOf(floatOf(0x46800000u | magnitude) - 16384.0f);
  uint32_t result = magnitude == 0x7fu ? 0x7fc00000u : magnitude < 8 ? subnormal : normal;
  return floatOf(result | sign);
}

//===- Runs ---------------------------------------------------------------------------------===//
// Arguments do not overlap. Sources may be unaligned: tensors are read at any byte.

template <class T> static inline T loadAt(const std::byte *in, int64_t index) {
  T value;
  std::memcpy(&value, in + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T> static inline void storeAt(std::byte *out, int64_t index, T value) {
  std::memcpy(out + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

INGOT_VECTOR_CLONES
static void widenBf16(const std::byte *__restrict in, float *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = floatOf(static_cast<uint32_t>(loadAt<uint16_t>(in, i)) << 16);
}

INGOT_VECTOR_CLONES
static void widenF16(const std::byte *__restrict in, float *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = fromF16(loadAt<uint16_t>(in, i));
}

INGOT_VECTOR_CLONES
static void widenF8(const std::byte *__restrict in, float *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = fromF8(loadAt<uint8_t>(in, i));
}

INGOT_VECTOR_CLONES
static void narrowBf16(const float *__restrict in, std::byte *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    storeAt<uint16_t>(out, i, toBf16(in[i]));
}

INGOT_VECTOR_CLONES
static void narrowF16(const float *__restrict in, std::byte *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    storeAt<uint16_t>(out, i, toF16(in[i]));
}

INGOT_VECTOR_CLONES
static void narrowF8(const float *__restrict in, std::byte *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    storeAt<uint8_t>(out, i, toF8(in[i]));
}

void widen(ElementType from, const std::byte *in, float *out, int64_t count) {
  switch (from) {
  case kF32:
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(float));
    return;
  case kF16:
    return widenF16(in, out, count);
  case kBf16:
    return widenBf16(in, out, count);
  case kE4m3:
    return widenF8(in, out, count);
  default: // integers
    return;
  }
}

void narrow(ElementType to, const float *in, std::byte *out, int64_t count) {
  switch (to) {
  case kF32:
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(float));
    return;
  case kF16:
    return narrowF16(in, out, count);
  case kBf16:
    return narrowBf16(in, out, count);
  case kE4m3:
    return narrowF8(in, out, count);
  default: // integers
    return;
  }
}

void PackedFields::unpack(const std::byte *stream, int64_t skipped, int64_t first, std::byte *out,
                          int64_t count) const {
  const uint32_t mask = (1u << bits) - 1;
  const auto periods = static_cast<size_t>(period());
  size_t place = static_cast<size_t>(first) % periods;
  for (int64_t k = first; k < first + count; ++k) {
    int64_t field = order.empty() ? k : k - static_cast<int64_t>(place) + order[place];
    auto bit = static_cast<uint64_t>(skipped + field * bits), shift = bit % 8;
    auto word = static_cast<uint32_t>(stream[bit / 8]);
    if (shift + static_cast<uint64_t>(bits) > 8)
      word |= static_cast<uint32_t>(stream[bit / 8 + 1]) << 8;
    uint32_t value = ((word >> shift) + increment) & mask;
    *out++ = static_cast<std::byte>(value - bias);
    place = place + 1 == periods ? 0 : place + 1;
  }
}

INGOT_VECTOR_CLONES
void multiply(const float *__restrict values, const float *__restrict factors,
              float *__restrict products, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    products[i] = values[i] * factors[i];
}

//===- Quantization -------------------------------------------------------------------------===//

INGOT_VECTOR_CLONES
static void findRange(const float *values, int64_t count, ValueRange &range) {
  uint32_t magnitude = range.magnitudeBits;
  float least = range.least, most = range.most;
  for (int64_t i = 0; i < count; ++i) {
    magnitude = std::max(magnitude, bitsOf(values[i]) & 0x7fffffffu);
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  range = {least, most, magnitude};
}

void ValueRange::include(const float *values, int64_t count) { findRange(values, count, *this); }

void ValueRange::include(const ValueRange &other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  magnitudeBits = std::max(magnitudeBits, other.magnitudeBits);
}

static float roundedTo(ElementType type, float value) {
  std::byte stored[sizeof(float)];
  narrow(type, &value, stored, 1);
  widen(type, stored, &value, 1);
  return value;
}

Quantizer Quantizer::choose(const Encoding &encoding, ElementType scaleType,
                            const ValueRange &range) {
  float largest = floatOf(range.magnitudeBits);
  int32_t middle = encoding.middle();
  const auto most = static_cast<float>(2 * middle - 1); // of unsigned integers
  float scale = largest / (isFloat(encoding.element()) ? 448.0f : 127.0f);
  // Symmetric: the weight of the largest magnitude becomes the least integer, whatever its sign.
  if (middle)
    scale = encoding.zeroPoints ? (range.most - range.least) / most
                                : (range.most > -range.least ? range.most : range.least) /
                                      static_cast<float>(-middle);
  scale = roundedTo(scaleType, scale);
  if (scale == 0)
    return {encoding, 1.0f, middle};
  if (encoding.zeroPoints)
    middle = static_cast<int32_t>(std::nearbyint(std::clamp(-range.least / scale, 0.0f, most)));
  return {encoding, scale, middle};
}

/// clamp(rne(value / scale) + zero, low, high). Adding 1.5 * 2^23 rounds to an integer, to nearest
/// even, which the low mantissa bits then hold; clamping first gives the same as clamping last.
INGOT_VECTOR_CLONES
static void quantizeIntegers(const float *__restrict in, uint8_t *__restrict out, int64_t count,
                             float scale, int32_t zero, int32_t low, int32_t high) {
  float least = static_cast<float>(low - zero), most = static_cast<float>(high - zero);
  for (int64_t i = 0; i < count; ++i) {
    float quotient = in[i] / scale;
    quotient = quotient < least ? least : quotient;
    quotient = quotient > most ? most : quotient;
    uint32_t integer = bitsOf(quotient + 12582912.0f) - 0x4b400000u;
    out[i] = static_cast<uint8_t>(integer + static_cast<uint32_t>(zero));
  }
}

INGOT_VECTOR_CLONES
static void quantizeF8(const float *__restrict in, uint8_t *__restrict out, int64_t count,
                       float scale) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = toF8(in[i] / scale);
}

INGOT_VECTOR_CLONES
static void dequantizeI8(const uint8_t *__restrict in, float *__restrict out, int64_t count,
                         float scale, int32_t zero) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = scale * static_cast<float>(static_cast<int8_t>(in[i]) - zero);
}

INGOT_VECTOR_CLONES
static void dequantizeUnsigned(const uint8_t *__restrict in, float *__restrict out, int64_t count,
                               float scale, int32_t zero) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = scale * static_cast<float>(static_cast<int32_t>(in[i]) - zero);
}

INGOT_VECTOR_CLONES
static void dequantizeF8(const uint8_t *__restrict in, float *__restrict out, int64_t count,
                         float scale) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = scale * fromF8(in[i]);
}

INGOT_VECTOR_CLONES
void dequantizeAffine(const uint8_t *__restrict stored, float *__restrict values, int64_t count,
                      float scale, float offset) {
  for (int64_t i = 0; i < count; ++i) {
    float product = scale * static_cast<float>(static_cast<int8_t>(stored[i]));
    values[i] = product + offset;
  }
}

void dequantizeCodes(const uint8_t *stored, float *values, int64_t count, float scale,
                     const float *book) {
  for (int64_t i = 0; i < count; ++i)
    values[i] = scale * book[stored[i]];
}

void Quantizer::quantize(const float *in, uint8_t *out, int64_t count) const {
  if (isFloat(encoding.element()))
    return quantizeF8(in, out, count, scale);
  if (int32_t middle = encoding.middle())
    return quantizeIntegers(in, out, count, scale, zero, 0, 2 * middle - 1);
  quantizeIntegers(in, out, count, scale, 0, -127, 127);
}

void Quantizer::dequantize(const uint8_t *in, float *out, int64_t count) const {
  if (isFloat(encoding.element()))
    return dequantizeF8(in, out, count, scale);
  return encoding.bits() < 8 ? dequantizeUnsigned(in, out, count, scale, zero)
                             : dequantizeI8(in, out, count, scale, zero);
}

INGOT_VECTOR_CLONES
static void joinPairs(const uint8_t *__restrict in, uint8_t *__restrict out, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i)
    out[i] = static_cast<uint8_t>(in[2 * i] | (in[2 * i + 1] << 4));
}

void joinNibbles(const uint8_t *in, uint8_t *out, int64_t places) {
  constexpr int64_t piece = 2048;
  uint8_t joined[piece / 2];
  int64_t even = places / 2 * 2;
  for (int64_t start = 0; start < even; start += piece) {
    int64_t pairs = std::min(piece, even - start) / 2;
    joinPairs(in + start, joined, pairs);
    std::memcpy(out + start / 2, joined, static_cast<size_t>(pairs));
  }
  if (places != even)
    out[even / 2] = in[even];
}

void joinPlanes(const uint8_t *in, uint8_t *out, int64_t places, Planes planes) {
  for (int64_t start = 0; start < places; start += kPlanePlaces) {
    uint8_t elements[kPlanePlaces] = {}, packed[kPlanePlaces] = {};
    std::memcpy(elements, in + start,
                static_cast<size_t>(std::min<int64_t>(kPlanePlaces, places - start)));
    auto join = [&](uint8_t *plane, int first, int width) {
      for (int i = 0; i < kPlanePlaces; ++i)
        plane[i * width / 8] |=
            static_cast<uint8_t>((elements[i] >> first & ((1 << width) - 1)) << (i * width % 8));
    };
    join(packed, 0, planes.low);
    join(packed + planes.lowBytes(), planes.low, planes.high);
    std::memcpy(out, packed, static_cast<size_t>(planes.blockBytes()));
    out += planes.blockBytes();
  }
}

void widenCodes(ElementType type, const std::byte *in, float *out, int64_t count, int32_t middle) {
  for (int64_t i = 0; i < count; ++i) {
    auto code = static_cast<uint8_t>(in[i]);
    out[i] = type == kI8 ? static_cast<float>(static_cast<int8_t>(code))
                         : static_cast<float>(static_cast<int32_t>(code) - middle);
  }
}

} // namespace ingot::compiler
