// SPDX-License-Identifier: Apache-2.0
// Products of small matrices, as tensor cores form them: the arithmetic behind mma and wgmma.
#pragma once

#include <cstdint>

namespace ingot::simulator {

/// Element types of tensor-core operands.
enum class Element : uint8_t { F16, Bf16, E4m3, E5m2, S8, U8, Tf32 };

/// Bytes of an element.
uint32_t elementBytes(Element element);
/// `count` elements as f32, which holds every one of them exactly.
void widen(Element element, const uint8_t *from, uint32_t count, float *to);

/// Eight rows of `depth` numbers, 4 or a multiple of 8, as `depth` rows of eight.
void transposeRows(const float *from, uint32_t depth, float *to);

/// The registers of a warp that hold 16 x 8 sums: lane 4g + t of words 0 and 1 has columns 2t and
/// 2t + 1 of row g, of words 2 and 3 those of row g + 8. A tile has them row after row.
struct Sums {
  uint32_t *words[4];

  void read(float *tile) const;
  void write(const float *tile) const;
  /// f16, two columns to a word: word 0 has rows 0 to 7, word 1 the others.
  void readHalf(float *tile) const;
  void writeHalf(const float *tile) const;
  /// Integers: those of `addends`, which may be the same registers, and of `tile`, exact there.
  void writeSum(const Sums &addends, const float *tile, bool saturates) const;
};

/// How the hardware sums: products exact, aligned to the largest exponent, cut to `fractionBits`
/// below it, `group` products and the addend at a time.
struct ExactSum {
  uint32_t fractionBits = 24;
  uint32_t group = 8;
  uint32_t resultFractionBits = 23; // of the f32 result: 13 for e8m13
};

/// The published model for an architecture (10 * major + minor) and operand type.
ExactSum exactSumOf(uint32_t architecture, Element element, bool wgmma);

/// accumulators[row * 8 + column] += sum over k of a[row * depth + k] * b[k * 8 + column], one
/// fused step per k; 8 columns.
void multiplyTile(const float *a, const float *b, float *accumulators, uint32_t rows,
                  uint32_t depth);
/// The same, summed as `sum` says.
void multiplyTileExact(const float *a, const float *b, float *accumulators, uint32_t rows,
                       uint32_t depth, const ExactSum &sum);

} // namespace ingot::simulator
