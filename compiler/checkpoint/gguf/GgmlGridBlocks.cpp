// SPDX-License-Identifier: Apache-2.0
// All blocks have 256 numbers. Group n of them has scale n; row n is of numbers 8 n, or 4 n (IQ3).
#include "compiler/checkpoint/gguf/GgmlGridBlocks.h"

#include "compiler/checkpoint/gguf/GgmlBytes.h"
#include "compiler/checkpoint/gguf/GgmlGrids.h"

namespace ingot::checkpoint::ggml {

namespace {

/// Codes of a row whose digits have `bits`; bit n of `marks` goes with digit n.
template <int bits> void putRow(uint16_t row, uint32_t marks, uint8_t *stored) {
  constexpr int digits = bits == 2 ? 8 : 4, mask = (1 << bits) - 1;
  for (int i = 0; i < digits; ++i)
    stored[i] = static_cast<uint8_t>((row >> (bits * i) & mask) | (marks >> i & 1) << 3);
}

/// Two rows of four digits, with the marks of eight.
void putPair(uint16_t first, uint16_t second, uint32_t marks, uint8_t *stored) {
  putRow<3>(first, marks, stored);
  putRow<3>(second, marks >> 4, stored + 4);
}

/// Eight signs of which seven are stored: an even number of them is minus.
uint32_t evenSigns(uint32_t seven) {
  return seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7;
}

/// d * (2 n + 1), in units of `unit`, a power of two.
float oddScale(float d, int n, float unit) { return d * static_cast<float>(2 * n + 1) * unit; }

int nibble(Block at, int n) { return at[n / 2] >> (4 * (n % 2)) & 15; }

} // namespace

/// d, rows[32] (low eight bits), for each group of 32 three high bits of four rows, three of the
/// scale and one that all its numbers share.
void splitIQ1_S(Block at, GgmlBlock &parts) {
  for (int group = 0; group < 8; ++group) {
    const int high = u16At(at + 34 + 2 * group);
    parts.scales[group] = oddScale(halfAt(at), high >> 12 & 7, 0.125f);
    for (int n = 0; n < 4; ++n) {
      const int row = at[2 + 4 * group + n] | (high >> (3 * n) & 7) << 8;
      putRow<2>(iq1Grid[static_cast<size_t>(row)], high >> 15 ? 255 : 0,
                parts.stored + 32 * group + 8 * n);
    }
  }
}

/// rows[32] (low eight bits), a nibble for each row (three high bits, one that its numbers share),
/// four words: 12 bits of scales, four of d.
void splitIQ1_M(Block at, GgmlBlock &parts) {
  int d = 0;
  for (int n = 0; n < 4; ++n)
    d |= u16At(at + 48 + 2 * n) >> 12 << (4 * n);
  for (int group = 0; group < 16; ++group) {
    const int scale = u16At(at + 48 + 2 * (group / 4)) >> (3 * (group % 4)) & 7;
    parts.scales[group] = oddScale(half(static_cast<uint16_t>(d)), scale, 0.125f);
  }
  for (int n = 0; n < 32; ++n) {
    const int high = nibble(at + 32, n), row = at[n] | (high & 7) << 8;
    putRow<2>(iq1Grid[static_cast<size_t>(row)], high & 8 ? 255 : 0, parts.stored + 8 * n);
  }
}

/// d, for each group of 32 four rows and a word: four times seven signs, four bits of scale.
void splitIQ2_XXS(Block at, GgmlBlock &parts) {
  for (int group = 0; group < 8; ++group) {
    const Block rows = at + 2 + 8 * group;
    const uint32_t word = u32At(rows + 4);
    parts.scales[group] = oddScale(halfAt(at), static_cast<int>(word >> 28), 0.125f);
    for (int n = 0; n < 4; ++n)
      putRow<2>(iq2xxsGrid[rows[n]], evenSigns(word >> (7 * n) & 127),
                parts.stored + 32 * group + 8 * n);
  }
}

/// d, words[32] (nine bits of the row, seven signs), scales[8].
void splitIQ2_XS(Block at, GgmlBlock &parts) {
  for (int group = 0; group < 16; ++group)
    parts.scales[group] = oddScale(halfAt(at), nibble(at + 66, group), 0.125f);
  for (int n = 0; n < 32; ++n) {
    const uint32_t word = u16At(at + 2 + 2 * n);
    putRow<2>(iq2xsGrid[word & 511], evenSigns(word >> 9), parts.stored + 8 * n);
  }
}

/// d, rows[32] (low eight bits), signs[32], two high bits of each row, scales[8].
void splitIQ2_S(Block at, GgmlBlock &parts) {
  for (int group = 0; group < 16; ++group)
    parts.scales[group] = oddScale(halfAt(at), nibble(at + 74, group), 0.125f);
  for (int n = 0; n < 32; ++n) {
    const int row = at[2 + n] | (at[66 + n / 4] >> (2 * (n % 4)) & 3) << 8;
    putRow<2>(iq2sGrid[static_cast<size_t>(row)], at[34 + n], parts.stored + 8 * n);
  }
}

/// d, rows[64], a word for each group of 32: four times seven signs, four bits of scale.
void splitIQ3_XXS(Block at, GgmlBlock &parts) {
  for (int group = 0; group < 8; ++group) {
    const uint32_t word = u32At(at + 66 + 4 * group);
    parts.scales[group] = oddScale(halfAt(at), static_cast<int>(word >> 28), 0.25f);
    for (int n = 0; n < 4; ++n) {
      const Block rows = at + 2 + 8 * group + 2 * n;
      putPair(iq3xxsGrid[rows[0]], iq3xxsGrid[rows[1]], evenSigns(word >> (7 * n) & 127),
              parts.stored + 32 * group + 8 * n);
    }
  }
}

/// d, rows[64] (low eight bits), the ninth bit of each, signs[32], scales[4].
void splitIQ3_S(Block at, GgmlBlock &parts) {
  for (int group = 0; group < 8; ++group)
    parts.scales[group] = oddScale(halfAt(at), nibble(at + 106, group), 1);
  for (int n = 0; n < 32; ++n) {
    const int high = at[66 + n / 4] >> (2 * (n % 4));
    const auto row = [&](int i) {
      return iq3sGrid[static_cast<size_t>(at[2 + 2 * n + i] | (high >> i & 1) << 8)];
    };
    putPair(row(0), row(1), at[74 + n], parts.stored + 8 * n);
  }
}

} // namespace ingot::checkpoint::ggml
