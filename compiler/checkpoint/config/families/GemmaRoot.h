// SPDX-License-Identifier: Apache-2.0
// What Gemma models multiply embeddings by.
#pragma once

#include "compiler/checkpoint/config/families/Family.h"

#include <bit>
#include <cmath>

namespace ingot::checkpoint {

/// sqrt(columns) in the type that the model computes with.
inline double rootInOwnType(const ConfigDraft &config, uint64_t columns) {
  const double root = std::sqrt(static_cast<double>(columns));
  if (config.declaredType == DType::BF16) {
    auto bits = std::bit_cast<uint32_t>(static_cast<float>(root));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    return static_cast<double>(std::bit_cast<float>(bits));
  }
  if (config.declaredType == DType::F16)
    return static_cast<double>(static_cast<_Float16>(root));
  return root;
}

} // namespace ingot::checkpoint
