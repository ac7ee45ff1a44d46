// SPDX-License-Identifier: Apache-2.0
// The exported driver: device, context, memory, streams, events and the simulator's own functions.
#include "runtime/simulator/Exports.h"

#include <cstring>

using ingot::simulator::Architecture;
using ingot::simulator::SimulatedEvent;

namespace {

struct Named {
  DriverResult result;
  const char *name;
  const char *text;
};

constexpr Named results[] = {
    {DriverResult::Success, "CUDA_SUCCESS", "no error"},
    {DriverResult::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {DriverResult::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {DriverResult::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {DriverResult::NoDevice, "CUDA_ERROR_NO_DEVICE", "no device is detected"},
    {DriverResult::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {DriverResult::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "the kernel image is invalid"},
    {DriverResult::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {DriverResult::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {DriverResult::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "the PTX code is invalid"},
    {DriverResult::UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the PTX version is not supported"},
    {DriverResult::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {DriverResult::NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {DriverResult::NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {DriverResult::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {DriverResult::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {DriverResult::LaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out"},
    {DriverResult::IllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     "an illegal instruction was encountered"},
    {DriverResult::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {DriverResult::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {DriverResult::NotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {DriverResult::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {DriverResult::InvalidClusterSize, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"},
    {DriverResult::Unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Named *find(DriverResult result) {
  for (const Named &named : results)
    if (named.result == result)
      return &named;
  return nullptr;
}

int32_t attributeOf(const Driver &driver, DeviceAttribute attribute, bool &known) {
  const Architecture &a = *driver.architecture;
  known = true;
  switch (attribute) {
  case DeviceAttribute::MaxThreadsPerBlock:
    return 1024;
  case DeviceAttribute::MaxGridDimX:
    return 0x7fffffff;
  case DeviceAttribute::MaxGridDimY:
  case DeviceAttribute::MaxGridDimZ:
    return 65535;
  case DeviceAttribute::MaxSharedMemoryPerBlock:
    return 48 * 1024;
  case DeviceAttribute::WarpSize:
    return 32;
  case DeviceAttribute::MaxRegistersPerBlock:
  case DeviceAttribute::MaxRegistersPerMultiprocessor:
    return 65536;
  case DeviceAttribute::ClockRateKilohertz:
    return int32_t(a.clockKilohertz);
  case DeviceAttribute::MultiprocessorCount:
    return int32_t(driver.multiprocessorCount());
  case DeviceAttribute::MemoryClockRateKilohertz:
    return int32_t(a.memoryClockKilohertz);
  case DeviceAttribute::GlobalMemoryBusWidthBits:
    return int32_t(a.memoryBusBits);
  case DeviceAttribute::L2CacheBytes:
    return int32_t(a.l2Bytes);
  case DeviceAttribute::MaxThreadsPerMultiprocessor:
    return int32_t(a.threadsPerMultiprocessor);
  case DeviceAttribute::ComputeCapabilityMajor:
    return int32_t(a.capability / 10);
  case DeviceAttribute::ComputeCapabilityMinor:
    return int32_t(a.capability % 10);
  case DeviceAttribute::MaxSharedMemoryPerMultiprocessor:
    return int32_t(a.sharedPerMultiprocessor);
  case DeviceAttribute::MaxSharedMemoryPerBlockOptIn:
    return int32_t(a.sharedPerBlock);
  case DeviceAttribute::MaxBlocksPerMultiprocessor:
    return int32_t(a.blocksPerMultiprocessor);
  case DeviceAttribute::ReservedSharedMemoryPerBlock:
    return 1024;
  }
  known = false;
  return 0;
}

DriverResult wrongHandle(Driver &driver, const char *what) {
  return driver.fail(DriverResult::InvalidHandle, std::string("not a ") + what);
}

} // namespace

DriverResult cuInit(uint32_t flags) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (flags != 0)
    return driver.fail(DriverResult::InvalidValue, "cuInit: flags must be 0");
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return driver.fail(DriverResult::NotSupported,
                       "the simulator needs a CPU with AVX2, FMA and F16C");
  driver.initialised = true;
  return DriverResult::Success;
}

DriverResult cuDriverGetVersion(int32_t *version) {
  *version = 13000;
  return DriverResult::Success;
}

DriverResult cuGetErrorName(DriverResult result, const char **name) {
  const Named *named = find(result);
  *name = named ? named->name : nullptr;
  return named ? DriverResult::Success : DriverResult::InvalidValue;
}

DriverResult cuGetErrorString(DriverResult result, const char **text) {
  const Named *named = find(result);
  *text = named ? named->text : nullptr;
  return named ? DriverResult::Success : DriverResult::InvalidValue;
}

DriverResult cuDeviceGetCount(int32_t *count) {
  *count = 1;
  return DriverResult::Success;
}

DriverResult cuDeviceGet(DeviceOrdinal *device, int32_t ordinal) {
  Driver &driver = Driver::get();
  if (!driver.initialised)
    return driver.fail(DriverResult::NotInitialized, "cuInit has not been called");
  if (ordinal != 0)
    return driver.fail(DriverResult::InvalidDevice, "there is one simulated device, number 0");
  *device = 0;
  return DriverResult::Success;
}

DriverResult cuDeviceGetName(char *name, int32_t bytes, DeviceOrdinal) {
  Driver &driver = Driver::get();
  std::string text = std::string("Ingot simulator ") + driver.architecture->name;
  if (bytes <= 0)
    return driver.fail(DriverResult::InvalidValue, "no room for the name");
  std::strncpy(name, text.c_str(), size_t(bytes) - 1);
  name[bytes - 1] = '\0';
  return DriverResult::Success;
}

DriverResult cuDeviceGetAttribute(int32_t *value, DeviceAttribute attribute, DeviceOrdinal) {
  Driver &driver = Driver::get();
  bool known;
  *value = attributeOf(driver, attribute, known);
  return known ? DriverResult::Success
               : driver.fail(DriverResult::InvalidValue, "the simulator does not know device "
                                                         "attribute " +
                                                             std::to_string(uint32_t(attribute)));
}

DriverResult cuDeviceTotalMem_v2(size_t *bytes, DeviceOrdinal) {
  *bytes = Driver::get().capacity;
  return DriverResult::Success;
}

DriverResult cuDevicePrimaryCtxRetain(Context *context, DeviceOrdinal device) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.initialised)
    return driver.fail(DriverResult::NotInitialized, "cuInit has not been called");
  if (device != 0)
    return driver.fail(DriverResult::InvalidDevice, "there is one simulated device, number 0");
  ++driver.contexts;
  *context = reinterpret_cast<Context>(&driver);
  return DriverResult::Success;
}

DriverResult cuDevicePrimaryCtxRelease_v2(DeviceOrdinal) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (driver.contexts == 0)
    return driver.fail(DriverResult::InvalidContext, "the context is not retained");
  if (--driver.contexts == 0)
    driver.sticky = DriverResult::Success;
  return DriverResult::Success;
}

DriverResult cuCtxSetCurrent(Context) { return DriverResult::Success; }

DriverResult cuMemGetInfo_v2(size_t *freeBytes, size_t *totalBytes) {
  Driver &driver = Driver::get();
  *totalBytes = driver.capacity;
  *freeBytes = driver.capacity - driver.memory.used();
  return DriverResult::Success;
}

DriverResult cuMemAlloc_v2(DevicePointer *memory, size_t bytes) {
  Driver &driver = Driver::get();
  if (driver.contexts == 0)
    return driver.fail(DriverResult::InvalidContext, "there is no context");
  if (bytes == 0)
    return driver.fail(DriverResult::InvalidValue, "an allocation of 0 bytes");
  *memory = driver.memory.allocate(bytes, driver.capacity);
  return *memory ? DriverResult::Success
                 : driver.fail(DriverResult::OutOfMemory, "no " + std::to_string(bytes) +
                                                              " bytes left of " +
                                                              std::to_string(driver.capacity));
}

DriverResult cuMemFree_v2(DevicePointer memory) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (memory == 0 || driver.memory.release(memory))
    return DriverResult::Success;
  return driver.fail(DriverResult::InvalidValue, "cuMemFree: not an allocation");
}

DriverResult cuMemAllocHost_v2(void **memory, size_t bytes) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  std::vector<uint8_t> pages(bytes + 4096);
  uint8_t *aligned = pages.data() + (4096 - (reinterpret_cast<uint64_t>(pages.data()) & 4095));
  *memory = aligned;
  driver.hostMemory[aligned] = std::move(pages);
  return DriverResult::Success;
}

DriverResult cuMemFreeHost(void *memory) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.hostMemory.erase(memory)
             ? DriverResult::Success
             : driver.fail(DriverResult::InvalidValue, "cuMemFreeHost: not an allocation");
}

DriverResult cuMemcpyHtoDAsync_v2(DevicePointer target, const void *source, size_t bytes, Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  DriverResult result = driver.checkRange(target, bytes, "copy to the device");
  if (result == DriverResult::Success)
    std::memcpy(reinterpret_cast<void *>(target), source, bytes);
  return result;
}

DriverResult cuMemcpyDtoHAsync_v2(void *target, DevicePointer source, size_t bytes, Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (driver.sticky != DriverResult::Success)
    return driver.fail(driver.sticky, "an earlier launch failed; see ingotSimulatorFindings");
  DriverResult result = driver.checkRange(source, bytes, "copy from the device");
  if (result == DriverResult::Success)
    std::memcpy(target, reinterpret_cast<const void *>(source), bytes);
  return result;
}

DriverResult cuMemcpyDtoDAsync_v2(DevicePointer target, DevicePointer source, size_t bytes,
                                  Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  DriverResult result = driver.checkRange(source, bytes, "source of a copy");
  if (result == DriverResult::Success)
    result = driver.checkRange(target, bytes, "target of a copy");
  if (result == DriverResult::Success)
    std::memmove(reinterpret_cast<void *>(target), reinterpret_cast<const void *>(source), bytes);
  return result;
}

DriverResult cuMemsetD8Async(DevicePointer target, uint8_t value, size_t bytes, Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.fill({target, 0, value, 1, bytes, 1, nullptr});
}

DriverResult cuStreamCreate(Stream *stream, StreamFlags) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (driver.contexts == 0)
    return driver.fail(DriverResult::InvalidContext, "there is no context");
  auto *handle = new char;
  driver.handles.insert(handle);
  *stream = reinterpret_cast<Stream>(handle);
  return DriverResult::Success;
}

DriverResult cuStreamDestroy_v2(Stream stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.erase(stream))
    return wrongHandle(driver, "stream");
  delete reinterpret_cast<char *>(stream);
  return DriverResult::Success;
}

DriverResult cuStreamSynchronize(Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (driver.sticky != DriverResult::Success)
    return driver.fail(driver.sticky, "an earlier launch failed; see ingotSimulatorFindings");
  driver.predecessor = {}; // what is launched from now on begins after all of it has ended
  return DriverResult::Success;
}

DriverResult cuStreamWaitEvent(Stream, Event event, uint32_t) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.handles.count(event) ? DriverResult::Success : wrongHandle(driver, "event");
}

DriverResult cuEventCreate(Event *event, EventFlags flags) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  auto *handle = new SimulatedEvent;
  handle->timed = !(uint32_t(flags) & uint32_t(EventFlags::DisableTiming));
  driver.handles.insert(handle);
  *event = reinterpret_cast<Event>(handle);
  return DriverResult::Success;
}

DriverResult cuEventDestroy_v2(Event event) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.erase(event))
    return wrongHandle(driver, "event");
  delete reinterpret_cast<SimulatedEvent *>(event);
  return DriverResult::Success;
}

DriverResult cuEventRecord(Event event, Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.count(event))
    return wrongHandle(driver, "event");
  auto *handle = reinterpret_cast<SimulatedEvent *>(event);
  handle->recorded = true;
  handle->time = std::chrono::steady_clock::now();
  return DriverResult::Success;
}

DriverResult cuEventSynchronize(Event) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.sticky;
}

DriverResult cuEventQuery(Event) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.sticky;
}

DriverResult cuEventElapsedTime_v2(float *milliseconds, Event start, Event end) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.count(start) || !driver.handles.count(end))
    return wrongHandle(driver, "event");
  auto *from = reinterpret_cast<SimulatedEvent *>(start);
  auto *to = reinterpret_cast<SimulatedEvent *>(end);
  if (!from->recorded || !to->recorded || !from->timed || !to->timed)
    return driver.fail(DriverResult::InvalidHandle, "an event is not recorded or not timed");
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return DriverResult::Success;
}

DriverResult ingotSimulatorConfigure(const SimulatorOptions *options) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!options || options->structBytes != sizeof(SimulatorOptions))
    return driver.fail(DriverResult::InvalidValue,
                       "SimulatorOptions of another version of the simulator");
  const char *name = options->architecture ? options->architecture : "sm_80";
  const Architecture *architecture = ingot::simulator::findArchitecture(name);
  if (!architecture)
    return driver.fail(DriverResult::InvalidValue, std::string("no architecture ") + name);
  uint64_t capacity = options->memoryBytes ? options->memoryBytes : uint64_t(80) << 30;
  if (driver.contexts > 0 && (architecture != driver.architecture || capacity != driver.capacity ||
                              options->multiprocessors != driver.multiprocessors))
    return driver.fail(DriverResult::NotPermitted,
                       "the device cannot change while a context is retained");
  driver.architecture = architecture;
  driver.capacity = capacity;
  driver.multiprocessors = options->multiprocessors;
  driver.modes.lateCompletion = options->asyncCompletion == AsyncCompletion::Late;
  driver.modes.fullChecks = options->checks == SimulatorChecks::Full;
  driver.modes.exactTensorCores = options->exactTensorCores != 0;
  driver.modes.warpOrderSeed = options->warpOrderSeed;
  driver.modes.workerThreads = options->workerThreads;
  driver.modes.maxInstructionsPerWarp =
      options->maxInstructionsPerWarp ? options->maxInstructionsPerWarp : uint64_t(1) << 34;
  return DriverResult::Success;
}

DriverResult ingotSimulatorFindings(char *text, size_t bytes, size_t *needed) {
  std::string all = Driver::get().log.text();
  if (needed)
    *needed = all.size() + 1;
  if (text && bytes > 0) {
    size_t count = std::min(bytes - 1, all.size());
    std::memcpy(text, all.data(), count);
    text[count] = '\0';
  }
  return DriverResult::Success;
}

DriverResult ingotSimulatorCounters(SimulatorCounters *counters) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  *counters = driver.counters;
  counters->findings = driver.log.count();
  return DriverResult::Success;
}

DriverResult ingotSimulatorReset() {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  driver.log.clear();
  driver.counters = {};
  driver.predecessor = {};
  return DriverResult::Success;
}

DriverResult ingotSimulatorLastError(const char **text) {
  *text = Driver::get().lastError().c_str();
  return DriverResult::Success;
}

DriverResult ingotSimulatorDeclareBuffer(DevicePointer memory, size_t bytes, const char *name) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return driver.memory.declare(memory, bytes, name ? name : "")
             ? DriverResult::Success
             : driver.fail(DriverResult::InvalidValue, "the buffer is not within an allocation");
}
