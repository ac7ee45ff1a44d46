// SPDX-License-Identifier: Apache-2.0
// Products of bytes on AMX, exact over blocks of scale codes: these are multiplied into the weights
// as they are expanded, so that tiles sum a whole block.
#include "codegen/x86/kernels/ByteWeights.h"
#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/InputSums.h"
#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/RowTiles.h"

namespace ingot::x86 {
namespace {

/// How products of weights and codes are bytes: products less than 256, without sign, as they are;
/// products with each half of a code's bits, likewise; or the two bytes of products with sign.
enum PlaneForm { OnePlane, DigitPlanes, BytePlanes };

inline PlaneForm planeForm() {
  const int64_t bits = elementBits(ingot_const_weight_type);
  const int64_t codeBits = elementBits(ingot_const_scale_type);
  const int64_t value = (1 << bits) - 1, code = (1 << codeBits) - 1;
  const int64_t digit = (1 << codeBits / 2) - 1;
  const bool isSigned = ingot_const_zeros != kOffsets || ingot_const_scale_type == kI8;
  if (isSigned || value * digit > 255)
    return BytePlanes;
  return value * code <= 255 ? OnePlane : DigitPlanes;
}

/// Bits by which the high plane's products are above those of the low one.
inline int64_t planeShift() {
  return planeForm() == BytePlanes ? 8 : elementBits(ingot_const_scale_type) / 2;
}

/// A block of a panel, expanded.
struct BlockPanel {
  Ints low[kSuperColumns / 4], high[kSuperColumns / 4]; ///< [k / 4] of four bytes of 16 rows
  Ints offsets[mostBlockGroups];                        ///< [group] of codes twice as bf16
  Floats scale, offset;                                 ///< super-block scales

  /// Expands a block, and prefetches what is needed later.
  void expand(const Weights &weights, int64_t panel, int64_t block, BytesAhead ahead) {
    const Ints book = byteBook(weights);
    const int64_t width = groupWidth(), first = block * blockGroups();
    const char *from = weights.panel(panel) + Weights::panelOffset(block * kSuperColumns);
    const int64_t each = roundUp((ahead.end - ahead.next) / blockGroups(), 64);
    for (int64_t i = 0; i < blockGroups(); ++i) {
      const Ints code = __builtin_convertvector(weights.scale(panel, first + i), Ints);
      const Words digits[2] = {inWords(planeForm() == DigitPlanes ? code & digitMask() : code),
                               inWords(code >> int32_t(planeShift()))};
      ahead.prefetch(each);
#pragma clang loop unroll_count(4)
      for (int64_t k = i * width; k < (i + 1) * width; k += columnStep()) {
        Ints four, next;
        expandColumns<TileForm>(from, k, book, four, next);
        put(k / 4, four, digits);
        if (hasFields())
          put(k / 4 + 1, next, digits);
      }
    }
    scale = weights.super(panel, first, 0);
    if (ingot_const_zeros != kOffsets)
      return;
    offset = weights.super(panel, first, 1);
    for (int64_t i = 0; i < mostBlockGroups; ++i) {
      // Codes have eight bits at most, so that bf16 holds them.
      const Ints code = i < blockGroups() ? (Ints)weights.offset(panel, first + i) : Ints{};
      offsets[i] = code | (Ints)((UInts)code >> 16);
    }
  }

private:
  using Words = int16_t __attribute__((vector_size(64)));

  static Ints digitMask() { return Ints{} + ((1 << int32_t(planeShift())) - 1); }
  [[gnu::always_inline]] static Words inWords(Ints number) {
    return (Words)((number & 0xffff) | number << 16);
  }

  /// Four bytes times the codes of their lanes.
  [[gnu::always_inline]] void put(int64_t word, Ints bytes, const Words (&digits)[2]) {
    if (planeForm() != BytePlanes) {
      // Two bytes at once: products less than 256 carry nothing.
      low[word] = (Ints)((Words)bytes * digits[0]);
      if (planeForm() == DigitPlanes)
        high[word] = (Ints)((Words)bytes * digits[1]);
      return;
    }
    const Words even = (Words)((Words)bytes << 8) >> 8, odd = (Words)bytes >> 8;
    const UInts one = (UInts)(even * digits[0]), other = (UInts)(odd * digits[0]);
    constexpr uint32_t evenBytes = 0x00ff00ff;
    low[word] = (Ints)((one & evenBytes) | (other & evenBytes) << 8);
    high[word] = (Ints)((one >> 8 & evenBytes) | (other & ~evenBytes));
  }
};
static_assert(sizeof(BlockPanel) == blockPanelBytes);

/// The input of products over blocks.
struct BlockInput {
  int64_t rows;
  const char *tiles;      ///< [tile of rows][tile of columns][16][64]
  const int32_t *offsets; ///< [tile of rows][block][16][16 groups] of sums as two bf16

  static void take(const void *input, const Rows &rows, char *tiles, int32_t *offsets) {
    copyTiles(static_cast<const char *>(input), rows, 0, amxRowBytes, tiles);
    for (int64_t row = 0; ingot_const_zeros == kOffsets && row < rows.count; ++row) {
      int32_t *to =
          offsets + row / amxRows * blocks() * tileWords + row % amxRows * mostBlockGroups;
      int64_t group = 0;
      sumEqualGroups(static_cast<const int8_t *>(input) + rows.input(row) * ingot_const_k,
                     groupWidth(), [&](int32_t sum) {
                       to[group] = inPairs(sum);
                       if (++group < blockGroups())
                         return;
                       for (; group < mostBlockGroups; ++group)
                         to[group] = 0;
                       group = 0;
                       to += tileWords;
                     });
    }
  }

  const char *tile(int64_t index, int64_t block) const {
    return tiles + index * amxRows * ingot_const_k + block * kSuperColumns * amxRows;
  }
  const int32_t *offsetTile(int64_t index, int64_t block) const {
    return offsets + (index * blocks() + block) * tileWords;
  }
  static int64_t blocks() { return ingot_const_k / kSuperColumns; }

private:
  /// A sum of at most 16 bits as the sum of two bf16.
  static int32_t inPairs(int32_t sum) {
    const uint16_t high = bf16FromFloat(float(sum));
    const uint16_t rest = bf16FromFloat(float(sum) - floatFromBf16(high));
    return int32_t(uint32_t(high) << 16 | rest);
  }
};

/// Products of tiles of rows with blocks of panels. Those of one are stored while those of the next
/// are made, in other tiles, and added to the totals behind these: what was just made is slow to
/// store, and what was just stored slow to load.
class BlockProducts {
public:
  struct Item {
    const BlockPanel *panel = nullptr;
    const char *columns = nullptr;    ///< a tile of rows, [tile of columns][16][64]
    const int32_t *offsets = nullptr; ///< likewise, [16][16]
    float *totals = nullptr;          ///< [16][tileSumColumns()]
    int64_t rows = 0;                 ///< that are wanted
  };

  /// `memory`: for the sums of three tiles.
  BlockProducts(AmxTiles &tiles, int32_t *memory) : tiles(tiles), memory(memory) {}

  void add(const Item &item, BytesAhead ahead) {
    isOdd ? multiply<1>(item, ahead) : multiply<0>(item, ahead);
    isOdd = !isOdd;
    last = item;
  }

  /// Adds the products that are still in tiles.
  void finish() {
    isOdd ? store<0>() : store<1>();
    close(last);
    last = Item{};
  }

private:
  AmxTiles &tiles;
  int32_t *memory; ///< low and high sums, and of offsets
  Item last;
  bool isOdd = false;

  /// In tiles of sums `2 Set` and `2 Set + 1`.
  template <int Set> [[gnu::always_inline]] void multiply(const Item &item, BytesAhead ahead) {
    constexpr int Low = 2 * Set, High = Low + 1, Offsets = 5;
    constexpr int64_t steps = kSuperColumns / amxRowBytes;
    const int64_t each = roundUp((ahead.end - ahead.next) / steps, 64);
    tiles.zero<Low>();
    tiles.zero<High>();
    if (ingot_const_zeros == kOffsets) {
      tiles.zero<Offsets>();
      tiles.load<4>(item.offsets, amxRowBytes);
      tiles.load<6>(item.panel->offsets, amxRowBytes);
      tiles.multiplyPairs<Offsets, 4, 6>();
    }
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < steps; ++i) {
      tiles.load<4>(item.columns + i * tileBytes, amxRowBytes);
      tiles.load<6>(item.panel->low + i * amxRows, amxRowBytes);
      tiles.multiplyUnsigned<Low, 4, 6>();
      if (planeForm() != OnePlane) {
        tiles.load<7>(item.panel->high + i * amxRows, amxRowBytes);
        if (planeForm() == DigitPlanes)
          tiles.multiplyUnsigned<High, 4, 7>();
        else
          tiles.multiply<High, 4, 7>();
      }
      if (i == 1 && last.panel)
        store<1 - Set>();
      ahead.prefetch(each);
    }
    if (last.panel)
      close(last);
    if (ingot_const_zeros == kOffsets)
      tiles.store<Offsets>(memory + 2 * tileWords, amxRowBytes);
  }

  template <int Set> [[gnu::always_inline]] void store() {
    tiles.store<2 * Set>(memory, amxRowBytes);
    if (planeForm() != OnePlane)
      tiles.store<2 * Set + 1>(memory + tileWords, amxRowBytes);
  }

  /// Adds stored sums to the totals.
  [[gnu::always_inline]] void close(const Item &item) const {
    if (item.rows > amxRows / 2)
      closeRows<amxRows>(item);
    else
      closeRows<amxRows / 2>(item);
  }

  template <int Rows> [[gnu::always_inline]] void closeRows(const Item &item) const {
    const Floats scale = item.panel->scale, offset = item.panel->offset;
    const int32_t *sums = memory;
    float *totals = item.totals;
#pragma clang loop unroll(full)
    for (int64_t row = 0; row < Rows; ++row) {
      Ints sum = loadVector<Ints>(sums + row * panelRows);
      if (planeForm() != OnePlane)
        sum += loadVector<Ints>(sums + tileWords + row * panelRows) << int32_t(planeShift());
      float *at = totals + row * tileSumColumns();
      storeVector(at, closeGroup(loadVector<Floats>(at), toFloats(sum), scale, offset,
                                 loadVector<Floats>(sums + 2 * tileWords + row * panelRows)));
    }
  }
};

/// The order in which blocks of panels are multiplied: all panels before k goes on, so that the
/// same columns of rows stay in the cache.
struct BlockOrder {
  int64_t panel, panels;

  struct Place {
    int64_t panel, block;
  };
  int64_t count() const { return panels * BlockInput::blocks(); }
  /// Behind the last one are the panels that follow.
  Place at(int64_t index) const {
    return index < count() ? Place{panel + index % panels, index / panels}
                           : Place{panel + panels + index - count(), 0};
  }
};

struct TileBlocks {
  using Scratch = TileBlocksScratch;

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    BlockInput::take(arguments.input, block.rows, scratch.at(scratch.tiles),
                     scratch.at(scratch.inputSums));
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const Weights &weights = arguments.weights;
    const BlockOrder order = {block.weightPanel(), block.panels};
    const BlockInput input = {block.rows.count, scratch.at(scratch.tiles),
                              scratch.at(scratch.inputSums)};
    float *sums = scratch.at(scratch.sums);
    const int64_t rows = input.rows, rowTiles = (rows + amxRows - 1) / amxRows;
    AmxTiles tiles(rows < amxRows ? rows : amxRows, amxRowBytes);
    BlockProducts products(tiles, scratch.at(scratch.tileSums));
    __builtin_memset(sums, 0, roundUp(rows, amxRows) * tileSumColumns() * 4);
    auto *expanded = reinterpret_cast<BlockPanel *>(scratch.at(scratch.panels));
    // Half of what is needed next is prefetched during expansion, the rest during products.
    const int64_t bytes = Weights::panelOffset(kSuperColumns), half = roundUp(bytes / 2, 64);
    const int64_t share = roundUp((bytes - half) / rowTiles, 64);
    for (int64_t index = 0; index < order.count(); index += expandedPanels) {
      const int64_t left = order.count() - index;
      const int64_t count = left < expandedPanels ? left : expandedPanels;
      BlockOrder::Place place[expandedPanels];
      const char *next[expandedPanels];
      for (int64_t i = 0; i < count; ++i) {
        place[i] = order.at(index + i);
        const BlockOrder::Place behind = order.at(index + expandedPanels + i);
        next[i] = weights.panel(behind.panel) + Weights::panelOffset(behind.block * kSuperColumns);
        weights.prefetchNumbers(behind.panel, behind.block * blockGroups());
        weights.prefetchNumbers(behind.panel, (behind.block + 1) * blockGroups() - 1);
        expanded[i].expand(weights, place[i].panel, place[i].block, {next[i], next[i] + half});
      }
      for (int64_t tile = 0; tile < rowTiles; ++tile)
        for (int64_t i = 0; i < count; ++i) {
          const int64_t row = tile * amxRows, wanted = rows - row;
          const char *prefetched = next[i] + half + tile * share, *end = next[i] + bytes;
          products.add({&expanded[i], input.tile(tile, place[i].block),
                        input.offsetTile(tile, place[i].block),
                        sums + row * tileSumColumns() + (place[i].panel - order.panel) * panelRows,
                        wanted < amxRows ? wanted : amxRows},
                       {prefetched, prefetched + share < end ? prefetched + share : end});
        }
      products.finish();
    }
  }
};

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  ingot::x86::runMatmul<ingot::x86::TileBlocks>(launch);
}
