// SPDX-License-Identifier: Apache-2.0
// The numbers that a weight stands for, element by element, as #llm.encoding says: in any layout,
// encoded or not.
#pragma once

#include "Layout.cuh"
#include "WeightBuffers.cuh"

/// A weight's buffers; those that it does not have are null.
struct EncodedWeight {
  const void *values, *scales, *zeros, *superScales;

  /// The values are buffer `values`, what is beside them `Beside`, of WeightBuffers.
  template <class Beside>
  static __device__ __forceinline__ EncodedWeight from(const Launch &launch, int values) {
    return {launch.buffers[values],
            Beside::kScales < Beside::kZeros ? launch.buffers[Beside::kScales] : nullptr,
            Beside::kZeros < Beside::kSuperScales ? launch.buffers[Beside::kZeros] : nullptr,
            Beside::kSuperScales < Beside::kEnd ? launch.buffers[Beside::kSuperScales] : nullptr};
  }

  INGOT_LAYOUT_TYPE(ValueLayout, weight);
  INGOT_LAYOUT_TYPE(ScaleLayout, scale);
  INGOT_LAYOUT_TYPE(ZeroLayout, zero);
  INGOT_LAYOUT_TYPE(SuperLayout, super);

  static constexpr bool kHasOffsets = constants::zeros == kOffsets;

  static __device__ u32 groupOf(u32 column) {
    return constants::group > 0 ? column / u32(most(constants::group, 1)) : 0;
  }
  static __device__ u32 scaleRow(u32 row) { return constants::group < 0 ? 0 : row; }

  /// The stored element.
  __device__ float element(u32 row, u32 column) const {
    return loadElement<constants::weight_type>(values, placeOf<ValueLayout>(row, column));
  }

  /// What the scale multiplies, exact: `stored` - zero, or the number of the code book.
  __device__ float unscaled(float stored, u32 row, u32 column) const {
    if constexpr (constants::zeros == kCodeBook) {
      return static_cast<const float *>(zeros)[int(stored)];
    } else if constexpr (constants::zeros == kZeroPoints) {
      i64 place = placeOf<ZeroLayout>(scaleRow(row), groupOf(column));
      return stored - float(static_cast<const i8 *>(zeros)[place]);
    } else if constexpr (constants::zeros == kNoZeros && elementBits(constants::weight_type) < 8) {
      return stored - float(middleOf(constants::weight_type));
    } else {
      return stored;
    }
  }

  /// The scale (`Part` = 0) or offset (1) that stands, or whose code stands, at `place`.
  template <int Part>
  __device__ float numberOf(const void *numbers, i64 place, u32 row, u32 column) const {
    if constexpr (constants::scale_form == kTableScales) {
      return static_cast<const float *>(superScales)[static_cast<const u8 *>(numbers)[place]];
    } else if constexpr (constants::scale_form == kBlockScales) {
      constexpr u32 parts = kHasOffsets ? 2 : 1;
      i64 super = placeOf<SuperLayout>(row, column / u32(kSuperColumns) * parts + Part);
      float middle = kHasOffsets ? 0.0f : float(middleOf(constants::scale_type));
      return __fmul_rn(loadElement<constants::super_type>(superScales, super),
                       loadElement<constants::scale_type>(numbers, place) - middle);
    } else {
      return loadElement<constants::scale_type>(numbers, place);
    }
  }

  __device__ float scale(u32 row, u32 column) const {
    return numberOf<0>(scales, placeOf<ScaleLayout>(scaleRow(row), groupOf(column)), row, column);
  }

  /// What `stored`, the element there, stands for.
  __device__ float value(float stored, u32 row, u32 column) const {
    float number = unscaled(stored, row, column);
    if constexpr (constants::scale_extent == kNoScales)
      return number;
    float product = __fmul_rn(scale(row, column), number);
    if constexpr (!kHasOffsets)
      return product;
    i64 place = placeOf<ZeroLayout>(scaleRow(row), groupOf(column));
    return __fadd_rn(product, numberOf<1>(zeros, place, row, column));
  }
};
