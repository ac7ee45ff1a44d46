// SPDX-License-Identifier: Apache-2.0
// Eigen's kernels in fixed tiles.
#define EIGEN_DEFAULT_L1_CACHE_SIZE 32768
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "compiler/quantize/methods/EigenProduct.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/WideProduct.h"

#include <Eigen/Cholesky>

namespace ingot::quantize {

namespace {

/// Columns of a tile: one is work enough for a thread, and there are enough of them.
constexpr int64_t kTile = 6 * kWideColumns;

int64_t tilesOf(int64_t n, int64_t tile = kTile) { return (n + tile - 1) / tile; }

/// The same of moments: larger ones are packed less often, where there are enough of them.
int64_t momentTile(int64_t n, unsigned threads) {
  return tilesOf(n, 2 * kTile) < 2 * int64_t{threads} ? kTile : 2 * kTile;
}
int64_t lengthOf(int64_t begin, int64_t n, int64_t tile = kTile) {
  return n - begin < tile ? n - begin : tile;
}

/// Tile `index` of those on and under the diagonal, counted by rows.
void lowerTile(int64_t index, int64_t &row, int64_t &column) {
  for (row = 0; index > row; ++row)
    index -= row + 1;
  column = index;
}

/// `view` from `row` and `column` on.
MatrixView from(MatrixView view, int64_t row, int64_t column) {
  view.data += view.transposed ? column * view.stride + row : row * view.stride + column;
  return view;
}

} // namespace

bool isWideHere() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

void addNarrowProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                      MatrixView a, MatrixView b, float sign) {
  addByEigen(c, stride, rows, columns, depth, a, b, sign);
}

void addProduct(float *c, int64_t stride, int64_t rows, int64_t columns, int64_t depth,
                MatrixView a, MatrixView b, float sign) {
  // Whole panels, and what is beside and under them, whatever the machine has.
  const int64_t wideRows = rows / kWideRows * kWideRows,
                wideColumns = columns / kWideColumns * kWideColumns;
  auto *const add = isWideHere() ? addWideProduct : addNarrowProduct;
  for (int64_t k = 0; k < depth; k += kSumDepth) {
    const int64_t part = depth - k < kSumDepth ? depth - k : kSumDepth;
    if (wideRows > 0 && wideColumns > 0)
      add(c, stride, wideRows, wideColumns, part, from(a, 0, k), from(b, k, 0), sign);
    if (wideColumns < columns)
      addNarrowProduct(c + wideColumns, stride, rows, columns - wideColumns, part, from(a, 0, k),
                       from(b, k, wideColumns), sign);
    if (wideRows < rows && wideColumns > 0)
      addNarrowProduct(c + wideRows * stride, stride, rows - wideRows, wideColumns, part,
                       from(a, wideRows, k), from(b, k, 0), sign);
  }
}

/// A square of c[n, n] += yᵀ x: tile `column` of tile `row`.
static void addMomentTile(float *c, int64_t n, int64_t tile, int64_t row, int64_t column,
                          const float *y, const float *x, int64_t count) {
  const int64_t i = row * tile, j = column * tile;
  addProduct(c + i * n + j, n, lengthOf(i, n, tile), lengthOf(j, n, tile), count, {y + i, n, true},
             {x + j, n});
}

void addSecondMoments(float *c, int64_t n, const float *x, int64_t count, unsigned threads) {
  const int64_t tile = momentTile(n, threads), tiles = tilesOf(n, tile);
  forEachBlock(tiles * (tiles + 1) / 2, threads, [=](int64_t index) {
    int64_t row, column;
    lowerTile(index, row, column);
    addMomentTile(c, n, tile, row, column, x, x, count);
  });
}

void mirrorLower(float *c, int64_t n) {
  for (int64_t i = 0; i < n; i += kTile)
    for (int64_t j = 0; j <= i; j += kTile) {
      auto tile = at(c + i * n + j, n, lengthOf(i, n), lengthOf(j, n));
      if (i == j)
        tile.template triangularView<Eigen::StrictlyUpper>() = tile.transpose();
      else
        at(c + j * n + i, n, lengthOf(j, n), lengthOf(i, n)) = tile.transpose();
    }
}

void addCrossMoments(float *c, int64_t n, const float *y, const float *x, int64_t count,
                     unsigned threads) {
  const int64_t tile = momentTile(n, threads), tiles = tilesOf(n, tile);
  forEachBlock(tiles * tiles, threads, [=](int64_t index) {
    addMomentTile(c, n, tile, index / tiles, index % tiles, y, x, count);
  });
}

void addUpperCrossMoments(float *c, int64_t n, const float *y, const float *x, int64_t count,
                          unsigned threads) {
  const int64_t tile = momentTile(n, threads), tiles = tilesOf(n, tile);
  forEachBlock(tiles * (tiles + 1) / 2, threads, [=](int64_t index) {
    int64_t row, column;
    lowerTile(index, row, column);
    addMomentTile(c, n, tile, column, row, y, x, count);
  });
}

/// The lower factor of `a` in place, by tiles: a panel, then all that stands under and right of it.
template <class T> static bool factorLower(T *a, int64_t n, double least, unsigned threads) {
  const int64_t tiles = tilesOf(n);
  for (int64_t k = 0; k < n; k += kTile) {
    const int64_t depth = lengthOf(k, n);
    auto corner = at(a + k * n + k, n, depth, depth);
    Eigen::LLT<Eigen::Ref<Matrix<T>, 0, Eigen::OuterStride<>>> factored(corner);
    if (factored.info() != Eigen::Success)
      return false;
    for (int64_t i = 0; i < depth; ++i) {
      const double pivot = static_cast<double>(corner(i, i));
      if (!(pivot * pivot >= least && pivot * pivot < __builtin_inf()))
        return false;
    }
    const int64_t first = k / kTile + 1, left = tiles - first;
    forEachBlock(left, threads, [=](int64_t index) {
      const int64_t i = (first + index) * kTile;
      auto panel = at(a + i * n + k, n, lengthOf(i, n), depth);
      at(a + k * n + k, n, depth, depth)
          .template triangularView<Eigen::Lower>()
          .transpose()
          .template solveInPlace<Eigen::OnTheRight>(panel);
    });
    forEachBlock(left * (left + 1) / 2, threads, [=](int64_t index) {
      int64_t row, column;
      lowerTile(index, row, column);
      const int64_t i = (first + row) * kTile, j = (first + column) * kTile;
      if constexpr (std::is_same_v<T, float>)
        addProduct(a + i * n + j, n, lengthOf(i, n), lengthOf(j, n), depth, {a + i * n + k, n},
                   {a + j * n + k, n, true}, -1);
      else
        at(a + i * n + j, n, lengthOf(i, n), lengthOf(j, n)).noalias() -=
            at(a + i * n + k, n, lengthOf(i, n), depth) *
            at(a + j * n + k, n, lengthOf(j, n), depth).transpose();
    });
  }
  return true;
}

template <class T>
bool factorUnitUpper(const float *h, const int32_t *order, const double *added, double least,
                     int64_t n, T *work, UnitFactor factor, unsigned threads) {
  // The lower factor of the reversed matrix, reversed, is an upper one R with H = R Rᵀ.
  const int64_t blocks = tilesOf(n);
  forEachBlock(blocks, threads, [=](int64_t block) {
    for (int64_t i = block * kTile; i < block * kTile + lengthOf(block * kTile, n); ++i) {
      const float *row = h + static_cast<int64_t>(order[n - 1 - i]) * n;
      for (int64_t j = 0; j <= i; ++j)
        work[i * n + j] = static_cast<T>(row[order[n - 1 - j]]);
      work[i * n + i] += static_cast<T>(added[order[n - 1 - i]]);
    }
  });
  if (!factorLower(work, n, least, threads))
    return false;
  for (int64_t i = 0; i < n; ++i) {
    const double root = static_cast<double>(work[(n - 1 - i) * (n + 1)]);
    factor.pivots[i] = root * root;
  }
  forEachBlock(blocks, threads, [=](int64_t block) {
    for (int64_t i = block * kTile; i < block * kTile + lengthOf(block * kTile, n); ++i) {
      const T *row = work + (n - 1 - i) * n;
      float *out = factor.upper + i * n;
      for (int64_t j = 0; j < i; ++j)
        out[j] = 0;
      out[i] = 1;
      for (int64_t j = i + 1; j < n; ++j)
        out[j] = static_cast<float>(row[n - 1 - j] / work[(n - 1 - j) * (n + 1)]);
    }
  });
  return true;
}

template bool factorUnitUpper(const float *, const int32_t *, const double *, double, int64_t,
                              float *, UnitFactor, unsigned);
template bool factorUnitUpper(const float *, const int32_t *, const double *, double, int64_t,
                              double *, UnitFactor, unsigned);

void solveAsymmetry(float *c, UnitFactor factor, int64_t n, float strength, unsigned threads) {
  forEachBlock(tilesOf(n), threads, [=](int64_t block) {
    const int64_t first = block * kTile, rows = lengthOf(first, n), columns = n - first;
    auto solved = at(c + first * n + first, n, rows, columns);
    auto unit = at(factor.upper + first * (n + 1), n, columns, columns)
                    .template triangularView<Eigen::UnitUpper>();
    at(c + first * n, n, rows, first).setZero();
    unit.transpose().template solveInPlace<Eigen::OnTheRight>(solved);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const float share = strength / static_cast<float>(factor.pivots[first + j]);
        solved(i, j) = j <= i ? 0.0f : solved(i, j) * share;
      }
    unit.template solveInPlace<Eigen::OnTheRight>(solved);
  });
}

} // namespace ingot::quantize
