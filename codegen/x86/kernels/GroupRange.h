// SPDX-License-Identifier: Apache-2.0
// Groups of k, which are scaled alike.
#pragma once

#include "codegen/x86/kernels/MatmulConstants.h"

namespace ingot::x86 {

/// A group of k.
struct GroupColumns {
  int64_t first, end;

  static GroupColumns of(int64_t group) {
    const int64_t width = groupWidth(), first = group * width, end = first + width;
    // Groups of one known width are loops of one known length.
    bool whole = ingot_const_k % width == 0 || end < ingot_const_k;
    return {first, whole ? end : ingot_const_k};
  }
};

/// Some groups of k.
struct GroupRange {
  int64_t first, end;

  int64_t count() const { return end - first; }

  /// The first `most` groups, or all where there are fewer.
  static GroupRange leading(int64_t most) { return GroupRange{0, 0}.next(most); }
  /// The `most` groups behind, or those that are left.
  GroupRange next(int64_t most) const {
    return {end, end + most < groupCount() ? end + most : groupCount()};
  }
};

} // namespace ingot::x86
