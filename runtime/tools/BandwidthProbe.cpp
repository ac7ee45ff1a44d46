// SPDX-License-Identifier: Apache-2.0
// On the host threads of a pool stream through their parts with wide loads; other devices copy.
#include "runtime/tools/BandwidthProbe.h"

#include "runtime/devices/host/ThreadPool.h"

#include <chrono>
#include <cstring>
#include <sys/mman.h>

namespace ingot::runtime {
namespace {

constexpr uint64_t pageBytes = 4096;

using Wide = uint64_t __attribute__((vector_size(64), aligned(64)));

/// This thread's part: buffers[0], as long as scalars[0], and where its sum goes.
struct Part {
  uint8_t *data;
  uint64_t bytes;
};

Part partOf(const IngotLaunch *launch) {
  uint64_t bytes = uint64_t(launch->scalars[0]);
  return {static_cast<uint8_t *>(launch->buffers[0]) + uint64_t(launch->thread) * bytes, bytes};
}

void fill(const IngotLaunch *launch) {
  Part part = partOf(launch);
  std::memset(part.data, 1 + int(launch->thread % 200), part.bytes);
}

void read(const IngotLaunch *launch) {
  Part part = partOf(launch);
  const Wide *data = reinterpret_cast<const Wide *>(part.data);
  Wide sums[4] = {};
  for (uint64_t i = 0; i < part.bytes / sizeof(Wide); i += 4)
    for (uint64_t lane = 0; lane < 4; ++lane)
      sums[lane] += data[i + lane];
  // Whoever reads memory must use what was read.
  Wide sum = sums[0] + sums[1] + sums[2] + sums[3];
  asm volatile("" : : "r"(sum[0]), "r"(sum[1]));
}

class HostProbe final : public BandwidthProbe {
public:
  HostProbe() = default;
  HostProbe(const HostProbe &) = delete;
  ~HostProbe() override {
    if (buffer)
      munmap(buffer, bytes);
  }

  Status allocate(uint64_t wanted, int64_t threads);
  Result<double> measure() override;

private:
  void *buffer = nullptr;
  uint64_t bytes = 0;
  std::unique_ptr<ThreadPool> pool;
};

Status HostProbe::allocate(uint64_t wanted, int64_t threads) {
  uint64_t part = pageBytes * uint64_t(threads);
  bytes = (wanted + part - 1) / part * part;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::error("INGOT-E6010",
                         "cannot allocate " + std::to_string(bytes) +
                             " bytes to measure the memory's bandwidth",
                         "give a smaller --probe");
  buffer = memory;
  Result<std::unique_ptr<ThreadPool>> started =
      ThreadPool::start(threads, std::vector<void *>(size_t(threads), nullptr));
  if (!started.ok())
    return std::move(started).status();
  pool = std::move(*started);
  int64_t partBytes = int64_t(bytes) / threads;
  int64_t grid[3] = {threads, 1, 1};
  pool->run(fill, true, &buffer, &partBytes, grid);
  return {};
}

Result<double> HostProbe::measure() {
  int64_t partBytes = int64_t(bytes) / pool->size();
  int64_t grid[3] = {pool->size(), 1, 1};
  auto start = std::chrono::steady_clock::now();
  pool->run(read, true, &buffer, &partBytes, grid);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return double(bytes) / seconds;
}

class CopyProbe final : public BandwidthProbe {
public:
  CopyProbe(Device &device, uint8_t *memory, uint64_t half)
      : device(device), memory(memory), half(half) {}

  Result<double> measure() override {
    if (Status status = device.startTimer(); !status.ok())
      return status;
    device.copy(memory + half, memory, half);
    Result<double> seconds = device.stopTimer();
    if (!seconds.ok())
      return seconds;
    return *seconds > 0 ? 2 * double(half) / *seconds : 0;
  }

private:
  Device &device;
  uint8_t *memory;
  uint64_t half;
};

} // namespace

Result<std::unique_ptr<BandwidthProbe>> BandwidthProbe::create(Device &device, uint64_t bytes,
                                                               int64_t threads) {
  if (device.loads(CodeKind::HostSharedObject)) {
    auto probe = std::make_unique<HostProbe>();
    if (Status status = probe->allocate(bytes, threads); !status.ok())
      return status;
    return std::unique_ptr<BandwidthProbe>(std::move(probe));
  }
  uint64_t half = (bytes / 2 + pageBytes - 1) / pageBytes * pageBytes;
  Result<void *> memory = device.allocate(2 * half);
  if (!memory.ok())
    return std::move(memory).status().in("the bandwidth probe, which --probe sizes");
  auto probe = std::make_unique<CopyProbe>(device, static_cast<uint8_t *>(*memory), half);
  // The first copy may set something up.
  Result<double> first = probe->measure();
  if (!first.ok())
    return std::move(first).status();
  return std::unique_ptr<BandwidthProbe>(std::move(probe));
}

} // namespace ingot::runtime
