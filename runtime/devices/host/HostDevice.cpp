// SPDX-License-Identifier: Apache-2.0
// Memory from anonymous mappings (zeroed, page aligned); everything else is delegated.
#include "runtime/devices/host/HostDevice.h"

#include "runtime/devices/host/CpuCount.h"
#include "runtime/devices/host/MemoryNodes.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace ingot::runtime {

HostDevice::HostDevice(int64_t threads, std::string remark)
    : threads(threads > 0 ? std::min(threads, ThreadPool::maximumThreads)
                          : std::min<int64_t>(usableCpus(), ThreadPool::maximumThreads)),
      remark(std::move(remark)), features(detectCpuFeatures()), nodes(memoryNodes(affinityCpus())),
      spreads(nodes.size() > 1) {}

HostDevice::~HostDevice() {
  pool.reset();
  for (const Region &region : regions)
    munmap(region.base, region.bytes);
}

bool HostDevice::hasFeature(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

std::string HostDevice::description() const {
  std::string text = cpuModelName();
  if (nodes.size() > 1)
    text += ", " + std::to_string(nodes.size()) + " memory nodes" +
            (spreads ? "" : " over which the system spreads no memory");
  return text + (remark.empty() ? "" : ", " + remark);
}

int64_t HostDevice::dimension(std::string_view name) const {
  return name == schema::dim::threads ? threads : -1;
}

uint64_t HostDevice::availableMemory(uint64_t weightBytes, double fraction) const {
  // The file's pages are shared and can be dropped, so weights do not count against what is free.
  constexpr double usual = 0.5; // others live here too
  uint64_t available = runtime::availableMemory();
  if (available == UINT64_MAX)
    return available;
  return uint64_t(double(available) * (fraction > 0 ? fraction : usual)) + weightBytes;
}

Status HostDevice::start(int64_t count, uint64_t scratchBytes) {
  threads = count;
  constexpr uint64_t granule = INGOT_BUFFER_ALIGNMENT;
  uint64_t stride = 0, total = 0;
  if (__builtin_add_overflow(scratchBytes, 2 * granule - 1, &stride) ||
      __builtin_mul_overflow(stride / granule * granule, uint64_t(count), &total))
    return Status::error("INGOT-E6010", "the kernels' scratch memory is too large to address");
  stride = stride / granule * granule;
  // Not spread over nodes: each thread is the first to touch its own.
  Result<Region> memory = map(total);
  if (!memory.ok())
    return std::move(memory).status();
  std::vector<void *> scratch;
  for (int64_t thread = 0; thread < count; ++thread)
    scratch.push_back(static_cast<uint8_t *>(memory->base) + uint64_t(thread) * stride);
  Result<std::unique_ptr<ThreadPool>> started = ThreadPool::start(count, std::move(scratch));
  if (!started.ok())
    return std::move(started).status();
  pool = std::move(*started);
  return {};
}

Result<void *> HostDevice::allocate(uint64_t bytes) {
  Result<Region> memory = map(bytes);
  if (!memory.ok())
    return std::move(memory).status();
  spreads = spreads && spreadOverNodes(memory->base, memory->bytes, nodes);
  return memory->base;
}

Result<HostDevice::Region> HostDevice::map(uint64_t bytes) {
  constexpr uint64_t page = 4096;
  uint64_t rounded = 0;
  if (__builtin_add_overflow(bytes, page - 1 + INGOT_BUFFER_ALIGNMENT, &rounded))
    return Status::error("INGOT-E6010", "a buffer is too large to address");
  rounded = rounded / page * page;
  void *base = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return Status::error("INGOT-E6010",
                         "cannot allocate " + std::to_string(bytes) +
                             " bytes: " + std::strerror(errno),
                         "lower --memory, --max-sequences, --max-context or --max-batch-tokens");
  regions.push_back({base, rounded});
  return regions.back();
}

Result<void *> HostDevice::adopt(std::span<const uint8_t> bytes) {
  // Kernels take all buffers through one pointer type; they only read weights, and the mapping
  // would stop them from writing.
  return const_cast<void *>(static_cast<const void *>(bytes.data()));
}

Result<size_t> HostDevice::loadLibrary(std::span<const uint8_t> code, const std::string &name) {
  Result<SharedObject> library = SharedObject::load(code, name);
  if (!library.ok())
    return std::move(library).status();
  libraries.push_back(std::move(*library));
  return libraries.size() - 1;
}

Result<DeviceKernel> HostDevice::kernel(size_t library, const std::string &symbol,
                                        const KernelShape &shape) {
  void *entry = libraries[library].symbol(symbol);
  if (!entry)
    return Status::error("INGOT-E5021", "no symbol '" + symbol + "' in its kernel library",
                         "rebuild the engine");
  return DeviceKernel{entry, shape, symbol};
}

void HostDevice::launch(const DeviceLaunch &launch) {
  pool->run(reinterpret_cast<IngotKernel>(launch.kernel->entry), launch.kernel->shape.spmd,
            launch.buffers.data(), launch.scalars.data(), launch.grid);
}

void HostDevice::copy(void *destination, const void *source, uint64_t bytes) {
  std::memmove(destination, source, bytes);
}

void HostDevice::zero(void *destination, uint64_t bytes) { std::memset(destination, 0, bytes); }

void HostDevice::write(void *destination, const void *hostSource, uint64_t bytes) {
  if (bytes)
    std::memcpy(destination, hostSource, bytes);
}

Status HostDevice::read(void *hostDestination, const void *source, uint64_t bytes) {
  if (bytes)
    std::memcpy(hostDestination, source, bytes);
  return {};
}

// Launches and copies return when they are done.
Status HostDevice::startTimer() {
  started = std::chrono::steady_clock::now();
  return {};
}

Result<double> HostDevice::stopTimer() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

uint64_t HostDevice::cacheBytes() const {
  return uint64_t(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
}

} // namespace ingot::runtime
