// SPDX-License-Identifier: Apache-2.0
// Bounds and alignment of every access; the pointers behind addresses.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/GlobalTracker.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/RaceDetector.h"

#include <algorithm>

namespace ingot::simulator {

namespace {

const char *verb(AccessKind kind) {
  return kind == AccessKind::Read ? "reads" : kind == AccessKind::Write ? "writes" : "updates";
}

void misaligned(Warp &warp, uint32_t lane, uint64_t address, const Access &access) {
  uint32_t alignment = access.alignment ? access.alignment : access.bytes;
  warp.fault(lane, FindingKind::Misaligned,
             std::string(verb(access.kind)) + " " + std::to_string(access.bytes) +
                 " bytes at an address that is not a multiple of " + std::to_string(alignment),
             address);
}

void outsideShared(Warp &warp, uint32_t lane, uint64_t address, const Access &access) {
  warp.fault(lane, FindingKind::OutOfBounds,
             std::string(verb(access.kind)) + " " + std::to_string(access.bytes) +
                 " bytes at offset " + std::to_string(int64_t(address) - int64_t(sharedBase)) +
                 " of shared memory, which has " + std::to_string(warp.block->sharedBytes) +
                 " bytes",
             address);
}

void outsideGlobal(Warp &warp, uint32_t lane, uint64_t address, const Access &access) {
  warp.fault(lane, FindingKind::OutOfBounds,
             std::string(verb(access.kind)) + " " + std::to_string(access.bytes) +
                 " bytes of global memory, " + warp.launch->memory->describe(address),
             address);
}

/// Addresses of all lanes, `offset` added; lanes outside the mask repeat an active one.
void gather(Warp &warp, Slot base, int64_t offset, bool wide, uint64_t (&out)[warpSize]) {
  if (wide) {
    const auto *a = warp.lanes<uint64_t>(base);
    INGOT_LANES
    for (uint32_t i = 0; i < warpSize; ++i)
      out[i] = a[i] + uint64_t(offset);
  } else {
    const auto *a = warp.lanes<uint32_t>(base);
    INGOT_LANES
    for (uint32_t i = 0; i < warpSize; ++i)
      out[i] = uint32_t(a[i] + uint32_t(offset));
  }
  if (warp.mask != fullMask) {
    uint64_t active = out[std::countr_zero(warp.mask)];
    for (uint32_t i = 0; i < warpSize; ++i)
      if (!(warp.mask >> i & 1))
        out[i] = active;
  }
}

bool resolveShared(Warp &warp, const Access &access, const uint64_t (&addresses)[warpSize],
                   LanePointers &pointers) {
  const uint64_t size = warp.block->sharedBytes;
  uint8_t *memory = warp.block->shared - sharedBase;
  uint64_t bits = 0, worst = 0;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    bits |= addresses[i];
    uint64_t offset = addresses[i] - sharedBase;
    worst = offset > worst ? offset : worst;
    pointers[i] = memory + addresses[i];
  }
  uint32_t alignment = access.alignment ? access.alignment : access.bytes;
  if (size >= access.bytes && worst <= size - access.bytes && (bits & (alignment - 1)) == 0) {
    if (warp.fullChecks)
      checkShared(warp, access, addresses);
    return true;
  }
  for (uint32_t i = 0; i < warpSize; ++i) {
    uint64_t address = addresses[i];
    if (address & (alignment - 1)) {
      misaligned(warp, i, address, access);
      return false;
    }
    Block *owner = nullptr;
    pointers[i] = sharedPointer(warp, i, address, access.bytes, alignment, &owner);
    if (!pointers[i])
      return false;
    if (owner == warp.block)
      continue;
    owner->heldUntil = std::max(owner->heldUntil, warp.clusterPhase + 1);
    if (owner->races && access.kind != AccessKind::Read)
      owner->races->foreignStore(warp, i, uint32_t(pointers[i] - owner->shared), access.bytes);
  }
  return true;
}

/// The usual access to shared memory, in 32 bits: false where it is another, or a wrong one.
bool resolveSharedAtOnce(Warp &warp, Slot base, uint32_t shift, const Access &access,
                         LanePointers &pointers) {
  const auto *a = warp.lanes<uint32_t>(base);
  uint8_t *memory = warp.block->shared - sharedBase;
  uint32_t bits = 0, worst = 0;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    const uint32_t address = a[i] + shift, offset = address - sharedBase;
    bits |= address;
    worst = offset > worst ? offset : worst;
    pointers[i] = memory + address;
  }
  const uint32_t alignment = access.alignment ? access.alignment : access.bytes;
  const uint32_t size = warp.block->sharedBytes;
  return size >= access.bytes && worst <= size - access.bytes && (bits & (alignment - 1)) == 0;
}

bool resolveGlobal(Warp &warp, const Access &access, const uint64_t (&addresses)[warpSize],
                   LanePointers &pointers) {
  // Signed, which processors compare in one step; no object lies where that makes a difference.
  int64_t low = INT64_MAX, high = INT64_MIN;
  uint64_t bits = 0;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    const auto address = int64_t(addresses[i]);
    low = address < low ? address : low;
    high = address > high ? address : high;
    bits |= addresses[i];
    pointers[i] = reinterpret_cast<uint8_t *>(addresses[i]);
  }
  uint32_t alignment = access.alignment ? access.alignment : access.bytes;
  bool inside = false;
  for (size_t i = 0; i < warp.rangeCache.size() && !inside; ++i) {
    const AddressRange &range = warp.rangeCache[i];
    inside = low >= int64_t(range.begin) && high < int64_t(range.end) &&
             high + int64_t(access.bytes) <= int64_t(range.end);
  }
  if (!inside || (bits & (alignment - 1))) {
    for (uint32_t i = 0; i < warpSize; ++i) {
      if (!(warp.mask >> i & 1))
        continue;
      if (!globalPointer(warp, i, addresses[i], access.bytes, alignment))
        return false;
    }
  }
  if (warp.fullChecks)
    warp.launch->tracker->access(warp, addresses, access.bytes, access.kind, access.ordered);
  return true;
}

bool resolveOther(Warp &warp, const Access &access, const uint64_t (&addresses)[warpSize],
                  LanePointers &pointers) {
  Launch &launch = *warp.launch;
  for (uint32_t i = 0; i < warpSize; ++i) {
    uint8_t *memory = access.space == Space::Param ? launch.parameters.data()
                                                   : warp.local + i * launch.program->localBytes;
    uint64_t size =
        access.space == Space::Param ? launch.parameters.size() : launch.program->localBytes;
    pointers[i] = memory + addresses[i];
    if (!(warp.mask >> i & 1))
      continue;
    if (addresses[i] > size || access.bytes > size - addresses[i]) {
      warp.fault(i, FindingKind::OutOfBounds,
                 std::string(verb(access.kind)) + " " + std::to_string(access.bytes) +
                     " bytes of " + (access.space == Space::Param ? "parameters" : "local memory") +
                     ", which has " + std::to_string(size) + " bytes",
                 addresses[i]);
      return false;
    }
    if (addresses[i] & (access.bytes - 1)) {
      misaligned(warp, i, addresses[i], access);
      return false;
    }
  }
  return true;
}

/// Generic addresses: lane by lane where they lie in several windows.
bool resolveGeneric(Warp &warp, const Access &access, uint64_t (&addresses)[warpSize],
                    LanePointers &pointers) {
  uint32_t mask = warp.mask;
  for (uint32_t todo = mask; todo;) {
    uint64_t window = addresses[std::countr_zero(todo)] & windowMask;
    uint32_t group = 0;
    uint64_t inner[warpSize];
    Access part = access;
    uint64_t first = addresses[std::countr_zero(todo)];
    part.space = spaceOf(first);
    for (uint32_t i = 0; i < warpSize; ++i) {
      bool member = (todo >> i & 1) && (addresses[i] & windowMask) == window;
      group |= uint32_t(member) << i;
      inner[i] = member ? addresses[i] : first | window;
      spaceOf(inner[i]);
    }
    LanePointers found;
    warp.mask = group;
    bool good = part.space == Space::Shared   ? resolveShared(warp, part, inner, found)
                : part.space == Space::Global ? resolveGlobal(warp, part, inner, found)
                                              : resolveOther(warp, part, inner, found);
    warp.mask = mask;
    if (!good)
      return false;
    for (uint32_t i = 0; i < warpSize; ++i)
      if (group >> i & 1)
        pointers[i] = found[i];
    todo &= ~group;
  }
  return true;
}

} // namespace

Space spaceOf(uint64_t &address) {
  uint64_t window = address & windowMask;
  if (window == sharedWindow || window == localWindow || window == parameterWindow)
    address &= ~windowMask;
  return window == sharedWindow      ? Space::Shared
         : window == localWindow     ? Space::Local
         : window == parameterWindow ? Space::Param
                                     : Space::Global;
}

uint8_t *sharedPointer(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                       uint32_t alignment, Block **owner) {
  Block *block = warp.block;
  uint64_t rank = address >> clusterRankShift;
  uint64_t blocks = block->cluster ? block->cluster->size() : 0;
  if (rank != 0 && rank <= blocks) {
    block = (*block->cluster)[size_t(rank - 1)];
    address &= (uint64_t(1) << clusterRankShift) - 1;
    if (block->warpsAlive == 0) {
      warp.fault(lane, FindingKind::OutOfBounds,
                 "shared memory of block " + std::to_string(rank - 1) +
                     " of the cluster, all of whose threads have exited",
                 address);
      return nullptr;
    }
  } else if (rank != 0 && blocks > 1) {
    warp.fault(lane, FindingKind::OutOfBounds,
               "shared memory of block " + std::to_string(rank - 1) + " of a cluster of " +
                   std::to_string(blocks) + " blocks",
               address);
    return nullptr;
  }
  Access access;
  access.bytes = bytes;
  access.alignment = alignment;
  if (address & (alignment - 1)) {
    misaligned(warp, lane, address, access);
    return nullptr;
  }
  uint64_t offset = address - sharedBase;
  if (address < sharedBase || offset > block->sharedBytes || bytes > block->sharedBytes - offset) {
    outsideShared(warp, lane, address, access);
    return nullptr;
  }
  if (owner)
    *owner = block;
  return block->shared + offset;
}

uint8_t *globalPointer(Warp &warp, uint32_t lane, uint64_t address, uint32_t bytes,
                       uint32_t alignment) {
  Access access;
  access.bytes = bytes;
  access.alignment = alignment;
  if (address & (alignment - 1)) {
    misaligned(warp, lane, address, access);
    return nullptr;
  }
  for (const AddressRange &range : warp.rangeCache)
    if (address >= range.begin && address < range.end && bytes <= range.end - address)
      return reinterpret_cast<uint8_t *>(address);
  AddressRange range = warp.launch->memory->find(address, bytes);
  if (range.begin >= range.end) {
    outsideGlobal(warp, lane, address, access);
    return nullptr;
  }
  for (size_t i = warp.rangeCache.size() - 1; i > 0; --i)
    warp.rangeCache[i] = warp.rangeCache[i - 1];
  warp.rangeCache[0] = range;
  return reinterpret_cast<uint8_t *>(address);
}

void checkShared(Warp &warp, const Access &access, const uint64_t (&offsets)[warpSize]) {
  if (warp.block->races)
    warp.block->races->access(warp, offsets, access.bytes, access.kind, access.ordered);
}

bool resolve(Warp &warp, Slot base, int64_t offset, const Access &access, LanePointers &pointers) {
  if (access.space == Space::Shared && !access.wide && warp.mask == fullMask && !warp.fullChecks &&
      resolveSharedAtOnce(warp, base, uint32_t(offset), access, pointers))
    return true;
  uint64_t addresses[warpSize];
  gather(warp, base, offset, access.wide, addresses);
  switch (access.space) {
  case Space::Shared:
    return resolveShared(warp, access, addresses, pointers);
  case Space::Global:
  case Space::Const:
    return resolveGlobal(warp, access, addresses, pointers);
  case Space::Generic:
    return resolveGeneric(warp, access, addresses, pointers);
  default:
    return resolveOther(warp, access, addresses, pointers);
  }
}

} // namespace ingot::simulator
