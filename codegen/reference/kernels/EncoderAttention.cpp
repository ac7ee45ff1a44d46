// SPDX-License-Identifier: Apache-2.0
// llm.encoder_attention: one query head of one row a tile. Buffers: query, keys, values, sequences,
// offsets, result.
#include "codegen/native/kernels/Elements.h"
#include "codegen/reference/kernels/Softmax.h"

INGOT_CONST(query_heads);
INGOT_CONST(kv_heads);
INGOT_CONST(key_dim);
INGOT_CONST(query_type);
INGOT_CONST(keys_type);
INGOT_CONST(values_type);
INGOT_CONST(result_type);
INGOT_REAL(scale);

/// One query head, and the rows of its sequence.
struct Query {
  const IngotLaunch *launch;
  int64_t first;    ///< index of its first element
  int64_t firstRow; ///< of the sequence
  int64_t kvHead;

  float score(int64_t position) const {
    int64_t key = ((firstRow + position) * ingot_const_kv_heads + kvHead) * ingot_const_key_dim;
    return sumOf(
               0, ingot_const_key_dim,
               [&](int64_t i) {
                 return loadElement(launch->buffers[0], first + i, ingot_const_query_type);
               },
               [&](int64_t i) {
                 return loadElement(launch->buffers[1], key + i, ingot_const_keys_type);
               }) *
           float(ingot_real_scale);
  }

  /// Positions [begin, end) on their own.
  void attend(int64_t begin, int64_t end, float *scores, Partial &partial) const {
    weigh(begin, end, scores, partial, [&](int64_t position) { return score(position); });
    for (int64_t at = begin; at < end; at += unitPositions())
      addUnitOfValues(least(unitPositions(), end - at), scores + (at - begin), partial.values,
                      [&](int64_t k, int64_t i) {
                        int64_t row = firstRow + at + k;
                        int64_t value =
                            (row * ingot_const_kv_heads + kvHead) * ingot_const_value_dim;
                        return loadElement(launch->buffers[2], value + i, ingot_const_values_type);
                      });
  }
};

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0], head = launch->tile[1];
  const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[4]) +
                           static_cast<const int32_t *>(launch->buffers[3])[row];
  int64_t place = row * ingot_const_query_heads + head, rows = offsets[1] - offsets[0];
  Query query = {launch, place * ingot_const_key_dim, offsets[0],
                 head / (ingot_const_query_heads / ingot_const_kv_heads)};
  // Scratch: the scores of a segment, the values of all and of a segment.
  float *scores = static_cast<float *>(launch->scratch), *values = scores + ingot_const_sum_segment;
  Partial total(values), segment(values + ingot_const_value_dim);
  for (int64_t begin = 0; begin < rows; begin += ingot_const_sum_segment) {
    query.attend(begin, least(begin + ingot_const_sum_segment, rows), scores, segment);
    merge(total, segment);
  }
  for (int64_t i = 0; i < ingot_const_value_dim; ++i)
    storeElement(launch->buffers[5], place * ingot_const_value_dim + i, ingot_const_result_type,
                 total.values[i] / total.sum);
}
