// SPDX-License-Identifier: Apache-2.0
// Randomized Hadamard transforms: rotations that spread what stands out in one column over all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace ingot::quantize {

/// The orthogonal matrix Q = D H / sqrt(width): D has random signs, H is Sylvester's product of a
/// Hadamard matrix of a power of two and one of Paley's.
class HadamardTransform {
public:
  /// Nothing where no such matrix of this width is known: it must be 1, 2, or 2^k (q + 1) for a
  /// prime q = 3 mod 4, or 2^k 2 (q + 1) for a prime q = 1 mod 4.
  static std::optional<HadamardTransform> create(int64_t width, uint64_t seed);

  int64_t width() const { return static_cast<int64_t>(signs.size()); }

  /// Every run of `width` columns x of values [rows, columns] becomes x Q. Sums in f64, rounded
  /// once; the same for any number of threads. Scratch: 128 bytes for each of `width` and thread.
  void applyToColumns(float *values, int64_t rows, int64_t columns, unsigned threads) const;
  /// Every run of `width` rows X becomes transpose(Q) X, likewise.
  void applyToRows(float *values, int64_t rows, int64_t columns, unsigned threads) const;

private:
  HadamardTransform() = default;
  struct Lanes;
  void apply(Lanes *x, Lanes *scratch) const;
  /// All vectors, `vectorStride` apart, of `runs` runs each, whose elements are `stride` apart.
  void applyToRuns(float *values, int64_t vectors, int64_t vectorStride, int64_t runs,
                   int64_t stride, unsigned threads) const;

  std::vector<float> signs;  ///< [width]: D
  int64_t order = 1;         ///< of Paley's matrix, which divides the width
  std::vector<int8_t> paley; ///< [order, order]: 1 and -1
};

} // namespace ingot::quantize
