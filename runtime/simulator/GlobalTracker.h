// SPDX-License-Identifier: Apache-2.0
// Full checks of global memory: what a launch writes, for programmatic launches that follow.
#pragma once

#include "runtime/simulator/Addressing.h"

namespace ingot::simulator {

/// What kernels wrote that may still be running when a programmatic dependent begins.
struct PredecessorWrites {
  std::string kernels;
};

/// Follows the accesses of one launch to global memory. Used by all threads of the launch.
class GlobalTracker {
public:
  void access(Warp &, const uint64_t (&)[warpSize], uint32_t, AccessKind, bool) {}
};

} // namespace ingot::simulator
