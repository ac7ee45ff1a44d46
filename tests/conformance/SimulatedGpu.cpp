// SPDX-License-Identifier: Apache-2.0
// Talks to the simulator as the runtime's device does.
#include "tests/conformance/SimulatedGpu.h"

#include "dialects/engine/KernelProvider.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;
using cuda::DriverResult;

bool SimulatedGpu::succeeded(DriverResult result, const std::string &what) const {
  runtime::Status status = driver->check(result, "INGOT-E6504", what);
  if (!status.ok())
    ADD_FAILURE() << status.toString();
  return status.ok();
}

std::unique_ptr<SimulatedGpu> SimulatedGpu::open(const std::string &architecture,
                                                 const SimulatedMode &mode) {
  auto loaded = runtime::Driver::load(INGOT_SIMULATOR);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.status().toString();
    return nullptr;
  }
  std::unique_ptr<SimulatedGpu> gpu(new SimulatedGpu());
  gpu->driver = std::move(*loaded);
  cuda::SimulatorOptions options = {};
  options.structBytes = sizeof options;
  options.architecture = architecture.c_str();
  options.multiprocessors = mode.multiprocessors;
  options.asyncCompletion = mode.completion;
  options.warpOrderSeed = mode.warpOrderSeed;
  options.exactTensorCores = mode.exactSums;
  options.checks = cuda::SimulatorChecks::Full;
  options.workerThreads = 1; // ctest runs shards side by side
  runtime::Driver &driver = *gpu->driver;
  bool ready =
      gpu->succeeded(driver.ingotSimulatorConfigure(&options), "configuring the simulator") &&
      gpu->succeeded(driver.cuDeviceGet(&gpu->device, 0), "finding the device") &&
      gpu->succeeded(driver.cuDevicePrimaryCtxRetain(&gpu->context, gpu->device), "a context") &&
      gpu->succeeded(driver.cuCtxSetCurrent(gpu->context), "entering the context") &&
      gpu->succeeded(driver.cuStreamCreate(&gpu->stream, cuda::StreamFlags::NonBlocking),
                     "a stream") &&
      gpu->succeeded(driver.ingotSimulatorReset(), "resetting the simulator");
  return ready ? std::move(gpu) : nullptr;
}

SimulatedGpu::~SimulatedGpu() {
  for (cuda::Library library : libraries)
    driver->cuLibraryUnload(library);
  if (stream)
    driver->cuStreamDestroy_v2(stream);
  if (context)
    driver->cuDevicePrimaryCtxRelease_v2(device);
}

bool SimulatedGpu::load(const std::string &symbol, const std::string &ptx) {
  cuda::Library library = nullptr;
  if (!succeeded(driver->cuLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr,
                                           nullptr, 0),
                 "loading the PTX of " + symbol))
    return false;
  libraries.push_back(library);
  return succeeded(driver->cuLibraryGetKernel(&kernels[symbol], library, symbol.c_str()),
                   "finding kernel " + symbol);
}

bool SimulatedGpu::reportFindings(const std::string &symbol) const {
  size_t bytes = 0;
  driver->ingotSimulatorFindings(nullptr, 0, &bytes);
  std::string text(bytes, '\0');
  driver->ingotSimulatorFindings(text.data(), text.size(), &bytes);
  if (bytes > 1)
    ADD_FAILURE() << "the simulator found in " << symbol << ":\n" << text.c_str();
  return bytes <= 1;
}

bool SimulatedGpu::run(const SimulatedLaunch &launch, std::vector<KernelBuffer> &buffers) {
  std::vector<cuda::DevicePointer> memory;
  auto allocate = [&](size_t bytes, const void *content) {
    cuda::DevicePointer pointer = 0;
    size_t some = std::max<size_t>(bytes, 1);
    bool done = succeeded(driver->cuMemAlloc_v2(&pointer, some), "allocating a buffer") &&
                (content ? succeeded(driver->cuMemcpyHtoDAsync_v2(pointer, content, bytes, stream),
                                     "filling a buffer")
                         : succeeded(driver->cuMemsetD8Async(pointer, 0, some, stream),
                                     "clearing the workspace"));
    memory.push_back(pointer);
    return done;
  };
  bool done = true;
  for (KernelBuffer &buffer : buffers)
    done = done && allocate(buffer.size(), buffer.data());
  if (done && launch.workspaceBytes >= 0)
    done = allocate(size_t(launch.workspaceBytes), nullptr);

  std::vector<uint64_t> values(memory.begin(), memory.end());
  values.insert(values.end(), launch.scalars.begin(), launch.scalars.end());
  std::vector<void *> arguments;
  for (uint64_t &value : values)
    arguments.push_back(&value);
  cuda::Kernel kernel = kernels.at(launch.symbol);
  cuda::Function function = nullptr;
  const runtime::KernelShape &shape = launch.shape;
  cuda::LaunchConfig config = {uint32_t(launch.grid[0]),
                               uint32_t(launch.grid[1]),
                               uint32_t(launch.grid[2]),
                               shape.block[0],
                               shape.block[1],
                               shape.block[2],
                               uint32_t(shape.sharedBytes),
                               stream,
                               nullptr,
                               0};
  done = done &&
         succeeded(driver->cuKernelSetAttribute(cuda::FunctionAttribute::MaxDynamicSharedBytes,
                                                int32_t(shape.sharedBytes), kernel, device),
                   "giving " + launch.symbol + " its shared memory") &&
         succeeded(driver->cuKernelGetFunction(&function, kernel), "finding " + launch.symbol) &&
         succeeded(driver->cuLaunchKernelEx(&config, function, arguments.data(), nullptr),
                   "launching " + launch.symbol) &&
         succeeded(driver->cuStreamSynchronize(stream), "running " + launch.symbol);
  done = reportFindings(launch.symbol) && done;
  for (size_t i = 0; done && i < buffers.size(); ++i)
    done = succeeded(
        driver->cuMemcpyDtoHAsync_v2(buffers[i].data(), memory[i], buffers[i].size(), stream),
        "reading a buffer");
  if (done && launch.workspaceBytes >= 0) {
    std::vector<uint8_t> counters(std::min<int64_t>(launch.workspaceBytes, engine::kCounterBytes));
    done = succeeded(
        driver->cuMemcpyDtoHAsync_v2(counters.data(), memory.back(), counters.size(), stream),
        "reading the workspace");
    EXPECT_TRUE(std::all_of(counters.begin(), counters.end(), [](uint8_t b) { return b == 0; }))
        << launch.symbol << " leaves counters of its workspace that are not zero";
  }
  for (cuda::DevicePointer pointer : memory)
    driver->cuMemFree_v2(pointer);
  return done;
}
