// SPDX-License-Identifier: Apache-2.0
// Pieces are filled one after the other; small copies share a piece.
#include "runtime/devices/cuda/PinnedRing.h"

#include <algorithm>
#include <cstring>

namespace ingot::runtime {

using cuda::DriverResult;

/// Starts of copies within a piece.
static constexpr uint64_t alignment = 256;

Result<std::unique_ptr<PinnedRing>> PinnedRing::create(const Driver &driver, cuda::Stream stream) {
  std::unique_ptr<PinnedRing> made(new PinnedRing(driver, stream));
  for (Piece &piece : made->ring) {
    void *memory = nullptr;
    if (Status status = driver.check(driver.cuMemAllocHost_v2(&memory, pieceBytes), "INGOT-E6503",
                                     "allocating page-locked memory");
        !status.ok())
      return status;
    piece.memory = static_cast<uint8_t *>(memory);
    if (Status status =
            driver.check(driver.cuEventCreate(&piece.free, cuda::EventFlags::DisableTiming),
                         "INGOT-E6503", "creating an event");
        !status.ok())
      return status;
  }
  return made;
}

PinnedRing::~PinnedRing() {
  for (Piece &piece : ring) {
    if (piece.free)
      driver.cuEventDestroy_v2(piece.free);
    if (piece.memory)
      driver.cuMemFreeHost(piece.memory);
  }
}

/// Moves to the next piece and waits until the device has read what it held.
DriverResult PinnedRing::advance() {
  if (DriverResult result = driver.cuEventRecord(ring[place].free, stream);
      result != DriverResult::Success)
    return result;
  place = (place + 1) % pieces;
  ring[place].used = 0;
  return driver.cuEventSynchronize(ring[place].free);
}

DriverResult PinnedRing::toDevice(cuda::DevicePointer target, const void *source, uint64_t bytes) {
  const auto *from = static_cast<const uint8_t *>(source);
  while (bytes > 0) {
    if (ring[place].used >= pieceBytes)
      if (DriverResult result = advance(); result != DriverResult::Success)
        return result;
    Piece &piece = ring[place];
    uint64_t part = std::min(bytes, pieceBytes - piece.used);
    std::memcpy(piece.memory + piece.used, from, part);
    if (DriverResult result =
            driver.cuMemcpyHtoDAsync_v2(target, piece.memory + piece.used, part, stream);
        result != DriverResult::Success)
      return result;
    piece.used += (part + alignment - 1) / alignment * alignment;
    target += part;
    from += part;
    bytes -= part;
  }
  return DriverResult::Success;
}

DriverResult PinnedRing::fromDevice(void *target, cuda::DevicePointer source, uint64_t bytes) {
  auto *to = static_cast<uint8_t *>(target);
  while (bytes > 0) {
    if (ring[place].used >= pieceBytes)
      if (DriverResult result = advance(); result != DriverResult::Success)
        return result;
    Piece &piece = ring[place];
    uint64_t part = std::min(bytes, pieceBytes - piece.used);
    if (DriverResult result =
            driver.cuMemcpyDtoHAsync_v2(piece.memory + piece.used, source, part, stream);
        result != DriverResult::Success)
      return result;
    if (DriverResult result = driver.cuStreamSynchronize(stream); result != DriverResult::Success)
      return result;
    std::memcpy(to, piece.memory + piece.used, part);
    // Everything before is done: the whole piece is free again.
    piece.used = 0;
    source += part;
    to += part;
    bytes -= part;
  }
  return DriverResult::Success;
}

} // namespace ingot::runtime
