// SPDX-License-Identifier: Apache-2.0
// Products of floats with encoded weights on AMX. Inputs and what the scales of weights multiply
// are bf16, in as many parts as hold them without rounding; tiles sum a group, whose sums are
// scaled outside. Eight columns of k are pairs (0, 2), (1, 3), (4, 6), (5, 7), as a panel's fields
// come out.
#pragma once

#include "codegen/x86/kernels/MatmulFloat.h"
#include "codegen/x86/kernels/MatmulInteger.h"
#include "codegen/x86/kernels/MatmulTiles.h"

namespace ingot::x86 {

/// Columns that are summed together: a group's, or equal parts of it; and their number in k.
inline int64_t pairedWidth() { return summedColumns(TilePairs, groupWidth()); }
inline int64_t pairedGroups() { return ingot_const_k / pairedWidth(); }

/// Columns of a tile, and its bytes.
inline int64_t pairTileColumns() {
  return pairedWidth() < amxRowBytes / 2 ? pairedWidth() : amxRowBytes / 2;
}
inline int64_t pairTileBytes() { return amxRows * pairTileColumns() * 2; }

/// Groups that are multiplied by all rows before tiles go on in k.
inline int64_t pairedBlock() { return blockColumns(TilePairs, pairedWidth()) / pairedWidth(); }

/// The input of products by tiles of pairs.
struct PairedInput {
  int64_t rows;
  const char *tiles;   ///< [tile of rows][tile of columns][part][16][pairTileColumns()]
  const int32_t *sums; ///< over groups [row][groups], where products need them; f32

  static int64_t parts() { return inputParts(ingot_const_input_type); }
  static bool needsSums() {
    return ingot_const_zeros == kOffsets || ingot_const_zeros == kZeroPoints;
  }

  /// Fills `tiles` and `sums`.
  static void take(const void *input, const Rows &rows, char *tiles, float *sums) {
    for (int64_t row = 0; row < rows.count; ++row) {
      const int64_t first = rows.input(row) * ingot_const_k, width = pairTileColumns();
      char *line = tiles + row / amxRows * rowTileBytes() + row % amxRows * width * 2;
      Floats sum = {};
      for (int64_t k = 0; k < ingot_const_k; k += lanes) {
        Floats x = load(ingot_const_input_type, input, first + k);
        sum += x;
        char *to = line + k / width * parts() * pairTileBytes() + k % width * 2;
        for (int64_t part = 0; part < parts(); ++part, to += pairTileBytes()) {
          Shorts rounded = narrowBf16(x);
          storeVector(to, inPairs(rounded));
          x -= widenBf16(rounded);
        }
        if (needsSums() && (k + lanes) % pairedWidth() == 0) {
          sums[row * pairedGroups() + k / pairedWidth()] = sumLanes(sum);
          sum = Floats{};
        }
      }
    }
  }

  /// The first tile of `group` of the rows from `row` on.
  const char *tile(int64_t row, int64_t group) const {
    return tiles + row / amxRows * rowTileBytes() +
           group * (pairedWidth() / pairTileColumns()) * parts() * pairTileBytes();
  }

private:
  static int64_t rowTileBytes() { return amxRows * ingot_const_k * 2 * parts(); }

  [[gnu::always_inline]] static Shorts inPairs(Shorts x) {
    return __builtin_shufflevector(x, x, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
  }
};

/// A part of what elements of less than a byte stand for before they meet a scale, as bf16: that of
/// code i at i and wherever bits above an element's are others.
class PairNumbers {
public:
  PairNumbers(const Weights &weights, int64_t part) {
    if (ingot_const_zeros == kCodeBook) {
      numbers[0] = numbers[1] = narrowBf16(withoutParts(loadVector<Floats>(weights.zeros), part));
      return;
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      Ints codes = (laneIndex() + i * lanes) & ((1 << PanelFields::bits()) - 1);
      numbers[i] = narrowBf16(lessMiddle(__builtin_convertvector(codes, Floats)));
    }
  }

  /// Parts of all numbers: one of integers and of most books.
  static int64_t parts(const Weights &weights) {
    int64_t parts = 1;
    if (ingot_const_zeros == kCodeBook)
      while (parts < weightParts &&
             maximumLane(absolute(withoutParts(loadVector<Floats>(weights.zeros), parts))) > 0)
        ++parts;
    return parts;
  }

  /// The numbers that the lowest bits of each half of a lane name: six for elements of six bits,
  /// five for others.
  [[gnu::always_inline]] Ints lookUp(UInts codes) const {
#ifdef __AVX512BW__
    auto low = loadVector<__m512i>(numbers), high = loadVector<__m512i>(numbers + 2);
    return (Ints)(PanelFields::bits() == 6 ? _mm512_permutex2var_epi16(low, (__m512i)codes, high)
                                           : _mm512_permutexvar_epi16((__m512i)codes, low));
#else
    Ints pairs = {};
    for (int lane = 0; lane < lanes; ++lane) {
      const uint32_t mask = (1u << PanelFields::bits()) - 1;
      auto of = [&](uint32_t code) { return uint32_t(numbers[code / lanes][code % lanes]); };
      pairs[lane] = int32_t(of(codes[lane] & mask) | of(codes[lane] >> 16 & mask) << 16);
    }
    return pairs;
#endif
  }

private:
  static Floats withoutParts(Floats x, int64_t parts) {
    for (int64_t part = 0; part < parts; ++part)
      x -= widenBf16(narrowBf16(x));
    return x;
  }

  Shorts numbers[4];
};

/// Eight columns of the 16 rows of a panel as pairs of bf16.
[[gnu::always_inline]] inline void pairColumns(const char *panel, int64_t k,
                                               const PairNumbers &numbers, Ints (&pairs)[4]) {
  if (hasFields()) {
    PanelFields fields = PanelFields::load(panel, k);
    UInts halves[2] = {fields.low, fields.low >> 4};
    if (PanelFields::bits() != 4) {
      Ints first, second;
      fields.toBytes(first, second);
      halves[0] = (UInts)first;
      halves[1] = (UInts)second;
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i)
      pairs[i] = numbers.lookUp(halves[i / 2] >> uint32_t(i % 2 * 8));
    return;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i) {
    const int64_t column = k + i / 2 * 4 + i % 2;
    auto bits = [&](int64_t at) __attribute__((always_inline)) {
      return (UInts)load(ingot_const_weight_type, panel, at * panelRows);
    };
    pairs[i] = (Ints)(bits(column) >> 16 | (bits(column + 2) & 0xffff0000u));
  }
}

/// Some groups of a panel as pairs of bf16 and f32 numbers, in scratch memory. Columns and groups
/// count from the first of a range on.
struct PairedPanel {
  int64_t parts, partWords;
  Ints *values;    ///< [part][k / 2][16] of two numbers each
  Floats *scales;  ///< [groups][16]
  Floats *offsets; ///< likewise; zero points are offsets here

  /// Bytes at most, as MatmulScratch counts them.
  static int64_t bytes() {
    return MatmulScratch::pairedPanelBytes(pairedBlock() * pairedWidth(), pairedBlock());
  }

  static PairedPanel expand(char *memory, const Weights &weights, int64_t panel, GroupRange range) {
    const int64_t parts = PairNumbers::parts(weights),
                  partWords = range.count() * pairedWidth() / 2;
    auto *values = reinterpret_cast<Ints *>(memory);
    auto *scales = reinterpret_cast<Floats *>(values + parts * partWords);
    Floats *offsets = scales + range.count();
    for (int64_t group = range.first; group < range.end; ++group) {
      const int64_t place = group - range.first, stored = group * pairedWidth() / groupWidth();
      scales[place] = ingot_const_scale_mode ? weights.scale(panel, stored) : splat(1.0f);
      if (ingot_const_zeros == kOffsets)
        offsets[place] = weights.offset(panel, stored);
      if (ingot_const_zeros == kZeroPoints)
        offsets[place] =
            -__builtin_convertvector(weights.zero(panel, stored), Floats) * scales[place];
    }
    for (int64_t part = 0; part < parts; ++part)
      fill(weights.panel(panel), range, PairNumbers(weights, part), values + part * partWords);
    return {parts, partWords, values, scales, offsets};
  }

  static bool needsSums() { return PairedInput::needsSums(); }
  static int64_t groups() { return pairedGroups(); }

  /// Tile `Sum` += the products of `group`; `left`: [tile of columns][part][16][pairTileColumns()].
  template <int Sum>
  [[gnu::always_inline]] void multiply(AmxTiles &tiles, const char *left, int64_t group) const {
    const int64_t width = pairedWidth(), step = PairedInput::parts() * pairTileBytes();
    const char *next = left + group * (width / pairTileColumns()) * step;
#pragma clang loop unroll(disable)
    for (int64_t k = group * width; k < (group + 1) * width; k += pairTileColumns(), next += step)
#pragma clang loop unroll(disable)
      for (int64_t part = 0; part < parts; ++part) {
        tiles.load<6 + Sum % 2>(values + part * partWords + k / 2, sizeof(Ints));
        multiplyPart<Sum, 4 + Sum % 2>(tiles, next);
        if (PairedInput::parts() > 1)
          multiplyPart<Sum, 5 - Sum % 2>(tiles, next + pairTileBytes());
      }
  }

  /// `total` with the sums of `group`; `input`: that of the row's inputs.
  [[gnu::always_inline]] Floats close(Floats total, Ints sum, int64_t group, int32_t input) const {
    total = fma((Floats)sum, scales[group], total);
    return needsSums() ? fma(splat(bitCast<float>(input)), offsets[group], total) : total;
  }

private:
  template <int Sum, int Left>
  [[gnu::always_inline]] static void multiplyPart(AmxTiles &tiles, const char *part) {
    tiles.load<Left>(part, pairTileColumns() * 2);
    tiles.multiplyPairs<Sum, Left, 6 + Sum % 2>();
  }

  static void fill(const char *panel, GroupRange range, const PairNumbers &numbers, Ints *to) {
    for (int64_t k = range.first * pairedWidth(); k < range.end * pairedWidth(); k += 8, to += 4) {
      Ints pairs[4];
      pairColumns(panel, k, numbers, pairs);
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i)
        to[i] = pairs[i];
    }
  }
};

/// Which panels and groups are multiplied one after the other: of few rows all groups of some
/// panels, as memory has them; of many all panels first, so that the rows' columns stay in the
/// cache.
struct PairSteps {
  int64_t panels;

  struct Step {
    int64_t panel, panels;
    GroupRange range;
  };

  int64_t count() const { return times() * ranges(); }
  /// Step `index`; behind the last one is the next tile's first.
  Step at(int64_t index) const {
    if (index == count())
      return {panels, expandedPanels, rangeAt(0)};
    const bool few = ingot_const_tile_rows <= amxRows;
    const int64_t panel = (few ? index / ranges() : index % times()) * expandedPanels;
    const int64_t left = panels - panel;
    return {panel, left < expandedPanels ? left : expandedPanels,
            rangeAt(few ? index % ranges() : index / times())};
  }

private:
  int64_t times() const { return (panels + expandedPanels - 1) / expandedPanels; }
  static int64_t ranges() { return (pairedGroups() + pairedBlock() - 1) / pairedBlock(); }
  static GroupRange rangeAt(int64_t index) {
    int64_t first = index * pairedBlock(), end = first + pairedBlock();
    return {first, end < pairedGroups() ? end : pairedGroups()};
  }
};

/// Adds the groups of `step` to sums [rows][columns]; the weights of `next` are asked for
/// meanwhile. The second panel finds a tile of rows in the first-level cache.
inline void addPairs(AmxTiles &tiles, const Weights &weights, int64_t panel, PairSteps::Step step,
                     PairSteps::Step next, const PairedInput &input, float *sums, int64_t columns,
                     char *memory) {
  PairedPanel paired[expandedPanels];
  for (int64_t p = 0; p < step.panels; ++p)
    paired[p] = PairedPanel::expand(memory + tileSumBytes + p * PairedPanel::bytes(), weights,
                                    panel + step.panel + p, step.range);
  const int64_t rowTiles = (input.rows + amxRows - 1) / amxRows;
  const int64_t first = panelOffset(next.range.first * pairedWidth()),
                bytes = panelOffset(next.range.end * pairedWidth()) - first,
                share = roundUp((bytes + rowTiles - 1) / rowTiles, 64);
  for (int64_t tile = 0; tile < rowTiles; ++tile)
    for (int64_t p = 0; p < step.panels; ++p) {
      const int64_t row = tile * amxRows, left = input.rows - row;
      const char *from = weights.panel(panel + next.panel + p) + first + tile * share;
      auto add = [&]<int Rows>() {
        TileOfSums<PairedPanel, Rows> block = {tiles, paired[p], input.tile(row, step.range.first),
                                               input.sums + row * pairedGroups() + step.range.first,
                                               reinterpret_cast<int32_t *>(memory)};
        block.add(step.range.count(), {from, from + share},
                  sums + row * columns + (step.panel + p) * panelRows, columns,
                  step.range.first == 0);
      };
      if (left > amxRows / 2)
        add.template operator()<amxRows>();
      else if (input.rows > 1)
        add.template operator()<amxRows / 2>();
      else
        add.template operator()<1>();
    }
}

/// sums [rows][columns] of a block of rows; `memory` as MatmulScratch has it.
inline void tilePairsBlock(const Weights &weights, int64_t panel, int64_t panels,
                           const PairedInput &input, float *sums, int64_t columns, char *memory) {
  AmxTiles tiles(input.rows < amxRows ? input.rows : amxRows, pairTileColumns() * 2);
  const PairSteps steps = {panels};
  for (int64_t i = 0; i < steps.count(); ++i) {
    PairSteps::Step next = steps.at(i + 1);
    for (int64_t group = next.range.first; group < next.range.end; ++group)
      for (int64_t p = 0; p < next.panels; ++p)
        weights.askScale(panel + next.panel + p, group * pairedWidth() / groupWidth());
    addPairs(tiles, weights, panel, steps.at(i), next, input, sums, columns, memory);
  }
}

} // namespace ingot::x86
