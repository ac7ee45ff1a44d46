// SPDX-License-Identifier: Apache-2.0
// llm.matmul: one tile is a block of rows by some panels of the weight. Every element is summed in
// its own lane in the order that the operation prescribes, so tiles of all shapes agree to the bit.
#include "codegen/native/kernels/Groups.h"
#include "codegen/x86/kernels/ByteRow.h"
#include "codegen/x86/kernels/ByteTile.h"
#include "codegen/x86/kernels/Epilogue.h"
#include "codegen/x86/kernels/MatmulFloat.h"
#include "codegen/x86/kernels/MatmulPairGroups.h"
#include "codegen/x86/kernels/MatmulPairs.h"
#include "codegen/x86/kernels/MatmulTileBlocks.h"
#include "codegen/x86/kernels/MatmulTilePairs.h"
#include "codegen/x86/kernels/MatmulTileRows.h"
#include "codegen/x86/kernels/MatmulTiles.h"

namespace ingot::x86 {
namespace {

/// The launch's buffers by meaning; absent ones are not in the list.
struct Arguments {
  explicit Arguments(const IngotLaunch *launch) {
    void *const *next = launch->buffers;
    input = *next++;
    const void *values = *next++;
    if (ingot_const_input_scales)
      inputScales = static_cast<const float *>(*next++);
    weights = {WeightBuffers::take(values, next)};
    operands = next;
    next += ingot_const_operands;
    if (ingot_const_experts) {
      order = static_cast<const int32_t *>(*next++);
      starts = static_cast<const int32_t *>(*next++);
    }
    result = *next;
  }

  const void *input;
  Weights weights = {};
  const float *inputScales = nullptr;
  void *const *operands;
  const int32_t *order = nullptr, *starts = nullptr;
  void *result;
};

/// The part of the product that one tile computes.
struct Block {
  Rows rows;
  int64_t expert, panel, panels; ///< panels of the expert's

  /// The first panel of the weight.
  int64_t weightPanel() const { return expert * ingot_const_panels + panel; }
};

/// The block of this launch's tile; no rows or panels: there is nothing to do.
Block blockOf(const IngotLaunch *launch, const Arguments &arguments) {
  constexpr auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  Block block = {};
  if (ingot_const_experts) {
    GroupTile tile =
        groupTile(arguments.starts, ingot_const_experts, ingot_const_tile_rows, launch->tile[1]);
    block.rows = {tile.first, tile.rows, arguments.order};
    block.expert = tile.expert;
  } else {
    int64_t first = launch->tile[1] * ingot_const_tile_rows;
    int64_t rows = launch->scalars[ingot_const_rows_dim] * ingot_const_rows_each;
    block.rows = {first, least(ingot_const_tile_rows, rows - first), nullptr};
  }
  block.panel = launch->tile[0] * ingot_const_tile_panels;
  block.panels = least(ingot_const_tile_panels, ingot_const_panels - block.panel);
  return block;
}

/// Epilogue and store of sums [rows][sumColumns()].
void finish(const Arguments &arguments, const Block &block, const float *sums) {
  constexpr int64_t step = panelRows;
  const int64_t address[] = {ingot_const_address_0, ingot_const_address_1, ingot_const_address_2,
                             ingot_const_address_3};
  const int64_t type[] = {ingot_const_type_0, ingot_const_type_1, ingot_const_type_2,
                          ingot_const_type_3};
  constexpr auto hasRowScales = [] { return ingot_const_input_scales == 1; };
  bool paired = ingot_const_pair_offset != 0;
  for (int64_t r = 0; r < block.rows.count; ++r) {
    int64_t row = block.rows.result(r);
    Floats factor = splat(hasRowScales() ? arguments.inputScales[block.rows.input(r)] : 1.0f);
    for (int64_t p = 0; p < block.panels; p += paired ? 2 : 1) {
      int64_t column = (paired ? (block.panel + p) / 2 : block.panel + p) * step;
      if (column >= ingot_const_n)
        break;
      Floats x[regionOperands] = {};
      for (int i = 0; i < (paired ? 2 : 1); ++i) {
        x[i] = loadVector<Floats>(sums + r * sumColumns() + (p + i) * step);
        if (hasRowScales())
          x[i] *= factor;
      }
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i)
        if (i < ingot_const_operands)
          x[2 + i] =
              loadOperand(address[i], type[i], arguments.operands[i], row, column, ingot_const_n);
      store(ingot_const_result_type, arguments.result, row * ingot_const_n + column, epilogue(x),
            ingot_const_n - column);
    }
  }
}

/// What scratch memory has of the input from one tile to the next that a thread runs of a launch:
/// tiles that are side by side share their rows.
struct KeptInput {
  int64_t rowTile; ///< tile[1] of the tiles whose input it is; -1: none
};

/// Scratch memory by parts, as MatmulScratch has them.
struct Scratch {
  KeptInput *kept;
  float *sums;
  char *block;   ///< what is known of the input
  float *scales; ///< of its groups
  char *copied;  ///< copies of the input
  char *weights; ///< decoded weights, and sums of tiles

  Scratch(void *memory, const MatmulScratch &layout)
      : kept(static_cast<KeptInput *>(memory)),
        sums(reinterpret_cast<float *>(static_cast<char *>(memory) + MatmulScratch::keptBytes)),
        block(reinterpret_cast<char *>(sums) + layout.sumBytes()),
        scales(reinterpret_cast<float *>(block + layout.inputSumBytes())),
        copied(block + layout.blockBytes()), weights(copied + layout.copiedBytes()) {}

  template <class T> static T *as(char *memory) { return reinterpret_cast<T *>(memory); }
};

/// A single row of the input, where it is.
const char *singleRowOf(const Arguments &arguments, const Block &block) {
  return static_cast<const char *>(arguments.input) + block.rows.input(0) * inputRowBytes();
}

/// Whether a single row is read from a copy, whose zeros meet the weights' padding.
bool isPadded() { return inputRowBytes() % 8 != 0; }

/// What scratch has of a single row.
void takeSingleRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
  const char *row = singleRowOf(arguments, block);
  if (hasFloats(SumMethod(ingot_const_method))) {
    if (ingot_const_input_type != kF32)
      for (int64_t k = 0; k < ingot_const_k; k += lanes)
        storeVector(Scratch::as<float>(scratch.block) + k, inputColumns(row, 0, k));
    return;
  }
  if (isPadded()) {
    __builtin_memset(scratch.copied, 0, roundUp(inputRowBytes(), 8));
    __builtin_memcpy(scratch.copied, row, inputRowBytes());
  }
  if (hasBytes(SumMethod(ingot_const_method)))
    sumGroups(reinterpret_cast<const int8_t *>(row), 1, 1, Scratch::as<int32_t>(scratch.block));
}

/// Sums of one row by the path for single rows.
void sumSingleRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
  float *sums = scratch.sums;
  const char *row = singleRowOf(arguments, block);
  if (hasFloats(SumMethod(ingot_const_method))) {
    const char *from = ingot_const_input_type == kF32 ? row : scratch.block;
    const auto *input = reinterpret_cast<const float *>(from);
    int64_t p = 0;
    for (; p + floatRowPanels <= block.panels; p += floatRowPanels)
      singleRow<floatRowPanels>(arguments.weights, block.weightPanel() + p, input,
                                sums + p * panelRows);
    for (; leavesPanels(floatRowPanels) && p < block.panels; ++p)
      singleRow<1>(arguments.weights, block.weightPanel() + p, input, sums + p * panelRows);
    return;
  }
  const char *padded = isPadded() ? scratch.copied : row;
  if (ingot_const_method == PairDots) {
    pairBlock(arguments.weights, block.weightPanel(), block.panels,
              {reinterpret_cast<const int32_t *>(padded)}, 1, sums);
    return;
  }
  const auto *inputs = Scratch::as<int32_t>(scratch.block);
  const SummedRow x = {reinterpret_cast<const int8_t *>(padded), inputs,
                       scalesOf(arguments.inputScales, block.rows.input(0))};
  int64_t p = 0;
  for (; p + byteRowPanels <= block.panels; p += byteRowPanels)
    integerRow<byteRowPanels>(arguments.weights, block.weightPanel() + p, x, sums + p * panelRows,
                              scratch.weights);
  for (; leavesPanels(byteRowPanels) && p < block.panels; ++p)
    integerRow<1>(arguments.weights, block.weightPanel() + p, x, sums + p * panelRows,
                  scratch.weights);
}

/// What scratch has of a block of rows, but for floats, which copy segments of k.
void takeManyRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
  auto *sums = Scratch::as<int32_t>(scratch.block), *words = Scratch::as<int32_t>(scratch.copied);
  switch (ingot_const_method) {
  case PairDots:
    return PackedInput::take<tileRows>(arguments.input, block.rows, words);
  case ByteDots:
  case ByteHalves:
  case ByteWords:
    return withByteTiles([&]<int Most>() {
      SummedInput::take<Most>(arguments.input, arguments.inputScales, block.rows, words, sums,
                              scratch.scales);
    });
  case PairGroups:
    return PackedPairs::take(arguments.input, block.rows, words, Scratch::as<float>(scratch.block));
  case TileGroups:
    return TiledInput::take(arguments.input, arguments.inputScales, block.rows, scratch.copied,
                            sums, scratch.scales);
  case TileBlocks:
    return BlockInput::take(arguments.input, block.rows, scratch.copied, sums);
  case TilePairs:
    return PairedInput::take(arguments.input, block.rows, scratch.copied,
                             Scratch::as<float>(scratch.block));
  case TileRows:
    return TileInput::take(arguments.input, block.rows, scratch.copied);
  }
}

/// Sums of a block of rows.
void sumManyRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
  float *sums = scratch.sums;
  int64_t panel = block.weightPanel(), rows = block.rows.count;
  PackedInput packed = {Scratch::as<int32_t>(scratch.copied)};
  const auto *inputs = Scratch::as<int32_t>(scratch.block);
  switch (ingot_const_method) {
  case FloatColumns:
  case FloatPairs:
    return manyRows(arguments.weights, panel, block.panels, arguments.input, block.rows, sums,
                    Scratch::as<float>(scratch.block), Scratch::as<float>(scratch.weights));
  case PairDots:
    return pairBlock(arguments.weights, panel, block.panels, packed, rows, sums);
  case ByteDots:
  case ByteHalves:
  case ByteWords:
    return withByteTiles([&]<int Most>() {
      integerBlock<Most>(arguments.weights, panel, block.panels, {packed, inputs, scratch.scales},
                         rows, sums, scratch.weights);
    });
  case PairGroups:
    return pairGroupsBlock(arguments.weights, panel, block.panels,
                           {packed.words, Scratch::as<float>(scratch.block)}, rows, sums,
                           scratch.weights);
  case TilePairs:
    return tilePairsBlock(arguments.weights, panel, block.panels, {rows, scratch.copied, inputs},
                          sums, scratch.weights);
  case TileGroups:
    return tileGroupsBlock(arguments.weights, panel, block.panels,
                           {rows, scratch.copied, inputs, scratch.scales}, sums, scratch.weights);
  case TileBlocks:
    return tileBlocksBlock(arguments.weights, {panel, block.panels}, {rows, scratch.copied, inputs},
                           sums, scratch.weights);
  case TileRows:
    return tileRowsBlock(arguments.weights, panel, block.panels,
                         TileInput::of(arguments.input, block.rows, scratch.copied), rows, sums);
  }
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  using namespace ingot::x86;
  Arguments arguments(launch);
  MatmulScratch layout = {SumMethod(ingot_const_method),
                          ingot_const_tile_rows,
                          ingot_const_tile_panels,
                          ingot_const_k,
                          summedColumns(SumMethod(ingot_const_method), groupWidth()),
                          copiedElementBytes(SumMethod(ingot_const_method), ingot_const_input_type,
                                             sizeOf(ingot_const_input_type)),
                          TileInput::isGathered(),
                          hasInputGroups()};
  Scratch scratch(launch->scratch, layout);
  if (launch->isFirst)
    scratch.kept->rowTile = -1;
  Block block = blockOf(launch, arguments);
  if (block.rows.count <= 0 || block.panels <= 0)
    return;

  constexpr auto isSingle = [] {
    return ingot_const_tile_rows == 1 && ingot_const_method != PairGroups;
  };
  if (scratch.kept->rowTile != launch->tile[1]) {
    if (isSingle())
      takeSingleRow(arguments, block, scratch);
    else
      takeManyRows(arguments, block, scratch);
    scratch.kept->rowTile = launch->tile[1];
  }
  if (isSingle())
    sumSingleRow(arguments, block, scratch);
  else
    sumManyRows(arguments, block, scratch);
  finish(arguments, block, scratch.sums);
}
