// SPDX-License-Identifier: Apache-2.0
// Scales of all groups, then codes. Blocks of rows are independent.
#include "compiler/quantize/methods/RoundToNearest.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>

namespace ingot::quantize {

using checkpoint::Error;

static constexpr int64_t kRows = 16;

QuantizedMatrix fitScales(const float *weight, int64_t rows, int64_t columns, const Grid &grid,
                          const ClipSearch &clip, std::span<const float> importance,
                          unsigned threads) {
  QuantizedMatrix matrix;
  matrix.grid = grid;
  matrix.rows = rows;
  matrix.columns = columns;
  const int64_t groups = matrix.groups(), length = grid.group == 0 ? columns : grid.group;
  matrix.codes.resize(static_cast<size_t>(rows * columns));
  matrix.scales.resize(static_cast<size_t>(rows * groups));
  matrix.zeros.resize(grid.zeroPoints ? matrix.scales.size() : 0);
  forEachBlock((rows + kRows - 1) / kRows, threads, [&](int64_t block) {
    GroupFitter fitter(grid, clip, columns, !importance.empty());
    for (int64_t row = block * kRows; row < std::min(rows, (block + 1) * kRows); ++row)
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t first = group * length, count = std::min(length, columns - first);
        std::copy_n(weight + row * columns + first, count, fitter.values());
        if (!importance.empty())
          std::copy_n(importance.data() + first, count, fitter.importance());
        const GroupFit fit = fitter.fit(count);
        const size_t place = static_cast<size_t>(row * groups + group);
        matrix.scales[place] = fit.scale;
        if (grid.zeroPoints)
          matrix.zeros[place] = static_cast<uint8_t>(fit.zero);
      }
  });
  return matrix;
}

Expected<QuantizedMatrix> roundToNearest(const float *weight, int64_t rows, int64_t columns,
                                         const Grid &grid, const ClipSearch &clip,
                                         std::span<const float> importance, unsigned threads) {
  if (auto fine = checkArguments(weight, rows, columns, grid, clip); !fine)
    return fine.error();
  if (!importance.empty() && importance.size() != static_cast<size_t>(columns))
    return Error{"INGOT-E2302", "as many importances as columns are needed", "", ""};
  if (auto fine = checkFinite(importance.data(), static_cast<int64_t>(importance.size()),
                              "importances of columns");
      !fine)
    return fine.error();
  QuantizedMatrix matrix = fitScales(weight, rows, columns, grid, clip, importance, threads);
  const int64_t groups = matrix.groups(), length = grid.group == 0 ? columns : grid.group;
  forEachBlock((rows + kRows - 1) / kRows, threads, [&](int64_t block) {
    for (int64_t row = block * kRows; row < std::min(rows, (block + 1) * kRows); ++row)
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t first = row * columns + group * length;
        const int32_t zero = matrix.zeroOf(row, group);
        roundToGrid(weight + first, std::min(length, columns - group * length),
                    matrix.scales[static_cast<size_t>(row * groups + group)],
                    static_cast<float>(-zero), static_cast<float>(grid.most() - zero),
                    matrix.codes.data() + first);
      }
  });
  return matrix;
}

} // namespace ingot::quantize
