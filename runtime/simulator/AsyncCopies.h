// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and message barriers: what their instructions have in common.
#pragma once

#include "runtime/simulator/Machine.h"

namespace ingot::simulator {

/// Completes the cp.async of the lanes of `mask` whose group is older than the newest `keep`
/// committed ones; with `all` also those not committed.
void completeCopies(Warp &warp, uint32_t mask, uint32_t keep, bool all);
/// Performs the stores to global memory that `mask` waits for, as completeCopies does.
void completeBulkStores(Warp &warp, uint32_t mask, uint32_t keep, bool all);
/// Hands a copy to the asynchronous proxy: done now or, with late completion, when nothing else is
/// left to do.
void issueBulkCopy(Warp &warp, BulkCopy copy);

/// An address of a message barrier, found and checked.
struct BarrierReference {
  Block *owner = nullptr;
  uint32_t address = 0; // within the owner's shared memory
  MessageBarrier *barrier = nullptr;
};

/// Finds the barrier at an address (shared, shared::cluster or generic). Faults where there is none
/// and `initialised` is asked for.
bool findBarrier(Warp &warp, uint32_t lane, uint64_t address, bool initialised,
                 BarrierReference &found);
/// Ends the phase of a barrier when nothing is left to wait for.
void settle(Block &block, MessageBarrier &barrier);

} // namespace ingot::simulator
