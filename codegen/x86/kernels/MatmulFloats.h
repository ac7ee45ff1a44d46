// SPDX-License-Identifier: Apache-2.0
// Sums in f32, segment after segment, one fma per element in order of k.
#pragma once

#include "codegen/x86/kernels/MatmulDriver.h"
#include "codegen/x86/kernels/RegisterTile.h"

namespace ingot::x86 {

/// Adds one segment to sums [rows][sumColumns()] for `Panels` panels.
template <int Panels, class ColumnsFor>
inline void multiplySegment(const float *block, ColumnsFor columnsFor, int64_t count, int64_t rows,
                            float *sums) {
  forRowTiles(rows, [&]<int Rows>(int64_t row) __attribute__((always_inline)) {
    Floats sum[Rows][Panels];
    multiplyTile<Rows, Panels>(block + row * inputStride, inputStride, columnsFor(row), count, sum);
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p) {
        float *to = sums + (row + r) * sumColumns() + p * panelRows;
        storeVector(to, loadVector<Floats>(to) + sum[r][p]);
      }
  });
}

/// A method that sums in f32. `Order` has
///   Floats inputColumns(const void *input, int64_t row, int64_t k);
///     columns [k, k + 16) of a row that begins with element `row`, in the order of the weights'
///   void sumRow<Panels>(weights, panel, const float *input, first, end, Floats (&sum)[1][Panels]);
///     columns [first, end) of a single row
///   void addSegment<Panels>(weights, panel, const float *block, first, end, rows, float *sums,
///                           scratch);
///     adds them for all rows of a block
template <class Order, class Parts> struct FloatMethod {
  using Scratch = Parts;

  static void takeRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    if (ingot_const_input_type == kF32)
      return;
    const char *row = arguments.row(block);
    for (int64_t k = 0; k < ingot_const_k; k += lanes)
      storeVector(scratch.at(scratch.input) + k, Order::inputColumns(row, 0, k));
  }

  static void sumRow(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const auto *input = ingot_const_input_type == kF32
                            ? reinterpret_cast<const float *>(arguments.row(block))
                            : scratch.at(scratch.input);
    float *sums = scratch.at(scratch.sums);
    forPanels<floatRowPanels>(block.panels, [&]<int Panels>(
                                                int64_t p) __attribute__((always_inline)) {
      sumPanels<Panels>(arguments.weights, block.weightPanel() + p, input, sums + p * panelRows);
    });
  }

  /// Segments are copied while they are multiplied.
  static void takeRows(const Arguments &, const Block &, const Scratch &) {}

  static void sumRows(const Arguments &arguments, const Block &block, const Scratch &scratch) {
    const int64_t rows = block.rows.count, paddedRows = roundUp(rows, registerRows);
    float *sums = scratch.at(scratch.sums), *input = scratch.at(scratch.input);
    for (int64_t i = 0; i < paddedRows * sumColumns(); i += lanes)
      storeVector(sums + i, Floats{});
    forSegments([&](int64_t first, int64_t end) __attribute__((always_inline)) {
      copySegment(arguments.input, block.rows, paddedRows, first, end, input);
      forPanels<tilePanels>(block.panels, [&]<int Panels>(int64_t p) {
        Order::template addSegment<Panels>(arguments.weights, block.weightPanel() + p, input, first,
                                           end, rows, sums + p * panelRows, scratch);
      });
    });
  }

private:
  /// use(first, end) for the segments of k.
  template <class Use> [[gnu::always_inline]] static void forSegments(Use use) {
    for (int64_t first = 0; first < ingot_const_k; first += segmentColumns)
      use(first, first + segmentColumns < ingot_const_k ? first + segmentColumns : ingot_const_k);
  }

  /// sums[panel * 16 + lane] of one row, `Panels` panels at once. `input`: [k].
  template <int Panels>
  [[gnu::always_inline]] static void sumPanels(const Weights &weights, int64_t panel,
                                               const float *input, float *sums) {
    Floats total[Panels] = {};
    forSegments([&](int64_t first, int64_t end) __attribute__((always_inline)) {
      Floats sum[1][Panels] = {};
      Order::template sumRow<Panels>(weights, panel, input, first, end, sum);
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        total[p] += sum[0][p];
    });
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      storeVector(sums + p * panelRows, total[p]);
  }

  /// Columns [first, end) of the rows, as f32, into `block` [rows][inputStride].
  static void copySegment(const void *input, const Rows &rows, int64_t paddedRows, int64_t first,
                          int64_t end, float *block) {
    for (int64_t row = 0; row < paddedRows; ++row) {
      int64_t from = row < rows.count ? rows.input(row) * ingot_const_k : 0;
      for (int64_t k = first; k < end; k += lanes) {
        Floats x = row < rows.count ? Order::inputColumns(input, from, k) : Floats{};
        storeVector(block + row * inputStride + k - first, x);
      }
    }
  }
};

} // namespace ingot::x86
