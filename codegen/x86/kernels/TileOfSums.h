// SPDX-License-Identifier: Apache-2.0
// Sums of groups in tiles of AMX, which are scaled outside.
#pragma once

#include "codegen/x86/kernels/RowTiles.h"

namespace ingot::x86 {

/// A tile of rows by a panel. The products of four groups are in the tiles: what was just made is
/// slow to store, and what was just stored slow to load, so a group's sums are stored when the
/// fourth behind is about to be made, and scaled one later. Totals stay in registers.
template <class Products, int Rows> struct TileOfSums {
  AmxTiles &tiles;
  Products products;
  const char *left; ///< the input's tiles from the first group on
  int32_t *memory;  ///< for sums of two tiles

  /// Adds `groups` groups to totals [Rows][tileSumColumns()], the first ones if `isFirst`.
  void add(int64_t groups, BytesAhead ahead, float *totals, bool isFirst) const {
    Floats total[Rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
      total[r] = isFirst ? Floats{} : loadVector<Floats>(totals + r * tileSumColumns());
    const int64_t each = roundUp((ahead.end - ahead.next) / groups, 64);
#pragma clang loop unroll(disable)
    for (int64_t group = 0; group < groups + scaleDistance; group += 4) {
      step<0>(group, groups, total);
      ahead.prefetch(each);
      step<1>(group, groups, total);
      ahead.prefetch(each);
      step<2>(group, groups, total);
      ahead.prefetch(each);
      step<3>(group, groups, total);
      ahead.prefetch(each);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
      storeVector(totals + r * tileSumColumns(), total[r]);
  }

private:
  /// Groups from a product to its store, and to its scaling.
  static constexpr int64_t storeDistance = 4, scaleDistance = 5;

  template <int I>
  [[gnu::always_inline]] void step(int64_t first, int64_t groups, Floats *total) const {
    const int64_t group = first + I, stored = group - storeDistance, scaled = group - scaleDistance;
    if (stored >= 0 && stored < groups)
      tiles.store<I>(memory + I % 2 * tileWords, amxRowBytes);
    if (group < groups) {
      tiles.zero<I>();
      products.template multiply<I>(tiles, left, group);
    }
    if (scaled >= 0 && scaled < groups)
      scale(scaled, memory + (I + 1) % 2 * tileWords, total);
  }

  /// Adds the sums of a group to the totals.
  [[gnu::always_inline]] void scale(int64_t group, const int32_t *sums, Floats *total) const {
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
      total[r] = products.close(total[r], loadVector<Ints>(sums + r * panelRows), group, r);
  }
};

} // namespace ingot::x86
