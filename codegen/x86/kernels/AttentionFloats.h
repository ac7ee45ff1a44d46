// SPDX-License-Identifier: Apache-2.0
// Products of llm.attention in f32: queries, keys and values are decoded once for all rows of a
// tile.
#pragma once

#include "codegen/x86/kernels/AttentionRun.h"

namespace ingot::x86 {

/// Rows of queries as f32, zeros behind them.
inline void loadQueries(const Run &run) {
  auto part = [&](int64_t type, const void *from, int64_t columns,
                  int64_t behind) __attribute__((always_inline)) {
    loadQueries(
        type, from, columns, run.rows(),
        [&](int64_t row) __attribute__((always_inline)) { return run.numberOf(row) * columns; },
        run.scratch + behind, scratchLayout().queryStride());
  };
  const int64_t own = ingot_const_head_dim - ingot_const_rotary_columns;
  part(ingot_const_query_type, run.launch->buffers[0], own, 0);
  if (Run::hasRotary())
    part(ingot_const_rotary_type, run.rotary(), ingot_const_rotary_columns, own);
}

/// Keys of `count` positions from `begin` on: [positions / 16][headDim][16], zero-padded.
inline void loadKeys(const Run &run, int64_t begin, int64_t count, float *keys) {
  auto place = [&](int64_t i) __attribute__((always_inline)) { return run.place(begin + i); };
  auto load = [&](const KvPlace &place, int64_t d) __attribute__((always_inline)) {
    Floats key = x86::load(ingot_const_kv_type, place.keys(), run.keyOf(place) + d);
    return kvScaled() ? key * splat(*place.keyScale(run.kvHead)) : key;
  };
  loadKeys(count, ingot_const_head_dim, place, load, keys);
}

/// Values of `count` positions from `begin` on, a column of ones after them:
/// [valuePanels][segment][16].
inline void loadValues(const Run &run, int64_t begin, int64_t count, float *values) {
  struct Scaled {
    KvPlace place;
    Floats scale;
  };
  auto place = [&](int64_t i) __attribute__((always_inline)) {
    KvPlace place = run.place(begin + i);
    return Scaled{place, splat(kvScaled() ? *place.valueScale(run.kvHead) : 1.0f)};
  };
  auto load = [&](const Scaled &at, int64_t d) __attribute__((always_inline)) {
    Floats value = x86::load(ingot_const_kv_type, at.place.values(), run.valueOf(at.place) + d);
    return kvScaled() ? value * at.scale : value;
  };
  loadValues(count, ingot_const_value_dim, place, load, values);
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
