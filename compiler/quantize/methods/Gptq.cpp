// SPDX-License-Identifier: Apache-2.0
// Blocks of rows are independent of each other. In a block, a block of columns lies transposed, so
// that a step over its rows is one over neighbours in memory.
#include "compiler/quantize/methods/Gptq.h"
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/RoundToNearest.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingot::quantize {

using checkpoint::Error;
using checkpoint::message;

namespace {

constexpr int64_t kRows = 128;
/// Columns up to which 8 bytes an element of the factor are at most 128 MiB.
constexpr int64_t kMostInDouble = 4096;
/// What of the damping must be left of each pivot, which in exact numbers is no less than it.
constexpr double kPivotShare = 0.5;

struct Factors {
  std::vector<int32_t> order; ///< the column of each step
  std::vector<float> upper;   ///< [columns, columns]
  std::vector<double> pivots;
  std::vector<double> added;     ///< to H's diagonal, by column
  std::vector<float> asymmetric; ///< GPTAQ's P, or empty
  double damping = 0;
};

struct Layout {
  const float *weight;
  int64_t rows, columns;
};

std::vector<int32_t> orderOf(const Moments &moments, bool actOrder) {
  std::vector<int32_t> order(static_cast<size_t>(moments.columns()));
  std::iota(order.begin(), order.end(), 0);
  if (actOrder)
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const float *diagonal = moments.second();
      const int64_t next = moments.columns() + 1;
      return diagonal[a * next] != diagonal[b * next] ? diagonal[a * next] > diagonal[b * next]
                                                      : a < b;
    });
  return order;
}

/// Factors the damped moments, with more damping where they are no positive definite matrix.
template <class T>
bool factorDamped(const Moments &moments, double damping, unsigned threads, Factors &factors) {
  const int64_t n = moments.columns();
  std::vector<double> diagonal(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    diagonal[static_cast<size_t>(i)] = static_cast<double>(moments.second()[i * (n + 1)]);
  const double mean = moments.meanOfDiagonal();
  std::vector<T> work(static_cast<size_t>(n * n));
  for (int attempt = 0; attempt < 4; ++attempt) {
    factors.damping = damping;
    for (size_t i = 0; i < diagonal.size(); ++i)
      factors.added[i] = (diagonal[i] == 0 ? 1 : 0) + damping * mean;
    if (factorUnitUpper(moments.second(), factors.order.data(), factors.added.data(),
                        std::max(kPivotShare * damping * mean, 1e-300), n, work.data(),
                        {factors.upper.data(), factors.pivots.data()}, threads))
      return true;
    damping = std::max(damping * 10, 1e-4);
  }
  return false;
}

Expected<Factors> factorsOf(const Moments &moments, const GptqOptions &options) {
  const int64_t n = moments.columns();
  Factors factors;
  const std::span<const int32_t> known = moments.order();
  factors.order = known.empty() ? orderOf(moments, options.actOrder)
                                : std::vector<int32_t>(known.begin(), known.end());
  factors.upper.resize(static_cast<size_t>(n * n));
  factors.pivots.resize(static_cast<size_t>(n));
  factors.added.resize(static_cast<size_t>(n));
  const bool factored =
      n <= kMostInDouble ? factorDamped<double>(moments, options.damping, options.threads, factors)
                         : factorDamped<float>(moments, options.damping, options.threads, factors);
  if (!factored)
    return Error{"INGOT-E2303",
                 message("second moments of inputs are not positive definite, even with ",
                         factors.damping, " of their mean added"),
                 "", "calibrate with more text, or round this module to nearest"};
  if (moments.isAsymmetric()) {
    factors.asymmetric.resize(factors.upper.size());
    if (!known.empty())
      std::copy_n(moments.cross(), n * n, factors.asymmetric.begin());
    for (int64_t i = 0; i < n && known.empty(); ++i) {
      const float *row = moments.cross() + factors.order[static_cast<size_t>(i)] * n;
      for (int64_t j = 0; j < n; ++j)
        factors.asymmetric[static_cast<size_t>(i * n + j)] =
            row[factors.order[static_cast<size_t>(j)]];
    }
    solveAsymmetry(factors.asymmetric.data(), {factors.upper.data(), factors.pivots.data()}, n,
                   static_cast<float>(options.asymmetry), options.threads);
  }
  return factors;
}

/// `rows` rows of the weights, through all columns.
class RowBlock {
public:
  RowBlock(const Layout &layout, int64_t first, const Factors &factors, const GptqOptions &options,
           const std::vector<float> &importance, QuantizedMatrix &matrix)
      : layout(layout), first(first), rows(std::min(kRows, layout.rows - first)), factors(factors),
        options(options), importance(importance), matrix(matrix),
        fitter(matrix.grid, options.clip, layout.columns, !importance.empty()),
        original(static_cast<size_t>(rows * layout.columns)), feedback(original.size()),
        steps(static_cast<size_t>(4 * options.block * rows)), scales(static_cast<size_t>(rows)),
        lows(scales.size()), highs(scales.size()), codes(scales.size()), errors(scales.size()) {}

  /// Quantizes, and returns tr(dW H dWᵀ), of symmetric moments.
  double run() {
    const int64_t n = layout.columns;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t step = 0; step < n; ++step)
        original[static_cast<size_t>(row * n + step)] =
            layout.weight[(first + row) * n + factors.order[static_cast<size_t>(step)]];
    for (int64_t begin = 0, end; begin < n; begin = end) {
      end = blockEnd(begin);
      runBlock(begin, end);
      spread(begin, end);
    }
    return std::accumulate(errors.begin(), errors.end(), 0.0);
  }

private:
  /// A block of columns ends where a group begins that is fitted when its turn comes: all of the
  /// group's columns are up to date then.
  int64_t blockEnd(int64_t begin) const {
    const int64_t n = layout.columns, group = matrix.grid.group;
    int64_t end = std::min(n, begin + options.block);
    if (options.actOrder || group == 0)
      return end;
    if (group <= options.block)
      return std::min(n, begin + options.block / group * group);
    return std::min(end, (begin / group + 1) * group);
  }

  float *step(int64_t which, int64_t column) {
    return steps.data() + (which * options.block + column) * rows;
  }

  /// The weights of the columns from `step` to `last` as they would be were none of them rounded:
  /// fresh [columns, rows]. They still make up for those before.
  void completeGroup(int64_t step, int64_t last, int64_t begin, int64_t end) {
    const int64_t n = layout.columns;
    fresh.resize(static_cast<size_t>((last - step) * rows));
    missing.resize(fresh.size());
    for (int64_t k = step; k < last; ++k)
      for (int64_t row = 0; row < rows; ++row) {
        const size_t place = static_cast<size_t>(row * n + k);
        const size_t to = static_cast<size_t>((k - step) * rows + row);
        fresh[to] = k < end ? this->step(0, k - begin)[row] : original[place];
        missing[to] = -(k < end ? this->step(1, k - begin)[row] : feedback[place]);
      }
    if (step == 0)
      return; // nothing was rounded yet
    for (int64_t k = step; k < last; ++k) {
      const float *here = missing.data() + (k - step) * rows;
      for (int64_t later = k + 1; later < last; ++later)
        addScaled(missing.data() + (later - step) * rows, here,
                  -factors.upper[static_cast<size_t>(k * n + later)], rows);
      addScaled(fresh.data() + (k - step) * rows, here, -1, rows);
    }
  }

  void fitGroup(int64_t group, int64_t step, int64_t begin, int64_t end) {
    const int64_t n = layout.columns,
                  last = matrix.grid.group == 0 ? n : std::min(n, step + matrix.grid.group);
    completeGroup(step, last, begin, end);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = step; k < last; ++k) {
        fitter.values()[k - step] = fresh[static_cast<size_t>((k - step) * rows + row)];
        if (!importance.empty())
          fitter.importance()[k - step] = importance[static_cast<size_t>(k)];
      }
      const GroupFit fit = fitter.fit(last - step);
      const size_t place = static_cast<size_t>((first + row) * matrix.groups() + group);
      matrix.scales[place] = fit.scale;
      if (!matrix.zeros.empty())
        matrix.zeros[place] = static_cast<uint8_t>(fit.zero);
    }
  }

  void loadGrids(int64_t group) {
    for (int64_t row = 0; row < rows; ++row) {
      const size_t place = static_cast<size_t>(row);
      scales[place] = matrix.scales[static_cast<size_t>((first + row) * matrix.groups() + group)];
      const int32_t zero = matrix.zeroOf(first + row, group);
      lows[place] = static_cast<float>(-zero);
      highs[place] = static_cast<float>(matrix.grid.most() - zero);
    }
  }

  void runBlock(int64_t begin, int64_t end) {
    const int64_t n = layout.columns;
    for (int64_t k = begin; k < end; ++k)
      for (int64_t row = 0; row < rows; ++row) {
        step(0, k - begin)[row] = original[static_cast<size_t>(row * n + k)];
        step(1, k - begin)[row] = feedback[static_cast<size_t>(row * n + k)];
      }
    for (int64_t k = begin; k < end; ++k) {
      const int64_t column = factors.order[static_cast<size_t>(k)];
      const int64_t group = matrix.groupOfColumn(column);
      if (!options.actOrder && (matrix.grid.group == 0 ? k == 0 : k % matrix.grid.group == 0))
        fitGroup(group, k, begin, end);
      if (group != loaded)
        loadGrids(group);
      loaded = group;
      const int64_t here = k - begin;
      roundColumn({step(0, here),
                   step(1, here),
                   {scales.data(), lows.data(), highs.data(), matrix.book},
                   codes.data(),
                   step(2, here),
                   step(3, here),
                   errors.data(),
                   factors.pivots[static_cast<size_t>(k)],
                   factors.added[static_cast<size_t>(column)]},
                  rows);
      for (int64_t row = 0; row < rows; ++row)
        matrix.codes[static_cast<size_t>((first + row) * n + column)] =
            codes[static_cast<size_t>(row)];
      for (int64_t later = k + 1; later < end; ++later) {
        addScaled(step(1, later - begin), step(2, here),
                  factors.upper[static_cast<size_t>(k * n + later)], rows);
        if (!factors.asymmetric.empty())
          addScaled(step(0, later - begin), step(3, here),
                    factors.asymmetric[static_cast<size_t>(k * n + later)], rows);
      }
    }
  }

  /// What a block of columns leaves to those after it.
  void spread(int64_t begin, int64_t end) {
    const int64_t n = layout.columns, later = n - end, corner = begin * n + end;
    if (later == 0)
      return;
    addProduct(feedback.data() + end, n, rows, later, end - begin, {step(2, 0), rows, true},
               {factors.upper.data() + corner, n});
    if (!factors.asymmetric.empty())
      addProduct(original.data() + end, n, rows, later, end - begin, {step(3, 0), rows, true},
                 {factors.asymmetric.data() + corner, n});
  }

  const Layout &layout;
  const int64_t first, rows;
  const Factors &factors;
  const GptqOptions &options;
  const std::vector<float> &importance; ///< by column
  QuantizedMatrix &matrix;
  GroupFitter fitter;
  std::vector<float> original, feedback; ///< [rows, columns], in the order of steps
  std::vector<float> steps; ///< of a block: original, feedback, left, target [block, rows] each
  std::vector<float> fresh, missing; ///< [columns of a group, rows]
  std::vector<float> scales, lows, highs;
  std::vector<uint8_t> codes;
  std::vector<double> errors;
  int64_t loaded = -1;
};

checkpoint::Outcome check(const Layout &layout, const Grid &grid, const Moments &moments,
                          const GptqOptions &options) {
  if (auto fine = checkArguments(layout.weight, layout.rows, layout.columns, grid, options.clip);
      !fine)
    return fine;
  const int64_t n = layout.columns;
  if (moments.columns() != n || n >= int64_t{1} << 31)
    return Error{"INGOT-E2302",
                 message("moments of ", moments.columns(), " inputs for ", n, " columns"), "", ""};
  if (options.block < 1 || options.block > 1024 || !(options.damping >= 0) ||
      !std::isfinite(options.damping) || !std::isfinite(options.asymmetry) || options.sweeps < 0)
    return Error{"INGOT-E2302", "GPTQ's options are out of range", "",
                 "take blocks of 1 to 1024 columns, and damping of at least 0"};
  if (!moments.order().empty() && (options.sweeps > 0 || !options.actOrder))
    return Error{"INGOT-E2302",
                 "ordered cross sums serve neither sweeps nor columns in their order", "", ""};
  if (auto fine = checkFinite(moments.second(), n * n, "second moments of inputs"); !fine)
    return fine;
  return moments.isAsymmetric() ? checkFinite(moments.cross(), n * n, "cross moments of inputs")
                                : checkpoint::Outcome();
}

/// Decides the codes of result.matrix, whose scales are there unless they are fitted on the way.
void decide(const Layout &layout, const Moments &moments, const GptqOptions &options,
            Factors &factors, const std::vector<float> &importance, GptqResult &result) {
  result.damping = factors.damping;
  const int64_t blocks = (layout.rows + kRows - 1) / kRows;
  std::vector<double> errors(static_cast<size_t>(blocks));
  forEachBlock(blocks, options.threads, [&](int64_t block) {
    errors[static_cast<size_t>(block)] =
        RowBlock(layout, block * kRows, factors, options, importance, result.matrix).run();
  });
  if (options.sweeps > 0 || moments.isAsymmetric()) {
    factors = {};
    result.error = refine(result.matrix, layout.weight, moments, options);
  } else if (moments.count() > 0) {
    result.error = std::max(0.0, std::accumulate(errors.begin(), errors.end(), 0.0) /
                                     static_cast<double>(moments.count()));
  }
}

} // namespace

uint64_t gptqScratch(int64_t columns) {
  // The factor beside what it is computed in; later, beside GPTAQ's matrix.
  const auto elements = static_cast<uint64_t>(columns * columns);
  return elements * (columns <= kMostInDouble ? 12 : 8);
}

Expected<GptqResult> gptq(const float *weight, int64_t rows, int64_t columns, const Grid &grid,
                          const Moments &moments, const GptqOptions &options) {
  const Layout layout{weight, rows, columns};
  if (auto fine = check(layout, grid, moments, options); !fine)
    return fine.error();
  auto factors = factorsOf(moments, options);
  if (!factors)
    return factors.error();

  // What an error of a column costs after those to come made up for it as well as they can.
  std::vector<float> importance(options.clip.steps > 0 ? static_cast<size_t>(columns) : 0);
  for (size_t step = 0; step < importance.size(); ++step)
    importance[static_cast<size_t>(factors->order[step])] =
        static_cast<float>(factors->pivots[step]);
  GptqResult result;
  if (options.actOrder) {
    result.matrix =
        fitScales(weight, rows, columns, grid, options.clip, importance, options.threads);
  } else {
    result.matrix.grid = grid;
    result.matrix.rows = rows;
    result.matrix.columns = columns;
    result.matrix.codes.resize(static_cast<size_t>(rows * columns));
    result.matrix.scales.resize(static_cast<size_t>(rows * grid.groups(columns)));
    result.matrix.zeros.resize(grid.zeroPoints ? result.matrix.scales.size() : 0);
  }
  decide(layout, moments, options, *factors, importance, result);
  return result;
}

Expected<GptqResult> gptqWithScales(const float *weight, QuantizedMatrix scaled,
                                    const Moments &moments, GptqOptions options) {
  options.actOrder = true;
  options.clip = {};
  const Layout layout{weight, scaled.rows, scaled.columns};
  if (auto fine = check(layout, scaled.grid, moments, options); !fine)
    return fine.error();
  auto factors = factorsOf(moments, options);
  if (!factors)
    return factors.error();
  GptqResult result;
  result.matrix = std::move(scaled);
  decide(layout, moments, options, *factors, {}, result);
  return result;
}

} // namespace ingot::quantize
