// SPDX-License-Identifier: Apache-2.0
// Sums of bytes in registers, exact within a group.
#pragma once

#include "codegen/x86/kernels/ByteRow.h"
#include "codegen/x86/kernels/ByteTile.h"
#include "codegen/x86/kernels/MatmulDriver.h"

namespace ingot::x86 {

/// A method that multiplies bytes by `Product`, as ByteProduct says.
template <class Product> struct ByteMethod {
  using Scratch = ByteScratch<Product::inputWords>;

  static void takeRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const char *row = arguments.row(block);
    PaddedRow::take(row, scratch.at(scratch.words));
    sumGroups(reinterpret_cast<const int8_t *>(row), 1, 1, scratch.at(scratch.inputSums));
  }

  static void sumRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const int32_t *words = PaddedRow::of(arguments.row(block), scratch.at(scratch.words));
    const SummedRow input = {reinterpret_cast<const int8_t *>(words), scratch.at(scratch.inputSums),
                             scalesOf(arguments.inputScales, block.rows.input(0))};
    float *sums = scratch.at(scratch.sums);
    forPanels<byteRowPanels>(
        block.panels, [&]<int Panels>(int64_t p) __attribute__((always_inline)) {
          byteRow<Product, Panels>(arguments.weights, block.weightPanel() + p, input,
                                   sums + p * panelRows, scratch.at(scratch.numbers));
        });
  }

  static void takeRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    withTileRows([&]<int Most>() {
      SummedInput<Product>::template take<Most>(
          arguments.input, arguments.inputScales, block.rows, scratch.at(scratch.words),
          scratch.at(scratch.inputSums), scratch.at(scratch.inputScales));
    });
  }

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const SummedInput<Product> input = {{scratch.at(scratch.words)},
                                        scratch.at(scratch.inputSums),
                                        scratch.at(scratch.inputScales)};
    withTileRows([&]<int Most>() {
      byteBlock<Product, Most>(arguments.weights, block.weightPanel(), block.panels, input,
                               block.rows.count, scratch.at(scratch.sums),
                               scratch.at(scratch.panels));
    });
  }

private:
  /// use.operator()<Most>() for the most rows of a register tile: few rows fill the registers with
  /// exact sums, to take weights apart for as many; many leave half of them for totals.
  template <class Use> [[gnu::always_inline]] static void withTileRows(Use use) {
    constexpr int beside = tilePanels > 1 ? tileRows / 2 : tileRows;
    return hasManyRows() ? use.template operator()<beside>() : use.template operator()<tileRows>();
  }
};

} // namespace ingot::x86
