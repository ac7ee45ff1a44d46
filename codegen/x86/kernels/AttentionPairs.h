// SPDX-License-Identifier: Apache-2.0
// Products of llm.attention of bf16 queries with keys and values of bf16, two columns at a time: in
// registers or on AMX. The weights of softmax are split into two parts of bf16, whose sum is a
// weight up to 2^-17.
#pragma once

#include "codegen/x86/kernels/AttentionRun.h"
#include "codegen/x86/kernels/AttentionTiles.h"

namespace ingot::x86 {

/// result [rows][stride] = the sum of `terms` over `depth` tiles, for `Rows` rows by `Panels`
/// panels.
template <int Rows, int Panels, int Terms>
[[gnu::always_inline]] inline void multiplyWords(const PairTerm (&terms)[Terms], int64_t row,
                                                 int64_t panel, int64_t depth, float *result,
                                                 int64_t stride) {
  Floats sum[Rows][Panels] = {};
#pragma clang loop unroll(full)
  for (const PairTerm &term : terms) {
    const char *left = term.rows + row * term.rowStride;
    const char *right = term.panels + panel * term.panelStride;
#pragma clang loop unroll(disable)
    for (int64_t word = 0; word < depth * tileDepth / 2; ++word) {
      Ints column[Panels];
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        column[p] = loadVector<Ints>(right + p * term.panelStride + word * amxRowBytes);
#pragma clang loop unroll(full)
      for (int r = 0; r < Rows; ++r) {
        Ints x = splatWord(left + r * term.rowStride + word * 4);
#pragma clang loop unroll(full)
        for (int p = 0; p < Panels; ++p)
          sum[r][p] = dotPairs(sum[r][p], column[p], x);
      }
    }
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      storeVector(result + (row + r) * stride + (panel + p) * lanes, sum[r][p]);
}

/// The same for all rows and panels, however the target does it. Registers take panels by twos; of
/// an odd number the one behind, whose result nobody reads, is multiplied too.
template <int Terms>
inline void multiplyPairs(int64_t rows, const PairTerm (&terms)[Terms], int64_t depth,
                          int64_t panels, float *result, int64_t stride) {
  if (ingot_const_method == TileAttention)
    return multiplyTiles(rows, terms, depth, panels, result, stride);
  constexpr int fewRows = 4, manyPanels = 4; // enough sums to hide the time that one takes
  auto take = [&]<int Panels>(int64_t panel, int64_t atMost) {
    forRowTiles(
        rows,
        [&]<int Rows>(int64_t row) {
          if constexpr (Rows <= fewRows || Panels <= tilePanels)
            multiplyWords<Rows, Panels>(terms, row, panel, depth, result, stride);
        },
        atMost);
  };
  int64_t panel = 0;
  if (rows <= fewRows)
    for (; panel + manyPanels <= panels; panel += manyPanels)
      take.template operator()<manyPanels>(panel, fewRows);
  for (; panel < panels; panel += tilePanels)
    take.template operator()<tilePanels>(panel, scratchLayout().rows);
}

/// Queries as they are, [rows][headDim].
inline void copyQueries(const Run &run) {
  const char *queries = static_cast<const char *>(run.launch->buffers[0]);
  char *to = reinterpret_cast<char *>(run.scratch);
  const int64_t bytes = ingot_const_head_dim * 2;
  for (int64_t row = 0; row < run.rows(); ++row)
    __builtin_memcpy(to + row * bytes, queries + run.element(row) * 2, bytes);
}

/// Sixteen values of the cache, or columns of a key by twos.
template <class V> [[gnu::always_inline]] inline V loadCached(const void *base, int64_t element) {
  return loadVector<V>(static_cast<const char *>(base) + element * 2);
}

/// Keys of `count` positions from `begin` on as tiles, [segment / 16][headDim / 32], zeros behind
/// them.
inline void tileKeys(const Run &run, int64_t begin, int64_t count, char *keys) {
  const int64_t panelBytes = ingot_const_head_dim / tileDepth * tileBytes;
  auto place = [&](int64_t i) __attribute__((always_inline)) { return run.place(begin + i); };
  auto load = [&](const KvPlace &place, int64_t d) __attribute__((always_inline)) {
    return loadCached<Floats>(place.keys(), place.element(run.kvHead) + d);
  };
  transposeKeys(count, ingot_const_head_dim, tileDepth, place, load,
                [&](int64_t first, int64_t d, int i, Floats words) __attribute__((always_inline)) {
                  char *tile = keys + first / lanes * panelBytes + d / tileDepth * tileBytes;
                  storeVector(tile + i * amxRowBytes, words);
                });
}

/// Values of `count` positions from `begin` on as tiles, [headDim / 16][segment / 32], zeros behind
/// them, up to whole tiles.
inline void tileValues(const Run &run, int64_t begin, int64_t count, char *values) {
  const int64_t panelBytes = attentionSegment / tileDepth * tileBytes;
  const int64_t end = (count + tileDepth - 1) / tileDepth * tileDepth;
  for (int64_t i = 0; i < end; i += 2) {
    // The words of a pair of positions are those of a column.
    int64_t last = count - 1;
    KvPlace even = run.place(begin + (i < last ? i : last));
    KvPlace odd = run.place(begin + (i + 1 < last ? i + 1 : last));
    for (int64_t d = 0; d < ingot_const_head_dim; d += lanes) {
      Shorts left = loadCached<Shorts>(even.values(), even.element(run.kvHead) + d);
      Shorts right = loadCached<Shorts>(odd.values(), odd.element(run.kvHead) + d);
      left = i < count ? left : Shorts{};
      right = i + 1 < count ? right : Shorts{};
      storeVector(values + d / lanes * panelBytes + i / 2 * amxRowBytes,
                  __builtin_convertvector(left, UInts) | __builtin_convertvector(right, UInts)
                                                             << 16);
    }
  }
}

/// Scores of all rows with positions [begin, begin + count).
inline void scorePairs(const Run &run, int64_t begin, int64_t count, float *scores) {
  AttentionScratch layout = scratchLayout();
  char *keys = reinterpret_cast<char *>(run.scratch + layout.keys());
  tileKeys(run, begin, count, keys);
  const int64_t depth = ingot_const_head_dim / tileDepth, panelBytes = depth * tileBytes;
  const char *rows = reinterpret_cast<const char *>(run.scratch);
  PairTerm term = {rows, ingot_const_head_dim * 2, keys, panelBytes};
  multiplyPairs<1>(run.rows(), {term}, depth, (count + lanes - 1) / lanes, scores,
                   layout.scoreStride());
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
    storeVector(segment + row * layout.valueStride() + ingot_const_head_dim, Floats{sumLanes(sum)});
  }
  const int64_t panelBytes = attentionSegment / tileDepth * tileBytes;
  PairTerm first = {upper, stride, values, panelBytes}, second = first;
  second.rows = lower;
  multiplyPairs<2>(run.rows(), {first, second}, depth, ingot_const_head_dim / lanes, segment,
                   layout.valueStride());
}

} // namespace ingot::x86
