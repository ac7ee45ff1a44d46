// SPDX-License-Identifier: Apache-2.0
// Where the tensors of a weight are among a launch's buffers.
#pragma once

#include "Elements.cuh"

/// Those beside the values, from buffer `First` on; ones that the weight does not have take no
/// place.
template <int First> struct WeightBuffers {
  static constexpr int kScales = First;
  static constexpr int kZeros = kScales + (constants::scale_extent != kNoScales);
  static constexpr int kSuperScales = kZeros + (constants::zeros != kNoZeros);
  static constexpr int kEnd = kSuperScales + (constants::scale_form != kPlainScales);
};
