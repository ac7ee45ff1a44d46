// SPDX-License-Identifier: Apache-2.0
// From the addresses that lanes hold to checked pointers.
#pragma once

#include "runtime/simulator/Machine.h"

namespace ingot::simulator {

enum class AccessKind : uint8_t { Read, Write, Atomic };

/// One access of a warp to memory.
struct Access {
  Space space = Space::Generic;
  bool wide = true;   // the addresses have 64 bits
  uint32_t bytes = 4; // of each lane; also the alignment
  AccessKind kind = AccessKind::Read;
  bool ordered = false;   // acquire, release, volatile or relaxed: never part of a race
  uint32_t alignment = 0; // 0: as `bytes`
};

using LanePointers = uint8_t *[warpSize];

/// Checks the access of every lane in warp.mask and finds its pointers. False after a fault.
bool resolve(Warp &warp, Slot base, int64_t offset, const Access &access, LanePointers &pointers);

/// One lane's pointer for any bytes of shared memory (a shared or shared::cluster address); null
/// after a fault.
uint8_t *sharedPointer(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                       uint32_t alignment, Block **owner = nullptr);
/// The same for global memory.
uint8_t *globalPointer(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                       uint32_t alignment);
/// The window of a generic address, and the address within its space.
Space spaceOf(uint64_t &address);

/// Full checks of an access to shared memory that has passed the bounds.
void checkShared(Warp &warp, const Access &access, const uint64_t (&offsets)[warpSize]);

} // namespace ingot::simulator
