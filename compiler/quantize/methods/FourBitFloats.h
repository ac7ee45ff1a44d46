// SPDX-License-Identifier: Apache-2.0
// Floats of 4 bits whose blocks share a scale: the code books of bitsandbytes, NVFP4 and MXFP4.
#pragma once

#include "compiler/quantize/methods/Grid.h"

namespace ingot::quantize {

/// The 16 values of bitsandbytes' types (QLoRA, arXiv 2305.14314), of at most 1.
enum class CodeBook : uint8_t { NF4, FP4 };
std::span<const float, 16> valuesOf(CodeBook book);

struct BookBlocks {
  std::vector<uint8_t> codes; ///< 0 ... 15, one each
  std::vector<float> absmax;  ///< of each block: value = absmax * book[code]
};

/// `count` values in blocks of `block` neighbours; of two codes as near the lower value is taken.
/// Refuses values that are not finite.
Expected<BookBlocks> roundToBook(const float *values, int64_t count, CodeBook book, int64_t block,
                                 unsigned threads);

/// Row-major, elements e2m1.
struct FloatBlocks {
  int64_t rows = 0, columns = 0, block = 0; ///< blocks are in rows; the last may be short
  bool isPowerOfTwo = false;                ///< MXFP4: scales are exponents plus 127; else e4m3
  float tensorScale = 1;                    ///< 1 of MXFP4
  std::vector<uint8_t> codes;               ///< [rows, columns], 0 ... 15
  std::vector<uint8_t> scales;              ///< [rows, blocks]

  int64_t blocks() const { return block == 0 ? 0 : (columns + block - 1) / block; }
  /// tensorScale times the scale of a block.
  float scaleOf(int64_t row, int64_t index) const;
  void dequantize(float *out) const; ///< [rows, columns]
};

struct FloatBlockOptions {
  /// Scales next to the usual one, up and down, that are tried: the one with the smallest squared
  /// error, weighed by importance, is taken. Of NVFP4 in steps of e4m3, of MXFP4 powers of two.
  int32_t sweep = 0;
  /// NVFP4: also the scale that maps a block's largest magnitude to 4 instead of 6 (Four Over Six,
  /// arXiv 2512.02010). The tensor's scale then leaves room for it: its largest maps to 256, not
  /// 448.
  bool fourOverSix = false;
  unsigned threads = 1;
};

/// NVFP4: blocks of 16, tensorScale = absmax / (6 * 448). `importance` is [columns] or empty.
/// Refuses numbers that are not finite.
Expected<FloatBlocks> roundToNvfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options);
/// MXFP4 (OCP Microscaling 1.0): blocks of 32; the usual exponent is that of absmax, less 2.
Expected<FloatBlocks> roundToMxfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options);

} // namespace ingot::quantize
