// SPDX-License-Identifier: Apache-2.0
// From the exact sums of a group, or of a block of scale codes, to totals in f32.
#pragma once

#include "codegen/x86/kernels/MatmulWeights.h"

namespace ingot::x86 {

[[gnu::always_inline]] inline Floats toFloats(Ints sum) {
  return __builtin_convertvector(sum, Floats);
}

/// `total` with a group's exact sums of products and of inputs; `factor`: the inputs' scale, where
/// groups have one.
[[gnu::always_inline]] inline Floats closeGroup(Floats total, Floats exact, Floats scale,
                                                Floats offset, Floats inputs, float factor = 1) {
  Floats part = hasInputGroups() ? exact * scale : fma(exact, scale, total);
  if (ingot_const_zeros == kOffsets)
    part = fma(inputs, offset, part);
  return hasInputGroups() ? fma(part, splat(factor), total) : part;
}

/// Sums over the groups of a block of scale codes, exact.
struct BlockSums {
  Ints products;  ///< of inputs, weights and codes of scales
  Floats offsets; ///< of inputs and codes of offsets, whole numbers of less than 24 bits

  /// Adds a group with its numbers in units of the super-block scales; `inputs`: the sum of its
  /// inputs.
  [[gnu::always_inline]] void add(Ints sum, Floats scale, Floats offset, int32_t inputs) {
    products += sum * __builtin_convertvector(scale, Ints);
    if (ingot_const_zeros == kOffsets)
      offsets = fma(offset, splat(float(inputs)), offsets);
  }

  /// `total` with the block's sums, which begin anew; `group`: one of the block.
  [[gnu::always_inline]] Floats close(Floats total, const Weights &weights, int64_t panel,
                                      int64_t group) {
    const Floats offset = ingot_const_zeros == kOffsets ? weights.super(panel, group, 1) : Floats{};
    total = closeGroup(total, toFloats(products), weights.super(panel, group, 0), offset, offsets);
    *this = BlockSums{};
    return total;
  }
};

/// Whether `group` is the last one of a block of scale codes.
inline bool endsBlock(int64_t group) { return (group + 1) % blockGroups() == 0; }

/// A group's sum less what zero points have added to it; `inputs` is the sum of the inputs.
[[gnu::always_inline]] inline Floats lessZeros(Ints sum, Ints zero, int32_t inputs) {
  // In f32 where all numbers are whole there: products of 32 bits take four times as long.
  constexpr int64_t inputBits = 7, wholeBits = 24;
  if (groupWidth() << (inputBits + elementBits(ingot_const_weight_type)) <= int64_t{1} << wholeBits)
    return fma(-toFloats(zero), splat(float(inputs)), toFloats(sum));
  return toFloats(sum - zero * inputs);
}

} // namespace ingot::x86
