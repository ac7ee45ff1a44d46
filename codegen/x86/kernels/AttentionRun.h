// SPDX-License-Identifier: Apache-2.0
// What one tile of llm.attention computes, however products are made.
#pragma once

#include "codegen/native/kernels/KvBlocks.h"
#include "codegen/x86/kernels/AttentionSegments.h"

INGOT_CONST(value_dim);
INGOT_CONST(value_stride); ///< elements from one value to the next: of a latent cache, of keys
INGOT_CONST(query_heads);
INGOT_CONST(tile_heads); ///< query heads of a tile, of one KV head
INGOT_CONST(query_type);
INGOT_CONST(result_type);
INGOT_CONST(tile_tokens);
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

namespace ingot::x86 {

inline AttentionScratch scratchLayout() {
  return {ingot_const_tile_tokens * ingot_const_tile_heads, ingot_const_head_dim,
          AttentionMethod(ingot_const_method), ingot_const_value_dim};
}

/// Consecutive tokens of one sequence, for query heads of one KV head.
struct Run {
  const IngotLaunch *launch;
  int64_t firstHead, kvHead, firstToken, tokens;
  float *scratch;

  const int32_t *positions() const {
    return static_cast<const int32_t *>(launch->buffers[1]) + firstToken;
  }
  /// The last position that token `token` of the run, at `position`, attends to.
  int32_t last(int64_t token, int32_t position) const {
    if (!ingot_const_reaches)
      return position;
    const void *reaches = launch->buffers[5 + ingot_const_sinks];
    int32_t reach = static_cast<const int32_t *>(reaches)[firstToken + token];
    return reach > position ? reach : position;
  }
  /// The list of positions of the run's only token, and how many it has.
  const int32_t *selected() const {
    return static_cast<const int32_t *>(
               launch->buffers[5 + ingot_const_sinks + ingot_const_reaches + hasRotary()]) +
           firstToken * ingot_const_selected;
  }
  int64_t selectedCount() const {
    int64_t count = 0;
    while (count < ingot_const_selected && selected()[count] >= 0)
      ++count;
    return count;
  }
  int64_t rows() const { return tokens * ingot_const_tile_heads; }
  int64_t tokenOf(int64_t row) const { return row / ingot_const_tile_heads; }
  /// Query head of row `row`, and its number among those of all tokens.
  int64_t head(int64_t row) const { return firstHead + row % ingot_const_tile_heads; }
  int64_t numberOf(int64_t row) const {
    return (firstToken + tokenOf(row)) * ingot_const_query_heads + head(row);
  }
  const void *rotary() const {
    return launch->buffers[5 + ingot_const_sinks + ingot_const_reaches];
  }
  void *result() const {
    return launch->buffers[5 + ingot_const_sinks + ingot_const_reaches + hasRotary() +
                           (ingot_const_selected != 0)];
  }
  static bool hasRotary() { return ingot_const_rotary_columns != 0; }
  /// How many of `count` positions from `begin` on row `row` attends to; may be below 1.
  int64_t limit(int64_t row, int64_t begin, int64_t count) const {
    if (ingot_const_selected)
      return count; // segments are of the list
    int32_t position = positions()[tokenOf(row)];
    int64_t seen = last(tokenOf(row), position) + 1 - begin;
    return seen < count ? seen : count;
  }
  /// The first of the positions from `begin` on that row `row` attends to, counted from there.
  int64_t start(int64_t row, int64_t begin) const {
    if (ingot_const_window == 0)
      return 0;
    int64_t position = positions()[tokenOf(row)];
    int64_t seen = ingot_const_chunked ? position - position % ingot_const_window
                                       : position + 1 - ingot_const_window;
    return seen > begin ? seen - begin : 0;
  }
  /// Behind the last of `count` positions that row `row` attends to; 0 when there is none.
  int64_t end(int64_t row, int64_t begin, int64_t count) const {
    int64_t behind = limit(row, begin, count);
    return behind > start(row, begin) ? behind : 0;
  }
  /// Element of a place's keys or values where those of the KV head begin.
  int64_t keyOf(const KvPlace &place) const { return place.element(kvHead); }
  int64_t valueOf(const KvPlace &place) const {
    return place.slot(kvHead) * ingot_const_value_stride;
  }
  /// Of a position, or of a place in the list.
  KvPlace place(int64_t position) const {
    if (ingot_const_selected)
      position = selected()[position];
    int64_t sequence = static_cast<const int32_t *>(launch->buffers[2])[firstToken];
    const int32_t *table =
        static_cast<const int32_t *>(launch->buffers[3]) + sequence * launch->scalars[0];
    return KvPlace::of(launch->buffers[4], table, position);
  }
};

} // namespace ingot::x86
