// SPDX-License-Identifier: Apache-2.0
// What one tile of llm.attention computes, and softmax over a segment, however products are made.
#pragma once

#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/x86/kernels/AttentionBlocks.h"
#include "codegen/x86/kernels/Epilogue.h"
#include "codegen/x86/kernels/Transpose.h"

INGOT_CONST(query_heads);
INGOT_CONST(query_type);
INGOT_CONST(result_type);
INGOT_CONST(tile_tokens);
INGOT_CONST(window);  ///< positions that a token attends to; 0: all before it
INGOT_CONST(chunked); ///< 1: windows follow each other, and do not slide
INGOT_CONST(sinks);   ///< 1: each query head has one
INGOT_CONST(sink_type);
INGOT_CONST(method); ///< AttentionMethod
INGOT_REAL(scale);
INGOT_REAL(softcap); ///< 0: none

namespace ingot::x86 {

inline int64_t headsPerKvHead() { return ingot_const_query_heads / ingot_const_kv_heads; }

inline AttentionScratch scratchLayout() {
  return {ingot_const_tile_tokens * headsPerKvHead(), ingot_const_head_dim,
          AttentionMethod(ingot_const_method)};
}

/// Consecutive tokens of one sequence, for one KV head.
struct Run {
  const IngotLaunch *launch;
  int64_t kvHead, firstToken, tokens;
  float *scratch;

  const int32_t *positions() const {
    return static_cast<const int32_t *>(launch->buffers[1]) + firstToken;
  }
  int64_t rows() const { return tokens * headsPerKvHead(); }
  /// Query head of row `row`.
  int64_t head(int64_t row) const { return kvHead * headsPerKvHead() + row % headsPerKvHead(); }
  /// Element of the query, and of the result, where row `row` begins.
  int64_t element(int64_t row) const {
    int64_t token = firstToken + row / headsPerKvHead();
    return (token * ingot_const_query_heads + head(row)) * ingot_const_head_dim;
  }
  /// How many of `count` positions from `begin` on row `row` attends to; may be below 1.
  int64_t limit(int64_t row, int64_t begin, int64_t count) const {
    int64_t seen = positions()[row / headsPerKvHead()] + 1 - begin;
    return seen < count ? seen : count;
  }
  /// The first of the positions from `begin` on that row `row` attends to, counted from there.
  int64_t start(int64_t row, int64_t begin) const {
    if (ingot_const_window == 0)
      return 0;
    int64_t position = positions()[row / headsPerKvHead()];
    int64_t seen = ingot_const_chunked ? position - position % ingot_const_window
                                       : position + 1 - ingot_const_window;
    return seen > begin ? seen - begin : 0;
  }
  /// Behind the last of `count` positions that row `row` attends to; 0 when there is none.
  int64_t end(int64_t row, int64_t begin, int64_t count) const {
    int64_t behind = limit(row, begin, count);
    return behind > start(row, begin) ? behind : 0;
  }
  KvPlace place(int64_t position) const {
    int64_t sequence = static_cast<const int32_t *>(launch->buffers[2])[firstToken];
    const int32_t *table =
        static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[0];
    return KvPlace::of(launch->buffers[4], table, position);
  }
  /// Those of sixteen of `count` positions, the first one's in place of those behind them.
  [[gnu::always_inline]] void places(int64_t begin, int64_t first, int64_t count,
                                     KvPlace (&place)[lanes]) const {
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      place[i] = this->place(begin + (first + i < count ? first + i : 0));
  }
};

/// Keys of `count` positions from `begin` on, zeros behind them, transposed: load(place, d) gives a
/// position's columns from `d` on, `step` of them; store(first, d, i, vector) takes lane `i` of
/// those of 16 positions from `first` on.
template <class Load, class Store>
[[gnu::always_inline]] inline void transposeKeys(const Run &run, int64_t begin, int64_t count,
                                                 int64_t step, Load load, Store store) {
  for (int64_t first = 0; first < count; first += lanes) {
    KvPlace place[lanes];
    run.places(begin, first, count, place);
    for (int64_t d = 0; d < ingot_const_head_dim; d += step) {
      Floats block[lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) {
        block[i] = load(place[i], d);
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

/// Scales a row's scores [0, end) and makes those before `start` and behind `end`, up to sixteen,
/// minus infinity; returns the maximum.
inline float scaleScores(float *scores, int64_t start, int64_t end) {
  Floats largest = splat(-__builtin_inff());
  for (int64_t i = 0; i < end; i += lanes) {
    Floats score = loadVector<Floats>(scores + i) * float(ingot_real_scale);
    if (ingot_real_softcap != 0)
      score =
          float(ingot_real_softcap) * RegionMath<lanes>::tangent(score / float(ingot_real_softcap));
    score = laneIndex() < int32_t(end - i) ? score : splat(-__builtin_inff());
    if (ingot_const_window != 0)
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

/// Takes a segment's weighted values into the total of one row.
inline void merge(float *total, float *totalMaximum, const float *segment, float maximum) {
  float both = maximum > *totalMaximum ? maximum : *totalMaximum;
  Floats before = RegionMath<lanes>::exponential(splat(*totalMaximum - both));
  Floats now = RegionMath<lanes>::exponential(splat(maximum - both));
  for (int64_t i = 0; i < scratchLayout().valueStride(); i += lanes)
    storeVector(total + i,
                loadVector<Floats>(total + i) * before + loadVector<Floats>(segment + i) * now);
  *totalMaximum = both;
}

} // namespace ingot::x86
