// SPDX-License-Identifier: Apache-2.0
// Page-locked memory between the process and the device, used round and round.
#pragma once

#include "runtime/devices/cuda/Driver.h"

namespace ingot::runtime {

/// Copies through page-locked memory, so that the driver need not. Copies to the device return
/// before they have happened; a piece of the ring is reused after what used it is done.
class PinnedRing {
public:
  /// INGOT-E6503 when the memory cannot be had.
  static Result<std::unique_ptr<PinnedRing>> create(const Driver &driver, cuda::Stream stream);
  ~PinnedRing();

  cuda::DriverResult toDevice(cuda::DevicePointer target, const void *source, uint64_t bytes);
  /// Returns when everything before it on the stream, and the copy, are done.
  cuda::DriverResult fromDevice(void *target, cuda::DevicePointer source, uint64_t bytes);

private:
  static constexpr uint64_t pieceBytes = uint64_t{4} << 20;
  static constexpr size_t pieces = 4;
  struct Piece {
    uint8_t *memory = nullptr;
    cuda::Event free = nullptr; ///< recorded after the last copy out of it
    uint64_t used = 0;
  };

  PinnedRing(const Driver &driver, cuda::Stream stream) : driver(driver), stream(stream) {}
  cuda::DriverResult advance();

  const Driver &driver;
  cuda::Stream stream;
  Piece ring[pieces];
  size_t place = 0;
};

} // namespace ingot::runtime
