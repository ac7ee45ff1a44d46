// SPDX-License-Identifier: Apache-2.0
// llm.attention: a tile is one KV head and `tile_tokens` tokens. Tokens of one sequence that stand
// side by side share each segment of keys and values, decoded once to f32. Buffers: query,
// positions, token_sequences, block_table, cache, sinks where there are any, result.
#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/x86/kernels/AttentionBlocks.h"
#include "codegen/x86/kernels/Epilogue.h"
#include "codegen/x86/kernels/RegisterTile.h"
#include "codegen/x86/kernels/Transpose.h"

INGOT_CONST(query_heads);
INGOT_CONST(query_type);
INGOT_CONST(result_type);
INGOT_CONST(tile_tokens);
INGOT_CONST(window); ///< positions that a token attends to; 0: all before it
INGOT_CONST(sinks);  ///< 1: each query head has one
INGOT_CONST(sink_type);
INGOT_REAL(scale);
INGOT_REAL(softcap); ///< 0: none

namespace ingot::x86 {
namespace {

int64_t headsPerKvHead() { return ingot_const_query_heads / ingot_const_kv_heads; }

AttentionScratch scratchLayout() {
  return {ingot_const_tile_tokens * headsPerKvHead(), ingot_const_head_dim};
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
    int64_t first = positions()[row / headsPerKvHead()] + 1 - ingot_const_window - begin;
    return first > 0 ? first : 0;
  }
  KvPlace place(int64_t position) const {
    int64_t sequence = static_cast<const int32_t *>(launch->buffers[2])[firstToken];
    const int32_t *table =
        static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[3];
    return KvPlace::of(launch->buffers[4], table, position);
  }
};

void loadQueries(const Run &run) {
  AttentionScratch layout = scratchLayout();
  float *total = run.scratch + layout.total(), *maxima = run.scratch + layout.totalMaxima();
  for (int64_t row = 0; row < (run.rows() + tileRows - 1) / tileRows * tileRows; ++row)
    for (int64_t i = 0; i < ingot_const_head_dim; i += lanes)
      storeVector(run.scratch + row * layout.queryStride() + i,
                  row < run.rows()
                      ? load(ingot_const_query_type, run.launch->buffers[0], run.element(row) + i)
                      : Floats{});
  for (int64_t row = 0; row < run.rows(); ++row) {
    maxima[row] = -__builtin_inff();
    for (int64_t i = 0; i < layout.valueStride(); i += lanes)
      storeVector(total + row * layout.valueStride() + i, Floats{});
  }
}

/// Keys of `count` positions from `begin` on: [positions / 16][headDim][16], zero-padded.
void loadKeys(const Run &run, int64_t begin, int64_t count, float *keys) {
  for (int64_t first = 0; first < count; first += lanes) {
    KvPlace place[lanes];
#pragma clang loop unroll(full)
    for (int i = 0; i < lanes; ++i)
      place[i] = run.place(begin + (first + i < count ? first + i : 0));
    for (int64_t d = 0; d < ingot_const_head_dim; d += lanes) {
      Floats block[lanes];
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) {
        block[i] = load(ingot_const_kv_type, place[i].keys(), place[i].element(run.kvHead) + d);
        if (kvScaled())
          block[i] *= splat(*place[i].keyScale(run.kvHead));
        if (first + i >= count)
          block[i] = Floats{};
      }
      transpose(block);
#pragma clang loop unroll(full)
      for (int i = 0; i < lanes; ++i) {
        if (d + i >= ingot_const_head_dim)
          break;
        storeVector(keys + (first * ingot_const_head_dim + (d + i) * lanes), block[i]);
      }
    }
  }
}

/// Values of `count` positions from `begin` on, a column of ones after them:
/// [valuePanels][segment][16].
void loadValues(const Run &run, int64_t begin, int64_t count, float *values) {
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
    multiplyTile<Rows, Panels>(a + row * aStride, aStride, b + panel * bDepth * lanes,
                               bDepth * lanes, depth, sum);
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

/// Turns scores `start` to `limit` of `count` into weights exp(score - maximum), the rest into
/// zeros; returns the maximum of the scaled scores.
float weigh(float *scores, int64_t start, int64_t limit, int64_t count) {
  if (start >= limit)
    limit = 0;
  Floats largest = splat(-__builtin_inff());
  for (int64_t i = 0; i < limit; i += lanes) {
    Floats score = loadVector<Floats>(scores + i) * float(ingot_real_scale);
    if (ingot_real_softcap != 0)
      score =
          float(ingot_real_softcap) * RegionMath<lanes>::tangent(score / float(ingot_real_softcap));
    score = laneIndex() < int32_t(limit - i) ? score : splat(-__builtin_inff());
    if (ingot_const_window != 0)
      score = laneIndex() < int32_t(start - i) ? splat(-__builtin_inff()) : score;
    storeVector(scores + i, score);
    largest = larger(score, largest);
  }
  float maximum = maximumLane(largest);
  for (int64_t i = 0; i < count; i += lanes)
    storeVector(scores + i, i < limit ? RegionMath<lanes>::exponential(
                                            loadVector<Floats>(scores + i) - splat(maximum))
                                      : Floats{});
  return maximum;
}

/// Takes a segment's weighted values into the total of one row.
void merge(float *total, float *totalMaximum, const float *segment, float maximum) {
  float both = maximum > *totalMaximum ? maximum : *totalMaximum;
  Floats before = RegionMath<lanes>::exponential(splat(*totalMaximum - both));
  Floats now = RegionMath<lanes>::exponential(splat(maximum - both));
  for (int64_t i = 0; i < scratchLayout().valueStride(); i += lanes)
    storeVector(total + i,
                loadVector<Floats>(total + i) * before + loadVector<Floats>(segment + i) * now);
  *totalMaximum = both;
}

/// All rows over positions [begin, begin + count).
void attendSegment(const Run &run, int64_t begin, int64_t count) {
  AttentionScratch layout = scratchLayout();
  float *keys = run.scratch + layout.keys(), *values = run.scratch + layout.values();
  float *scores = run.scratch + layout.scores(), *segment = run.scratch + layout.segment();
  float *total = run.scratch + layout.total();
  float *totalMaxima = run.scratch + layout.totalMaxima();
  float *segmentMaxima = run.scratch + layout.segmentMaxima();
  loadKeys(run, begin, count, keys);
  loadValues(run, begin, count, values);
  multiply(run.rows(), run.scratch, layout.queryStride(), keys, ingot_const_head_dim,
           ingot_const_head_dim, (count + lanes - 1) / lanes, scores, layout.scoreStride());
  for (int64_t row = 0; row < run.rows(); ++row)
    segmentMaxima[row] = weigh(scores + row * layout.scoreStride(), run.start(row, begin),
                               run.limit(row, begin, count), count);
  multiply(run.rows(), scores, layout.scoreStride(), values, attentionSegment, count,
           layout.valuePanels(), segment, layout.valueStride());
  for (int64_t row = 0; row < run.rows(); ++row)
    if (run.limit(row, begin, count) > run.start(row, begin))
      merge(total + row * layout.valueStride(), totalMaxima + row,
            segment + row * layout.valueStride(), segmentMaxima[row]);
}

/// Takes the sink of a row's head into its total: a segment whose weights add up to one and whose
/// values are zeros.
void addSink(const Run &run, int64_t row) {
  AttentionScratch layout = scratchLayout();
  float *segment = run.scratch + layout.segment();
  for (int64_t i = 0; i < layout.valueStride(); i += lanes)
    storeVector(segment + i, Floats{});
  segment[ingot_const_head_dim] = 1;
  merge(run.scratch + layout.total() + row * layout.valueStride(),
        run.scratch + layout.totalMaxima() + row, segment,
        loadElement(run.launch->buffers[5], run.head(row), ingot_const_sink_type));
}

void attendRun(const Run &run) {
  loadQueries(run);
  int64_t last = 0, first = run.start(0, 0);
  for (int64_t i = 0; i < run.tokens; ++i) {
    last = run.positions()[i] > last ? run.positions()[i] : last;
    int64_t start = run.start(i * headsPerKvHead(), 0);
    first = start < first ? start : first;
  }
  for (int64_t begin = first / attentionSegment * attentionSegment; begin <= last;
       begin += attentionSegment)
    attendSegment(run, begin,
                  last + 1 - begin < attentionSegment ? last + 1 - begin : attentionSegment);
  int64_t stride = scratchLayout().valueStride();
  for (int64_t row = 0; row < run.rows(); ++row) {
    if (ingot_const_sinks)
      addSink(run, row);
    const float *total = run.scratch + scratchLayout().total() + row * stride;
    Floats sum = splat(total[ingot_const_head_dim]);
    for (int64_t i = 0; i < ingot_const_head_dim; i += lanes)
      store(ingot_const_result_type, run.launch->buffers[5 + ingot_const_sinks],
            run.element(row) + i, loadVector<Floats>(total + i) / sum, ingot_const_head_dim - i);
  }
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const int32_t *sequences = static_cast<const int32_t *>(launch->buffers[2]);
  int64_t first = launch->tile[1] * ingot_const_tile_tokens;
  int64_t end = first + ingot_const_tile_tokens;
  end = end < launch->scalars[0] ? end : launch->scalars[0];
  while (first < end) {
    int64_t next = first + 1;
    while (next < end && sequences[next] == sequences[first])
      ++next;
    attendRun(
        {launch, launch->tile[0], first, next - first, static_cast<float *>(launch->scratch)});
    first = next;
  }
}
