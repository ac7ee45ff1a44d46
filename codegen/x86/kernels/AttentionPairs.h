// SPDX-License-Identifier: Apache-2.0
// Products of llm.attention of bf16 queries with keys and values of bf16, two columns at a time: in
// registers or on AMX. The weights of softmax are split into two parts of bf16, whose sum is a
// weight up to 2^-17.
#pragma once

#include "codegen/x86/kernels/AttentionRun.h"
#include "codegen/x86/kernels/PairProducts.h"

namespace ingot::x86 {

/// Queries as they are, [rows][headDim].
inline void copyQueries(const Run &run) {
  char *to = reinterpret_cast<char *>(run.scratch);
  auto copy = [&](const void *from, int64_t columns, int64_t behind) {
    const int64_t bytes = columns * 2;
    for (int64_t row = 0; row < run.rows(); ++row)
      __builtin_memcpy(to + (row * ingot_const_head_dim + behind) * 2,
                       static_cast<const char *>(from) + run.numberOf(row) * bytes, bytes);
  };
  const int64_t own = ingot_const_head_dim - ingot_const_rotary_columns;
  copy(run.launch->buffers[0], own, 0);
  if (Run::hasRotary())
    copy(run.rotary(), ingot_const_rotary_columns, own);
}

/// Sixteen values of the cache, or columns of a key by twos.
template <class V> [[gnu::always_inline]] inline V loadCached(const void *base, int64_t element) {
  return loadVector<V>(static_cast<const char *>(base) + element * 2);
}

/// Keys of `count` positions from `begin` on as tiles.
inline void tileKeys(const Run &run, int64_t begin, int64_t count, char *keys) {
  tileKeys(
      count, ingot_const_head_dim,
      [&](int64_t i) __attribute__((always_inline)) { return run.place(begin + i); },
      [&](const KvPlace &place, int64_t d) __attribute__((always_inline)) {
        return loadCached<Floats>(place.keys(), run.keyOf(place) + d);
      },
      keys);
}

/// Values of `count` positions from `begin` on as tiles.
inline void tileValues(const Run &run, int64_t begin, int64_t count, char *values) {
  tileValues(
      count, ingot_const_value_dim,
      [&](int64_t i) __attribute__((always_inline)) { return run.place(begin + i); },
      [&](const KvPlace &place, int64_t d) __attribute__((always_inline)) {
        return loadCached<Shorts>(place.values(), run.valueOf(place) + d);
      },
      values);
}

/// Scores of all rows with positions [begin, begin + count).
inline void scorePairs(const Run &run, int64_t begin, int64_t count, float *scores) {
  AttentionScratch layout = scratchLayout();
  char *keys = reinterpret_cast<char *>(run.scratch + layout.keys());
  tileKeys(run, begin, count, keys);
  const int64_t depth = ingot_const_head_dim / tileDepth, panelBytes = depth * tileBytes;
  const char *rows = reinterpret_cast<const char *>(run.scratch);
  PairTerm term = {rows, ingot_const_head_dim * 2, amxRowBytes, keys, panelBytes};
  multiplyPairs<1>(run.rows(), layout.rows, {term}, depth, (count + lanes - 1) / lanes, scores,
                   layout.scoreStride());
}

/// Whether keys are read in place, as rows of tiles of AMX whose columns are queries: where these
/// are so few that putting keys in another order would take longer than their products. Sums are
/// the same.
inline bool readsKeysInPlace() {
  constexpr int64_t fewRows = 32;
  return ingot_const_method == TileAttention && scratchLayout().rows <= fewRows &&
         ingot_const_block_tokens % amxRows == 0 && ingot_const_selected == 0;
}

/// The queries as tiles, in place of keys: [rows / 16][headDim / 32].
inline void tileQueries(const Run &run) {
  const char *queries = reinterpret_cast<const char *>(run.scratch);
  tileKeys(
      run.rows(), ingot_const_head_dim, [](int64_t row) { return row; },
      [&](int64_t row, int64_t d) __attribute__((always_inline)) {
        return loadCached<Floats>(queries, row * ingot_const_head_dim + d);
      },
      reinterpret_cast<char *>(run.scratch + scratchLayout().keys()));
}

/// The same scores, of keys in place. Of positions behind `count` in its last block, which nobody
/// wrote perhaps, they are anything.
inline void scoreInPlace(const Run &run, int64_t begin, int64_t count, float *scores) {
  AttentionScratch layout = scratchLayout();
  const char *queries = reinterpret_cast<const char *>(run.scratch + layout.keys());
  // Weights are made of scores later.
  float *turned = run.scratch + layout.weights();
  const int64_t depth = ingot_const_head_dim / tileDepth, panelBytes = depth * tileBytes;
  const int64_t panels = (run.rows() + lanes - 1) / lanes, stride = panels * lanes;
  AmxTiles tiles(amxRows, amxRowBytes);
  for (int64_t i = 0; i < count; i += amxRows) {
    const KvPlace place = run.place(begin + i);
    const char *keys = static_cast<const char *>(place.keys()) + run.keyOf(place) * 2;
    PairTerm term = {keys, ingot_const_head_dim * 2, amxRowBytes, queries, panelBytes};
    multiplyTiles<1>(tiles, amxRows, {term}, depth, panels, turned, stride);
    for (int64_t row = 0; row < stride; row += lanes) {
      Floats block[lanes];
#pragma clang loop unroll(full)
      for (int j = 0; j < lanes; ++j)
        block[j] = loadVector<Floats>(turned + j * stride + row);
      transpose(block);
#pragma clang loop unroll(full)
      for (int j = 0; j < lanes; ++j)
        storeVector(scores + (row + j) * layout.scoreStride() + i, block[j]);
    }
  }
}

/// Weights of scores, of which each row has a maximum, times values, the sum of weights behind
/// them.
inline void weighPairs(const Run &run, int64_t begin, int64_t count, const float *scores,
                       const float *maxima, float *segment) {
  AttentionScratch layout = scratchLayout();
  char *values = reinterpret_cast<char *>(run.scratch + layout.values());
  tileValues(run, begin, count, values);
  char *upper = reinterpret_cast<char *>(run.scratch + layout.weights());
  const int64_t stride = layout.weightStride() * 2;
  char *lower = upper + layout.paddedRows() * stride;
  const int64_t depth = (count + tileDepth - 1) / tileDepth;
  for (int64_t row = 0; row < run.rows(); ++row) {
    const float *of = scores + row * layout.scoreStride();
    const int64_t end = run.end(row, begin, count);
    Floats sum = {};
    for (int64_t k = 0; k < depth * tileDepth; k += tileDepth)
#pragma clang loop unroll(full)
      for (int64_t i = k; i < k + tileDepth; i += lanes) {
        Floats weight = weightsAt(of, i, end, maxima[row]);
        sum += weight;
        Shorts rounded = narrowBf16(weight);
        storeVector(upper + row * stride + i * 2, rounded);
        storeVector(lower + row * stride + i * 2, narrowBf16(weight - widenBf16(rounded)));
      }
    storeVector(segment + row * layout.valueStride() + ingot_const_value_dim,
                Floats{sumLanes(sum)});
  }
  const int64_t panelBytes = attentionSegment / tileDepth * tileBytes;
  PairTerm first = {upper, stride, amxRowBytes, values, panelBytes}, second = first;
  second.rows = lower;
  multiplyPairs<2>(run.rows(), layout.rows, {first, second}, depth, ingot_const_value_dim / lanes,
                   segment, layout.valueStride());
}

} // namespace ingot::x86
