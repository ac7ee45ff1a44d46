// SPDX-License-Identifier: Apache-2.0
// Talks to the simulator as the runtime's device does.
#include "tests/conformance/SimulatedGpu.h"

#include "dialects/engine/KernelProvider.h"
#include "runtime/devices/cuda/TensorMaps.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;
using cuda::DriverResult;

/// Writes back every word number `stride` / 4 of a buffer.
static constexpr char kWriter[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry writer(.param .u64 p_buffer, .param .u64 p_count, .param .u64 p_stride)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<6>;
  griddepcontrol.wait;
  ld.param.u64 %rd1, [p_buffer];
  ld.param.u64 %rd2, [p_count];
  ld.param.u64 %rd3, [p_stride];
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %rd4, %r1;
$L_next:
  setp.ge.u64 %p1, %rd4, %rd2;
  @%p1 bra $L_done;
  mad.lo.u64 %rd5, %rd4, %rd3, %rd1;
  ld.global.u32 %r2, [%rd5];
  st.global.u32 [%rd5], %r2;
  add.u64 %rd4, %rd4, 32;
  bra $L_next;
$L_done:
  ret;
}
)";

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
  constexpr int32_t kFirstProgrammatic = 9;
  int32_t major = 0;
  ready = ready &&
          gpu->succeeded(driver.cuDeviceGetAttribute(
                             &major, cuda::DeviceAttribute::ComputeCapabilityMajor, gpu->device),
                         "asking for the architecture");
  if (ready && major >= kFirstProgrammatic) {
    ready = gpu->load("writer", kWriter);
    gpu->writer = gpu->kernels["writer"];
  }
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

bool SimulatedGpu::launch(cuda::Kernel kernel, const SimulatedLaunch &launch,
                          std::vector<uint64_t> values, bool programmatic) const {
  std::vector<void *> arguments;
  for (uint64_t &value : values)
    arguments.push_back(&value);
  std::vector<cuda::TensorMap> maps(launch.shape.tensorMaps.size());
  for (size_t i = 0; i < maps.size(); ++i) {
    const runtime::TensorMapRecipe &recipe = launch.shape.tensorMaps[i];
    if (!succeeded(runtime::encodeTensorMap(*driver, recipe, values[recipe.buffer], maps[i]),
                   "encoding a tensor map of " + launch.symbol))
      return false;
    arguments.push_back(&maps[i]);
  }
  cuda::LaunchAttribute early = {};
  early.id = cuda::LaunchAttributeId::ProgrammaticStreamSerialization;
  early.value.programmaticStreamSerializationAllowed = 1;
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
                               &early,
                               programmatic ? 1u : 0u};
  return succeeded(driver->cuKernelSetAttribute(cuda::FunctionAttribute::MaxDynamicSharedBytes,
                                                int32_t(shape.sharedBytes), kernel, device),
                   "giving " + launch.symbol + " its shared memory") &&
         succeeded(driver->cuKernelGetFunction(&function, kernel), "finding " + launch.symbol) &&
         succeeded(driver->cuLaunchKernelEx(&config, function, arguments.data(), nullptr),
                   "launching " + launch.symbol) &&
         succeeded(driver->cuStreamSynchronize(stream), "running " + launch.symbol);
}

bool SimulatedGpu::writeAll(const SimulatedLaunch &launch, const std::vector<KernelBuffer> &buffers,
                            const std::vector<cuda::DevicePointer> &memory) const {
  SimulatedLaunch call;
  call.symbol = "writer";
  call.shape.block[0] = 32;
  bool done = true, isFirst = true;
  for (size_t i = 0; done && i < memory.size(); ++i) {
    if (launch.weights.contains(i))
      continue;
    uint64_t bytes = i < buffers.size() ? buffers[i].size() : uint64_t(launch.workspaceBytes);
    // Of large buffers a word of each 64 bytes shows what reads them too early.
    uint64_t stride = bytes <= 4096 ? 4 : 64;
    done = this->launch(writer, call, {memory[i], bytes / stride, stride}, !isFirst);
    isFirst = false;
  }
  return done;
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
  done = done && (!writer || writeAll(launch, buffers, memory)) &&
         this->launch(kernels.at(launch.symbol), launch, std::move(values), writer);
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
