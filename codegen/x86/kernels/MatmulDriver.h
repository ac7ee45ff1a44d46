// SPDX-License-Identifier: Apache-2.0
// llm.matmul: one tile is a block of rows by some panels of the weight. What all methods of summing
// share: the launch's buffers, the block of a tile, the input that scratch memory keeps, epilogue
// and store. Every element is summed in its own lane in the order that the operation prescribes, so
// tiles of all shapes agree to the bit.
//
// A method is a structure; its kernel template is runMatmul of it.
//   using Scratch = ...;  its structure of MatmulScratch.h
//   static void takeRows(const Arguments &, const Block &, const Scratch &);
//     fills what scratch memory has of a block's rows of the input
//   static void sumRows(const Arguments &, const Block &, const Scratch &);
//     makes the sums of a block, [rows][Scratch::sumColumns]
//   takeRow and sumRow, likewise: where single rows have a path of their own
#pragma once

#include "codegen/native/kernels/Groups.h"
#include "codegen/x86/kernels/Epilogue.h"
#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// The part of the product that one tile computes.
struct Block {
  Rows rows;
  int64_t expert, panel, panels; ///< panels of the expert's, or head's

  /// The first panel of the weight.
  int64_t weightPanel() const { return expert * ingot_const_panels + panel; }
};

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

  /// The row of the input that a block of a single row reads.
  const char *row(const Block &block) const {
    return static_cast<const char *>(input) + block.rows.input(0) * inputRowBytes();
  }
};

/// The block of this launch's tile; no rows or panels: there is nothing to do.
inline Block blockOf(const IngotLaunch *launch, const Arguments &arguments) {
  constexpr auto least = [](int64_t a, int64_t b) { return a < b ? a : b; };
  Block block = {};
  if (ingot_const_experts) {
    GroupTile tile =
        groupTile(arguments.starts, ingot_const_experts, ingot_const_tile_rows, launch->tile[1]);
    block.rows = {tile.first, tile.rows, arguments.order, 0};
    block.expert = tile.expert;
  } else {
    constexpr auto heads = [] { return ingot_const_heads ? ingot_const_heads : 1; };
    int64_t rows = launch->scalars[ingot_const_rows_dim] * ingot_const_rows_each / heads();
    int64_t tiles = (rows + ingot_const_tile_rows - 1) / ingot_const_tile_rows;
    block.expert = ingot_const_heads ? launch->tile[1] / tiles : 0;
    int64_t first = (launch->tile[1] - block.expert * tiles) * ingot_const_tile_rows;
    block.rows = {first, least(ingot_const_tile_rows, rows - first), nullptr, block.expert};
  }
  block.panel = launch->tile[0] * ingot_const_tile_panels;
  block.panels = least(ingot_const_tile_panels, ingot_const_panels - block.panel);
  return block;
}

/// Epilogue and store of sums [rows][Scratch::sumColumns].
template <class Scratch>
inline void finish(const Arguments &arguments, const Block &block, const float *sums) {
  constexpr int64_t step = panelRows;
  const int64_t columns = Scratch::sumColumns(ingot_const_tile_panels);
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
        x[i] = loadVector<Floats>(sums + r * columns + (p + i) * step);
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

/// Fills what scratch memory has of the input, by `Method`.
template <class Method>
inline void takeInput(const Arguments &arguments, const Block &block,
                      const typename Method::Scratch &scratch) {
  if constexpr (requires { &Method::takeRow; })
    if (ingot_const_tile_rows == 1)
      return Method::takeRow(arguments, block, scratch);
  Method::takeRows(arguments, block, scratch);
}

/// Makes the sums of a block, likewise.
template <class Method>
inline void makeSums(const Arguments &arguments, const Block &block,
                     const typename Method::Scratch &scratch) {
  if constexpr (requires { &Method::sumRow; })
    if (ingot_const_tile_rows == 1)
      return Method::sumRow(arguments, block, scratch);
  Method::sumRows(arguments, block, scratch);
}

/// One tile of a launch.
template <class Method> inline void runMatmul(const IngotLaunch *launch) {
  using Scratch = typename Method::Scratch;
  const Arguments arguments(launch);
  Scratch scratch(matmulSizes());
  scratch.memory = static_cast<char *>(launch->scratch);
  KeptInput *kept = scratch.at(scratch.kept);
  if (launch->isFirst)
    kept->rowTile = -1;
  const Block block = blockOf(launch, arguments);
  if (block.rows.count <= 0 || block.panels <= 0)
    return;
  if (kept->rowTile != launch->tile[1]) {
    takeInput<Method>(arguments, block, scratch);
    kept->rowTile = launch->tile[1];
  }
  makeSums<Method>(arguments, block, scratch);
  finish<Scratch>(arguments, block, scratch.at(scratch.sums));
}

} // namespace ingot::x86
