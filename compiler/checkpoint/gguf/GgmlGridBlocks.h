// SPDX-License-Identifier: Apache-2.0
// Blocks that name rows of a grid (IQ1, IQ2, IQ3). Such a row's digits and a bit with each are
// codes of four bits: the digit, and 8 where the bit is set.
#pragma once

#include "compiler/checkpoint/gguf/GgmlBlock.h"

#include <array>

namespace ingot::checkpoint::ggml {

/// The bit is the number's sign.
inline constexpr std::array<float, 16> iq2Values = {8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43};
inline constexpr std::array<float, 16> iq3xxsValues = {4,  12,  20,  28,  36,  44,  52,  62,
                                                       -4, -12, -20, -28, -36, -44, -52, -62};
inline constexpr std::array<float, 16> iq3sValues = {1,  3,  5,  7,  9,  11,  13,  15,
                                                     -1, -3, -5, -7, -9, -11, -13, -15};
/// -1, 0 and 1 plus an eighth or, where the bit is set, less one; in eighths.
inline constexpr std::array<float, 16> iq1Values = {-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7};

// Any bits are a block: indices have just the bits that their grid has rows for. No scale is
// rounded: a half has 11 bits, and what multiplies it at most 5.
void splitIQ1_S(const uint8_t *at, GgmlBlock &parts);
void splitIQ1_M(const uint8_t *at, GgmlBlock &parts);
void splitIQ2_XXS(const uint8_t *at, GgmlBlock &parts);
void splitIQ2_XS(const uint8_t *at, GgmlBlock &parts);
void splitIQ2_S(const uint8_t *at, GgmlBlock &parts);
void splitIQ3_XXS(const uint8_t *at, GgmlBlock &parts);
void splitIQ3_S(const uint8_t *at, GgmlBlock &parts);

} // namespace ingot::checkpoint::ggml
