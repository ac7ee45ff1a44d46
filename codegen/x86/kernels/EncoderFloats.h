// SPDX-License-Identifier: Apache-2.0
// llm.encoder_attention in f32: queries, keys and values are decoded once for all rows of a tile.
#pragma once

#include "codegen/x86/kernels/EncoderRun.h"

namespace ingot::x86 {

inline AttentionScratch floatScratch() {
  return {ingot_const_tile_rows * headsPerKvHead(), ingot_const_key_dim, FloatAttention,
          ingot_const_value_dim};
}

/// Keys and values of rows [from, from + size) of the batch.
inline void loadSegment(const EncoderRun &run, int64_t from, int64_t size, float *scratch) {
  AttentionScratch layout = floatScratch();
  auto place = [&](int64_t i) __attribute__((always_inline)) { return run.kvPlace(from + i); };
  loadKeys(
      size, ingot_const_key_dim, place,
      [&](int64_t place, int64_t d) __attribute__((always_inline)) {
        return load(ingot_const_keys_type, run.launch->buffers[1], place * ingot_const_key_dim + d);
      },
      scratch + layout.keys());
  loadValues(
      size, ingot_const_value_dim, place,
      [&](int64_t place, int64_t d) __attribute__((always_inline)) {
        return load(ingot_const_values_type, run.launch->buffers[2],
                    place * ingot_const_value_dim + d);
      },
      scratch + layout.values());
}

inline void attendFloatSegment(const EncoderRun &run, int64_t from, int64_t size, float *scratch) {
  AttentionScratch layout = floatScratch();
  float *scores = scratch + layout.scores(), *segment = scratch + layout.segment();
  float *maxima = scratch + layout.segmentMaxima();
  loadSegment(run, from, size, scratch);
  multiply(run.rows(), scratch, layout.queryStride(), scratch + layout.keys(), ingot_const_key_dim,
           ingot_const_key_dim, (size + lanes - 1) / lanes, scores, layout.scoreStride());
  for (int64_t row = 0; row < run.rows(); ++row) {
    float *of = scores + row * layout.scoreStride();
    maxima[row] = scaleScores(of, 0, size, float(ingot_real_scale), /*softcap=*/0);
    for (int64_t i = 0; i < size; i += lanes)
      storeVector(of + i, weightsAt(of, i, size, maxima[row]));
  }
  multiply(run.rows(), scores, layout.scoreStride(), scratch + layout.values(), attentionSegment,
           size, layout.valuePanels(), segment, layout.valueStride());
  for (int64_t row = 0; row < run.rows(); ++row)
    merge(scratch + layout.total() + row * layout.valueStride(),
          scratch + layout.totalMaxima() + row, segment + row * layout.valueStride(), maxima[row],
          layout.valueStride());
}

inline void attendFloats(const EncoderRun &run) {
  AttentionScratch layout = floatScratch();
  auto *scratch = reinterpret_cast<float *>(run.scratch);
  loadQueries(
      ingot_const_query_type, run.launch->buffers[0], ingot_const_key_dim, run.rows(),
      [&](int64_t row)
          __attribute__((always_inline)) { return run.place(row) * ingot_const_key_dim; },
      scratch, layout.queryStride());
  float *total = scratch + layout.total();
  clearTotals(run.rows(), layout.valueStride(), total, scratch + layout.totalMaxima());
  for (int64_t from = run.begin; from < run.end; from += attentionSegment)
    attendFloatSegment(
        run, from, run.end - from < attentionSegment ? run.end - from : attentionSegment, scratch);
  for (int64_t row = 0; row < run.rows(); ++row)
    storeQuotients(total + row * layout.valueStride(), ingot_const_value_dim,
                   ingot_const_result_type, run.launch->buffers[5],
                   run.place(row) * ingot_const_value_dim);
}

} // namespace ingot::x86
