// SPDX-License-Identifier: Apache-2.0
// Runs the blocks of a launch on the threads of the host.
#pragma once

#include "runtime/simulator/Machine.h"

namespace ingot::simulator {

/// Runs a launch to its end, or to its first failure (Launch::failed). `residentBlocks` is how many
/// blocks the simulated device holds at a time: that many may wait for one another.
/// `expectedInstructions` decides whether more than the calling thread is worth starting.
void runLaunch(Launch &launch, uint64_t residentBlocks, uint64_t expectedInstructions);

} // namespace ingot::simulator
