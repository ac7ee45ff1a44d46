// SPDX-License-Identifier: Apache-2.0
// Sums in tiles (LinearAlgebra.h).
#include "compiler/quantize/methods/Moments.h"
#include "compiler/quantize/methods/LinearAlgebra.h"

#include <algorithm>
#include <utility>

namespace ingot::quantize {

/// Rows whose products are summed before they are added to the others: no more, so that the
/// differences take little memory.
static constexpr int64_t kRows = 2048;

Moments::Moments(int64_t columns, bool asymmetric)
    : size(columns), sums(static_cast<size_t>(columns * columns)),
      crossSums(asymmetric ? sums.size() : 0) {}

Moments Moments::ofSquares(int64_t columns) {
  Moments moments(0);
  moments.size = columns;
  moments.squares.resize(static_cast<size_t>(columns));
  return moments;
}

void Moments::add(const float *rows, int64_t count, unsigned threads) {
  for (int64_t row = 0; !squares.empty() && row < count; ++row)
    for (size_t i = 0; i < squares.size(); ++i) {
      const auto value = static_cast<double>(rows[row * size + static_cast<int64_t>(i)]);
      squares[i] += value * value;
    }
  for (int64_t first = 0; !sums.empty() && first < count; first += kRows)
    addSecondMoments(sums.data(), size, rows + first * size, std::min(kRows, count - first),
                     threads);
  isMirrored = false;
  rowCount += count;
}

const float *Moments::second() const {
  if (sums.empty())
    return nullptr;
  if (!std::exchange(isMirrored, true))
    mirrorLower(sums.data(), size);
  return sums.data();
}

void Moments::add(const float *rows, const float *originalRows, int64_t count, unsigned threads) {
  add(rows, count, threads);
  if (crossSums.empty())
    return;
  std::vector<float> differences(static_cast<size_t>(std::min(kRows, count) * size));
  for (int64_t first = 0; first < count; first += kRows) {
    const float *part = rows + first * size, *original = originalRows + first * size;
    const int64_t partCount = std::min(kRows, count - first);
    for (int64_t i = 0; i < partCount * size; ++i)
      differences[static_cast<size_t>(i)] = original[i] - part[i];
    addCrossMoments(crossSums.data(), size, differences.data(), part, partCount, threads);
  }
}

void Moments::divideColumns(std::span<const float> scales) {
  const auto columns = static_cast<size_t>(size);
  for (std::vector<float> *matrix : {&sums, &crossSums})
    for (size_t i = 0; i < matrix->size(); ++i)
      (*matrix)[i] /= scales[i / columns] * scales[i % columns];
  for (size_t i = 0; i < squares.size(); ++i)
    squares[i] /= static_cast<double>(scales[i]) * static_cast<double>(scales[i]);
}

std::vector<float> Moments::meanSquares() const {
  std::vector<float> means(static_cast<size_t>(size));
  for (int64_t i = 0; i < size && rowCount > 0; ++i) {
    const auto place = static_cast<size_t>(i);
    means[place] = squares.empty()
                       ? sums[place * static_cast<size_t>(size + 1)] / static_cast<float>(rowCount)
                       : static_cast<float>(squares[place] / static_cast<double>(rowCount));
  }
  return means;
}

} // namespace ingot::quantize
