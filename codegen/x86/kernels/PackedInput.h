// SPDX-License-Identifier: Apache-2.0
// The input of dot products: words of four bytes or two bf16 columns, those of a tile's rows side
// by side.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// Bytes of a row of the input.
inline int64_t inputRowBytes() { return ingot_const_k * sizeOf(ingot_const_input_type); }

/// Rows of the input as tiles read them: [tile][word][rows of the tile]. Words behind k are zeros.
struct PackedInput {
  const int32_t *words;

  static int64_t rowWords() { return roundUp(inputRowBytes(), 8) / 4; }

  /// The tile that begins with row `row`.
  const int32_t *row(int64_t row) const { return words + row * rowWords(); }

  /// Packs into `words`, for tiles of at most `Most` rows. In place of rows that tiles reach beyond
  /// `rows` is their first one.
  template <int Most> static void take(const void *input, const Rows &rows, int32_t *words) {
    const int64_t bytes = inputRowBytes(), whole = bytes / 4;
    forRowTiles<Most>(rows.count, [&]<int Count>(int64_t first) {
      int32_t *tile = words + first * rowWords();
      const char *from[Count];
#pragma clang loop unroll(full)
      for (int r = 0; r < Count; ++r) {
        int64_t row = first + r < rows.count ? first + r : first;
        from[r] = static_cast<const char *>(input) + rows.input(row) * bytes;
      }
      for (int64_t i = 0; i < whole; ++i)
#pragma clang loop unroll(full)
        for (int r = 0; r < Count; ++r)
          __builtin_memcpy(tile + i * Count + r, from[r] + 4 * i, 4);
      for (int64_t i = whole; i < rowWords(); ++i)
        for (int r = 0; r < Count; ++r) {
          int32_t word = 0;
          int64_t left = bytes - 4 * i;
          if (left > 0)
            __builtin_memcpy(&word, from[r] + 4 * i, left);
          tile[i * Count + r] = word;
        }
    });
  }
};

} // namespace ingot::x86
