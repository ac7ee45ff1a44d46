// SPDX-License-Identifier: Apache-2.0
// Sums of bytes for a single row: panels are read once, as a stream.
#pragma once

#include "codegen/x86/kernels/ByteProducts.h"
#include "codegen/x86/kernels/ByteWeights.h"
#include "codegen/x86/kernels/GroupTotals.h"
#include "codegen/x86/kernels/InputSums.h"
#include "codegen/x86/kernels/PanelNumbers.h"

namespace ingot::x86 {

/// Panels of bytes that the path for single rows keeps in flight: memory is fastest with few
/// streams. One is too few for the dot products where lines are prefetched, but not where hardware
/// follows pages.
constexpr int64_t byteRowPanels = prefetchesSecondLevel ? 1 : 2;

/// A row of the input.
struct SummedRow {
  const int8_t *bytes;
  const int32_t *sums; ///< over each group
  const float *scales; ///< of the input's groups
};

/// Adds the groups of `range` of one row to the totals of `Panels` panels. Their numbers are copied
/// to `memory` first: where they come among the values, line by line from behind the first-level
/// cache, hardware loses the stream of these.
template <class Product, int Panels>
[[gnu::always_inline]] inline void
addGroups(const Weights &weights, int64_t panel, const SummedRow &row, GroupRange range, Ints book,
          Floats (&total)[Panels], BlockSums (&block)[Panels], void *memory) {
  const int8_t *x = row.bytes;
  const int32_t *inputs = row.sums;
  const char *values[Panels];
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    values[p] = weights.panel(panel + p);
  PanelsAhead<Panels> next = {values[0], Weights::panelBytes()};
  NumbersAhead<Panels> nextNumbers(panel, range, groupCount());
  PanelNumbers<Panels> numbers(memory, copiedGroups);
  for (int64_t group = range.first; group < range.end; ++group)
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p)
      numbers.copy(weights, panel + p, group, group - range.first, p);
  int64_t step = columnStep();
  for (int64_t group = range.first; group < range.end; ++group) {
    GroupColumns columns = GroupColumns::of(group);
    const int64_t place = group - range.first;
    Ints sum[1][Panels];
    nextNumbers.prefetch(group, [&](int64_t panel, int64_t group) __attribute__((always_inline)) {
      weights.prefetchNumbers(panel, group);
    });
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      sum[0][p] = Ints{} - uniformBias<Product>() * inputs[group];
      weights.prefetchScale(panel + Panels + p, group);
    }
    auto add = [&](Ints(&sum)[1][Panels], int64_t first, int64_t end)
                   __attribute__((always_inline)) {
#pragma clang loop unroll(disable)
                     for (int64_t k = first; k < end; k += step) {
                       next.prefetch(Weights::panelOffset(k));
                       Ints lowInput = splatWord(x + k);
                       Ints highInput = hasFields() ? splatWord(x + k + 4) : Ints{};
#pragma clang loop unroll(full)
                       for (int p = 0; p < Panels; ++p) {
                         Ints low, high;
                         expandColumns<Product>(values[p], k, book, low, high);
                         sum[0][p] = Product::dot(sum[0][p], low, lowInput);
                         if (hasFields())
                           sum[0][p] = Product::dot(sum[0][p], high, highInput);
                       }
                     }
                   };
    Product::addColumns(sum, columns.first, columns.end, add);
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      Floats exact = ingot_const_zeros == kZeroPoints
                         ? lessZeros(sum[0][p], numbers.zero(place, p), inputs[group])
                         : toFloats(sum[0][p]);
      Floats offset = ingot_const_zeros == kOffsets ? numbers.offset(place, p) : Floats{};
      if (!hasExactBlocks()) {
        total[p] = closeGroup(total[p], exact, numbers.scale(place, p), offset,
                              splat(float(inputs[group])), scaleOf(row.scales, group));
        continue;
      }
      block[p].add(sum[0][p], numbers.scale(place, p), offset, inputs[group]);
      if (endsBlock(group))
        total[p] = block[p].close(total[p], weights, panel + p, group);
    }
  }
}

/// Sums of one row for `Panels` panels; `memory` is for the numbers of copiedGroups.
template <class Product, int Panels>
inline void byteRow(const Weights &weights, int64_t panel, const SummedRow &row, float *sums,
                    void *memory) {
  Floats total[Panels] = {};
  BlockSums block[Panels] = {};
  Ints book = byteBook(weights);
  for (GroupRange range = GroupRange::leading(copiedGroups); range.count() > 0;
       range = range.next(copiedGroups))
    addGroups<Product>(weights, panel, row, range, book, total, block, memory);
#pragma clang loop unroll(full)
  for (int p = 0; p < Panels; ++p)
    storeVector(sums + p * panelRows, total[p]);
}

} // namespace ingot::x86
