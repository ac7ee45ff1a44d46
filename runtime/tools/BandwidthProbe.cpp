// SPDX-License-Identifier: Apache-2.0
// Threads of the runtime's own pool stream through their parts with wide loads.
#include "runtime/tools/BandwidthProbe.h"

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

} // namespace

BandwidthProbe::~BandwidthProbe() {
  if (buffer)
    munmap(buffer, bytes);
}

Result<std::unique_ptr<BandwidthProbe>> BandwidthProbe::create(uint64_t bytes, int64_t threads) {
  std::unique_ptr<BandwidthProbe> probe(new BandwidthProbe());
  uint64_t part = pageBytes * uint64_t(threads);
  probe->bytes = (bytes + part - 1) / part * part;
  void *memory =
      mmap(nullptr, probe->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::error("INGOT-E6010",
                         "cannot allocate " + std::to_string(probe->bytes) +
                             " bytes to measure the memory's bandwidth",
                         "give a smaller --probe");
  probe->buffer = memory;
  Result<std::unique_ptr<ThreadPool>> pool =
      ThreadPool::start(threads, std::vector<void *>(size_t(threads), nullptr));
  if (!pool.ok())
    return std::move(pool).status();
  probe->pool = std::move(*pool);
  int64_t partBytes = int64_t(probe->bytes) / threads;
  int64_t grid[3] = {threads, 1, 1};
  probe->pool->run(fill, true, &probe->buffer, &partBytes, grid);
  return probe;
}

double BandwidthProbe::measure() {
  int64_t partBytes = int64_t(bytes) / pool->size();
  int64_t grid[3] = {pool->size(), 1, 1};
  auto start = std::chrono::steady_clock::now();
  pool->run(read, true, &buffer, &partBytes, grid);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return double(bytes) / seconds;
}

} // namespace ingot::runtime
