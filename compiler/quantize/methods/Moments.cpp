// SPDX-License-Identifier: Apache-2.0
// Sums in tiles (LinearAlgebra.h).
#include "compiler/quantize/methods/Moments.h"
#include "compiler/quantize/methods/LinearAlgebra.h"

#include <algorithm>

namespace ingot::quantize {

/// Rows whose products are summed before they are added to the others: no more, so that the
/// differences take little memory.
static constexpr int64_t kRows = 2048;

Moments::Moments(int64_t columns, bool asymmetric)
    : size(columns), sums(static_cast<size_t>(columns * columns)),
      crossSums(asymmetric ? sums.size() : 0) {}

void Moments::add(const float *rows, int64_t count, unsigned threads) {
  for (int64_t first = 0; first < count; first += kRows)
    addSecondMoments(sums.data(), size, rows + first * size, std::min(kRows, count - first),
                     threads);
  rowCount += count;
}

void Moments::add(const float *rows, const float *originalRows, int64_t count, float weight,
                  unsigned threads) {
  add(rows, count, threads);
  if (crossSums.empty())
    return;
  std::vector<float> differences(static_cast<size_t>(std::min(kRows, count) * size));
  for (int64_t first = 0; first < count; first += kRows) {
    const float *part = rows + first * size, *original = originalRows + first * size;
    const int64_t partCount = std::min(kRows, count - first);
    for (int64_t i = 0; i < partCount * size; ++i)
      differences[static_cast<size_t>(i)] = weight * (original[i] - part[i]);
    addCrossMoments(crossSums.data(), size, differences.data(), part, partCount, threads);
  }
}

void Moments::divideColumns(std::span<const float> scales) {
  const auto columns = static_cast<size_t>(size);
  for (std::vector<float> *matrix : {&sums, &crossSums})
    for (size_t i = 0; i < matrix->size(); ++i)
      (*matrix)[i] /= scales[i / columns] * scales[i % columns];
}

std::vector<float> Moments::meanSquares() const {
  std::vector<float> means(static_cast<size_t>(size));
  for (int64_t i = 0; i < size && rowCount > 0; ++i)
    means[static_cast<size_t>(i)] =
        sums[static_cast<size_t>(i * (size + 1))] / static_cast<float>(rowCount);
  return means;
}

} // namespace ingot::quantize
