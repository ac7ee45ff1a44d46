// SPDX-License-Identifier: Apache-2.0
// The tile registers of AMX; where the instructions are not there, plain code that computes the
// same. Only this header names the instructions.
#pragma once

#include "codegen/native/kernels/Elements.h"
#include "codegen/x86/kernels/MatmulBlocks.h"

#ifdef __AMX_TILE__
#include <immintrin.h>
#endif

namespace ingot::x86 {

/// Eight tile registers, for sums of products of bytes or of bf16: 0 to 3 hold sums, 4 and 5 rows
/// of the left side (5, where these are 64 bytes, sums too), 6 and 7 columns of the right side,
/// four bytes of a column in a lane. A thread has one such object at a time.
class AmxTiles {
public:
  /// Sums are [rows][16] of 32 bits, the left side [rows][bytes], the right side [bytes / 4][16] of
  /// four bytes; `bytes` is a multiple of 4.
  AmxTiles(int64_t rows, int64_t bytes) {
#ifdef __AMX_TILE__
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
#ifdef __AMX_TILE__
    _tile_release();
#endif
  }

  template <int Tile> [[gnu::always_inline]] void zero() {
#ifdef __AMX_TILE__
    _tile_zero(Tile);
#else
    __builtin_memset(words[Tile], 0, sizeof words[Tile]);
#endif
  }

  /// Rows from `from` on, `stride` bytes apart.
  template <int Tile> [[gnu::always_inline]] void load(const void *from, int64_t stride) {
#ifdef __AMX_TILE__
    _tile_loadd(Tile, from, stride);
#else
    bool isLeft = Tile == 4 || Tile == 5;
    for (int64_t row = 0; row < (Tile < 6 ? sumRows : depth); ++row)
      __builtin_memcpy(words[Tile][row], static_cast<const char *>(from) + row * stride,
                       isLeft ? 4 * depth : amxRowBytes);
#endif
  }

  /// Tile `Sum` += `Left` * `Right`, bytes with signs.
  template <int Sum, int Left, int Right> [[gnu::always_inline]] void multiply() {
#ifdef __AMX_TILE__
    _tile_dpbssd(Sum, Left, Right);
#else
    addProducts<Sum, Left, Right>(byteOf);
#endif
  }

  /// Likewise, the right side's bytes without signs.
  template <int Sum, int Left, int Right> [[gnu::always_inline]] void multiplyUnsigned() {
#ifdef __AMX_TILE__
    _tile_dpbsud(Sum, Left, Right);
#else
    addProducts<Sum, Left, Right>(
        [](int32_t word, int64_t k) { return int32_t(uint8_t(byteOf(word, k))); });
#endif
  }

  /// Tile `Sum` += `Left` * `Right`, two columns of bf16 in a word: in f32 the sum of the even
  /// columns' products and that of the odd ones' are made apart, each in order and fused, and added
  /// to the tile together (Intel SDM, TDPBF16PS). Denormals count as zeros; plain code keeps them.
  template <int Sum, int Left, int Right> [[gnu::always_inline]] void multiplyPairs() {
#ifdef __AMX_TILE__
    _tile_dpbf16ps(Sum, Left, Right);
#else
    for (int64_t row = 0; row < sumRows; ++row)
      for (int64_t lane = 0; lane < 16; ++lane) {
        float even = 0, odd = 0;
        for (int64_t k = 0; k < depth; ++k) {
          int32_t left = words[Left][row][k], right = words[Right][k][lane];
          even = __builtin_fmaf(evenOf(left), evenOf(right), even);
          odd = __builtin_fmaf(oddOf(left), oddOf(right), odd);
        }
        float sum = bitCast<float>(words[Sum][row][lane]) + (even + odd);
        words[Sum][row][lane] = bitCast<int32_t>(sum);
      }
#endif
  }

  /// The sums of a tile, to rows `stride` bytes apart.
  template <int Tile> [[gnu::always_inline]] void store(void *to, int64_t stride) const {
#ifdef __AMX_TILE__
    _tile_stored(Tile, to, stride);
#else
    for (int64_t row = 0; row < sumRows; ++row)
      __builtin_memcpy(static_cast<char *>(to) + row * stride, words[Tile][row], amxRowBytes);
#endif
  }

private:
#ifndef __AMX_TILE__
  static int32_t byteOf(int32_t word, int64_t index) {
    return int8_t(uint32_t(word) >> (8 * index));
  }
  /// Products of bytes; those of the right side are rightOf(word, index).
  template <int Sum, int Left, int Right, class Of> void addProducts(Of rightOf) {
    for (int64_t row = 0; row < sumRows; ++row)
      for (int64_t k = 0; k < 4 * depth; ++k)
        for (int64_t lane = 0; lane < 16; ++lane)
          words[Sum][row][lane] +=
              byteOf(words[Left][row][k / 4], k % 4) * rightOf(words[Right][k / 4][lane], k % 4);
  }
  static float evenOf(int32_t word) { return bitCast<float>(uint32_t(word) << 16); }
  static float oddOf(int32_t word) { return bitCast<float>(uint32_t(word) & 0xffff0000u); }

  int64_t sumRows, depth;
  int32_t words[8][amxRows][16];
#endif
};

} // namespace ingot::x86
