// SPDX-License-Identifier: Apache-2.0
// Scales, and offsets or zero points, of groups of panels where they are copied.
#pragma once

#include "codegen/x86/kernels/GroupRange.h"
#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

/// Scales of some groups of panels, and their offsets or zero points, in scratch memory.
template <int Panels> struct PanelNumbers {
  Floats *scales; ///< [group][Panels][16]
  Floats *others; ///< likewise: offsets, or zero points, which are whole numbers

  /// `memory` is as MatmulScratch counts it, for so many groups.
  PanelNumbers(void *memory, int64_t groups)
      : scales(static_cast<Floats *>(memory)), others(scales + groups * Panels) {}

  /// Copies those of `group` of a panel, as number `place` of panel `p`.
  [[gnu::always_inline]] void copy(const Weights &weights, int64_t panel, int64_t group,
                                   int64_t place, int p) {
    scales[place * Panels + p] = weights.scale(panel, group);
    if (ingot_const_zeros == kOffsets)
      others[place * Panels + p] = weights.offset(panel, group);
    if (ingot_const_zeros == kZeroPoints)
      others[place * Panels + p] = (Floats)weights.zero(panel, group);
  }

  [[gnu::always_inline]] Floats scale(int64_t place, int p) const {
    return scales[place * Panels + p];
  }
  [[gnu::always_inline]] Floats offset(int64_t place, int p) const {
    return others[place * Panels + p];
  }
  [[gnu::always_inline]] Ints zero(int64_t place, int p) const {
    return (Ints)others[place * Panels + p];
  }
};

/// The numbers that a single row needs next, prefetched while it uses those that were copied
/// before.
template <int Panels> struct NumbersAhead {
  GroupRange used;
  int64_t panel, first; ///< of the next ones

  /// `groups`: of a panel.
  NumbersAhead(int64_t panel, GroupRange used, int64_t groups)
      : used(used), panel(used.end < groups ? panel : panel + Panels),
        first(used.end < groups ? used.end : 0) {}

  /// prefetch(panel, group) for some of them in each of the last groups: what comes earlier is
  /// replaced by values again.
  template <class Prefetch>
  [[gnu::always_inline]] void prefetch(int64_t group, Prefetch prefetch) const {
    constexpr int64_t each = 4;
    const int64_t times = (used.count() + each - 1) / each, time = group - (used.end - times);
    for (int64_t i = 0; time >= 0 && i < each; ++i)
#pragma clang loop unroll(full)
      for (int p = 0; p < Panels; ++p)
        prefetch(panel + p, first + time * each + i);
  }
};

} // namespace ingot::x86
