// SPDX-License-Identifier: Apache-2.0
// Taking ggml's blocks apart. Every type that is known has a function here and all types a row in
// `types`. A product and the sum it goes into are separate statements: were the compiler to
// contract them into one rounding, the bits would differ from ggml's.
#include "compiler/checkpoint/gguf/GgmlBlocks.h"

#include "compiler/checkpoint/gguf/GgmlBytes.h"
#include "compiler/checkpoint/gguf/GgmlGridBlocks.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ingot::checkpoint {

namespace {

using namespace ggml;

//===- Plain types --------------------------------------------------------------------------===//

void decodeF32(Block at, float *out) { *out = std::bit_cast<float>(u32At(at)); }
void decodeF16(Block at, float *out) { *out = halfAt(at); }
void decodeBF16(Block at, float *out) {
  *out = std::bit_cast<float>(static_cast<uint32_t>(u16At(at)) << 16);
}

//===- Blocks of 32 -------------------------------------------------------------------------===//

/// 32 codes: code j is the low half of byte j, code j + 16 the high half, and bit j of `fifth` is
/// above code j.
void splitNibbles(Block codes, uint32_t fifth, uint8_t *stored) {
  for (int j = 0; j < 16; ++j) {
    const int low = (codes[j] & 15) | static_cast<int>(fifth >> j & 1) << 4;
    const int high = codes[j] >> 4 | static_cast<int>(fifth >> (j + 16) & 1) << 4;
    stored[j] = static_cast<uint8_t>(low);
    stored[j + 16] = static_cast<uint8_t>(high);
  }
}

/// Half d, codes: Q4_0 and IQ4_NL.
void splitCodes(Block at, GgmlBlock &parts) {
  *parts.scales = halfAt(at);
  splitNibbles(at + 2, 0, parts.stored);
}

/// Half d, fifth bits, codes: d * (q - 16).
void splitQ5_0(Block at, GgmlBlock &parts) {
  *parts.scales = halfAt(at);
  splitNibbles(at + 6, u32At(at + 2), parts.stored);
}

/// Half d, half m, codes: d * q + m.
template <bool five> void splitWithMinimum(Block at, GgmlBlock &parts) {
  *parts.scales = halfAt(at);
  *parts.offsets = halfAt(at + 2);
  splitNibbles(at + (five ? 8 : 4), five ? u32At(at + 4) : 0, parts.stored);
}

void splitQ8_0(Block at, GgmlBlock &parts) {
  *parts.scales = halfAt(at);
  for (int j = 0; j < 32; ++j)
    parts.stored[j] = at[2 + j];
}

//===- Super-blocks of 256 ------------------------------------------------------------------===//

/// scales[16] (low half the scale, high half the minimum), codes[64], d, dmin.
void splitQ2_K(Block at, GgmlBlock &parts) {
  parts.superScales[0] = halfAt(at + 80);
  parts.superScales[1] = -halfAt(at + 82);
  for (int group = 0; group < 16; ++group) {
    parts.scaleCodes[group] = at[group] & 15;
    parts.offsetCodes[group] = at[group] >> 4;
  }
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    parts.stored[i] = at[16 + 32 * half + l] >> (2 * shift) & 3;
  }
}

/// Scale i of Q3_K, of twelve bytes with six bits each; 32 stands for zero.
uint8_t scaleOfQ3(Block s, int i) {
  const int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
  const int high = s[8 + (i & 3)] >> (2 * (i >> 2)) & 3;
  return static_cast<uint8_t>(low | high << 4);
}

/// high[32], codes[64], scales[12], d. 4 stands for zero.
void splitQ3_K(Block at, GgmlBlock &parts) {
  parts.superScales[0] = halfAt(at + 108);
  for (int group = 0; group < 16; ++group)
    parts.scaleCodes[group] = scaleOfQ3(at + 96, group);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    const int code = at[32 + 32 * half + l] >> (2 * shift) & 3;
    parts.stored[i] = static_cast<uint8_t>(code | (at[l] >> (4 * half + shift) & 1) << 2);
  }
}

/// Scale and minimum j of eight, six bits each, in the twelve bytes of Q4_K and Q5_K.
void splitPair(Block s, int j, GgmlBlock &parts) {
  const int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
  const int minimum = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | s[j] >> 6 << 4;
  parts.scaleCodes[j] = static_cast<uint8_t>(scale);
  parts.offsetCodes[j] = static_cast<uint8_t>(minimum);
}

/// d, dmin, scales[12], for five bits high[32], codes[128].
template <bool five> void splitQ45_K(Block at, GgmlBlock &parts) {
  parts.superScales[0] = halfAt(at);
  parts.superScales[1] = -halfAt(at + 2);
  const Block high = at + 16, codes = at + (five ? 48 : 16);
  for (int sub = 0; sub < 8; ++sub) {
    splitPair(at + 4, sub, parts);
    for (int l = 0; l < 32; ++l) {
      int code = codes[32 * (sub / 2) + l] >> (4 * (sub % 2)) & 15;
      if (five)
        code |= (high[l] >> sub & 1) << 4;
      parts.stored[32 * sub + l] = static_cast<uint8_t>(code);
    }
  }
}

/// low[128], high[64], i8 scales[16], d. 32 stands for zero.
void splitQ6_K(Block at, GgmlBlock &parts) {
  parts.superScales[0] = halfAt(at + 208);
  for (int group = 0; group < 16; ++group)
    parts.scaleCodes[group] = at[192 + group];
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    const int low = at[64 * half + 32 * (quarter % 2) + l] >> (4 * (quarter / 2)) & 15;
    const int high = at[128 + 32 * half + l] >> (2 * quarter) & 3;
    parts.stored[i] = static_cast<uint8_t>(low | high << 4);
  }
}

//===- Code books ---------------------------------------------------------------------------===//

constexpr std::array<float, 16> iq4Values = {-127, -104, -83, -65, -49, -35, -22, -10,
                                             1,    13,   25,  38,  53,  69,  89,  113};
/// Four-bit floats (sign, two bits of exponent, one of mantissa), doubled: so they are integers.
/// The tables of their scales have halves.
constexpr std::array<float, 16> e2m1Values = {0,     1,  2,  3,  4,  6,  8,  12,
                                              -0.0f, -1, -2, -3, -4, -6, -8, -12};

/// d, u16 high bits of the scales, scales[4], codes[128]. Of scales 32 stands for zero.
void splitIQ4_XS(Block at, GgmlBlock &parts) {
  parts.superScales[0] = halfAt(at);
  const uint16_t high = u16At(at + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const int low = at[4 + sub / 2] >> (4 * (sub % 2)) & 15;
    parts.scaleCodes[sub] = static_cast<uint8_t>(low | (high >> (2 * sub) & 3) << 4);
    splitNibbles(at + 8 + 16 * sub, 0, parts.stored + 32 * sub);
  }
}

/// Two to the power `exponent`, which is one of a normal or subnormal number.
constexpr float powerOfTwo(int exponent) {
  return std::bit_cast<float>(exponent > -127 ? static_cast<uint32_t>(exponent + 127) << 23
                                              : 1u << (149 + exponent));
}

/// Halves of powers of two with bias 127; 255 is not a number.
constexpr auto e8m0Values = [] {
  std::array<float, 256> values{};
  for (int code = 0; code < 255; ++code)
    values[static_cast<size_t>(code)] = powerOfTwo(code - 128);
  values[255] = std::numeric_limits<float>::quiet_NaN();
  return values;
}();

/// Halves of e4m3 without its sign. ggml takes what is not a number for zero.
constexpr auto ue4m3Values = [] {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code) {
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    const bool isNumber = exponent < 15 || mantissa < 7;
    values[static_cast<size_t>(code)] =
        !isNumber       ? 0.0f
        : exponent == 0 ? static_cast<float>(mantissa) * powerOfTwo(-10)
                        : static_cast<float>(8 + mantissa) * powerOfTwo(exponent - 11);
  }
  return values;
}();

void splitMXFP4(Block at, GgmlBlock &parts) {
  parts.scaleCodes[0] = at[0];
  splitNibbles(at + 1, 0, parts.stored);
}

/// Four scales, then for each 16 values 8 bytes: low halves first.
void splitNVFP4(Block at, GgmlBlock &parts) {
  for (int sub = 0; sub < 4; ++sub)
    parts.scaleCodes[sub] = at[sub];
  for (int i = 0; i < 64; ++i)
    parts.stored[i] = at[4 + 8 * (i / 16) + i % 8] >> (i % 16 / 8 * 4) & 15;
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
void splitTQ1_0(Block at, GgmlBlock &parts) {
  *parts.scales = halfAt(at + 52);
  uint8_t *stored = parts.stored;
  constexpr struct {
    int first, bytes, digits;
  } runs[] = {{0, 32, 5}, {32, 16, 5}, {48, 4, 4}};
  for (const auto &run : runs)
    for (int n = 0; n < run.digits; ++n)
      for (int m = 0; m < run.bytes; ++m)
        *stored++ = static_cast<uint8_t>(ternaryDigit(at[run.first + m], n) + minusOne);
}

/// codes[64], d.
void splitTQ2_0(Block at, GgmlBlock &parts) {
  *parts.scales = halfAt(at + 64);
  for (int i = 0; i < 256; ++i) {
    const int code = at[i / 128 * 32 + i % 32] >> (2 * (i % 128 / 32)) & 3;
    parts.stored[i] = static_cast<uint8_t>(code + minusOne);
  }
}

//===- The table ----------------------------------------------------------------------------===//

using Kind = EncodingKind;

/// Scales as they are; as codes in blocks with a super; as places in a table.
constexpr HeldFormat plain(Kind kind, int64_t group, ElementType scale = kF16) {
  return {{kind, group}, scale};
}
constexpr HeldFormat blocks(Kind kind, int64_t group, ElementType code) {
  return {{kind, group, false, kBlockScales}, kF16, code};
}
constexpr HeldFormat table(Kind kind, int64_t group) {
  return {{kind, group, false, kTableScales}, kF32};
}

/// Plain types have `decode`, encoded ones `split`, unknown ones neither.
struct GgmlRow {
  uint32_t number;
  DType dtype;
  void (*decode)(Block element, float *out) = nullptr;
  void (*split)(Block block, GgmlBlock &parts) = nullptr;
  GgmlEncoding encoding = {};
};

// 4, 5, 31 to 33 and 36 to 38 were types once.
constexpr GgmlRow types[] = {
    {0, DType::F32, decodeF32},
    {1, DType::F16, decodeF16},
    {2, DType::Q4_0, nullptr, splitCodes, {plain(Kind::Int4, 32)}},
    {3, DType::Q4_1, nullptr, splitWithMinimum<false>, {plain(Kind::Affine4, 32)}},
    {6, DType::Q5_0, nullptr, splitQ5_0, {plain(Kind::Int5, 32)}},
    {7, DType::Q5_1, nullptr, splitWithMinimum<true>, {plain(Kind::Affine5, 32)}},
    {8, DType::Q8_0, nullptr, splitQ8_0, {plain(Kind::Int8, 32)}},
    {9, DType::Q8_1},
    {10, DType::Q2_K, nullptr, splitQ2_K, {blocks(Kind::Affine2, 16, kI4)}},
    {11, DType::Q3_K, nullptr, splitQ3_K, {blocks(Kind::Int3, 16, kI6)}},
    {12, DType::Q4_K, nullptr, splitQ45_K<false>, {blocks(Kind::Affine4, 32, kI6)}},
    {13, DType::Q5_K, nullptr, splitQ45_K<true>, {blocks(Kind::Affine5, 32, kI6)}},
    {14, DType::Q6_K, nullptr, splitQ6_K, {blocks(Kind::Int6, 16, kI8)}},
    {15, DType::Q8_K},
    {16, DType::IQ2_XXS, nullptr, splitIQ2_XXS, {plain(Kind::CodeBook4, 32, kF32), iq2Values}},
    {17, DType::IQ2_XS, nullptr, splitIQ2_XS, {plain(Kind::CodeBook4, 16, kF32), iq2Values}},
    {18, DType::IQ3_XXS, nullptr, splitIQ3_XXS, {plain(Kind::CodeBook4, 32, kF32), iq3xxsValues}},
    {19, DType::IQ1_S, nullptr, splitIQ1_S, {plain(Kind::CodeBook4, 32, kF32), iq1Values}},
    {20, DType::IQ4_NL, nullptr, splitCodes, {plain(Kind::CodeBook4, 32), iq4Values}},
    {21, DType::IQ3_S, nullptr, splitIQ3_S, {plain(Kind::CodeBook4, 32, kF32), iq3sValues}},
    {22, DType::IQ2_S, nullptr, splitIQ2_S, {plain(Kind::CodeBook4, 16, kF32), iq2Values}},
    {23, DType::IQ4_XS, nullptr, splitIQ4_XS, {blocks(Kind::CodeBook4, 32, kI6), iq4Values}},
    {24, DType::I8},
    {25, DType::I16},
    {26, DType::I32},
    {27, DType::I64},
    {28, DType::F64},
    {29, DType::IQ1_M, nullptr, splitIQ1_M, {plain(Kind::CodeBook4, 16, kF32), iq1Values}},
    {30, DType::BF16, decodeBF16},
    {34, DType::TQ1_0, nullptr, splitTQ1_0, {plain(Kind::Int4, 256)}},
    {35, DType::TQ2_0, nullptr, splitTQ2_0, {plain(Kind::Int4, 256)}},
    {39, DType::MXFP4, nullptr, splitMXFP4, {table(Kind::CodeBook4, 32), e2m1Values, e8m0Values}},
    {40, DType::NVFP4, nullptr, splitNVFP4, {table(Kind::CodeBook4, 16), e2m1Values, ue4m3Values}},
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

/// What scale code `code` of a block stands for, before and after it meets its super.
float scaleOf(const GgmlEncoding &encoding, uint8_t code, float super) {
  if (!encoding.scaleTable.empty())
    return encoding.scaleTable[code];
  const ElementType element = encoding.held.code;
  const int number = element == kI8 ? static_cast<int8_t>(code)
                                    : code - encoding.held.encoding.codeMiddle(element);
  return super * static_cast<float>(number);
}

/// What stored number `stored` stands for before it is scaled.
float numberOf(const GgmlEncoding &encoding, uint8_t stored) {
  const Encoding &held = encoding.held.encoding;
  if (held.hasCodeBook())
    return encoding.codeBook[stored];
  return static_cast<float>(held.bits() == 8 ? static_cast<int8_t>(stored)
                                             : stored - held.middle());
}

void decodeBlock(const GgmlRow &row, Block block, float *out) {
  if (row.decode)
    return row.decode(block, out);
  GgmlBlock parts;
  row.split(block, parts);
  const GgmlEncoding &encoding = row.encoding;
  const Encoding &held = encoding.held.encoding;
  const bool coded = held.hasSuperScales();
  for (uint32_t i = 0; i < dtypeUnit(row.dtype).elements; ++i) {
    const uint32_t group = i / static_cast<uint32_t>(held.group);
    const float scale = coded ? scaleOf(encoding, parts.scaleCodes[group], parts.superScales[0])
                              : parts.scales[group];
    const float product = scale * numberOf(encoding, parts.stored[i]);
    out[i] = product;
    if (held.hasOffsets())
      out[i] = product + (coded ? scaleOf(encoding, parts.offsetCodes[group], parts.superScales[1])
                                : parts.offsets[group]);
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

void splitGgml(DType dtype, const std::byte *block, GgmlBlock &parts) {
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
