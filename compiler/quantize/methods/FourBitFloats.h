// SPDX-License-Identifier: Apache-2.0
// NVFP4 and MXFP4: floats of 4 bits whose blocks share a scale.
#pragma once

#include "compiler/quantize/methods/CodeBooks.h"

namespace ingot::quantize {

/// Row-major, elements e2m1.
struct FloatBlocks {
  int64_t rows = 0, columns = 0, block = 0; ///< blocks are in rows; the last may be short
  bool isPowerOfTwo = false;                ///< MXFP4: scales are exponents plus 127; else e4m3
  float globalScale = 1;                    ///< by which scales are divided; 1 of MXFP4
  std::vector<uint8_t> codes;               ///< [rows, columns], 0 ... 15
  std::vector<uint8_t> scales;              ///< [rows, blocks]

  int64_t blocks() const { return block == 0 ? 0 : (columns + block - 1) / block; }
  /// The scale of a block over the global one.
  float scaleOf(int64_t row, int64_t index) const;
  void dequantize(float *out) const; ///< [rows, columns]
  /// The matrix with these scales and the rising book, without codes.
  QuantizedMatrix scaled() const;
  /// The codes of such a matrix.
  void take(const QuantizedMatrix &matrix);
};

struct FloatBlockOptions {
  /// Scales next to the usual one, up and down, that are tried: the one with the smallest squared
  /// error, weighed by importance, is taken. Of NVFP4 in steps of e4m3, of MXFP4 powers of two.
  int32_t sweep = 0;
  /// NVFP4: also the scale that maps a block's largest magnitude to 4 instead of 6 (Four Over Six,
  /// arXiv 2512.02010). The tensor's scale then leaves room for it: its largest maps to 256, not
  /// 448.
  bool fourOverSix = false;
  /// NVFP4: the largest magnitude of matrices that have the global scale in common with this one.
  float largest = 0;
  unsigned threads = 1;
};

/// NVFP4: blocks of 16, globalScale = 6 * 448 / absmax. `importance` is [columns] or empty.
/// Refuses numbers that are not finite.
Expected<FloatBlocks> roundToNvfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options);
/// MXFP4 (OCP Microscaling 1.0): blocks of 32; the usual exponent is that of absmax, less 2.
Expected<FloatBlocks> roundToMxfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options);

} // namespace ingot::quantize
