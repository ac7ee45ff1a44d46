// SPDX-License-Identifier: Apache-2.0
// Rows of the input and of the result, and the packed weight.
#pragma once

#include "codegen/x86/kernels/MatmulConstants.h"
#include "codegen/x86/kernels/PanelFields.h"
#include <immintrin.h>

namespace ingot::x86 {

/// Bytes of a row of the input.
inline int64_t inputRowBytes() { return ingot_const_k * sizeOf(ingot_const_input_type); }

/// Rows of the result that a tile computes: consecutive ones, or those that an expert has in
/// `order`.
struct Rows {
  int64_t first, count;
  const int32_t *order;
  int64_t head; ///< whose rows they are, counted for it alone, where heads take turns

  int64_t result(int64_t index) const {
    if (ingot_const_heads)
      return (first + index) * ingot_const_heads + head;
    return ingot_const_experts ? order[first + index] : first + index;
  }
  /// What row of the input it is made of.
  int64_t input(int64_t index) const { return result(index) / ingot_const_input_share; }
};

#if defined(__AVX512BF16__) && !defined(__AMX_TILE__)
/// Whether weights are prefetched into the second-level cache, as AMD's CPUs want it, which are
/// those with AVX512-BF16 and without AMX: their first level waits for few lines at once.
constexpr bool prefetchesSecondLevel = true;
#else
constexpr bool prefetchesSecondLevel = false;
#endif

/// Whether they are prefetched by the first lines of pages alone: the second level follows the rest
/// of a page on its own, faster than requests of every line, as single rows want it. Blocks of rows
/// read more slowly than it follows, and would wait where it has lost a stream.
inline bool prefetchesPages() { return prefetchesSecondLevel && ingot_const_tile_rows == 1; }

/// Prefetches a line of weights.
[[gnu::always_inline]] inline void prefetchLine(const char *line) {
  __builtin_prefetch(line, 0, prefetchesSecondLevel ? 2 : 3);
}

/// What is prefetched while `Panels` panels that follow each other are read side by
/// side: each panel so many bytes ahead, behind its end the panel that will be read in its place.
/// Hardware looks ahead within a page only; where pages are prefetched, it is given the first
/// entryBytes of each.
template <int Panels> struct PanelsAhead {
  static constexpr int64_t pageBytes = 4096, entryBytes = 256;
  static constexpr int64_t distance = prefetchesSecondLevel ? pageBytes : 3072;
  const char *first; ///< of the first panel
  int64_t bytes;     ///< of a panel

  /// Prefetches the line that is needed a while after `offset` of each panel.
  [[gnu::always_inline]] void prefetch(int64_t offset) const {
    int64_t ahead = offset + distance;
    if (ahead >= bytes)
      ahead += (Panels - 1) * bytes;
#pragma clang loop unroll(full)
    for (int p = 0; p < Panels; ++p) {
      const char *line = first + p * bytes + ahead;
      if (!prefetchesPages() || reinterpret_cast<uintptr_t>(line) % pageBytes < entryBytes)
        prefetchLine(line);
    }
  }
};

/// What is prefetched while tiles are multiplied.
struct BytesAhead {
  const char *next, *end;

  /// Prefetches `bytes` of what is left.
  [[gnu::always_inline]] void prefetch(int64_t bytes) {
    for (int64_t i = 0; i < bytes && next < end; i += 64, next += 64)
      __builtin_prefetch(next, 0, 2);
  }
};

/// The stored weight, as the layouts of the provider order it.
struct Weights : WeightBuffers {
  /// Bytes of one panel of values.
  static int64_t panelBytes() {
    return panelOffset(
        roundUp(ingot_const_k, columnsTogether(ingot_const_weight_type, ingot_const_input_type)));
  }
  /// Those before column `k`, a multiple of the columns that lie together.
  static int64_t panelOffset(int64_t k) {
    return k * (panelRows / 8) * elementBits(ingot_const_weight_type);
  }

  /// Where scales of `group` of a panel are among those that are stored.
  static int64_t groupPlace(int64_t panel, int64_t group) {
    const int64_t stored = (ingot_const_k + storedWidth() - 1) / storedWidth();
    return (panel * stored + storedGroup(group)) * panelRows;
  }

  const char *panel(int64_t index) const { return values + index * panelBytes(); }

  /// Scales; with exact blocks in units of the block's super, and so offsets.
  [[gnu::always_inline]] Floats scale(int64_t panel, int64_t group) const {
    if (ingot_const_scale_extent == kTensorScale)
      return splat(loadOne(ingot_const_scale_type, scales, 0));
    return scaleFrom(scales, panel, group, 0);
  }

  /// Prefetches the scales of a group.
  [[gnu::always_inline]] void prefetchScale(int64_t panel, int64_t group) const {
    if (ingot_const_scale_extent == kRowScales && ingot_const_scale_form == kPlainScales)
      prefetchLine(scales + groupPlace(panel, group) * sizeOf(ingot_const_scale_type));
  }

  /// Prefetches the numbers of a group, its scales and what goes with them, into the first level.
  [[gnu::always_inline]] void prefetchNumbers(int64_t panel, int64_t group) const {
    const int64_t place = groupPlace(panel, group);
    const int64_t bits = elementBits(ingot_const_scale_type);
    if (ingot_const_scale_extent == kRowScales)
      __builtin_prefetch(scales + place * bits / 8);
    if (ingot_const_zeros == kOffsets)
      __builtin_prefetch(zeros + place * bits / 8);
    if (ingot_const_zeros == kZeroPoints)
      __builtin_prefetch(zeros + place);
    if (hasExactBlocks() && group % blockGroups() == 0)
      __builtin_prefetch(superScales +
                         superPlace(panel, group, 0) * sizeOf(ingot_const_super_type));
  }

  /// Zero points; only where they are stored.
  [[gnu::always_inline]] Ints zero(int64_t panel, int64_t group) const {
    return __builtin_convertvector(loadVector<Bytes>(zeros + groupPlace(panel, group)), Ints);
  }

  /// What affine weights add; only where that is stored.
  [[gnu::always_inline]] Floats offset(int64_t panel, int64_t group) const {
    return scaleFrom(zeros, panel, group, 1);
  }

  /// What the codes of the block of `group` are multiplied by: of scales (`part` = 0) or of
  /// offsets (1).
  [[gnu::always_inline]] Floats super(int64_t panel, int64_t group, int64_t part) const {
    return load(ingot_const_super_type, superScales, superPlace(panel, group, part));
  }

private:
  /// The group that has the scales of `group`, which may be a part of it.
  static int64_t storedGroup(int64_t group) {
    return hasInputGroups() ? group * groupWidth() / storedWidth() : group;
  }

  /// Scales (`part` = 0) or offsets (1) of a panel from `numbers`, which has them or their codes.
  [[gnu::always_inline]] Floats scaleFrom(const char *numbers, int64_t panel, int64_t group,
                                          int64_t part) const {
    const int64_t place = groupPlace(panel, group);
    if (ingot_const_scale_form == kPlainScales)
      return load(ingot_const_scale_type, numbers, place);
    Ints codes = loadCodes(ingot_const_scale_type, numbers, place);
    if (ingot_const_scale_form == kTableScales)
      return gather(reinterpret_cast<const float *>(superScales), codes & 255);
    if (ingot_const_zeros != kOffsets)
      codes -= int32_t(middleOf(ingot_const_scale_type));
    Floats units = __builtin_convertvector(codes, Floats);
    return hasExactBlocks() ? units : super(panel, group, part) * units;
  }

  /// Where a super is among all.
  static int64_t superPlace(int64_t panel, int64_t group, int64_t part) {
    const int64_t parts = ingot_const_zeros == kOffsets ? 2 : 1;
    const int64_t blocks = ingot_const_k / kSuperColumns;
    const int64_t block = storedGroup(group) * ingot_const_group / kSuperColumns;
    return ((panel * blocks + block) * parts + part) * panelRows;
  }

  /// table[index] in each lane.
  [[gnu::always_inline]] static Floats gather(const float *table, Ints index) {
#ifdef __AVX512F__
    return (Floats)_mm512_i32gather_ps((__m512i)index, table, 4);
#else
    struct Halves {
      __m256i low, high;
    };
    struct Numbers {
      __m256 low, high;
    };
    Halves of = __builtin_bit_cast(Halves, index);
    return __builtin_bit_cast(Floats, Numbers{_mm256_i32gather_ps(table, of.low, 4),
                                              _mm256_i32gather_ps(table, of.high, 4)});
#endif
  }
};

} // namespace ingot::x86
