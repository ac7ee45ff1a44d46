// SPDX-License-Identifier: Apache-2.0
// Products of llm.attention in f32: queries, keys and values are decoded once for all rows of a
// tile.
#pragma once

#include "codegen/x86/kernels/AttentionRun.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// Rows of queries as f32, zeros behind them.
inline void loadQueries(const Run &run) {
  AttentionScratch layout = scratchLayout();
  for (int64_t row = 0; row < (run.rows() + tileRows - 1) / tileRows * tileRows; ++row)
    for (int64_t i = 0; i < ingot_const_head_dim; i += lanes)
      storeVector(run.scratch + row * layout.queryStride() + i,
                  row < run.rows()
                      ? load(ingot_const_query_type, run.launch->buffers[0], run.element(row) + i)
                      : Floats{});
}

/// Keys of `count` positions from `begin` on: [positions / 16][headDim][16], zero-padded.
inline void loadKeys(const Run &run, int64_t begin, int64_t count, float *keys) {
  auto load = [&](const KvPlace &place, int64_t d) __attribute__((always_inline)) {
    Floats key = x86::load(ingot_const_kv_type, place.keys(), place.element(run.kvHead) + d);
    return kvScaled() ? key * splat(*place.keyScale(run.kvHead)) : key;
  };
  transposeKeys(run, begin, count, lanes, load,
                [&](int64_t first, int64_t d, int i, Floats column) __attribute__((always_inline)) {
                  if (d + i < ingot_const_head_dim)
                    storeVector(keys + first * ingot_const_head_dim + (d + i) * lanes, column);
                });
}

/// Values of `count` positions from `begin` on, a column of ones after them:
/// [valuePanels][segment][16].
inline void loadValues(const Run &run, int64_t begin, int64_t count, float *values) {
  for (int64_t i = 0; i < count; ++i) {
    KvPlace place = run.place(begin + i);
    Floats scale = splat(kvScaled() ? *place.valueScale(run.kvHead) : 1.0f);
    for (int64_t panel = 0; panel < scratchLayout().valuePanels(); ++panel) {
      int64_t d = panel * lanes;
      Floats value = {};
      if (d < ingot_const_head_dim)
        value = load(ingot_const_kv_type, place.values(), place.element(run.kvHead) + d);
      if (kvScaled())
        value *= scale;
      Ints column = laneIndex() + int32_t(d);
      Floats one = column == int32_t(ingot_const_head_dim) ? splat(1.0f) : Floats{};
      value = column < int32_t(ingot_const_head_dim) ? value : one;
      storeVector(values + (panel * attentionSegment + i) * lanes, value);
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

/// Scores of all rows with positions [begin, begin + count).
inline void scoreFloats(const Run &run, int64_t begin, int64_t count, float *scores) {
  AttentionScratch layout = scratchLayout();
  float *keys = run.scratch + layout.keys();
  loadKeys(run, begin, count, keys);
  multiply(run.rows(), run.scratch, layout.queryStride(), keys, ingot_const_head_dim,
           ingot_const_head_dim, (count + lanes - 1) / lanes, scores, layout.scoreStride());
}

/// Weights (in place of scores, of which each row has a maximum) times values.
inline void weighFloats(const Run &run, int64_t begin, int64_t count, float *scores,
                        const float *maxima, float *segment) {
  AttentionScratch layout = scratchLayout();
  for (int64_t row = 0; row < run.rows(); ++row) {
    float *of = scores + row * layout.scoreStride();
    const int64_t end = run.end(row, begin, count);
    for (int64_t i = 0; i < count; i += lanes)
      storeVector(of + i, weightsAt(of, i, end, maxima[row]));
  }
  float *values = run.scratch + layout.values();
  loadValues(run, begin, count, values);
  multiply(run.rows(), scores, layout.scoreStride(), values, attentionSegment, count,
           layout.valuePanels(), segment, layout.valueStride());
}

} // namespace ingot::x86
