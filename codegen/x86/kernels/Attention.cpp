// SPDX-License-Identifier: Apache-2.0
// llm.attention: a tile is `tile_heads` query heads of one KV head and `tile_tokens` tokens. Tokens
// of one sequence that stand side by side share each segment of keys and values, decoded or packed
// once. Buffers: query, positions, token_sequences, block_table, cache, sinks, reaches, rotary
// and selected where there are any, result.
#include "codegen/x86/kernels/AttentionFloats.h"
#include "codegen/x86/kernels/AttentionPairs.h"

namespace ingot::x86 {
namespace {

/// All rows over positions [begin, begin + count).
void attendSegment(const Run &run, int64_t begin, int64_t count) {
  AttentionScratch layout = scratchLayout();
  float *scores = run.scratch + layout.scores(), *segment = run.scratch + layout.segment();
  float *total = run.scratch + layout.total();
  float *totalMaxima = run.scratch + layout.totalMaxima();
  float *segmentMaxima = run.scratch + layout.segmentMaxima();
  if (readsKeysInPlace())
    scoreInPlace(run, begin, count, scores);
  else if (layout.pairs())
    scorePairs(run, begin, count, scores);
  else
    scoreFloats(run, begin, count, scores);
  for (int64_t row = 0; row < run.rows(); ++row)
    segmentMaxima[row] =
        scaleScores(scores + row * layout.scoreStride(), run.start(row, begin),
                    run.end(row, begin, count), float(ingot_real_scale), float(ingot_real_softcap));
  if (layout.pairs())
    weighPairs(run, begin, count, scores, segmentMaxima, segment);
  else
    weighFloats(run, begin, count, scores, segmentMaxima, segment);
  for (int64_t row = 0; row < run.rows(); ++row)
    if (run.end(row, begin, count))
      merge(total + row * layout.valueStride(), totalMaxima + row,
            segment + row * layout.valueStride(), segmentMaxima[row], layout.valueStride());
}

/// Takes the sink of a row's head into its total: a segment whose weights add up to one and whose
/// values are zeros.
void addSink(const Run &run, int64_t row) {
  AttentionScratch layout = scratchLayout();
  float *segment = run.scratch + layout.segment();
  for (int64_t i = 0; i < layout.valueStride(); i += lanes)
    storeVector(segment + i, Floats{});
  segment[ingot_const_value_dim] = 1;
  merge(run.scratch + layout.total() + row * layout.valueStride(),
        run.scratch + layout.totalMaxima() + row, segment,
        loadElement(run.launch->buffers[5], run.head(row), ingot_const_sink_type),
        layout.valueStride());
}

void attendRun(const Run &run) {
  if (scratchLayout().pairs())
    copyQueries(run);
  else
    loadQueries(run);
  if (readsKeysInPlace())
    tileQueries(run);
  AttentionScratch layout = scratchLayout();
  float *totals = run.scratch + layout.total();
  clearTotals(run.rows(), layout.valueStride(), totals, run.scratch + layout.totalMaxima());
  int64_t last = 0, first = run.start(0, 0);
  if (ingot_const_selected)
    last = run.selectedCount() - 1;
  for (int64_t i = 0; !ingot_const_selected && i < run.tokens; ++i) {
    int32_t seen = run.last(i, run.positions()[i]);
    last = seen > last ? seen : last;
    int64_t start = run.start(i * ingot_const_tile_heads, 0);
    first = start < first ? start : first;
  }
  for (int64_t begin = first / attentionSegment * attentionSegment; begin <= last;
       begin += attentionSegment)
    attendSegment(run, begin,
                  last + 1 - begin < attentionSegment ? last + 1 - begin : attentionSegment);
  for (int64_t row = 0; row < run.rows(); ++row) {
    if (ingot_const_sinks)
      addSink(run, row);
    storeQuotients(totals + row * layout.valueStride(), ingot_const_value_dim,
                   ingot_const_result_type, run.result(),
                   run.numberOf(row) * ingot_const_value_dim);
  }
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  const int32_t *sequences = static_cast<const int32_t *>(launch->buffers[2]);
  int64_t first = launch->tile[1] * ingot_const_tile_tokens;
  int64_t end = first + ingot_const_tile_tokens;
  end = end < launch->scalars[1] ? end : launch->scalars[1]; // rows of the query
  while (first < end) {
    int64_t next = first + 1;
    while (!ingot_const_selected && next < end && sequences[next] == sequences[first])
      ++next;
    const int64_t head = launch->tile[0] * ingot_const_tile_heads;
    attendRun({launch, head, head / (ingot_const_query_heads / ingot_const_kv_heads), first,
               next - first, static_cast<float *>(launch->scratch)});
    first = next;
  }
}
