// SPDX-License-Identifier: Apache-2.0
// The scratch memory of linear attention (LinearRun.h); also read by the provider.
#pragma once

#include <stdint.h>

namespace ingot::x86 {

/// Scratch of a tile, in f32 words, in this order: the chunk's S [keyDim][valueStride], k'
/// transposed [keyDim][chunkStride] and u [chunk][valueStride]; of the step's rows in it q' and k'
/// [chunk][keyStride] each and the weights of their sums over positions [chunk][chunkStride] each;
/// of its positions G and exp(G) [chunkStride] each and beta [chunk]. Rows are padded for register
/// tiles.
struct LinearScratch {
  int64_t keyDim, valueDim, chunk;

  static constexpr int64_t padded(int64_t rows) { return rows + 12; }
  /// Odd multiples of 16, so that rows fall into different sets of the cache, with room for a
  /// vector that begins at the last column.
  static constexpr int64_t stride(int64_t columns) { return (columns + 31) / 32 * 32 + 16; }
  constexpr int64_t keyStride() const { return stride(keyDim); }
  constexpr int64_t valueStride() const { return stride(valueDim); }
  constexpr int64_t chunkStride() const { return stride(chunk); }

  constexpr int64_t state() const { return 0; }
  constexpr int64_t keys() const { return padded(keyDim) * valueStride(); }
  constexpr int64_t updates() const { return keys() + padded(keyDim) * chunkStride(); }
  constexpr int64_t queryRows() const { return updates() + padded(chunk) * valueStride(); }
  constexpr int64_t keyRows() const { return queryRows() + padded(chunk) * keyStride(); }
  constexpr int64_t queryWeights() const { return keyRows() + padded(chunk) * keyStride(); }
  constexpr int64_t keyWeights() const { return queryWeights() + padded(chunk) * chunkStride(); }
  constexpr int64_t decays() const { return keyWeights() + padded(chunk) * chunkStride(); }
  constexpr int64_t growths() const { return decays() + chunkStride(); }
  constexpr int64_t gates() const { return growths() + chunkStride(); }
  constexpr int64_t bytes() const { return (gates() + padded(chunk)) * 4; }
};

} // namespace ingot::x86
