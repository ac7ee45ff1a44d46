// SPDX-License-Identifier: Apache-2.0
// llm.encoder_attention: a tile is up to `tile_rows` rows of one sequence and one KV head; they
// share each segment of keys and values, decoded once. Tiles begin at every tile_rows-th row of a
// sequence; the grid has one for each row of the batch, and the others have nothing to do. Buffers:
// query, keys, values, sequences, offsets, result.
#include "codegen/x86/kernels/AttentionSegments.h"

INGOT_CONST(query_heads);
INGOT_CONST(kv_heads);
INGOT_CONST(key_dim);   ///< columns of a head of query and keys
INGOT_CONST(value_dim); ///< of a head of values and result
INGOT_CONST(query_type);
INGOT_CONST(keys_type);
INGOT_CONST(values_type);
INGOT_CONST(result_type);
INGOT_CONST(tile_rows);
INGOT_REAL(scale);

namespace ingot::x86 {
namespace {

int64_t headsPerKvHead() { return ingot_const_query_heads / ingot_const_kv_heads; }

AttentionScratch scratchLayout() {
  return {ingot_const_tile_rows * headsPerKvHead(), ingot_const_key_dim, FloatAttention,
          ingot_const_value_dim};
}

struct Tile {
  const IngotLaunch *launch;
  int64_t kvHead, first, count; ///< rows of the batch
  int64_t begin, end;           ///< of the sequence
  float *scratch;

  /// With every query head of the KV head.
  int64_t rows() const { return count * headsPerKvHead(); }
  /// Which head of which row of the batch row `row` is.
  int64_t place(int64_t row) const {
    return (first + row / headsPerKvHead()) * ingot_const_query_heads + kvHead * headsPerKvHead() +
           row % headsPerKvHead();
  }
  /// The same of keys and values.
  int64_t kvPlace(int64_t row) const { return row * ingot_const_kv_heads + kvHead; }

  /// Keys and values of rows [from, from + size) of the batch.
  void load(int64_t from, int64_t size) const {
    AttentionScratch layout = scratchLayout();
    auto place = [&](int64_t i) __attribute__((always_inline)) { return kvPlace(from + i); };
    loadKeys(
        size, ingot_const_key_dim, place,
        [&](int64_t place, int64_t d) __attribute__((always_inline)) {
          return x86::load(ingot_const_keys_type, launch->buffers[1],
                           place * ingot_const_key_dim + d);
        },
        scratch + layout.keys());
    loadValues(
        size, ingot_const_value_dim, place,
        [&](int64_t place, int64_t d) __attribute__((always_inline)) {
          return x86::load(ingot_const_values_type, launch->buffers[2],
                           place * ingot_const_value_dim + d);
        },
        scratch + layout.values());
  }

  void attendSegment(int64_t from, int64_t size) const {
    AttentionScratch layout = scratchLayout();
    float *scores = scratch + layout.scores(), *segment = scratch + layout.segment();
    float *maxima = scratch + layout.segmentMaxima();
    load(from, size);
    multiply(rows(), scratch, layout.queryStride(), scratch + layout.keys(), ingot_const_key_dim,
             ingot_const_key_dim, (size + lanes - 1) / lanes, scores, layout.scoreStride());
    for (int64_t row = 0; row < rows(); ++row) {
      float *of = scores + row * layout.scoreStride();
      maxima[row] = scaleScores(of, 0, size, float(ingot_real_scale), /*softcap=*/0);
      for (int64_t i = 0; i < size; i += lanes)
        storeVector(of + i, weightsAt(of, i, size, maxima[row]));
    }
    multiply(rows(), scores, layout.scoreStride(), scratch + layout.values(), attentionSegment,
             size, layout.valuePanels(), segment, layout.valueStride());
    for (int64_t row = 0; row < rows(); ++row)
      merge(scratch + layout.total() + row * layout.valueStride(),
            scratch + layout.totalMaxima() + row, segment + row * layout.valueStride(), maxima[row],
            layout.valueStride());
  }

  void attend() const {
    AttentionScratch layout = scratchLayout();
    loadQueries(
        ingot_const_query_type, launch->buffers[0], ingot_const_key_dim, rows(),
        [&](int64_t row)
            __attribute__((always_inline)) { return place(row) * ingot_const_key_dim; },
        scratch, layout.queryStride());
    float *total = scratch + layout.total();
    clearTotals(rows(), layout.valueStride(), total, scratch + layout.totalMaxima());
    for (int64_t from = begin; from < end; from += attentionSegment)
      attendSegment(from, end - from < attentionSegment ? end - from : attentionSegment);
    for (int64_t row = 0; row < rows(); ++row)
      storeQuotients(total + row * layout.valueStride(), ingot_const_value_dim,
                     ingot_const_result_type, launch->buffers[5],
                     place(row) * ingot_const_value_dim);
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t row = launch->tile[0];
  const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[4]) +
                           static_cast<const int32_t *>(launch->buffers[3])[row];
  int64_t begin = offsets[0], end = offsets[1];
  if ((row - begin) % ingot_const_tile_rows != 0)
    return;
  int64_t count = end - row < ingot_const_tile_rows ? end - row : ingot_const_tile_rows;
  ingot::x86::Tile tile = {
      launch, launch->tile[1], row, count, begin, end, static_cast<float *>(launch->scratch)};
  tile.attend();
}
