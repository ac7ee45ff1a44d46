// SPDX-License-Identifier: Apache-2.0
// A ring of reads over a ring of bytes.
#include "runtime/devices/cuda/PinnedReads.h"

#include <cstring>

namespace ingot::runtime {

using cuda::DriverResult;

Result<std::unique_ptr<PinnedReads>> PinnedReads::create(const Driver &driver,
                                                         cuda::Stream stream) {
  std::unique_ptr<PinnedReads> made(new PinnedReads(driver, stream));
  void *memory = nullptr;
  if (Status status = driver.check(driver.cuMemAllocHost_v2(&memory, 2 * capacity), "INGOT-E6503",
                                   "allocating page-locked memory");
      !status.ok())
    return status;
  made->memory = static_cast<uint8_t *>(memory);
  for (Read &read : made->queue)
    if (Status status =
            driver.check(driver.cuEventCreate(&read.done, cuda::EventFlags::DisableTiming),
                         "INGOT-E6503", "creating an event");
        !status.ok())
      return status;
  return made;
}

PinnedReads::~PinnedReads() {
  for (Read &read : queue)
    if (read.done)
      driver.cuEventDestroy_v2(read.done);
  if (memory)
    driver.cuMemFreeHost(memory);
}

DriverResult PinnedReads::start(cuda::DevicePointer source, uint64_t bytes) {
  if (started == depth || bytes > capacity - held)
    return DriverResult::InvalidValue;
  Read &read = queue[(oldest + started) % depth];
  // All that are under way fit into one half, so neither they nor this one can meet.
  read.offset = end + bytes <= 2 * capacity ? end : 0;
  read.bytes = bytes;
  if (bytes > 0)
    if (DriverResult result =
            driver.cuMemcpyDtoHAsync_v2(memory + read.offset, source, bytes, stream);
        result != DriverResult::Success)
      return result;
  if (DriverResult result = driver.cuEventRecord(read.done, stream);
      result != DriverResult::Success)
    return result;
  end = read.offset + bytes;
  held += bytes;
  ++started;
  return DriverResult::Success;
}

DriverResult PinnedReads::finish(void *target) {
  if (started == 0)
    return DriverResult::InvalidValue;
  const Read &read = queue[oldest];
  if (DriverResult result = driver.cuEventSynchronize(read.done); result != DriverResult::Success)
    return result;
  std::memcpy(target, memory + read.offset, read.bytes);
  held -= read.bytes;
  oldest = (oldest + 1) % depth;
  --started;
  return DriverResult::Success;
}

} // namespace ingot::runtime
