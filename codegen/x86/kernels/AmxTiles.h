// SPDX-License-Identifier: Apache-2.0
// The tile registers of AMX; where the instructions are not there, plain code that computes the
// same. Only this header names the instructions.
#pragma once

#include "codegen/native/kernels/Kernel.h"
#include "codegen/x86/kernels/MatmulBlocks.h"

#ifdef __AMX_INT8__
#include <immintrin.h>
#endif

namespace ingot::x86 {

/// Eight tile registers, for sums of products of bytes: 0 to 3 hold sums, 4 and 5 rows of the left
/// side, 6 and 7 columns of the right side, four bytes of a column in a lane. A thread has one such
/// object at a time.
class AmxTiles {
public:
  /// Sums are [rows][16] of 32 bits, the left side [rows][bytes], the right side [bytes / 4][16] of
  /// four bytes; `bytes` is a multiple of 4.
  AmxTiles(int64_t rows, int64_t bytes) {
#ifdef __AMX_INT8__
    struct {
      uint8_t palette = 1, start = 0, reserved[14] = {};
      uint16_t rowBytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    for (int tile = 0; tile < 8; ++tile) {
      config.rowBytes[tile] = uint16_t(tile == 4 || tile == 5 ? bytes : amxRowBytes);
      config.rows[tile] = uint8_t(tile < 6 ? rows : bytes / 4);
    }
    _tile_loadconfig(&config);
#else
    sumRows = rows;
    depth = bytes / 4;
#endif
  }
  AmxTiles(const AmxTiles &) = delete;
  ~AmxTiles() {
#ifdef __AMX_INT8__
    _tile_release();
#endif
  }

  template <int Tile> [[gnu::always_inline]] void zero() {
#ifdef __AMX_INT8__
    _tile_zero(Tile);
#else
    __builtin_memset(words[Tile], 0, sizeof words[Tile]);
#endif
  }

  /// Rows from `from` on, `stride` bytes apart.
  template <int Tile> [[gnu::always_inline]] void load(const void *from, int64_t stride) {
#ifdef __AMX_INT8__
    _tile_loadd(Tile, from, stride);
#else
    bool isLeft = Tile < 6;
    for (int64_t row = 0; row < (isLeft ? sumRows : depth); ++row)
      __builtin_memcpy(words[Tile][row], static_cast<const char *>(from) + row * stride,
                       isLeft ? 4 * depth : amxRowBytes);
#endif
  }

  /// Tile `Sum` += `Left` * `Right`, bytes with signs.
  template <int Sum, int Left, int Right> [[gnu::always_inline]] void multiply() {
#ifdef __AMX_INT8__
    _tile_dpbssd(Sum, Left, Right);
#else
    for (int64_t row = 0; row < sumRows; ++row)
      for (int64_t k = 0; k < 4 * depth; ++k)
        for (int64_t lane = 0; lane < 16; ++lane)
          words[Sum][row][lane] +=
              byteOf(words[Left][row][k / 4], k % 4) * byteOf(words[Right][k / 4][lane], k % 4);
#endif
  }

  /// The sums of a tile, to rows of 16.
  template <int Tile> [[gnu::always_inline]] void store(int32_t *to) const {
#ifdef __AMX_INT8__
    _tile_stored(Tile, to, amxRowBytes);
#else
    __builtin_memcpy(to, words[Tile], sumRows * amxRowBytes);
#endif
  }

private:
#ifndef __AMX_INT8__
  static int32_t byteOf(int32_t word, int64_t index) {
    return int8_t(uint32_t(word) >> (8 * index));
  }

  int64_t sumRows, depth;
  int32_t words[8][amxRows][16];
#endif
};

} // namespace ingot::x86
