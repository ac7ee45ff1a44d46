// SPDX-License-Identifier: Apache-2.0
// Both sides of products of floats with encoded weights, as bf16: inputs and what the scales of
// weights multiply, in as many parts as hold them without rounding. Groups are scaled after their
// products are summed. Eight columns of k are pairs (0, 2), (1, 3), (4, 6), (5, 7), as a panel's
// fields come out.
#pragma once

#include "codegen/x86/kernels/FloatWeights.h"
#include "codegen/x86/kernels/PanelNumbers.h"

namespace ingot::x86 {

/// Columns that are summed together: a group's, or equal parts of it; and their number in k.
inline int64_t pairedWidth() { return pairedColumns(groupWidth()); }
inline int64_t pairedGroups() { return ingot_const_k / pairedWidth(); }

/// Groups that are multiplied by all rows before tiles go on in k.
inline int64_t pairedBlock() {
  return wholeGroups(pairBlockColumns, pairedWidth()) / pairedWidth();
}

/// The groups from `first` on, `most` or those that are left; of such a block unless stated.
inline GroupRange pairedRange(int64_t first, int64_t most = pairedBlock()) {
  const int64_t end = first + most;
  return {first, end < pairedGroups() ? end : pairedGroups()};
}

/// Parts of an element of the input.
inline int64_t pairInputParts() { return inputParts(ingot_const_input_type); }

/// Whether totals take sums of inputs over groups.
inline bool needsGroupSums() {
  return ingot_const_zeros == kOffsets || ingot_const_zeros == kZeroPoints;
}

/// put(k, part, pairs) for 16 columns of row `row` of the input after the other, from `k` on, as
/// pairs of each part; `sums` takes those of the row's groups, where products need them.
template <class Put>
inline void splitRow(const void *input, const Rows &rows, int64_t row, float *sums, Put put) {
  const int64_t first = rows.input(row) * ingot_const_k;
  Floats sum = {};
  for (int64_t k = 0; k < ingot_const_k; k += lanes) {
    Floats x = load(ingot_const_input_type, input, first + k);
    sum += x;
    for (int64_t part = 0; part < pairInputParts(); ++part) {
      Shorts rounded = narrowBf16(x);
      put(k, part,
          __builtin_shufflevector(rounded, rounded, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14,
                                  13, 15));
      x -= widenBf16(rounded);
    }
    if (needsGroupSums() && (k + lanes) % pairedWidth() == 0) {
      *sums++ = sumLanes(sum);
      sum = Floats{};
    }
  }
}

/// The scale of a group of pairedGroups(), and what its sum of inputs is multiplied by.
[[gnu::always_inline]] inline Floats pairedScale(const Weights &weights, int64_t panel,
                                                 int64_t group) {
  const int64_t stored = group * pairedWidth() / groupWidth();
  return ingot_const_scale_extent ? weights.scale(panel, stored) : splat(1.0f);
}
[[gnu::always_inline]] inline Floats pairedOffset(const Weights &weights, int64_t panel,
                                                  int64_t group, Floats scale) {
  const int64_t stored = group * pairedWidth() / groupWidth();
  if (ingot_const_zeros == kOffsets)
    return weights.offset(panel, stored);
  return -__builtin_convertvector(weights.zero(panel, stored), Floats) * scale;
}

/// `total` with the sums of a group; `input`: that of the row's inputs, which `offset` meets.
[[gnu::always_inline]] inline Floats closePairs(Floats total, Floats sum, Floats scale,
                                                const Floats *offset, float input) {
  total = fma(sum, scale, total);
  return needsGroupSums() ? fma(splat(input), *offset, total) : total;
}

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
    auto low = loadVector<__m512i>(numbers), high = loadVector<__m512i>(numbers + 2);
    return (Ints)(PanelFields::bits() == 6 ? _mm512_permutex2var_epi16(low, (__m512i)codes, high)
                                           : _mm512_permutexvar_epi16((__m512i)codes, low));
  }

private:
  static Floats withoutParts(Floats x, int64_t parts) {
    for (int64_t part = 0; part < parts; ++part)
      x -= widenBf16(narrowBf16(x));
    return x;
  }

  Shorts numbers[4];
};

/// Eight columns of the 16 rows of a panel, of which four pairs of bf16 are made.
struct PairColumns {
  UInts halves[2];   ///< of fields: the codes of two pairs each
  const char *first; ///< of others: column 0

  [[gnu::always_inline]] static PairColumns load(const char *panel, int64_t k) {
    PairColumns columns = {{}, panel + k * panelRows * sizeOf(ingot_const_weight_type)};
    if (!hasFields())
      return columns;
    PanelFields fields = PanelFields::load(panel, k);
    columns.halves[0] = fields.low;
    columns.halves[1] = fields.low >> 4;
    if (PanelFields::bits() != 4) {
      Ints low, high;
      fields.toBytes(low, high);
      columns.halves[0] = (UInts)low;
      columns.halves[1] = (UInts)high;
    }
    return columns;
  }

  [[gnu::always_inline]] Ints pair(int i, const PairNumbers &numbers) const {
    if (hasFields())
      return numbers.lookUp(halves[i / 2] >> uint32_t(i % 2 * 8));
    const int64_t column = i / 2 * 4 + i % 2;
    auto bits = [&](int64_t at) __attribute__((always_inline)) {
      return (UInts)x86::load(ingot_const_weight_type, first, at * panelRows);
    };
    return (Ints)(bits(column) >> 16 | (bits(column + 2) & 0xffff0000u));
  }
};

/// Some groups of a panel as pairs of bf16 and f32 numbers, in scratch memory. Columns and groups
/// count from the first of a range on.
struct PairedPanel {
  int64_t parts, partWords;
  Ints *values;    ///< [part][k / 2][16] of two numbers each
  Floats *scales;  ///< [groups][16]
  Floats *offsets; ///< likewise; zero points are offsets here

  static int64_t bytes() { return pairPanelBytes(pairedWidth()); }

  /// `prefetches`: for what follows, which tiles do while they multiply.
  template <bool prefetches>
  static PairedPanel expand(char *memory, const Weights &weights, int64_t panel, GroupRange range) {
    const int64_t parts = PairNumbers::parts(weights),
                  partWords = range.count() * pairedWidth() / 2;
    auto *values = reinterpret_cast<Ints *>(memory);
    auto *scales = reinterpret_cast<Floats *>(values + parts * partWords);
    Floats *offsets = scales + range.count();
    for (int64_t group = range.first; group < range.end; ++group) {
      const int64_t place = group - range.first;
      scales[place] = pairedScale(weights, panel, group);
      if (needsGroupSums())
        offsets[place] = pairedOffset(weights, panel, group, scales[place]);
    }
    for (int64_t part = 0; part < parts; ++part)
      fill<prefetches>(weights.panel(panel), range, PairNumbers(weights, part),
                       values + part * partWords);
    return {parts, partWords, values, scales, offsets};
  }

private:
  template <bool prefetches>
  static void fill(const char *panel, GroupRange range, const PairNumbers &numbers, Ints *to) {
    const PanelsAhead<1> next = {panel, Weights::panelBytes()};
    for (int64_t k = range.first * pairedWidth(); k < range.end * pairedWidth(); k += 8, to += 4) {
      if (prefetches)
        next.prefetch(Weights::panelOffset(k));
      PairColumns columns = PairColumns::load(panel, k);
#pragma clang loop unroll(full)
      for (int i = 0; i < 4; ++i)
        to[i] = columns.pair(i, numbers);
    }
  }
};

} // namespace ingot::x86
