// SPDX-License-Identifier: Apache-2.0
// The constants that specialise the matmul kernel.
#pragma once

#include "codegen/native/kernels/EncodedWeight.h"
#include "codegen/x86/kernels/MatmulScratch.h"

INGOT_CONST(rows_dim);     // scalar that counts the rows of the result,
INGOT_CONST(rows_each);    // so many for each of it
INGOT_CONST(experts);      // whose weights are stacked, with groups; 0: none
INGOT_CONST_OR(heads, 0);  // whose rows take turns, with weights stacked; 0: none
INGOT_CONST(input_share);  // rows of the result that read one row of the input
INGOT_CONST(n);            // columns of the result
INGOT_CONST(panels);       // 16-row panels of the weight, of one expert
INGOT_CONST(k);            // columns of the input
INGOT_CONST(input_type);   // ElementType
INGOT_CONST(result_type);  // kF32, kF16 or kBf16
INGOT_CONST(input_scales); // of a row of the input: one, or one for each of its groups; 0: none
INGOT_CONST(exact_blocks); // 1: sums are exact over blocks of scale codes
INGOT_CONST(pair_offset);  // 0 or 16
INGOT_CONST(tile_panels);  // panels of one tile
INGOT_CONST(tile_rows);    // rows of one tile; 1: the path for single rows
INGOT_CONST(operands);     // epilogue operands, with their Address and ElementType
INGOT_CONST(address_0);
INGOT_CONST(address_1);
INGOT_CONST(address_2);
INGOT_CONST(address_3);
INGOT_CONST(type_0);
INGOT_CONST(type_1);
INGOT_CONST(type_2);
INGOT_CONST(type_3);

namespace ingot::x86 {

/// Columns of a block's sums in registers, from one row to the next: as of a whole tile, so that
/// the places of a register tile's rows are known.
inline int64_t sumColumns() { return RegisterScratch::sumColumns(ingot_const_tile_panels); }

/// Whether a tile may have panels left over by steps of `step` panels. Code for those is left out
/// of kernels that have none.
inline bool leavesPanels(int64_t step) {
  return ingot_const_panels % step != 0 || ingot_const_tile_panels % step != 0;
}

/// use.operator()<Panels>(p) for the panels from `first` on of so many: `Step` at a time, and then
/// one by one.
template <int Step, class Use>
[[gnu::always_inline]] inline void forPanels(int64_t panels, Use use, int64_t first = 0) {
  int64_t p = first;
  for (; p + Step <= panels; p += Step)
    use.template operator()<Step>(p);
  for (; leavesPanels(Step) && p < panels; ++p)
    use.template operator()<1>(p);
}

/// Whether groups of a row of the input have scales of their own.
inline bool hasInputGroups() { return ingot_const_input_scales > 1; }

/// Columns that share a scale of the weight.
inline int64_t storedWidth() { return ingot_const_group ? ingot_const_group : ingot_const_k; }

/// Columns that share a scale of the input.
inline int64_t inputWidth() {
  return hasInputGroups() ? ingot_const_k / ingot_const_input_scales : ingot_const_k;
}

/// Columns of a group, which are scaled alike: the narrower of both, since one is a multiple of the
/// other.
inline int64_t groupWidth() { return storedWidth() < inputWidth() ? storedWidth() : inputWidth(); }

/// Groups of a row.
inline int64_t groupCount() { return (ingot_const_k + groupWidth() - 1) / groupWidth(); }

/// Whether sums are exact over blocks of scale codes: products of inputs, weights and codes are
/// whole numbers, which the block's super scales at its end.
inline bool hasExactBlocks() { return ingot_const_exact_blocks != 0; }

/// Whether rows of the input do not follow each other.
inline bool isGathered() {
  return ingot_const_experts || ingot_const_heads || ingot_const_input_share != 1;
}

/// Groups of a block of scale codes.
inline int64_t blockGroups() { return kSuperColumns / groupWidth(); }

/// Whether weights have less than a byte.
inline bool hasFields() { return elementBits(ingot_const_weight_type) < 8; }

/// What scratch memory is laid out by.
inline MatmulSizes matmulSizes() {
  return {ingot_const_tile_rows,  ingot_const_tile_panels,  ingot_const_k, groupWidth(),
          ingot_const_input_type, ingot_const_input_scales, isGathered()};
}

} // namespace ingot::x86
