// SPDX-License-Identifier: Apache-2.0
// What GPTQ knows of a module's inputs: sums of products of their elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ingot::quantize {

/// Which sums of (original - x) xᵀ there are, for asymmetric calibration (GPTAQ).
enum class CrossSums : uint8_t {
  None,
  Whole,
  /// Those alone that GPTQ reads when it takes columns in an order that the first 4096 rows decide:
  /// of the others half as much is to compute.
  Ordered,
};

/// The sum of x xᵀ over rows x, and sums of (original - x) xᵀ, in f32. The same rows give the same
/// bytes, in however many calls and on however many threads. Rows wait until there are a quarter as
/// many as columns (512 to 2048): so much more memory is taken until finish().
class Moments {
public:
  explicit Moments(int64_t columns, CrossSums kind = CrossSums::None);
  /// Knows the squares of columns alone.
  static Moments ofSquares(int64_t columns);

  /// Adds rows [count, columns]. Rows that are not finite make sums that gptq() refuses.
  void add(const float *rows, int64_t count, unsigned threads);
  /// The same, asymmetric: `originalRows` are what the unquantized model has in these places.
  void add(const float *rows, const float *originalRows, int64_t count, unsigned threads);

  /// Adds the rows that wait, and frees their memory: what reads sums does so as well. For one
  /// thread alone the first time after add().
  void finish() const;

  /// The sums as if each column of all rows had been divided by its scale: [columns], > 0.
  void divideColumns(std::span<const float> scales);

  int64_t columns() const { return size; }
  int64_t count() const { return rowCount; }
  bool isAsymmetric() const { return kind != CrossSums::None; }
  /// [columns, columns], symmetric. Null if it knows squares alone.
  const float *second() const;
  /// [columns, columns]; row: of the difference, column: of x. Null if not asymmetric. Ordered:
  /// rows and columns are in order(), and only what is above the diagonal means anything.
  const float *cross() const;
  /// Of ordered cross sums the columns by falling squares in the rows that came first; else empty.
  std::span<const int32_t> order() const;
  /// The mean square of each column.
  std::vector<float> meanSquares() const;
  /// The mean of second()'s diagonal over the columns that were not always 0; 1 if all were.
  double meanOfDiagonal() const;
  /// What this holds when no row waits: 4 bytes for each pair of columns, 8 if asymmetric; 8 for
  /// each of columns if it knows squares alone.
  uint64_t bytes() const {
    return (sums.size() + crossSums.size()) * sizeof(float) + squares.size() * sizeof(double);
  }
  /// What waiting rows take at most with cross sums; bringing these in order takes 4 bytes for each
  /// pair of columns beside it.
  static uint64_t waitingBytes(int64_t columns);

private:
  void wait(const float *rows, const float *originalRows, int64_t count, unsigned threads);
  /// What waits belongs to the sums.
  void addWaiting() const;
  void addOrdered(int64_t count) const;
  void decideOrder() const;

  int64_t size, rowCount = 0;
  mutable int64_t addedRows = 0; ///< that wait no more
  CrossSums kind;
  // What waits becomes sums when those are asked for.
  mutable std::vector<float> sums; ///< their upper triangle is that of the last mirroring
  mutable std::vector<float> crossSums;
  mutable std::vector<int32_t> columnOrder;
  mutable std::vector<float> waiting, differences; ///< rows that are not in the sums yet
  mutable bool isFinished = true;
  unsigned lastThreads = 1;
  std::vector<double> squares; ///< of columns, where there are no sums
};

} // namespace ingot::quantize
