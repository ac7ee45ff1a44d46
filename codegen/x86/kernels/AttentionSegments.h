// SPDX-License-Identifier: Apache-2.0
// Attention of some rows over segments of positions, wherever keys and values come from: what is
// transposed, softmax, and products in f32. Layouts are those of AttentionScratch.
#pragma once

#include "codegen/x86/kernels/AttentionBlocks.h"
#include "codegen/x86/kernels/Epilogue.h"
#include "codegen/x86/kernels/RegisterTile.h"
#include "codegen/x86/kernels/Transpose.h"

INGOT_CONST(method); ///< AttentionMethod

namespace ingot::x86 {

/// Queries as f32, [rows][stride], zeros behind the rows up to whole register tiles. element(row)
/// is where the `columns` of a row begin.
template <class Element>
[[gnu::always_inline]] inline void loadQueries(int64_t type, const void *base, int64_t columns,
                                               int64_t rows, Element element, float *queries,
                                               int64_t stride) {
  for (int64_t row = 0; row < (rows + tileRows - 1) / tileRows * tileRows; ++row)
    for (int64_t i = 0; i < columns; i += lanes)
      storeVector(queries + row * stride + i,
                  row < rows ? load(type, base, element(row) + i) : Floats{});
}

/// Keys of `count` positions, zeros behind them, transposed: place(i) says where the i-th is,
/// load(place, d) gives its columns from `d` on, `step` of them; store(first, d, i, vector) takes
/// lane `i` of those of 16 positions from `first` on.
template <class Place, class Load, class Store>
[[gnu::always_inline]] inline void transposeKeys(int64_t count, int64_t columns, int64_t step,
                                                 Place place, Load load, Store store) {
  for (int64_t first = 0; first < count; first += lanes) {
    decltype(place(first)) places[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      places[i] = place(first + i < count ? first + i : 0);
    for (int64_t d = 0; d < columns; d += step) {
      Floats block[lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) {
        block[i] = load(places[i], d);
        if (first + i >= count)
          block[i] = Floats{};
      }
      transpose(block);
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i)
        store(first, d, i, block[i]);
    }
  }
}

/// The same as f32: [positions / 16][columns][16].
template <class Place, class Load>
[[gnu::always_inline]] inline void loadKeys(int64_t count, int64_t columns, Place place, Load load,
                                            float *keys) {
  transposeKeys(count, columns, lanes, place, load,
                [&](int64_t first, int64_t d, int i, Floats column) __attribute__((always_inline)) {
                  if (d + i < columns)
                    storeVector(keys + first * columns + (d + i) * lanes, column);
                });
}

/// Values of `count` positions, a column of ones after them: [panels][segment][16]. load(place(i),
/// d) gives those of the i-th from column `d` on.
template <class Place, class Load>
[[gnu::always_inline]] inline void loadValues(int64_t count, int64_t columns, Place place,
                                              Load load, float *values) {
  for (int64_t i = 0; i < count; ++i) {
    auto at = place(i);
    for (int64_t d = 0; d <= columns; d += lanes) {
      Floats value = {};
      if (d < columns)
        value = load(at, d);
      Ints column = laneIndex() + int32_t(d);
      Floats one = column == int32_t(columns) ? splat(1.0f) : Floats{};
      value = column < int32_t(columns) ? value : one;
      storeVector(values + (d / lanes * attentionSegment + i) * lanes, value);
    }
  }
}

/// result [rows][resultStride] = a [rows][aStride] times b [panels][depth][16], `depth` of which
/// `bDepth` are stored.
[[gnu::always_inline]] inline void multiply(int64_t rows, const float *a, int64_t aStride,
                                            const float *b, int64_t bDepth, int64_t depth,
                                            int64_t panels, float *result, int64_t resultStride) {
  auto tile = [&]<int Rows, int Panels>(int64_t row, int64_t panel) __attribute__((always_inline)) {
    Floats sum[Rows][Panels];
    const FloatPanels columns = {b + panel * bDepth * lanes, bDepth * lanes};
    multiplyTile<Rows, Panels>(a + row * aStride, aStride, columns, depth, sum);
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        storeVector(result + (row + r) * resultStride + (panel + p) * lanes, sum[r][p]);
  };
  int64_t panel = 0;
  for (; panel + tilePanels <= panels; panel += tilePanels)
    forRowTiles(rows, [&]<int Rows>(int64_t row) __attribute__((always_inline)) {
      tile.template operator()<Rows, tilePanels>(row, panel);
    });
  for (; panel < panels; ++panel)
    forRowTiles(rows, [&]<int Rows>(int64_t row) __attribute__((always_inline)) {
      tile.template operator()<Rows, 1>(row, panel);
    });
}

/// Scales a row's scores [0, end), caps them where `softcap` is not 0, and makes those before
/// `start` and behind `end`, up to sixteen, minus infinity; returns the maximum.
[[gnu::always_inline]] inline float scaleScores(float *scores, int64_t start, int64_t end,
                                                float scale, float softcap) {
  Floats largest = splat(-__builtin_inff());
  for (int64_t i = 0; i < end; i += lanes) {
    Floats score = loadVector<Floats>(scores + i) * scale;
    if (softcap != 0)
      score = softcap * RegionMath<lanes>::tangent(score / softcap);
    score = laneIndex() < int32_t(end - i) ? score : splat(-__builtin_inff());
    if (start > 0)
      score = laneIndex() < int32_t(start - i) ? splat(-__builtin_inff()) : score;
    storeVector(scores + i, score);
    largest = larger(score, largest);
  }
  return maximumLane(largest);
}

/// Weights exp(score - maximum) of positions [i, i + 16); those from `end` on have none.
[[gnu::always_inline]] inline Floats weightsAt(const float *scores, int64_t i, int64_t end,
                                               float maximum) {
  if (i >= end)
    return Floats{};
  return RegionMath<lanes>::exponential(loadVector<Floats>(scores + i) - splat(maximum));
}

/// Totals [rows][stride] and maxima before the first segment.
inline void clearTotals(int64_t rows, int64_t stride, float *total, float *maxima) {
  for (int64_t row = 0; row < rows; ++row) {
    maxima[row] = -__builtin_inff();
    for (int64_t i = 0; i < stride; i += lanes)
      storeVector(total + row * stride + i, Floats{});
  }
}

/// Takes a segment's weighted values into the total of one row, both of `stride` floats.
[[gnu::always_inline]] inline void merge(float *total, float *totalMaximum, const float *segment,
                                         float maximum, int64_t stride) {
  float both = maximum > *totalMaximum ? maximum : *totalMaximum;
  Floats before = RegionMath<lanes>::exponential(splat(*totalMaximum - both));
  Floats now = RegionMath<lanes>::exponential(splat(maximum - both));
  for (int64_t i = 0; i < stride; i += lanes)
    storeVector(total + i,
                loadVector<Floats>(total + i) * before + loadVector<Floats>(segment + i) * now);
  *totalMaximum = both;
}

/// Stores what a row's segments came to: its weighted values, over the sum of weights behind them.
[[gnu::always_inline]] inline void storeQuotients(const float *total, int64_t columns, int64_t type,
                                                  void *base, int64_t first) {
  Floats sum = splat(total[columns]);
  for (int64_t i = 0; i < columns; i += lanes)
    store(type, base, first + i, loadVector<Floats>(total + i) / sum, columns - i);
}

} // namespace ingot::x86
