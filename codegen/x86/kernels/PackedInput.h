// SPDX-License-Identifier: Apache-2.0
// The input of dot products: words of four bytes, two bf16 columns, or two bytes of 16 bits, those
// of a tile's rows side by side; or a single row where it is.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// Rows of the input as tiles read them: [tile][word][rows of the tile]. Words behind k are zeros.
/// Four bytes are one word, or as bytes with sign of 16 bits two.
template <int Words> struct PackedInput {
  const int32_t *words;

  /// Words of so many bytes.
  static int64_t wordsOf(int64_t bytes) { return bytes / 4 * Words; }
  static int64_t rowWords() { return wordsOf(roundUp(inputRowBytes(), 8)); }

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
          put<Count>(tile, i, r, wordFrom(from[r] + 4 * i, 4));
      for (int64_t i = whole; i < roundUp(bytes, 8) / 4; ++i)
        for (int r = 0; r < Count; ++r)
          put<Count>(tile, i, r, wordFrom(from[r] + 4 * i, bytes > 4 * i ? bytes - 4 * i : 0));
    });
  }

private:
  /// The first `bytes` bytes at `from`, and zeros.
  static int32_t wordFrom(const char *from, int64_t bytes) {
    int32_t word = 0;
    __builtin_memcpy(&word, from, bytes);
    return word;
  }

  /// Puts the word `i` of row `r` in its place in `tile`, of words of 16 bits both.
  template <int Count>
  [[gnu::always_inline]] static void put(int32_t *tile, int64_t i, int r, int32_t word) {
    if (Words == 1) {
      tile[i * Count + r] = word;
      return;
    }
    using Pair = int16_t __attribute__((vector_size(4)));
    tile[2 * i * Count + r] = (int32_t)((Pair)(int32_t)((uint32_t)word << 8) >> 8);
    tile[(2 * i + 1) * Count + r] = (int32_t)((Pair)word >> 8);
  }
};

/// A single row of the input, which is read where it is; or, where weights have padding, from a
/// copy whose zeros meet that.
struct PaddedRow {
  static bool isCopied() { return inputRowBytes() % 8 != 0; }

  static void take(const char *row, int32_t *copy) {
    if (!isCopied())
      return;
    __builtin_memset(copy, 0, roundUp(inputRowBytes(), 8));
    __builtin_memcpy(copy, row, inputRowBytes());
  }
  static const int32_t *of(const char *row, const int32_t *copy) {
    return isCopied() ? copy : reinterpret_cast<const int32_t *>(row);
  }
};

} // namespace ingot::x86
