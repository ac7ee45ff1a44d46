// SPDX-License-Identifier: Apache-2.0
// WeightFill: how a loader makes a weight that no file holds.
#pragma once

#include "dialects/engine/EngineDialect.h"

namespace ingot::engine {

/// Mirrors Fill of runtime/schema/Engine.fbs.
struct WeightFill {
  struct Part {
    uint64_t key = 0, rows = 0, first = 0;
  };
  double low = 0, high = 0;
  std::vector<Part> parts;
  uint64_t block = 0;  ///< rows of two parts in turn, then of the next two; 0: one after the other
  uint64_t period = 0; ///< rows
  uint64_t columns = 0;
  std::vector<LayoutAttr::Digit> digits;
  uint8_t padding = 0;
};

} // namespace ingot::engine
