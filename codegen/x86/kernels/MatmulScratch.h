// SPDX-License-Identifier: Apache-2.0
// Scratch memory of the products, method by method: where a kernel finds its parts, and how many
// bytes the provider asks for.
#pragma once

#include "codegen/x86/kernels/MatmulBlocks.h"

namespace ingot::x86 {

/// What the parts of scratch memory follow from.
struct MatmulSizes {
  int64_t rows, panels; ///< of a tile
  int64_t k;
  int64_t group;       ///< columns that are scaled alike
  int64_t inputType;   ///< ElementType
  int64_t inputScales; ///< of a row
  bool gathered;       ///< rows of the input do not follow each other
};

/// What scratch memory has of the input from one tile to the next that a thread runs of a launch:
/// tiles that are side by side share their rows.
struct KeptInput {
  int64_t rowTile; ///< tile[1] of the tiles whose input it is; -1: none
};

/// Where elements of a type begin in scratch memory. Parts that a kernel does not need are empty.
template <class T> struct ScratchPart {
  int64_t offset;
};

/// The parts that all methods have. Those of a method follow, each of whole lines of the cache.
class MatmulScratch {
  int64_t end = 0;

public:
  int64_t paddedRows; ///< of a tile
  ScratchPart<KeptInput> kept;
  ScratchPart<float> sums; ///< [paddedRows][columns of the method]

  constexpr int64_t bytes() const { return end; }

  char *memory = nullptr; ///< of a thread; the provider has none
  template <class T> T *at(ScratchPart<T> part) const {
    return reinterpret_cast<T *>(memory + part.offset);
  }

protected:
  constexpr MatmulScratch(int64_t paddedRows, int64_t sumColumns)
      : paddedRows(paddedRows), kept(take<KeptInput>(1)),
        sums(take<float>(paddedRows * sumColumns)) {}

  template <class T> constexpr ScratchPart<T> take(int64_t count) {
    constexpr int64_t line = 64;
    ScratchPart<T> part = {end};
    end += roundUp(count * int64_t(sizeof(T)), line);
    return part;
  }
  template <class T> constexpr ScratchPart<T> takeIf(bool isNeeded, int64_t count) {
    return take<T>(isNeeded ? count : 0);
  }
};

/// Of sums in registers. Single rows are not padded.
struct RegisterScratch : MatmulScratch {
  bool isSingle;

  static constexpr int64_t sumColumns(int64_t panels) { return panels * panelRows; }

protected:
  constexpr explicit RegisterScratch(const MatmulSizes &of)
      : MatmulScratch(of.rows == 1 ? 1 : roundUp(of.rows, registerRows), sumColumns(of.panels)),
        isSingle(of.rows == 1) {}
};

/// Of sums in tiles of AMX. Their rows are no power of two apart, so that they fall into different
/// sets of the cache.
struct TileScratch : MatmulScratch {
  static constexpr int64_t sumColumns(int64_t panels) { return (panels + 1) * panelRows; }

protected:
  constexpr explicit TileScratch(const MatmulSizes &of)
      : MatmulScratch(roundUp(of.rows, amxRows), sumColumns(of.panels)) {}
};

/// Scales, and offsets or zero points, of `groups` groups of a panel: two vectors of floats each.
constexpr int64_t numberBytes(int64_t groups) { return 2 * groups * 4 * panelRows; }

/// A panel whose groups of `group` columns are expanded to bytes, of the columns that are
/// multiplied together: values and numbers.
constexpr int64_t bytePanelBytes(int64_t together, int64_t group, int64_t k) {
  const int64_t block = wholeGroups(together, group), columns = block < k ? block : k;
  return roundUp(columns, 8) * panelRows + numberBytes((columns + group - 1) / group);
}

/// A panel whose groups are expanded to pairs of bf16, likewise.
constexpr int64_t pairPanelBytes(int64_t group) {
  const int64_t columns = wholeGroups(pairBlockColumns, group);
  return columns * 2 * weightParts * panelRows + numberBytes(columns / group);
}

/// A panel's block of scale codes: two planes of values, offsets of groups, and super-block scales.
constexpr int64_t blockPanelBytes =
    2 * kSuperColumns * panelRows + mostBlockGroups * panelRows * 4 + 2 * panelRows * 4;

constexpr int64_t groupsOf(int64_t k, int64_t group) { return (k + group - 1) / group; }

struct FloatPairsScratch : RegisterScratch {
  ScratchPart<float> input; ///< a segment's columns [paddedRows][inputStride]; of a single row [k]

  constexpr explicit FloatPairsScratch(const MatmulSizes &of)
      : RegisterScratch(of),
        input(take<float>(isSingle ? roundUp(of.k, panelRows) : paddedRows * inputStride)) {}
};

struct FloatColumnsScratch : FloatPairsScratch {
  ScratchPart<float> decoded; ///< of panels, [expandedPanels][segmentColumns][16]

  constexpr explicit FloatColumnsScratch(const MatmulSizes &of)
      : FloatPairsScratch(of),
        decoded(takeIf<float>(!isSingle, expandedPanels * segmentColumns * panelRows)) {}
};

struct PairDotsScratch : RegisterScratch {
  ScratchPart<int32_t> words; ///< PackedInput, or PaddedRow

  constexpr explicit PairDotsScratch(const MatmulSizes &of)
      : RegisterScratch(of), words(take<int32_t>(paddedRows * roundUp(of.k, 8) / 2)) {}
};

/// `InputWords`: what four bytes of the input become.
template <int InputWords> struct ByteScratch : RegisterScratch {
  ScratchPart<int32_t> inputSums; ///< of each row and group
  ScratchPart<float> inputScales; ///< likewise, where groups have scales of their own
  ScratchPart<int32_t> words;     ///< PackedInput, or PaddedRow
  ScratchPart<char> panels;       ///< ExpandedPanels
  ScratchPart<char> numbers;      ///< PanelNumbers of a single row

  constexpr explicit ByteScratch(const MatmulSizes &of)
      : RegisterScratch(of), inputSums(take<int32_t>(paddedRows * groupsOf(of.k, of.group))),
        inputScales(takeIf<float>(of.inputScales > 1, paddedRows * groupsOf(of.k, of.group))),
        words(take<int32_t>(paddedRows * roundUp(of.k, 8) / 4 * InputWords)),
        panels(takeIf<char>(!isSingle,
                            expandedPanels * bytePanelBytes(byteBlockColumns, of.group, of.k))),
        numbers(takeIf<char>(isSingle, expandedPanels * numberBytes(copiedGroups))) {}
};

struct PairGroupsScratch : RegisterScratch {
  ScratchPart<float> inputSums; ///< of each row and group
  ScratchPart<int32_t> words;   ///< PackedPairs
  ScratchPart<char> panels;     ///< PairedPanel
  ScratchPart<char> numbers;    ///< PanelNumbers of a single row

  constexpr explicit PairGroupsScratch(const MatmulSizes &of)
      : RegisterScratch(of),
        inputSums(take<float>(paddedRows * groupsOf(of.k, pairedColumns(of.group)))),
        words(take<int32_t>(paddedRows * of.k / 2 * inputParts(of.inputType))),
        panels(takeIf<char>(!isSingle, expandedPanels * pairPanelBytes(pairedColumns(of.group)))),
        numbers(takeIf<char>(isSingle, expandedPanels * numberBytes(copiedGroups))) {}
};

struct TileGroupsScratch : TileScratch {
  ScratchPart<int32_t> inputSums; ///< of each row and group; bits of f32 where they meet offsets
  ScratchPart<float> inputScales; ///< likewise, where groups have scales of their own
  ScratchPart<char> tiles;        ///< TiledInput
  ScratchPart<int32_t> tileSums;  ///< of two tiles
  ScratchPart<char> panel;        ///< ExpandedPanels

  constexpr explicit TileGroupsScratch(const MatmulSizes &of)
      : TileScratch(of), inputSums(take<int32_t>(paddedRows * groupsOf(of.k, of.group))),
        inputScales(takeIf<float>(of.inputScales > 1, paddedRows * groupsOf(of.k, of.group))),
        tiles(take<char>(paddedRows * of.k)), tileSums(take<int32_t>(2 * tileWords)),
        panel(take<char>(bytePanelBytes(tileBlockColumns, of.group, of.k))) {}
};

struct TileBlocksScratch : TileScratch {
  ScratchPart<int32_t> inputSums; ///< BlockInput: of groups, as two bf16
  ScratchPart<char> tiles;        ///< likewise
  ScratchPart<int32_t> tileSums;  ///< of three tiles
  ScratchPart<char> panels;       ///< BlockPanel

  constexpr explicit TileBlocksScratch(const MatmulSizes &of)
      : TileScratch(of),
        inputSums(take<int32_t>(paddedRows * (of.k / kSuperColumns) * mostBlockGroups)),
        tiles(take<char>(paddedRows * of.k)), tileSums(take<int32_t>(3 * tileWords)),
        panels(take<char>(expandedPanels * blockPanelBytes)) {}
};

struct TilePairsScratch : TileScratch {
  ScratchPart<float> inputSums;  ///< of each row and group
  ScratchPart<char> tiles;       ///< PairedInput
  ScratchPart<int32_t> tileSums; ///< of two tiles
  ScratchPart<char> panels;      ///< PairedPanel

  constexpr explicit TilePairsScratch(const MatmulSizes &of)
      : TileScratch(of),
        inputSums(take<float>(paddedRows * groupsOf(of.k, pairedColumns(of.group)))),
        tiles(take<char>(paddedRows * of.k * 2 * inputParts(of.inputType))),
        tileSums(take<int32_t>(2 * tileWords)),
        panels(take<char>(expandedPanels * pairPanelBytes(pairedColumns(of.group)))) {}
};

struct TileRowsScratch : TileScratch {
  ScratchPart<char> tiles; ///< TileInput

  constexpr explicit TileRowsScratch(const MatmulSizes &of)
      : TileScratch(of),
        tiles(take<char>((copiesAll(of.rows, of.gathered) ? paddedRows : amxRows) *
                         roundUp(of.k * elementBits(of.inputType) / 8, amxRowBytes))) {}

  /// Whether all rows of a block are copied, or those of a tile that is not full: fewer rows are
  /// read where they are, since weights take longer to come.
  static constexpr bool copiesAll(int64_t rows, bool gathered) {
    constexpr int64_t many = 64;
    return gathered || rows >= many;
  }
};

} // namespace ingot::x86
