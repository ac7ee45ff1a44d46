// SPDX-License-Identifier: Apache-2.0
// Products of llm.attention on AMX, of bf16 queries with keys and values of bf16. The weights of
// softmax are split into two parts of bf16, whose sum is a weight up to 2^-17.
#pragma once

#include "codegen/x86/kernels/AmxTiles.h"
#include "codegen/x86/kernels/AttentionRun.h"
#include "codegen/x86/kernels/Transpose.h"

namespace ingot::x86 {

/// Columns that a tile takes at once, and bytes of a tile of the right side.
constexpr int64_t tileDepth = amxRowBytes / 2;

/// A product: rows of bf16 (rowStride bytes apart) by panels of tiles [columns / 32][16][16][2].
struct TileTerm {
  const char *rows;
  int64_t rowStride;
  const char *panels;
  int64_t panelStride;
};

/// result [rows][stride] = the sum of `terms` over `depth` tiles, for two tiles of rows by two
/// panels, or one by up to four: each sum waits for its last product, so that few make slow work.
template <int RowTiles, int Panels, int Terms>
[[gnu::always_inline]] inline void multiplyTerms(AmxTiles &tiles, const TileTerm (&terms)[Terms],
                                                 int64_t row, int64_t panel, int64_t depth,
                                                 float *result, int64_t stride) {
  static_assert(RowTiles * Panels <= 4);
  tiles.zero<0>();
  tiles.zero<1>();
  tiles.zero<2>();
  tiles.zero<3>();
#pragma clang loop unroll(disable)
  for (int64_t k = 0; k < depth; ++k)
#pragma clang loop unroll(full)
    for (const TileTerm &term : terms) {
      const char *left = term.rows + row * term.rowStride + k * amxRowBytes;
      const char *right = term.panels + panel * term.panelStride + k * tileBytes;
      tiles.load<4>(left, term.rowStride);
      tiles.load<6>(right, amxRowBytes);
      tiles.multiplyPairs<0, 4, 6>();
      if constexpr (Panels > 1) {
        tiles.load<7>(right + term.panelStride, amxRowBytes);
        tiles.multiplyPairs<1, 4, 7>();
      }
      if constexpr (RowTiles == 2) {
        tiles.load<5>(left + amxRows * term.rowStride, term.rowStride);
        tiles.multiplyPairs<2, 5, 6>();
        if constexpr (Panels > 1)
          tiles.multiplyPairs<3, 5, 7>();
      } else if constexpr (Panels == 4) {
        tiles.load<6>(right + 2 * term.panelStride, amxRowBytes);
        tiles.multiplyPairs<2, 4, 6>();
        tiles.load<7>(right + 3 * term.panelStride, amxRowBytes);
        tiles.multiplyPairs<3, 4, 7>();
      }
    }
  float *to = result + row * stride + panel * lanes;
  float *second = RowTiles == 2 ? to + amxRows * stride : to + 2 * lanes;
  tiles.store<0>(to, stride * 4);
  if constexpr (Panels > 1)
    tiles.store<1>(to + lanes, stride * 4);
  if constexpr (RowTiles == 2 || Panels == 4)
    tiles.store<2>(second, stride * 4);
  if constexpr (RowTiles * Panels == 4)
    tiles.store<3>(second + lanes, stride * 4);
}

template <int Terms>
inline void multiplyAll(int64_t rows, const TileTerm (&terms)[Terms], int64_t depth, int64_t panels,
                        float *result, int64_t stride) {
  AmxTiles tiles(rows < amxRows ? rows : amxRows, amxRowBytes);
  for (int64_t row = 0; row < rows; row += 2 * amxRows) {
    bool two = rows - row > amxRows;
    int64_t panel = 0;
    for (; !two && panel + 4 <= panels; panel += 4)
      multiplyTerms<1, 4>(tiles, terms, row, panel, depth, result, stride);
    for (; panel + 2 <= panels; panel += 2)
      if (two)
        multiplyTerms<2, 2>(tiles, terms, row, panel, depth, result, stride);
      else
        multiplyTerms<1, 2>(tiles, terms, row, panel, depth, result, stride);
    if (panel < panels) {
      if (two)
        multiplyTerms<2, 1>(tiles, terms, row, panel, depth, result, stride);
      else
        multiplyTerms<1, 1>(tiles, terms, row, panel, depth, result, stride);
    }
  }
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
  for (int64_t first = 0; first < count; first += lanes) {
    KvPlace place[lanes];
    run.places(begin, first, count, place);
    for (int64_t d = 0; d < ingot_const_head_dim; d += tileDepth) {
      Floats words[lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) {
        words[i] = loadCached<Floats>(place[i].keys(), place[i].element(run.kvHead) + d);
        if (first + i >= count)
          words[i] = Floats{};
      }
      transpose(words);
      char *to = keys + first / lanes * panelBytes + d / tileDepth * tileBytes;
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i)
        storeVector(to + i * amxRowBytes, words[i]);
    }
  }
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
inline void scoreTiles(const Run &run, int64_t begin, int64_t count, float *scores) {
  AttentionScratch layout = scratchLayout();
  char *keys = reinterpret_cast<char *>(run.scratch + layout.keys());
  tileKeys(run, begin, count, keys);
  const int64_t depth = ingot_const_head_dim / tileDepth, panelBytes = depth * tileBytes;
  const char *rows = reinterpret_cast<const char *>(run.scratch);
  TileTerm term = {rows, ingot_const_head_dim * 2, keys, panelBytes};
  multiplyAll<1>(run.rows(), {term}, depth, (count + lanes - 1) / lanes, scores,
                 layout.scoreStride());
}

/// Weights of scores, of which each row has a maximum, times values, the sum of weights behind
/// them.
inline void weighTiles(const Run &run, int64_t begin, int64_t count, const float *scores,
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
  TileTerm first = {upper, stride, values, panelBytes}, second = first;
  second.rows = lower;
  multiplyAll<2>(run.rows(), {first, second}, depth, ingot_const_head_dim / lanes, segment,
                 layout.valueStride());
}

} // namespace ingot::x86
