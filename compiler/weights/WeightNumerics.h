// SPDX-License-Identifier: Apache-2.0
// The arithmetic of weights: element types, exact conversions, and quantization of runs of
// elements. The rules are those of dialects/llm/LlmWeightOps.td; nothing here knows of MLIR.
#pragma once

#include "numerics/Encodings.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::compiler {

/// Bytes of one element while a weight is evaluated: elements of less than a byte take one until
/// they are packed.
inline int64_t workingBytes(ElementType element) {
  return elementBits(element) < 8 ? 1 : elementBits(element) / 8;
}

/// `count` floats of type `from`, exactly, as f32.
void widen(ElementType from, const std::byte *in, float *out, int64_t count);

/// `count` f32 values rounded to nearest even in the float type `to`. Not-a-number stays one;
/// F8E4M3 saturates at 448, the other types overflow to infinity.
void narrow(ElementType to, const float *in, std::byte *out, int64_t count);

/// How fields lie in a row of packed words; the rules are those of llm.unpack.
struct PackedFields {
  int64_t bits = 8;
  uint32_t increment = 0, bias = 0;
  std::vector<int64_t> order; ///< empty: in order

  /// Elements that must be read together.
  int64_t period() const { return order.empty() ? 1 : static_cast<int64_t>(order.size()); }
  /// `count` elements from `first` on, of a stream of bits that begins `skipped` bits before
  /// element 0, the first of a period, and has all bits of these elements' periods.
  void unpack(const std::byte *stream, int64_t skipped, int64_t first, std::byte *out,
              int64_t count) const;
};

/// products[i] = values[i] * factors[i].
void multiply(const float *values, const float *factors, float *products, int64_t count);

/// What a quantizer must know of the values that share a scale.
struct ValueRange {
  float least = 0;            ///< at most 0
  float most = 0;             ///< at least 0
  uint32_t magnitudeBits = 0; ///< the largest |value|, as the bits of an f32

  void include(const float *values, int64_t count);
  void include(const ValueRange &other);
  /// Whether no value was infinite or not a number.
  bool isFinite() const { return magnitudeBits < 0x7f800000u; }
};

/// values[i] = scale * stored[i] + offset, rounded twice; stored as signed bytes.
void dequantizeAffine(const uint8_t *stored, float *values, int64_t count, float scale,
                      float offset);
/// values[i] = scale * book[stored[i]]
void dequantizeCodes(const uint8_t *stored, float *values, int64_t count, float scale,
                     const float *book);

/// Without offsets and code books. Weights are quantized to int8, int4 and fp8.
struct Quantizer {
  Encoding encoding;
  float scale = 1;  ///< as stored, so after rounding to the scale's type
  int32_t zero = 0; ///< the stored value that stands for 0

  /// The scale and zero of a finite range. A range whose scale rounds to zero has scale 1. The
  /// scale is infinite where most - least overflows an f32.
  static Quantizer choose(const Encoding &encoding, ElementType scaleType, const ValueRange &range);

  /// Stored elements (one byte each, also of less) of `count` finite values.
  void quantize(const float *in, uint8_t *out, int64_t count) const;
  /// scale * (stored - zero).
  void dequantize(const uint8_t *in, float *out, int64_t count) const;
};

/// Puts pairs of `places` bytes 0 ... 15 into single bytes, the first of a pair in the low bits.
/// An odd last one is paired with 0. `out` may be `in`.
void joinNibbles(const uint8_t *in, uint8_t *out, int64_t places);

/// Puts the bytes of `places` elements of 2, 3, 5 or 6 bits into blocks of planes; the last one is
/// filled with zeros. `out` may be `in`.
void joinPlanes(const uint8_t *in, uint8_t *out, int64_t places, Planes planes);

/// What scale codes stand for before they meet their super-block scales: `codes` less `middle`, or
/// as i8.
void widenCodes(ElementType type, const std::byte *in, float *out, int64_t count, int32_t middle);

} // namespace ingot::compiler
