// SPDX-License-Identifier: Apache-2.0
// What one tile of llm.encoder_attention computes, however products are made.
#pragma once

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
INGOT_CONST(rows_dim);  ///< scalar that counts the rows,
INGOT_CONST(rows_each); ///< so many for each of it
INGOT_REAL(scale);

namespace ingot::x86 {

inline int64_t headsPerKvHead() { return ingot_const_query_heads / ingot_const_kv_heads; }

/// Rows of one sequence that stand side by side, for one KV head.
struct EncoderRun {
  const IngotLaunch *launch;
  int64_t kvHead, first, count; ///< rows of the batch
  int64_t begin, end;           ///< of the sequence
  char *scratch;

  /// With every query head of the KV head.
  int64_t rows() const { return count * headsPerKvHead(); }
  /// Which head of which row of the batch row `row` is.
  int64_t place(int64_t row) const {
    return (first + row / headsPerKvHead()) * ingot_const_query_heads + kvHead * headsPerKvHead() +
           row % headsPerKvHead();
  }
  /// The same of keys and values.
  int64_t kvPlace(int64_t row) const { return row * ingot_const_kv_heads + kvHead; }
};

} // namespace ingot::x86
