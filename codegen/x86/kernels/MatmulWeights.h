// SPDX-License-Identifier: Apache-2.0
// The matmul kernel's view of a packed weight.
#pragma once

#include "codegen/x86/kernels/MatmulBlocks.h"
#include "codegen/x86/kernels/MatmulConstants.h"
#include "codegen/x86/kernels/Vector.h"
#include <immintrin.h>

namespace ingot::x86 {

/// Rows of the result that a tile computes: consecutive ones, or those that an expert has in
/// `order`.
struct Rows {
  int64_t first, count;
  const int32_t *order;

  int64_t result(int64_t index) const {
    return ingot_const_experts ? order[first + index] : first + index;
  }
  /// What row of the input it is made of.
  int64_t input(int64_t index) const { return result(index) / ingot_const_input_share; }
};

/// The stored weight, as the layouts of the provider order it.
struct Weights {
  const char *values;
  const char *scales;
  const char *zeros;

  /// Bytes of one panel of values.
  static int64_t panelBytes() {
    if (ingot_const_weight_type == kI4)
      return roundUp(ingot_const_k, 8) * panelRows / 2;
    return (ingot_const_integer ? roundUp(ingot_const_k, 4) : ingot_const_k) * panelRows *
           sizeOf(ingot_const_weight_type);
  }

  static int64_t groups() {
    return ingot_const_group ? (ingot_const_k + ingot_const_group - 1) / ingot_const_group : 1;
  }

  const char *panel(int64_t index) const { return values + index * panelBytes(); }

  [[gnu::always_inline]] Floats scale(int64_t panel, int64_t group) const {
    if (ingot_const_scale_mode == TensorScale)
      return splat(loadOne(ingot_const_scale_type, scales, 0));
    return load(ingot_const_scale_type, scales, (panel * groups() + group) * panelRows);
  }

  /// Zero points; only where they are stored.
  [[gnu::always_inline]] Ints zero(int64_t panel, int64_t group) const {
    return __builtin_convertvector(
        loadVector<Bytes>(zeros + (panel * groups() + group) * panelRows), Ints);
  }

  /// What affine weights add; only where that is stored.
  [[gnu::always_inline]] Floats offset(int64_t panel, int64_t group) const {
    return load(ingot_const_scale_type, zeros, (panel * groups() + group) * panelRows);
  }
};

} // namespace ingot::x86
