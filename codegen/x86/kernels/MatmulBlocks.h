// SPDX-License-Identifier: Apache-2.0
// Block sizes of the matmul kernel and the scratch memory they need; also read by the provider.
#pragma once

#include "codegen/native/kernels/Kernel.h"

namespace ingot::x86 {

/// Rows of the weight that are stored together and computed in the lanes of a vector.
constexpr int64_t panelRows = 16;

/// Columns of k that are summed together; part of the numerics of llm.matmul.
constexpr int64_t segmentColumns = 512;

/// Floats from one row to the next of a block of the input: not a power of two, so that the rows
/// fall into different sets of the cache.
constexpr int64_t inputStride = segmentColumns + 16;

/// Rows of the largest register tile: blocks are padded to a multiple.
constexpr int64_t registerRows = 12;

/// Rows of a tile of AMX, and bytes of a row, at most. Blocks of the kernel on AMX are padded to
/// whole tiles.
constexpr int64_t amxRows = 16, amxRowBytes = 64;

/// Words of a tile's sums, and bytes of those that TileGroups and TilePairs keep: of two tiles.
constexpr int64_t tileWords = amxRows * panelRows, tileSumBytes = 2 * tileWords * 4;

/// Bytes of each row that TileRows multiplies by all panels before it goes on in k: so much of two
/// panels stays in the first-level cache for all rows.
constexpr int64_t tileBlockBytes = 512;

/// Panels that are expanded to bytes together, at most: those of a register tile.
constexpr int64_t expandedPanels = 2;

/// Groups whose numbers a single row copies at once.
constexpr int64_t copiedGroups = 8;

/// Panels of floats that the path for single rows keeps in flight: as many as hide a fused
/// multiply-add.
constexpr int64_t floatRowPanels = 4;

constexpr int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes of a tile of AMX.
constexpr int64_t tileBytes = amxRows * amxRowBytes;

/// How sums are made.
enum SumMethod : int64_t {
  FloatColumns, ///< in f32, column after column
  FloatPairs, ///< of bf16 by bf16 in f32, in the order of PairDots: of each pair the odd one first
  PairDots,   ///< of bf16 by bf16, two columns at a time
  ByteDots,   ///< of bytes, exact within a group
  ByteHalves, ///< likewise without VNNI, of stored codes without sign: some sums have 16 bits
  ByteWords,  ///< likewise without VNNI, of bytes with sign: as words of 16 bits
  PairGroups, ///< of floats as parts of bf16, two columns at a time, scaled by groups
  TileGroups, ///< of bytes on AMX, exact within a group
  TileBlocks, ///< of bytes on AMX, exact over blocks of scale codes
  TilePairs,  ///< of floats as parts of bf16 on AMX, scaled by groups
  TileRows,   ///< of bytes or of bf16 on AMX, over all of k
};

/// Whether floats are multiplied as parts of bf16, and scaled by groups.
constexpr bool hasPairGroups(SumMethod method) {
  return method == PairGroups || method == TilePairs;
}

/// Whether weights are decoded to f32.
constexpr bool hasFloats(SumMethod method) { return method <= FloatPairs; }

/// Whether bytes are multiplied in registers.
constexpr bool hasBytes(SumMethod method) { return method >= ByteDots && method <= ByteWords; }

/// Columns whose products of codes of `bits` bits by bytes have sums of 16 bits, of two columns in
/// each step of four.
constexpr int64_t halfColumns(int64_t bits) {
  return 32767 / (2 * 128 * ((int64_t{1} << bits) - 1)) * 4;
}

/// Columns whose products are summed before they are scaled, of groups of `group` columns. Of pairs
/// long groups are cut into equal parts.
constexpr int64_t summedColumns(SumMethod method, int64_t group) {
  int64_t columns = group;
  if (hasPairGroups(method) && group > segmentColumns)
    for (columns = segmentColumns; group % columns != 0;)
      columns -= amxRowBytes / 2;
  return columns;
}

/// Columns that products by groups multiply by all rows before they go on in k: whole groups of
/// `group` columns. The panels that are multiplied together are 16 KB, which stay in the
/// first-level cache, beside a tile of rows as large; tiles go through all panels first, so that
/// rows stay in the second.
constexpr int64_t blockColumns(SumMethod method, int64_t group) {
  const int64_t bytes = hasPairGroups(method) ? 2 : 1;
  const int64_t most = 1024 / bytes / (method == TileGroups ? 1 : expandedPanels);
  return group < most ? most / group * group : group;
}

/// Whether sums are made in tiles of AMX.
constexpr bool usesTiles(SumMethod method) { return method >= TileGroups; }

/// Parts of bf16 whose sum is an element of such an input, without rounding.
constexpr int64_t inputParts(int64_t type) { return type == kF16 ? 2 : 1; }

/// Parts of bf16 that weights are expanded to at most, as books of f32 numbers need.
constexpr int64_t weightParts = 3;

/// Bytes of an element of the input, of type `type` and `bytes` bytes, where it is copied.
constexpr int64_t copiedElementBytes(SumMethod method, int64_t type, int64_t bytes) {
  return hasPairGroups(method) ? 2 * inputParts(type) : method == ByteWords ? 2 : bytes;
}

/// Groups that a block of scale codes has at most where TileBlocks sums it.
constexpr int64_t mostBlockGroups = amxRows;

/// Bytes of the sums that TileBlocks keeps, of three tiles, and of an expanded block of a panel.
constexpr int64_t blockSumBytes = 3 * tileWords * 4;
constexpr int64_t blockPanelBytes =
    2 * kSuperColumns * panelRows + mostBlockGroups * panelRows * 4 + 2 * panelRows * 4;

/// Rows of a tile from which on TileRows copies all of them: fewer are read where they are, since
/// weights take longer to come.
constexpr int64_t tileCopiedRows = 64;

/// Whether TileRows copies all rows of a tile of so many; `gathered`: they do not follow each
/// other.
constexpr bool copiesAllRows(int64_t rows, bool gathered) {
  return gathered || rows >= tileCopiedRows;
}

/// Scratch of one tile, in this order, each part a multiple of 64 bytes: what is said of the input
/// in it (KeptInput); sums [rows][sumColumns] of 32 bits; then for
/// - FloatColumns and FloatPairs the input block [rows][inputStride] f32 (single rows: [k] f32) and
/// two decoded
///   panels [2][segmentColumns][16] f32;
/// - PairDots the rows packed by words of two columns;
/// - ByteDots and TileGroups the input's sums of each row and group i32, where groups of it have
///   scales of their own as many of these, its copy [rows][k] i8 (ByteWords: i16), and
///   for blocks of rows two panels as bytes [blockColumns][32] with the scales and offsets or zero
///   points [groups][32] of four bytes each, single rows these numbers alone; TileGroups has one
///   panel, and before it the tiles' sums;
/// - TileBlocks those sums as tiles of two bf16, the copy, the tiles' sums, two expanded panels;
/// - TilePairs as TileGroups, with sums f32, two panels, and panels and copy as parts of bf16, and
///   so PairGroups, without the tiles' sums;
/// - TileRows the rows that are copied, [tile of rows][tile of columns][16][64] bytes.
struct MatmulScratch {
  SumMethod method;
  int64_t rows, panels, k;
  int64_t group;       ///< columns that are summed together
  int64_t inputBytes;  ///< of an element where it is copied
  bool gathered;       ///< rows of the input do not follow each other
  bool hasInputGroups; ///< groups of a row of the input have scales of their own

  static constexpr int64_t keptBytes = 64;

  constexpr int64_t paddedRows() const {
    return rows == 1 ? 1 : roundUp(rows, usesTiles(method) ? amxRows : registerRows);
  }
  /// Of a row; on AMX not a power of two, so that rows of tiles fall into different sets of the
  /// cache.
  static constexpr int64_t sumColumns(SumMethod method, int64_t panels) {
    return (panels + (usesTiles(method) ? 1 : 0)) * panelRows;
  }
  constexpr int64_t groups() const { return (k + group - 1) / group; }
  constexpr int64_t sumBytes() const { return paddedRows() * sumColumns(method, panels) * 4; }
  /// Of the input's sums.
  constexpr int64_t inputSumBytes() const {
    if (method == TileBlocks)
      return paddedRows() * k / kSuperColumns * mostBlockGroups * 4;
    bool sums = hasBytes(method) || method == TileGroups || hasPairGroups(method);
    return sums ? roundUp(paddedRows() * groups() * 4, 64) : 0;
  }
  /// Of what is known of the input before it is copied.
  constexpr int64_t blockBytes() const {
    if (hasFloats(method))
      return rows == 1 ? roundUp(k, 16) * 4 : paddedRows() * inputStride * 4;
    return inputSumBytes() * (hasInputGroups ? 2 : 1);
  }
  constexpr int64_t copiedBytes() const {
    if (hasFloats(method))
      return 0;
    if (method == TileGroups || method == TileBlocks || hasPairGroups(method))
      return roundUp(paddedRows() * k * inputBytes, 64);
    if (method == TileRows)
      return (copiesAllRows(rows, gathered) ? paddedRows() : amxRows) *
             roundUp(k * inputBytes, amxRowBytes);
    return roundUp(paddedRows() * roundUp(k, 8) * inputBytes, 64);
  }
  constexpr int64_t weightBytes() const {
    if (rows == 1 && (hasBytes(method) || method == PairGroups))
      return expandedPanels * numberBytes(copiedGroups);
    if (rows == 1 || method == FloatPairs || method == PairDots || method == TileRows)
      return 0;
    if (hasFloats(method))
      return 2 * segmentColumns * panelRows * 4;
    if (method == TileBlocks)
      return blockSumBytes + expandedPanels * blockPanelBytes;
    const int64_t block = blockColumns(method, group), columns = block < k ? block : k;
    const int64_t numbers = (columns + group - 1) / group;
    if (hasPairGroups(method))
      return (usesTiles(method) ? tileSumBytes : 0) +
             expandedPanels * pairedPanelBytes(block, block / group);
    const int64_t expanded = roundUp(columns, 8) * panelRows + numberBytes(numbers);
    return method == TileGroups ? tileSumBytes + expanded : expandedPanels * expanded;
  }
  /// Of scales, and offsets or zero points, of groups of a panel.
  static constexpr int64_t numberBytes(int64_t groups) { return 2 * groups * 4 * panelRows; }
  /// Of a panel expanded to pairs: values, scales and offsets.
  static constexpr int64_t pairedPanelBytes(int64_t columns, int64_t groups) {
    return columns * 2 * weightParts * panelRows + numberBytes(groups);
  }
  constexpr int64_t bytes() const {
    return keptBytes + sumBytes() + blockBytes() + copiedBytes() + weightBytes();
  }
};

} // namespace ingot::x86
