// SPDX-License-Identifier: Apache-2.0
// Taking ggml's blocks apart. Every type that is known has a function here and all types a row in
// `types`. A product and the sum it goes into are separate statements: were the compiler to
// contract them into one rounding, the bits would differ from ggml's.
#include "compiler/checkpoint/GgmlBlocks.h"

#include "compiler/checkpoint/GgmlBytes.h"
#include "compiler/checkpoint/GgmlGridBlocks.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ingot::checkpoint {

namespace {

using namespace ggml;

int8_t i8At(Block at) { return static_cast<int8_t>(*at); }

//===- Plain types --------------------------------------------------------------------------===//

void decodeF32(Block at, float *out) { *out = std::bit_cast<float>(u32At(at)); }
void decodeF16(Block at, float *out) { *out = halfAt(at); }
void decodeBF16(Block at, float *out) {
  *out = std::bit_cast<float>(static_cast<uint32_t>(u16At(at)) << 16);
}

//===- Blocks of 32 -------------------------------------------------------------------------===//

/// 32 codes: code j is the low half of byte j, code j + 16 the high half, and bit j of `fifth` is
/// above code j. `zero` is taken off.
void splitNibbles(Block codes, uint32_t fifth, int zero, int8_t *stored) {
  for (int j = 0; j < 16; ++j) {
    const int low = (codes[j] & 15) | static_cast<int>(fifth >> j & 1) << 4;
    const int high = codes[j] >> 4 | static_cast<int>(fifth >> (j + 16) & 1) << 4;
    stored[j] = static_cast<int8_t>(low - zero);
    stored[j + 16] = static_cast<int8_t>(high - zero);
  }
}

/// Half d, codes: Q4_0 and IQ4_NL.
void splitCodes(Block at, const GgmlParts &parts) {
  *parts.scales = halfAt(at);
  splitNibbles(at + 2, 0, 0, parts.stored);
}

/// Half d, fifth bits, codes: d * (q - 16).
void splitQ5_0(Block at, const GgmlParts &parts) {
  *parts.scales = halfAt(at);
  splitNibbles(at + 6, u32At(at + 2), 16, parts.stored);
}

/// Half d, half m, codes: d * q + m.
template <bool five> void splitWithMinimum(Block at, const GgmlParts &parts) {
  *parts.scales = halfAt(at);
  *parts.offsets = halfAt(at + 2);
  splitNibbles(at + (five ? 8 : 4), five ? u32At(at + 4) : 0, 0, parts.stored);
}

void splitQ8_0(Block at, const GgmlParts &parts) {
  *parts.scales = halfAt(at);
  for (int j = 0; j < 32; ++j)
    parts.stored[j] = i8At(at + 2 + j);
}

//===- Super-blocks of 256 ------------------------------------------------------------------===//

/// scales[16] (low half the scale, high half the minimum), codes[64], d, dmin.
void splitQ2_K(Block at, const GgmlParts &parts) {
  const float d = halfAt(at + 80), dmin = halfAt(at + 82);
  for (int group = 0; group < 16; ++group) {
    parts.scales[group] = d * static_cast<float>(at[group] & 15);
    parts.offsets[group] = -(dmin * static_cast<float>(at[group] >> 4));
  }
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    parts.stored[i] = static_cast<int8_t>(at[16 + 32 * half + l] >> (2 * shift) & 3);
  }
}

/// Scale i of Q3_K, of twelve bytes with six bits each.
int scaleOfQ3(Block s, int i) {
  const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
  const int high = s[8 + (i & 3)] >> (2 * (i >> 2)) & 3;
  return (low | high << 4) - 32;
}

/// high[32], codes[64], scales[12], d. A code whose high bit is missing is four less; 8 stands for
/// zero.
void splitQ3_K(Block at, const GgmlParts &parts) {
  const float d = halfAt(at + 108);
  for (int group = 0; group < 16; ++group)
    parts.scales[group] = d * static_cast<float>(scaleOfQ3(at + 96, group));
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    const int code = at[32 + 32 * half + l] >> (2 * shift) & 3;
    const int missing = at[l] >> (4 * half + shift) & 1 ? 0 : 4;
    parts.stored[i] = static_cast<int8_t>(code - missing + 8);
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
template <bool five> void splitQ45_K(Block at, const GgmlParts &parts) {
  const float d = halfAt(at), dmin = halfAt(at + 2);
  const Block high = at + 16, codes = at + (five ? 48 : 16);
  for (int sub = 0; sub < 8; ++sub) {
    const auto [scale, minimum] = pairOf(at + 4, sub);
    parts.scales[sub] = d * static_cast<float>(scale);
    parts.offsets[sub] = -(dmin * static_cast<float>(minimum));
    for (int l = 0; l < 32; ++l) {
      int code = codes[32 * (sub / 2) + l] >> (4 * (sub % 2)) & 15;
      if (five)
        code |= (high[l] >> sub & 1) << 4;
      parts.stored[32 * sub + l] = static_cast<int8_t>(code);
    }
  }
}

/// low[128], high[64], i8 scales[16], d.
void splitQ6_K(Block at, const GgmlParts &parts) {
  const float d = halfAt(at + 208);
  for (int group = 0; group < 16; ++group)
    parts.scales[group] = d * static_cast<float>(i8At(at + 192 + group));
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    const int low = at[64 * half + 32 * (quarter % 2) + l] >> (4 * (quarter / 2)) & 15;
    const int high = at[128 + 32 * half + l] >> (2 * quarter) & 3;
    parts.stored[i] = static_cast<int8_t>((low | high << 4) - 32);
  }
}

//===- Code books ---------------------------------------------------------------------------===//

constexpr std::array<float, 16> iq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                             1,    13,   25,  38,  53,  69,  89,  113};
/// Four-bit floats: sign, two bits of exponent, one of mantissa.
constexpr std::array<float, 16> e2m1Values = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                              -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

/// d, u16 high bits of the scales, scales[4], codes[128].
void splitIQ4_XS(Block at, const GgmlParts &parts) {
  const float d = halfAt(at);
  const uint16_t high = u16At(at + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const int low = at[4 + sub / 2] >> (4 * (sub % 2)) & 15;
    parts.scales[sub] = d * static_cast<float>((low | (high >> (2 * sub) & 3) << 4) - 32);
    splitNibbles(at + 8 + 16 * sub, 0, 0, parts.stored + 32 * sub);
  }
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

void splitMXFP4(Block at, const GgmlParts &parts) {
  *parts.scales = e8m0(at[0]);
  splitNibbles(at + 1, 0, 0, parts.stored);
}

/// Four scales, then for each 16 values 8 bytes: low halves first.
void splitNVFP4(Block at, const GgmlParts &parts) {
  for (int sub = 0; sub < 4; ++sub)
    parts.scales[sub] = ue4m3(at[sub]);
  for (int i = 0; i < 64; ++i)
    parts.stored[i] = static_cast<int8_t>(at[4 + 8 * (i / 16) + i % 8] >> (i % 16 / 8 * 4) & 15);
}

//===- Ternary types ------------------------------------------------------------------------===//

/// What stands for -1; zero is 8.
constexpr int minusOne = 7;

/// Digit n of five in base 3 of a byte that stands for a fraction of 256.
int ternaryDigit(uint8_t byte, int n) {
  constexpr std::array<uint8_t, 5> powers = {1, 3, 9, 27, 81};
  const auto shifted = static_cast<uint8_t>(byte * powers[static_cast<size_t>(n)]);
  return shifted * 3 >> 8;
}

/// Five digits a byte in 32 bytes, then in 16, and four in the last 4; then d.
void splitTQ1_0(Block at, const GgmlParts &parts) {
  *parts.scales = halfAt(at + 52);
  int8_t *stored = parts.stored;
  constexpr struct {
    int first, bytes, digits;
  } runs[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  for (const auto &run : runs)
    for (int n = 0; n < run.digits; ++n)
      for (int m = 0; m < run.bytes; ++m)
        *stored++ = static_cast<int8_t>(ternaryDigit(at[run.first + m], n) + minusOne);
}

/// codes[64], d.
void splitTQ2_0(Block at, const GgmlParts &parts) {
  *parts.scales = halfAt(at + 64);
  for (int i = 0; i < 256; ++i) {
    const int code = at[i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32)) & 3;
    parts.stored[i] = static_cast<int8_t>(code + minusOne);
  }
}

//===- The table ----------------------------------------------------------------------------===//

using Kind = GgmlEncoding::Kind;

/// Plain types have `decode`, encoded ones `split`, unknown ones neither.
struct GgmlRow {
  uint32_t number;
  DType dtype;
  void (*decode)(Block element, float *out) = nullptr;
  void (*split)(Block block, const GgmlParts &parts) = nullptr;
  GgmlEncoding encoding = {};
};

// 4, 5, 31 to 33 and 36 to 38 were types once.
constexpr GgmlRow types[] = {
    {0, DType::F32, decodeF32},
    {1, DType::F16, decodeF16},
    {2, DType::Q4_0, nullptr, splitCodes, {Kind::Int4, 32, DType::F16}},
    {3, DType::Q4_1, nullptr, splitWithMinimum<false>, {Kind::Affine4, 32, DType::F16}},
    {6, DType::Q5_0, nullptr, splitQ5_0, {Kind::Int8, 32, DType::F16}},
    {7, DType::Q5_1, nullptr, splitWithMinimum<true>, {Kind::Affine8, 32, DType::F16}},
    {8, DType::Q8_0, nullptr, splitQ8_0, {Kind::Int8, 32, DType::F16}},
    {9, DType::Q8_1},
    {10, DType::Q2_K, nullptr, splitQ2_K, {Kind::Affine4, 16, DType::F32}},
    {11, DType::Q3_K, nullptr, splitQ3_K, {Kind::Int4, 16, DType::F32}},
    {12, DType::Q4_K, nullptr, splitQ45_K<false>, {Kind::Affine4, 32, DType::F32}},
    {13, DType::Q5_K, nullptr, splitQ45_K<true>, {Kind::Affine8, 32, DType::F32}},
    {14, DType::Q6_K, nullptr, splitQ6_K, {Kind::Int8, 16, DType::F32}},
    {15, DType::Q8_K},
    {16, DType::IQ2_XXS, nullptr, splitIQ2_XXS, {Kind::CodeBook4, 32, DType::F32, iq2Values}},
    {17, DType::IQ2_XS, nullptr, splitIQ2_XS, {Kind::CodeBook4, 16, DType::F32, iq2Values}},
    {18, DType::IQ3_XXS, nullptr, splitIQ3_XXS, {Kind::CodeBook4, 32, DType::F32, iq3xxsValues}},
    {19, DType::IQ1_S, nullptr, splitIQ1_S, {Kind::CodeBook4, 32, DType::F32, iq1Values}},
    {20, DType::IQ4_NL, nullptr, splitCodes, {Kind::CodeBook4, 32, DType::F16, iq4Values}},
    {21, DType::IQ3_S, nullptr, splitIQ3_S, {Kind::CodeBook4, 32, DType::F32, iq3sValues}},
    {22, DType::IQ2_S, nullptr, splitIQ2_S, {Kind::CodeBook4, 16, DType::F32, iq2Values}},
    {23, DType::IQ4_XS, nullptr, splitIQ4_XS, {Kind::CodeBook4, 32, DType::F32, iq4Values}},
    {24, DType::I8},
    {25, DType::I16},
    {26, DType::I32},
    {27, DType::I64},
    {28, DType::F64},
    {29, DType::IQ1_M, nullptr, splitIQ1_M, {Kind::CodeBook4, 16, DType::F32, iq1Values}},
    {30, DType::BF16, decodeBF16},
    {34, DType::TQ1_0, nullptr, splitTQ1_0, {Kind::Int4, 256, DType::F16}},
    {35, DType::TQ2_0, nullptr, splitTQ2_0, {Kind::Int4, 256, DType::F16}},
    {39, DType::MXFP4, nullptr, splitMXFP4, {Kind::CodeBook4, 32, DType::BF16, e2m1Values}},
    {40, DType::NVFP4, nullptr, splitNVFP4, {Kind::CodeBook4, 16, DType::F16, e2m1Values}},
};

constexpr auto typesByNumber = [] {
  std::array<DType, std::size(types)> dtypes{};
  for (size_t i = 0; i < dtypes.size(); ++i)
    dtypes[i] = types[i].dtype;
  return dtypes;
}();

const GgmlRow *rowOf(DType dtype) {
  for (const GgmlRow &row : types)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

constexpr uint32_t mostElements = 256, leastGroup = 16;

/// Room for the parts of any block.
struct PartBuffers {
  int8_t stored[mostElements];
  float scales[mostElements / leastGroup], offsets[mostElements / leastGroup];
  GgmlParts parts() { return {stored, scales, offsets}; }
};

void decodeBlock(const GgmlRow &row, Block block, float *out) {
  if (row.decode)
    return row.decode(block, out);
  PartBuffers buffers;
  row.split(block, buffers.parts());
  const GgmlEncoding &encoding = row.encoding;
  for (uint32_t i = 0; i < dtypeUnit(row.dtype).elements; ++i) {
    const int stored = buffers.stored[i];
    const float scale = buffers.scales[i / encoding.group];
    const float number = encoding.kind == Kind::CodeBook4
                             ? encoding.codeBook[static_cast<size_t>(stored)]
                             : static_cast<float>(stored - (encoding.kind == Kind::Int4 ? 8 : 0));
    const float product = scale * number;
    out[i] = encoding.hasOffsets() ? product + buffers.offsets[i / encoding.group] : product;
  }
}

} // namespace

std::span<const DType> ggmlTypes() { return typesByNumber; }

std::optional<DType> dtypeFromGgml(uint32_t number) {
  for (const GgmlRow &row : types)
    if (row.number == number)
      return row.dtype;
  return std::nullopt;
}

bool canDecodeGgml(DType dtype) {
  const GgmlRow *row = rowOf(dtype);
  return row && (row->decode || row->split);
}

const GgmlEncoding *ggmlEncoding(DType dtype) {
  const GgmlRow *row = rowOf(dtype);
  return row && row->split ? &row->encoding : nullptr;
}

void splitGgml(DType dtype, const std::byte *block, const GgmlParts &parts) {
  rowOf(dtype)->split(reinterpret_cast<const uint8_t *>(block), parts);
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
    decodeBlock(*row, at + i * bytes, out.data() + i * unit.elements);
  return {};
}

} // namespace ingot::checkpoint
