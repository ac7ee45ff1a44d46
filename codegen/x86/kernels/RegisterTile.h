// SPDX-License-Identifier: Apache-2.0
// The register tile of all products: rows by panels of 16 columns, one fma per element, in order.
#pragma once

#include "codegen/x86/kernels/Vector.h"

namespace ingot::x86 {

#ifdef __AVX512F__
constexpr int tilePanels = 2; // 12 x 2 sums, 2 columns, 1 factor: 27 of 32 registers
constexpr int tileRows = 12;
#else
constexpr int tilePanels = 1; // 6 x 2 sums, 2 column halves, 1 factor: 15 of 16 registers
constexpr int tileRows = 6;
#endif

/// Panels of floats that paths for single rows keep in flight: as many as hide a fused
/// multiply-add.
constexpr int floatRowPanels = 4;

/// Lets nothing be read before that is needed behind: sums take all but a few of 16 registers, and
/// are spilled for what is read early.
[[gnu::always_inline]] inline void readLater() {
  if (tilePanels == 1)
    __asm__ volatile("" ::: "memory");
}

/// Panels of f32, each [column][16].
struct FloatPanels {
  static constexpr int64_t step = 1; ///< columns that are taken from memory at once
  const float *first;
  int64_t stride; ///< from one panel to the next

  /// Column i + j of panel `p`; `j` is below the step.
  [[gnu::always_inline]] Floats column(int64_t i, int64_t, int p) const {
    return loadVector<Floats>(first + p * stride + i * lanes);
  }
};

/// sum[r][p] += a[r * aStride + i] * column i of panel p, for i < count in order. `count` is a
/// multiple of the columns' step.
template <int Rows, int Panels, class Columns>
[[gnu::always_inline]] inline void addToTile(const float *a, int64_t aStride,
                                             const Columns &columns, int64_t count,
                                             Floats (&result)[Rows][Panels]) {
  Floats sum[Rows][Panels];
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      sum[r][p] = result[r][p];
#pragma clang loop unroll(disable)
  for (int64_t i = 0; i < count; i += Columns::step)
#pragma clang loop unroll(full)
    for (int64_t j = 0; j < Columns::step; ++j) {
      if (j > 0)
        readLater();
      Floats column[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        column[p] = columns.column(i, j, p);
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r) {
        Floats factor = splat(a[r * aStride + i + j]);
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = fma(column[p], factor, sum[r][p]);
      }
    }
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      result[r][p] = sum[r][p];
}

/// The same from zeros on.
template <int Rows, int Panels, class Columns>
[[gnu::always_inline]] inline void multiplyTile(const float *a, int64_t aStride,
                                                const Columns &columns, int64_t count,
                                                Floats (&result)[Rows][Panels]) {
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      result[r][p] = Floats{};
  addToTile(a, aStride, columns, count, result);
}

/// Totals of a register tile whose groups are summed on their own and then scaled: in registers
/// where these hold sums and totals, else in memory from one group to the next, each taken from
/// there and put back on its own, since all of them together leave no registers to the sums.
template <int Rows, int Panels> struct RegisterAccumulators {
  static constexpr bool stay = tilePanels > 1 && 2 * Rows *Panels <= tilePanels *tileRows;

  /// `sums`: [Rows][columns].
  [[gnu::always_inline]] RegisterAccumulators(float *sums, int64_t columns)
      : sums(sums), columns(columns) {}

  /// Before the first group of a range; `isFirst`: of all.
  [[gnu::always_inline]] void begin(bool isFirst) {
    forAll([&](Floats &total, float *kept) __attribute__((always_inline)) {
      if (stay)
        total = isFirst ? Floats{} : loadVector<Floats>(kept);
      else if (isFirst)
        storeVector(kept, Floats{});
    });
  }
  /// Behind the last group of a range.
  [[gnu::always_inline]] void end() {
    if (stay)
      forAll([](Floats &total, float *kept)
                 __attribute__((always_inline)) { storeVector(kept, total); });
  }
  /// total = add(total), of a row and a panel.
  template <class Add> [[gnu::always_inline]] void add(int r, int p, Add add) {
    if (stay)
      of[r][p] = add(of[r][p]);
    else
      storeVector(place(r, p), add(loadVector<Floats>(place(r, p))));
  }

private:
  float *sums;
  int64_t columns;
  Floats of[Rows][Panels];

  [[gnu::always_inline]] float *place(int r, int p) const { return sums + r * columns + p * lanes; }
  template <class Use> [[gnu::always_inline]] void forAll(Use use) {
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        use(of[r][p], place(r, p));
  }
};

/// Calls tile.operator()<Rows>(row) for tiles of at most `Most` rows, a multiple of 6, that cover
/// `rows` rows; the last one may reach past them, up to a multiple of `Most`. Tiles that `atMost`
/// rows never take, where that is known, are left out of the code.
template <int Most = tileRows, class Tile>
[[gnu::always_inline]] inline void forRowTiles(int64_t rows, Tile tile,
                                               int64_t atMost = INT64_MAX) {
  int64_t row = 0;
  for (; atMost >= Most && rows - row >= Most; row += Most)
    tile.template operator()<Most>(row);
  int64_t left = rows - row;
  auto isMore = [&](int64_t count) { return atMost > count && left > count; };
  if (isMore(Most * 2 / 3))
    tile.template operator()<Most>(row);
  else if (isMore(Most / 3))
    tile.template operator()<Most * 2 / 3>(row);
  else if (isMore(Most / 6))
    tile.template operator()<Most / 3>(row);
  else if (left > 0)
    tile.template operator()<Most / 6>(row);
}

} // namespace ingot::x86
