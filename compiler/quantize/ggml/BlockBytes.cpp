// SPDX-License-Identifier: Apache-2.0
// One function for each layout; each mirrors one of GgmlBlocks.cpp.
#include "compiler/quantize/ggml/BlockBytes.h"

#include <cstring>

namespace ingot::quantize {

using checkpoint::DType;
using checkpoint::GgmlBlock;

namespace {

void putU16(uint8_t *at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value);
  at[1] = static_cast<uint8_t>(value >> 8);
}
void putHalf(uint8_t *at, float value) { putU16(at, halfBits(value)); }

void putNibbles(const uint8_t *stored, uint8_t *at) {
  for (int j = 0; j < 16; ++j)
    at[j] = static_cast<uint8_t>((stored[j] & 15) | stored[j + 16] << 4);
}
void putFifth(const uint8_t *stored, uint8_t *at) {
  for (int j = 0; j < 32; ++j)
    at[j / 8] = static_cast<uint8_t>(at[j / 8] | (stored[j] >> 4 & 1) << (j % 8));
}

/// Two bits of each of 256 codes, from bit `first` on, in the order of Q2_K, Q3_K and Q6_K.
void putPairs(const uint8_t *stored, int first, uint8_t *at) {
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, shift = i % 128 / 32, l = i % 32;
    at[32 * half + l] =
        static_cast<uint8_t>(at[32 * half + l] | (stored[i] >> first & 3) << (2 * shift));
  }
}

void joinQ2_K(const GgmlBlock &parts, uint8_t *at) {
  for (int group = 0; group < 16; ++group)
    at[group] = static_cast<uint8_t>(parts.scaleCodes[group] | parts.offsetCodes[group] << 4);
  putPairs(parts.stored, 0, at + 16);
  putHalf(at + 80, parts.superScales[0]);
  putHalf(at + 82, -parts.superScales[1]);
}

void joinQ3_K(const GgmlBlock &parts, uint8_t *at) {
  for (int i = 0; i < 256; ++i)
    at[i % 32] = static_cast<uint8_t>(at[i % 32] | (parts.stored[i] >> 2 & 1) << (i / 32));
  putPairs(parts.stored, 0, at + 32);
  uint8_t *scales = at + 96;
  for (int i = 0; i < 16; ++i) {
    const int code = parts.scaleCodes[i];
    scales[i % 8] = static_cast<uint8_t>(scales[i % 8] | (code & 15) << (i < 8 ? 0 : 4));
    scales[8 + i % 4] = static_cast<uint8_t>(scales[8 + i % 4] | (code >> 4) << (2 * (i / 4)));
  }
  putHalf(at + 108, parts.superScales[0]);
}

template <bool five> void joinQ45_K(const GgmlBlock &parts, uint8_t *at) {
  putHalf(at, parts.superScales[0]);
  putHalf(at + 2, -parts.superScales[1]);
  uint8_t *scales = at + 4;
  for (int j = 0; j < 4; ++j) {
    const int low = parts.scaleCodes[j], high = parts.scaleCodes[j + 4];
    const int lowOffset = parts.offsetCodes[j], highOffset = parts.offsetCodes[j + 4];
    scales[j] = static_cast<uint8_t>(low | high >> 4 << 6);
    scales[j + 4] = static_cast<uint8_t>(lowOffset | highOffset >> 4 << 6);
    scales[j + 8] = static_cast<uint8_t>((high & 15) | (highOffset & 15) << 4);
  }
  uint8_t *fifth = at + 16, *codes = at + (five ? 48 : 16);
  for (int i = 0; i < 256; ++i) {
    const int sub = i / 32, l = i % 32, code = parts.stored[i];
    uint8_t &pair = codes[32 * (sub / 2) + l];
    pair = static_cast<uint8_t>(pair | (code & 15) << (4 * (sub % 2)));
    if (five)
      fifth[l] = static_cast<uint8_t>(fifth[l] | (code >> 4 & 1) << sub);
  }
}

void joinQ6_K(const GgmlBlock &parts, uint8_t *at) {
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    uint8_t &low = at[64 * half + 32 * (quarter % 2) + l];
    low = static_cast<uint8_t>(low | (parts.stored[i] & 15) << (4 * (quarter / 2)));
  }
  putPairs(parts.stored, 4, at + 128);
  std::memcpy(at + 192, parts.scaleCodes, 16);
  putHalf(at + 208, parts.superScales[0]);
}

void joinIQ4_XS(const GgmlBlock &parts, uint8_t *at) {
  putHalf(at, parts.superScales[0]);
  uint16_t high = 0;
  for (int sub = 0; sub < 8; ++sub) {
    const int code = parts.scaleCodes[sub];
    at[4 + sub / 2] = static_cast<uint8_t>(at[4 + sub / 2] | (code & 15) << (4 * (sub % 2)));
    high = static_cast<uint16_t>(high | (code >> 4) << (2 * sub));
    putNibbles(parts.stored + 32 * sub, at + 8 + 16 * sub);
  }
  putU16(at + 2, high);
}

} // namespace

void joinGgml(DType dtype, const GgmlBlock &parts, std::byte *block) {
  auto *at = reinterpret_cast<uint8_t *>(block);
  std::memset(at, 0, checkpoint::dtypeUnit(dtype).bits / 8);
  switch (dtype) {
  case DType::Q4_0:
  case DType::IQ4_NL:
    putHalf(at, parts.scales[0]);
    return putNibbles(parts.stored, at + 2);
  case DType::Q4_1:
    putHalf(at, parts.scales[0]);
    putHalf(at + 2, parts.offsets[0]);
    return putNibbles(parts.stored, at + 4);
  case DType::Q5_0:
    putHalf(at, parts.scales[0]);
    putFifth(parts.stored, at + 2);
    return putNibbles(parts.stored, at + 6);
  case DType::Q5_1:
    putHalf(at, parts.scales[0]);
    putHalf(at + 2, parts.offsets[0]);
    putFifth(parts.stored, at + 4);
    return putNibbles(parts.stored, at + 8);
  case DType::Q8_0:
    putHalf(at, parts.scales[0]);
    std::memcpy(at + 2, parts.stored, 32);
    return;
  case DType::Q2_K:
    return joinQ2_K(parts, at);
  case DType::Q3_K:
    return joinQ3_K(parts, at);
  case DType::Q4_K:
    return joinQ45_K<false>(parts, at);
  case DType::Q5_K:
    return joinQ45_K<true>(parts, at);
  case DType::Q6_K:
    return joinQ6_K(parts, at);
  case DType::IQ4_XS:
    return joinIQ4_XS(parts, at);
  default:
    return;
  }
}

} // namespace ingot::quantize
