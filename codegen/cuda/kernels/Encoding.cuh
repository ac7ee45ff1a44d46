// SPDX-License-Identifier: Apache-2.0
// What the stored elements of an encoded weight stand for, as #llm.encoding says.
#pragma once

#include "Elements.cuh"

/// What a weight's zeros are; as llm::Zeros.
enum ZerosCode : i64 { kNoZeros = 0, kZeroPoints, kOffsets, kCodeBook };

/// What the scale multiplies, exact. `place`: of the group's zero among `zeros`.
template <i64 Zeros, i64 WeightType>
INGOT_DEVICE float unscaled(float stored, const void *zeros, i64 place) {
  if constexpr (Zeros == kCodeBook)
    return static_cast<const float *>(zeros)[int(stored)];
  else if constexpr (Zeros == kZeroPoints)
    return stored - float(static_cast<const i8 *>(zeros)[place]);
  else if constexpr (Zeros == kNoZeros && WeightType == kI4)
    return stored - 8.0f;
  else
    return stored;
}

/// `product` of scale and stored element with the group's offset, rounded a second time.
template <i64 Zeros, i64 ScaleType>
INGOT_DEVICE float withOffset(float product, const void *zeros, i64 place) {
  if constexpr (Zeros == kOffsets)
    return __fadd_rn(product, loadElement<ScaleType>(zeros, place));
  else
    return product;
}
