// SPDX-License-Identifier: Apache-2.0
// Books of 16 values: those of bitsandbytes, and e2m1. Blocks of neighbours share a scale.
#pragma once

#include "compiler/quantize/methods/Grid.h"

#include <array>

namespace ingot::quantize {

/// NF4 and FP4: of bitsandbytes (QLoRA, arXiv 2305.14314), of at most 1; E2M1: of at most 6.
enum class CodeBook : uint8_t { NF4, FP4, E2M1 };

/// A book by rising values.
struct RisingBook {
  std::array<float, 16> values;
  std::array<uint8_t, 16> codes; ///< as they are stored
};

/// What each code stands for. Lives forever, as does the other.
std::span<const float, 16> valuesOf(CodeBook book);
const RisingBook &risingBook(CodeBook book);

/// Scales of blocks that are quantized in their turn: dynamicBook()[code] * absmax + offset.
struct NestedScales {
  static constexpr int64_t kBlock = 256;

  std::vector<uint8_t> codes; ///< of each block
  std::vector<float> absmax;  ///< of each kBlock of them
  float offset = 0;

  bool isThere() const { return !codes.empty(); }
};
/// bitsandbytes' numbers of 8 bits (arXiv 1511.04561), rising: of a sign, a power of ten and what
/// is left of the bits.
std::span<const float, 256> dynamicBook();

/// A matrix [rows, columns] in blocks of its elements, which may cross rows.
struct BookBlocks {
  CodeBook book = CodeBook::NF4;
  int64_t rows = 0, columns = 0, block = 64;
  std::vector<uint8_t> codes; ///< 0 ... 15, one each
  std::vector<float> scales;  ///< of each block: value = scale * book[code]
  NestedScales nested;        ///< what scales are stored as, where they are quantized

  void dequantize(float *out) const; ///< [rows, columns]
  /// Whether every row is a whole number of blocks.
  bool isByRow() const { return columns % block == 0; }
  /// Of blocks by row: the matrix with these scales and the rising book, without codes.
  QuantizedMatrix scaled() const;
  /// The codes of such a matrix.
  void take(const QuantizedMatrix &matrix);
};

struct BookOptions {
  CodeBook book = CodeBook::NF4;
  int64_t block = 64;
  bool nested = false; ///< scales are quantized, before codes are chosen
  unsigned threads = 1;
};

/// Scales are the largest magnitudes of blocks; of two codes as near the lower value is taken.
/// Refuses values that are not finite.
Expected<BookBlocks> roundToBook(const float *weight, int64_t rows, int64_t columns,
                                 const BookOptions &options);

} // namespace ingot::quantize
