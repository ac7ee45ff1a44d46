// SPDX-License-Identifier: Apache-2.0
// Soft-capping of attention's scores.
#pragma once

#include "RegionMath.cuh"

/// c * tanh(score / c), where the operation has a cap.
INGOT_DEVICE float capScore(float score) {
  if constexpr (constants::softcap > 0)
    score = float(constants::softcap) * region::tangent(score / float(constants::softcap));
  return score;
}
