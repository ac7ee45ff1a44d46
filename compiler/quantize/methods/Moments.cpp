// SPDX-License-Identifier: Apache-2.0
// Sums in tiles (LinearAlgebra.h). A tile is read and written once for all rows that wait.
#include "compiler/quantize/methods/Moments.h"
#include "compiler/quantize/methods/LinearAlgebra.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace ingot::quantize {

/// Rows that decide the order of columns, of which all cross sums are computed.
static constexpr int64_t kOrderingRows = 4096;

/// Rows that are added at once: each time rounds all sums, and reads and writes them.
static int64_t rowsAtOnce(int64_t columns) { return std::clamp<int64_t>(columns / 4, 512, 2048); }

Moments::Moments(int64_t columns, CrossSums kind)
    : size(columns), kind(kind), sums(static_cast<size_t>(columns * columns)),
      crossSums(isAsymmetric() ? sums.size() : 0) {}

Moments Moments::ofSquares(int64_t columns) {
  Moments moments(0);
  moments.size = columns;
  moments.squares.resize(static_cast<size_t>(columns));
  return moments;
}

uint64_t Moments::waitingBytes(int64_t columns) {
  return static_cast<uint64_t>(2 * rowsAtOnce(columns) * columns) * sizeof(float);
}

void Moments::add(const float *rows, int64_t count, unsigned threads) {
  if (squares.empty())
    return wait(rows, rows, count, threads);
  for (int64_t row = 0; row < count; ++row)
    for (size_t i = 0; i < squares.size(); ++i) {
      const auto value = static_cast<double>(rows[row * size + static_cast<int64_t>(i)]);
      squares[i] += value * value;
    }
  rowCount += count;
}

void Moments::add(const float *rows, const float *originalRows, int64_t count, unsigned threads) {
  wait(rows, originalRows, count, threads);
}

void Moments::wait(const float *rows, const float *originalRows, int64_t count, unsigned threads) {
  rowCount += count;
  lastThreads = threads;
  isFinished = false;
  const auto most = static_cast<size_t>(rowsAtOnce(size) * size);
  waiting.reserve(most);
  differences.reserve(isAsymmetric() ? most : 0);
  for (const float *end = rows + count * size; rows < end;) {
    const auto taken =
        std::min<std::ptrdiff_t>(end - rows, static_cast<std::ptrdiff_t>(most - waiting.size()));
    waiting.insert(waiting.end(), rows, rows + taken);
    if (isAsymmetric())
      std::transform(originalRows, originalRows + taken, rows, std::back_inserter(differences),
                     std::minus<>());
    rows += taken;
    originalRows += taken;
    if (waiting.size() == most)
      addWaiting();
  }
}

void Moments::addWaiting() const {
  const int64_t count = static_cast<int64_t>(waiting.size()) / size;
  addSecondMoments(sums.data(), size, waiting.data(), count, lastThreads);
  addedRows += count;
  if (!columnOrder.empty())
    addOrdered(count);
  else if (isAsymmetric())
    addCrossMoments(crossSums.data(), size, differences.data(), waiting.data(), count, lastThreads);
  if (addedRows >= kOrderingRows)
    decideOrder();
  waiting.clear();
  differences.clear();
}

void Moments::decideOrder() const {
  if (kind != CrossSums::Ordered || !columnOrder.empty())
    return;
  const auto columns = static_cast<size_t>(size);
  columnOrder.resize(columns);
  std::iota(columnOrder.begin(), columnOrder.end(), 0);
  std::ranges::sort(columnOrder, std::ranges::greater(), [&](int32_t column) {
    const float sum = sums[static_cast<size_t>(column) * (columns + 1)];
    return std::pair(std::fmax(sum, 0.0f), -column); // NaN has no order
  });
  std::vector<float> ordered(crossSums.size());
  auto to = ordered.begin();
  for (int32_t row : columnOrder)
    to = std::ranges::transform(columnOrder, to, [&](int32_t column) {
           return crossSums[static_cast<size_t>(row) * columns + static_cast<size_t>(column)];
         }).out;
  crossSums = std::move(ordered);
}

void Moments::addOrdered(int64_t count) const {
  std::vector<float> row(static_cast<size_t>(size));
  for (std::vector<float> *rows : {&waiting, &differences})
    for (auto values = rows->begin(); values != rows->end(); values += size) {
      std::ranges::transform(columnOrder, row.begin(),
                             [&](int32_t column) { return values[column]; });
      std::ranges::copy(row, values);
    }
  addUpperCrossMoments(crossSums.data(), size, differences.data(), waiting.data(), count,
                       lastThreads);
}

void Moments::finish() const {
  if (std::exchange(isFinished, true) || sums.empty())
    return;
  if (!waiting.empty())
    addWaiting();
  waiting = {};
  differences = {};
  decideOrder();
  mirrorLower(sums.data(), size);
}

const float *Moments::second() const {
  finish();
  return sums.empty() ? nullptr : sums.data();
}

const float *Moments::cross() const {
  finish();
  return crossSums.empty() ? nullptr : crossSums.data();
}

std::span<const int32_t> Moments::order() const {
  finish();
  return columnOrder;
}

void Moments::divideColumns(std::span<const float> scales) {
  finish();
  const auto columns = static_cast<size_t>(size);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] /= scales[i / columns] * scales[i % columns];
  auto scaleAt = [&](size_t place) {
    return scales[columnOrder.empty() ? place : static_cast<size_t>(columnOrder[place])];
  };
  for (size_t i = 0; i < crossSums.size(); ++i)
    crossSums[i] /= scaleAt(i / columns) * scaleAt(i % columns);
  for (size_t i = 0; i < squares.size(); ++i)
    squares[i] /= static_cast<double>(scales[i]) * static_cast<double>(scales[i]);
}

std::vector<float> Moments::meanSquares() const {
  finish();
  std::vector<float> means(static_cast<size_t>(size));
  for (int64_t i = 0; i < size && rowCount > 0; ++i) {
    const auto place = static_cast<size_t>(i);
    means[place] = squares.empty()
                       ? sums[place * static_cast<size_t>(size + 1)] / static_cast<float>(rowCount)
                       : static_cast<float>(squares[place] / static_cast<double>(rowCount));
  }
  return means;
}

double Moments::meanOfDiagonal() const {
  finish();
  double sum = 0;
  int64_t live = 0;
  for (int64_t i = 0; i < size; ++i) {
    const float square = sums[static_cast<size_t>(i * (size + 1))];
    sum += static_cast<double>(square);
    live += square > 0;
  }
  return live == 0 ? 1 : sum / static_cast<double>(live);
}

} // namespace ingot::quantize
