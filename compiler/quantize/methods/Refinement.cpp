// SPDX-License-Identifier: Apache-2.0
// Coordinate descent over codes. The gradient of a block of rows is kept for all columns; those of
// a block of columns are followed one by one, the others after the block.
#include "compiler/quantize/methods/Gptq.h"
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>
#include <numeric>

namespace ingot::quantize {

namespace {

constexpr int64_t kRows = 128, kColumns = 128;

class Descent {
public:
  Descent(QuantizedMatrix &matrix, const float *weight, const Moments &moments, float damping,
          int64_t first)
      : matrix(matrix), weight(weight), moments(moments), damping(damping), first(first),
        rows(std::min(kRows, matrix.rows - first)), n(matrix.columns),
        gradient(static_cast<size_t>(rows * n)), local(static_cast<size_t>(kColumns * rows)),
        changes(local.size()), scales(static_cast<size_t>(rows)), lows(scales.size()),
        highs(scales.size()), codes(scales.size()) {}

  double run(const GptqOptions &options) {
    if (options.sweeps > 0) {
      const std::vector<float> differences = addErrors();
      addScaled(gradient.data(), differences.data(), damping, rows * n);
      if (moments.isAsymmetric())
        addProduct(gradient.data(), n, rows, n, n, {weight + first * n, n}, {moments.cross(), n},
                   -static_cast<float>(options.asymmetry));
      for (int32_t i = 0; i < options.sweeps && sweep(); ++i)
        ;
    }
    std::fill(gradient.begin(), gradient.end(), 0.0f);
    const std::vector<float> differences = addErrors();
    return dotProduct(differences.data(), gradient.data(), rows * n);
  }

private:
  /// Adds dW H to the gradient; returns dW.
  std::vector<float> addErrors() {
    std::vector<float> differences(gradient.size());
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < n; ++column) {
        const int64_t group = matrix.groupOfColumn(column), place = (first + row) * n + column;
        differences[static_cast<size_t>(row * n + column)] =
            matrix.valueOf(first + row, group, matrix.codes[static_cast<size_t>(place)]) -
            weight[place];
      }
    addProduct(gradient.data(), n, rows, n, n, {differences.data(), n}, {moments.second(), n});
    return differences;
  }

  /// Whether a code changed.
  bool sweep() {
    bool moved = false;
    for (int64_t begin = 0; begin < n; begin += kColumns) {
      const int64_t count = std::min(kColumns, n - begin);
      if (!descend(begin, count))
        continue;
      moved = true;
      addProduct(gradient.data(), n, rows, n, count, {changes.data(), rows, true},
                 {moments.second() + begin * n, n});
      for (int64_t k = 0; k < count; ++k)
        for (int64_t row = 0; row < rows; ++row)
          gradient[static_cast<size_t>(row * n + begin + k)] +=
              damping * changes[static_cast<size_t>(k * rows + row)];
    }
    return moved;
  }

  bool descend(int64_t begin, int64_t count) {
    bool moved = false;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t row = 0; row < rows; ++row)
        local[static_cast<size_t>(k * rows + row)] =
            gradient[static_cast<size_t>(row * n + begin + k)];
    for (int64_t k = 0; k < count; ++k) {
      const int64_t column = begin + k;
      float *change = changes.data() + k * rows;
      const float curvature = moments.second()[column * (n + 1)] + damping;
      loadColumn(column);
      if (!(curvature > 0) ||
          !descendColumn(local.data() + k * rows, curvature,
                         {scales.data(), lows.data(), highs.data(), matrix.book}, codes.data(),
                         change, rows)) {
        std::fill_n(change, rows, 0.0f);
        continue;
      }
      moved = true;
      for (int64_t row = 0; row < rows; ++row)
        matrix.codes[static_cast<size_t>((first + row) * n + column)] =
            codes[static_cast<size_t>(row)];
      for (int64_t later = k + 1; later < count; ++later)
        addScaled(local.data() + later * rows, change, moments.second()[column * n + begin + later],
                  rows);
    }
    return moved;
  }

  void loadColumn(int64_t column) {
    const int64_t group = matrix.groupOfColumn(column);
    for (int64_t row = 0; row < rows; ++row) {
      const size_t place = static_cast<size_t>(row);
      codes[place] = matrix.codes[static_cast<size_t>((first + row) * n + column)];
      if (group == loaded)
        continue;
      const int32_t zero = matrix.zeroOf(first + row, group);
      scales[place] = matrix.scales[static_cast<size_t>((first + row) * matrix.groups() + group)];
      lows[place] = static_cast<float>(-zero);
      highs[place] = static_cast<float>(matrix.grid.most() - zero);
    }
    loaded = group;
  }

  QuantizedMatrix &matrix;
  const float *const weight;
  const Moments &moments;
  const float damping; ///< added to the diagonal of the moments
  const int64_t first, rows, n;
  std::vector<float> gradient;       ///< [rows, columns]: half the derivative of the error
  std::vector<float> local, changes; ///< [columns of a block, rows]
  std::vector<float> scales, lows, highs;
  std::vector<uint8_t> codes;
  int64_t loaded = -1;
};

} // namespace

double refine(QuantizedMatrix &matrix, const float *weight, const Moments &moments,
              const GptqOptions &options) {
  const int64_t blocks = (matrix.rows + kRows - 1) / kRows;
  std::vector<double> errors(static_cast<size_t>(blocks));
  const auto damping = static_cast<float>(options.damping * moments.meanOfDiagonal());
  forEachBlock(blocks, options.threads, [&](int64_t block) {
    errors[static_cast<size_t>(block)] =
        Descent(matrix, weight, moments, damping, block * kRows).run(options);
  });
  const double sum = std::accumulate(errors.begin(), errors.end(), 0.0);
  return moments.count() > 0 ? sum / static_cast<double>(moments.count()) : 0;
}

} // namespace ingot::quantize
