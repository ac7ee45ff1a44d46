// SPDX-License-Identifier: Apache-2.0
// llm.attention: one query head of one token a tile. Buffers: query, positions, token_sequences,
// block_table, cache, sinks, reaches, rotary and selected where there are any, result.
#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/reference/kernels/Softmax.h"

INGOT_CONST(value_stride); ///< elements from one value to the next: of a latent cache, of keys
INGOT_CONST(query_heads);
INGOT_CONST(query_type);
INGOT_CONST(result_type);
INGOT_CONST(fp8);     ///< 1: products have e4m3 on both sides
INGOT_CONST(window);  ///< positions that a token attends to; 0: all before it
INGOT_CONST(chunked); ///< 1: windows follow each other, and do not slide
INGOT_CONST(sinks);   ///< 1: each query head has one
INGOT_CONST(sink_type);
INGOT_CONST_OR(reaches, 0);  ///< 1: each token has one, the last position that it attends to
INGOT_CONST_OR(selected, 0); ///< positions that a token's list has room for; 0: there are none
INGOT_CONST_OR(rotary_columns, 0); ///< of a query head, the last, which stand apart
INGOT_CONST_OR(rotary_type, 0);
INGOT_REAL(scale);
INGOT_REAL(softcap); ///< 0: none

/// Positions of a unit, at most (ReferenceProvider.cpp).
constexpr int64_t kMostPositions = 128;
/// Positions whose weights share a scale where products are of e4m3.
constexpr int64_t kRun = 64;

/// The first position that a token at `position` attends to.
static int64_t firstSeen(int64_t position) {
  if (ingot_const_window == 0)
    return 0;
  if (ingot_const_chunked)
    return position - position % ingot_const_window;
  return position >= ingot_const_window ? position + 1 - ingot_const_window : 0;
}

/// One query head and the cache of its sequence.
struct Query {
  const IngotLaunch *launch;
  const int32_t *table;
  int64_t first; ///< its number among all tokens' heads
  int64_t kvHead;

  const int32_t *selected; ///< the positions that are attended to; null: all are
  float queryScale;        ///< 1 unless products are of e4m3

  float stored(int64_t i) const {
    constexpr auto own = [] { return ingot_const_head_dim - ingot_const_rotary_columns; };
    if (i < own())
      return loadElement(launch->buffers[0], first * own() + i, ingot_const_query_type);
    const void *rotary = launch->buffers[5 + ingot_const_sinks + ingot_const_reaches];
    return loadElement(rotary, first * ingot_const_rotary_columns + i - own(),
                       ingot_const_rotary_type);
  }

  /// Element `i` of the query, over its scale.
  float element(int64_t i) const {
    return ingot_const_fp8 ? floatFromE4m3(e4m3FromFloat(stored(i) / queryScale)) : stored(i);
  }

  KvPlace place(int64_t position) const {
    return KvPlace::of(launch->buffers[4], table, selected ? selected[position] : position);
  }

  float score(int64_t position) const {
    KvPlace at = place(position);
    float keyScale = kvScaled() ? *at.keyScale(kvHead) : 1.0f;
    auto key = [&](int64_t i) {
      float key = loadElement(at.keys(), at.element(kvHead) + i, ingot_const_kv_type);
      return kvScaled() ? key * keyScale : key;
    };
    float sum = sumOf(0, ingot_const_head_dim, [&](int64_t i) { return element(i); }, key);
    float scaled = sum * queryScale * float(ingot_real_scale);
    if (ingot_real_softcap == 0)
      return scaled;
    return float(ingot_real_softcap * hyperbolicTangent(double(scaled) / ingot_real_softcap));
  }

  /// values += the weighted ones of a unit's positions [begin, end).
  void addValues(int64_t begin, int64_t end, const float *weights, float *values) const {
    KvPlace at[kMostPositions];
    float scales[kMostPositions];
    for (int64_t i = 0; i < end - begin; ++i) {
      at[i] = place(begin + i);
      scales[i] = kvScaled() ? *at[i].valueScale(kvHead) : 1.0f;
    }
    addUnitOfValues(end - begin, weights, values, [&](int64_t k, int64_t i) {
      float value = loadElement(at[k].values(), at[k].slot(kvHead) * ingot_const_value_stride + i,
                                ingot_const_kv_type);
      return kvScaled() ? value * scales[k] : value;
    });
  }

  /// The weights of a run of positions, times the values' scales, in e4m3; in place of `weights`.
  void roundWeights(int64_t begin, int64_t end, float *weights) const {
    float amax = 0;
    for (int64_t position = begin; position < end; ++position) {
      float &weight = weights[position - begin];
      weight *= *place(position).valueScale(kvHead);
      amax = weight > amax ? weight : amax;
    }
    float scale = amax > 0 ? amax / 448.0f : 1.0f;
    for (int64_t position = begin; position < end; ++position) {
      // The value's scale is taken out again: addValues() multiplies by it.
      float &weight = weights[position - begin];
      weight = floatFromE4m3(e4m3FromFloat(weight / scale)) * scale /
               *place(position).valueScale(kvHead);
    }
  }

  /// Positions [begin, end) on their own.
  void attend(int64_t begin, int64_t end, float *scores, Partial &partial) const {
    weigh(begin, end, scores, partial, [&](int64_t position) { return score(position); });
    for (int64_t run = begin; ingot_const_fp8 && run < end;) {
      int64_t next = (run / kRun + 1) * kRun;
      roundWeights(run, next < end ? next : end, scores + (run - begin));
      run = next;
    }
    for (int64_t first = begin; first < end; first += unitPositions())
      addValues(first, least(first + unitPositions(), end), scores + (first - begin),
                partial.values);
  }
};

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t token = launch->tile[0];
  int64_t head = launch->tile[1];
  int64_t position = static_cast<const int32_t *>(launch->buffers[1])[token];
  int64_t sequence = static_cast<const int32_t *>(launch->buffers[2])[token];
  Query query = {launch,
                 static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[0],
                 token * ingot_const_query_heads + head,
                 head / (ingot_const_query_heads / ingot_const_kv_heads),
                 nullptr,
                 1.0f};
  int64_t last = position;
  if (ingot_const_selected) {
    query.selected =
        static_cast<const int32_t *>(launch->buffers[5 + ingot_const_sinks + ingot_const_reaches +
                                                     (ingot_const_rotary_columns != 0)]) +
        token * ingot_const_selected;
    for (last = -1; last + 1 < ingot_const_selected && query.selected[last + 1] >= 0;)
      ++last;
  }
  if (ingot_const_reaches) {
    int64_t reach = static_cast<const int32_t *>(launch->buffers[5 + ingot_const_sinks])[token];
    last = reach > position ? reach : position;
  }
  float amax = 0;
  for (int64_t i = 0; ingot_const_fp8 && i < ingot_const_head_dim; ++i) {
    float value = query.stored(i);
    amax = value > amax ? value : -value > amax ? -value : amax;
  }
  query.queryScale = amax > 0 ? amax / 448.0f : 1.0f;
  // Scratch: the scores of a segment, the values of all and of a segment.
  float *scores = static_cast<float *>(launch->scratch), *values = scores + ingot_const_sum_segment;
  Partial total(values), segment(values + ingot_const_value_dim);
  for (int64_t begin = firstSeen(position); begin <= last;) {
    int64_t next = (begin / ingot_const_sum_segment + 1) * ingot_const_sum_segment;
    query.attend(begin, next <= last ? next : last + 1, scores, segment);
    merge(total, segment);
    begin = next;
  }
  if (ingot_const_sinks) {
    segment.clear();
    segment.maximum = loadElement(launch->buffers[5], head, ingot_const_sink_type);
    segment.sum = 1;
    merge(total, segment);
  }
  int64_t result = (token * ingot_const_query_heads + head) * ingot_const_value_dim;
  for (int64_t i = 0; i < ingot_const_value_dim; ++i)
    storeElement(launch->buffers[5 + ingot_const_sinks + ingot_const_reaches +
                                 (ingot_const_rotary_columns != 0) + (ingot_const_selected != 0)],
                 result + i, ingot_const_result_type, total.values[i] / total.sum);
}
