// SPDX-License-Identifier: Apache-2.0
// Decoding ggml's blocks. Every type that is decoded has a function here and all types a row in
// `types`. A product and the sum it goes into are separate statements: were the compiler to
// contract them into one rounding, the bits would differ from ggml's.
#include "compiler/checkpoint/GgmlBlocks.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ingot::checkpoint {

namespace {

using Block = const uint8_t *;

uint16_t u16At(Block at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
uint32_t u32At(Block at) { return u16At(at) | static_cast<uint32_t>(u16At(at + 2)) << 16; }
float halfAt(Block at) { return static_cast<float>(std::bit_cast<_Float16>(u16At(at))); }
int8_t i8At(Block at) { return static_cast<int8_t>(*at); }

/// scale * q - least, rounded twice.
float affine(float scale, int q, float least) {
  const float product = scale * static_cast<float>(q);
  return product - least;
}

//===- Plain types --------------------------------------------------------------------------===//

void decodeF32(Block at, float *out) { *out = std::bit_cast<float>(u32At(at)); }
void decodeF16(Block at, float *out) { *out = halfAt(at); }
void decodeBF16(Block at, float *out) {
  *out = std::bit_cast<float>(static_cast<uint32_t>(u16At(at)) << 16);
}

//===- Blocks of 32 -------------------------------------------------------------------------===//

/// 32 codes: code j is the low half of byte j, code j + 16 the high half, and bit j of `fifth` is
/// above code j. `value` makes a number of a code.
template <class Value>
void decodeNibbles(Block codes, uint32_t fifth, float *out, const Value &value) {
  for (int j = 0; j < 16; ++j) {
    out[j] = value((codes[j] & 15) | static_cast<int>(fifth >> j & 1) << 4);
    out[j + 16] = value(codes[j] >> 4 | static_cast<int>(fifth >> (j + 16) & 1) << 4);
  }
}

/// Half d, codes: d * (q - middle).
template <int middle> void decodeSymmetric(Block at, float *out) {
  const float d = halfAt(at);
  const bool five = middle == 16;
  decodeNibbles(at + (five ? 6 : 2), five ? u32At(at + 2) : 0, out,
                [d](int q) { return d * static_cast<float>(q - middle); });
}

/// Half d, half m, codes: d * q + m.
template <bool five> void decodeWithMinimum(Block at, float *out) {
  const float d = halfAt(at), m = halfAt(at + 2);
  decodeNibbles(at + (five ? 8 : 4), five ? u32At(at + 4) : 0, out,
                [d, m](int q) { return affine(d, q, -m); });
}

void decodeQ8_0(Block at, float *out) {
  const float d = halfAt(at);
  for (int j = 0; j < 32; ++j)
    out[j] = d * static_cast<float>(i8At(at + 2 + j));
}

/// The values of IQ4 codes.
constexpr std::array<int8_t, 16> iq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};

void decodeIQ4_NL(Block at, float *out) {
  const float d = halfAt(at);
  decodeNibbles(at + 2, 0, out, [d](int q) { return d * static_cast<float>(iq4Values[q]); });
}

//===- Super-blocks of 256 ------------------------------------------------------------------===//

/// scales[16] (low half the scale, high half the minimum), codes[64], d, dmin.
void decodeQ2_K(Block at, float *out) {
  const float d = halfAt(at + 80), dmin = halfAt(at + 82);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    const int code = at[16 + 32 * half + l] >> (2 * shift) & 3;
    const uint8_t packed = at[8 * half + 2 * shift + l / 16];
    out[i] =
        affine(d * static_cast<float>(packed & 15), code, dmin * static_cast<float>(packed >> 4));
  }
}

/// Scale i of Q3_K, of twelve bytes with six bits each.
int scaleOfQ3(Block s, int i) {
  const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
  const int high = s[8 + (i & 3)] >> (2 * (i >> 2)) & 3;
  return (low | high << 4) - 32;
}

/// high[32], codes[64], scales[12], d.
void decodeQ3_K(Block at, float *out) {
  const float d = halfAt(at + 108);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    const int code = at[32 + 32 * half + l] >> (2 * shift) & 3;
    const int missing = at[l] >> (4 * half + shift) & 1 ? 0 : 4;
    const float scale = d * static_cast<float>(scaleOfQ3(at + 96, 8 * half + 2 * shift + l / 16));
    out[i] = scale * static_cast<float>(code - missing);
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};

/// Pair j of eight, six bits each, in the twelve bytes of Q4_K and Q5_K.
ScaleAndMinimum pairOf(Block s, int j) {
  if (j < 4)
    return {s[j] & 63, s[j + 4] & 63};
  return {(s[j + 4] & 15) | s[j - 4] >> 6 << 4, s[j + 4] >> 4 | s[j] >> 6 << 4};
}

/// d, dmin, scales[12], for five bits high[32], codes[128].
template <bool five> void decodeQ45_K(Block at, float *out) {
  const float d = halfAt(at), dmin = halfAt(at + 2);
  const Block high = at + 16, codes = at + (five ? 48 : 16);
  for (int sub = 0; sub < 8; ++sub) {
    const auto [scale, minimum] = pairOf(at + 4, sub);
    const float factor = d * static_cast<float>(scale), least = dmin * static_cast<float>(minimum);
    for (int l = 0; l < 32; ++l) {
      int code = codes[32 * (sub / 2) + l] >> (4 * (sub % 2)) & 15;
      if (five)
        code |= (high[l] >> sub & 1) << 4;
      out[32 * sub + l] = affine(factor, code, least);
    }
  }
}

/// low[128], high[64], i8 scales[16], d.
void decodeQ6_K(Block at, float *out) {
  const float d = halfAt(at + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    const int low = at[64 * half + 32 * (quarter % 2) + l] >> (4 * (quarter / 2)) & 15;
    const int high = at[128 + 32 * half + l] >> (2 * quarter) & 3;
    const float scale = d * static_cast<float>(i8At(at + 192 + 8 * half + 2 * quarter + l / 16));
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

/// d, u16 high bits of the scales, scales[4], codes[128].
void decodeIQ4_XS(Block at, float *out) {
  const float d = halfAt(at);
  const uint16_t high = u16At(at + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const int low = at[4 + sub / 2] >> (4 * (sub % 2)) & 15;
    const float scale = d * static_cast<float>((low | (high >> (2 * sub) & 3) << 4) - 32);
    decodeNibbles(at + 8 + 16 * sub, 0, out + 32 * sub,
                  [scale](int q) { return scale * static_cast<float>(iq4Values[q]); });
  }
}

//===- Ternary types ------------------------------------------------------------------------===//

/// Digit n of five in base 3 of a byte that stands for a fraction of 256.
int ternaryDigit(uint8_t byte, int n) {
  constexpr std::array<uint8_t, 5> powers = {1, 3, 9, 27, 81};
  const auto shifted = static_cast<uint8_t>(byte * powers[static_cast<size_t>(n)]);
  return shifted * 3 >> 8;
}

/// Five digits a byte in 32 bytes, then in 16, and four in the last 4; then d.
void decodeTQ1_0(Block at, float *out) {
  const float d = halfAt(at + 52);
  constexpr struct {
    int first, bytes, digits;
  } parts[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  for (const auto &part : parts)
    for (int n = 0; n < part.digits; ++n)
      for (int m = 0; m < part.bytes; ++m)
        *out++ = static_cast<float>(ternaryDigit(at[part.first + m], n) - 1) * d;
}

/// codes[64], d.
void decodeTQ2_0(Block at, float *out) {
  const float d = halfAt(at + 64);
  for (int i = 0; i < 256; ++i)
    out[i] = static_cast<float>((at[i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32)) & 3) - 1) * d;
}

//===- Four-bit floats ----------------------------------------------------------------------===//

float e2m1(int code) {
  constexpr std::array<float, 8> magnitudes = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const float magnitude = magnitudes[static_cast<size_t>(code & 7)];
  return code & 8 ? -magnitude : magnitude;
}

/// A power of two with bias 127; 255 is not a number.
float e8m0(uint8_t byte) {
  return byte == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, byte - 127);
}

/// e4m3 without its sign. ggml takes what is not a number for zero.
float ue4m3(uint8_t byte) {
  const int exponent = byte >> 3 & 15, mantissa = byte & 7;
  if (exponent == 15 && mantissa == 7)
    return 0;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

void decodeMXFP4(Block at, float *out) {
  const float scale = e8m0(at[0]);
  decodeNibbles(at + 1, 0, out, [scale](int q) { return scale * e2m1(q); });
}

/// Four scales, then for each 16 values 8 bytes: low halves first.
void decodeNVFP4(Block at, float *out) {
  for (int i = 0; i < 64; ++i) {
    const int sub = i / 16, j = i % 16;
    out[i] = ue4m3(at[sub]) * e2m1(at[4 + 8 * sub + j % 8] >> (j / 8 * 4) & 15);
  }
}

struct GgmlRow {
  uint32_t number;
  DType dtype;
  void (*decode)(Block block, float *out); ///< of one block; null: not decoded
};

// 4, 5, 31 to 33 and 36 to 38 were types once.
constexpr GgmlRow types[] = {
    {0, DType::F32, decodeF32},
    {1, DType::F16, decodeF16},
    {2, DType::Q4_0, decodeSymmetric<8>},
    {3, DType::Q4_1, decodeWithMinimum<false>},
    {6, DType::Q5_0, decodeSymmetric<16>},
    {7, DType::Q5_1, decodeWithMinimum<true>},
    {8, DType::Q8_0, decodeQ8_0},
    {9, DType::Q8_1, nullptr},
    {10, DType::Q2_K, decodeQ2_K},
    {11, DType::Q3_K, decodeQ3_K},
    {12, DType::Q4_K, decodeQ45_K<false>},
    {13, DType::Q5_K, decodeQ45_K<true>},
    {14, DType::Q6_K, decodeQ6_K},
    {15, DType::Q8_K, nullptr},
    {16, DType::IQ2_XXS, nullptr},
    {17, DType::IQ2_XS, nullptr},
    {18, DType::IQ3_XXS, nullptr},
    {19, DType::IQ1_S, nullptr},
    {20, DType::IQ4_NL, decodeIQ4_NL},
    {21, DType::IQ3_S, nullptr},
    {22, DType::IQ2_S, nullptr},
    {23, DType::IQ4_XS, decodeIQ4_XS},
    {24, DType::I8, nullptr},
    {25, DType::I16, nullptr},
    {26, DType::I32, nullptr},
    {27, DType::I64, nullptr},
    {28, DType::F64, nullptr},
    {29, DType::IQ1_M, nullptr},
    {30, DType::BF16, decodeBF16},
    {34, DType::TQ1_0, decodeTQ1_0},
    {35, DType::TQ2_0, decodeTQ2_0},
    {39, DType::MXFP4, decodeMXFP4},
    {40, DType::NVFP4, decodeNVFP4},
};

const GgmlRow *rowOf(DType dtype) {
  for (const GgmlRow &row : types)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

} // namespace

std::optional<DType> dtypeFromGgml(uint32_t number) {
  for (const GgmlRow &row : types)
    if (row.number == number)
      return row.dtype;
  return std::nullopt;
}

bool canDecodeGgml(DType dtype) {
  const GgmlRow *row = rowOf(dtype);
  return row && row->decode;
}

Outcome decodeGgml(DType dtype, std::span<const std::byte> blocks, std::span<float> out) {
  if (!canDecodeGgml(dtype))
    return Error{"INGOT-E1118",
                 message("the values of ", dtypeName(dtype), " blocks cannot be decoded"), "",
                 "convert the tensor to another type"};
  const DTypeUnit unit = dtypeUnit(dtype);
  const size_t bytes = unit.bits / 8, count = blocks.size() / bytes;
  if (blocks.size() % bytes != 0 || out.size() / unit.elements != count ||
      out.size() % unit.elements != 0)
    return Error{
        "INGOT-E1118",
        message(blocks.size(), " bytes of ", dtypeName(dtype), " are not ", out.size(), " values"),
        "", "report this as an error of Ingot"};
  const GgmlRow *row = rowOf(dtype);
  const auto *at = reinterpret_cast<const uint8_t *>(blocks.data());
  for (size_t i = 0; i < count; ++i)
    row->decode(at + i * bytes, out.data() + i * unit.elements);
  return {};
}

} // namespace ingot::checkpoint
