// SPDX-License-Identifier: Apache-2.0
// Addresses in a paged KV cache, by the layout of !llm.kv.
#pragma once

#include "codegen/native/kernels/Elements.h"

INGOT_CONST(kv_heads);
INGOT_CONST(head_dim);
INGOT_CONST(kv_type);
INGOT_CONST(block_tokens);
INGOT_CONST(block_bytes);
INGOT_CONST(values_offset); ///< in bytes from the block's start, as the following two
INGOT_CONST(key_scales_offset);
INGOT_CONST(value_scales_offset);

/// One position of one sequence in the cache.
struct KvPlace {
  char *block;
  int64_t place;

  /// `table`: the sequence's row of the block table.
  static KvPlace of(void *cache, const int32_t *table, int64_t position) {
    int64_t block = table[position / ingot_const_block_tokens];
    return {static_cast<char *>(cache) + block * ingot_const_block_bytes,
            position % ingot_const_block_tokens};
  }

  void *keys() const { return block; }
  void *values() const { return block + ingot_const_values_offset; }
  /// Index of the head at this place among all of the block.
  int64_t slot(int64_t head) const { return head * ingot_const_block_tokens + place; }
  /// Index of the first element of the head's key, and of its value where that is as long.
  int64_t element(int64_t head) const { return slot(head) * ingot_const_head_dim; }

  float *keyScale(int64_t head) const { return scale(ingot_const_key_scales_offset, head); }
  float *valueScale(int64_t head) const { return scale(ingot_const_value_scales_offset, head); }

private:
  float *scale(int64_t offset, int64_t head) const {
    return reinterpret_cast<float *>(block + offset) + slot(head);
  }
};

/// Where a token's keys and values go. `tokenSequences`, `blockTable` as in llm.kv_append.
INGOT_INLINE KvPlace kvPlaceOf(const IngotLaunch *launch, void *cache, int64_t position,
                               const void *tokenSequences, const void *blockTable, int64_t token) {
  int64_t sequence = static_cast<const int32_t *>(tokenSequences)[token];
  return KvPlace::of(
      cache, static_cast<const int32_t *>(blockTable) + sequence * launch->scalars[0], position);
}

/// Whether elements have scales.
INGOT_INLINE bool kvScaled() { return elementBits(ingot_const_kv_type) == 8; }
