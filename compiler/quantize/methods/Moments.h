// SPDX-License-Identifier: Apache-2.0
// What GPTQ knows of a module's inputs: sums of products of their elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::quantize {

/// The sum of x xᵀ over rows x, and with asymmetric calibration (GPTAQ) that of
/// (original - x) xᵀ, in f32. The same rows in the same calls give the same bytes, however many
/// threads add them.
class Moments {
public:
  explicit Moments(int64_t columns, bool asymmetric = false);
  /// Knows the squares of columns alone.
  static Moments ofSquares(int64_t columns);

  /// Adds rows [count, columns]. Rows that are not finite make sums that gptq() refuses.
  void add(const float *rows, int64_t count, unsigned threads);
  /// The same, asymmetric: `originalRows` are what the unquantized model has in these places.
  /// Scratch: 4 bytes an element of at most 2048 rows.
  void add(const float *rows, const float *originalRows, int64_t count, unsigned threads);

  /// The sums as if each column of all rows had been divided by its scale: [columns], > 0.
  void divideColumns(std::span<const float> scales);

  int64_t columns() const { return size; }
  int64_t count() const { return rowCount; }
  bool isAsymmetric() const { return !crossSums.empty(); }
  /// [columns, columns], symmetric. Null if it knows squares alone. The first call after add() is
  /// for one thread alone.
  const float *second() const;
  /// [columns, columns]; row: of the difference, column: of x. Null if not asymmetric.
  const float *cross() const { return crossSums.empty() ? nullptr : crossSums.data(); }
  /// The mean square of each column.
  std::vector<float> meanSquares() const;
  /// What this holds: 4 bytes for each pair of columns, 8 if asymmetric; 8 for each of columns if
  /// it knows squares alone.
  uint64_t bytes() const {
    return (sums.size() + crossSums.size()) * sizeof(float) + squares.size() * sizeof(double);
  }

private:
  int64_t size, rowCount = 0;
  mutable std::vector<float> sums; ///< their upper triangle is that of the last mirroring
  mutable bool isMirrored = true;
  std::vector<float> crossSums;
  std::vector<double> squares; ///< of columns, where there are no sums
};

} // namespace ingot::quantize
