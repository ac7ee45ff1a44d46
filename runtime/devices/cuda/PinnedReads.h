// SPDX-License-Identifier: Apache-2.0
// Reads from the device that are started now and finished later.
#pragma once

#include "runtime/devices/cuda/Driver.h"

namespace ingot::runtime {

/// A queue of reads into page-locked memory, used round and round; oldest first.
class PinnedReads {
public:
  /// Started reads hold at most so many bytes together, and are at most so many. There are twice
  /// the bytes, so that what does not fit before the end goes to the front.
  static constexpr uint64_t capacity = uint64_t{1} << 20;
  static constexpr size_t depth = 32;

  /// INGOT-E6503 when the memory cannot be had.
  static Result<std::unique_ptr<PinnedReads>> create(const Driver &driver, cuda::Stream stream);
  ~PinnedReads();

  /// Reads what stands at `source` after everything before it on the stream. InvalidValue when
  /// there is no room.
  cuda::DriverResult start(cuda::DevicePointer source, uint64_t bytes);
  /// Waits for the oldest read and copies it to `target`, which has room for all of its bytes.
  cuda::DriverResult finish(void *target);

private:
  struct Read {
    cuda::Event done = nullptr;
    uint64_t offset = 0, bytes = 0;
  };

  PinnedReads(const Driver &driver, cuda::Stream stream) : driver(driver), stream(stream) {}

  const Driver &driver;
  cuda::Stream stream;
  uint8_t *memory = nullptr;
  Read queue[depth];
  size_t oldest = 0, started = 0;
  uint64_t held = 0; ///< bytes of all started reads
  uint64_t end = 0;  ///< of the youngest one
};

} // namespace ingot::runtime
