// SPDX-License-Identifier: Apache-2.0
// One context, one stream; programs that repeat become graphs.
#include "runtime/devices/cuda/CudaDevice.h"

#include "runtime/devices/cuda/Cubin.h"
#include "runtime/devices/cuda/SimulatorCpu.h"
#include "runtime/devices/cuda/TensorMaps.h"

#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <filesystem>
#include <thread>

namespace ingot::runtime {

using cuda::DeviceAttribute;
using cuda::DevicePointer;
using cuda::DriverResult;

namespace {

constexpr const char *kSimulatorLibrary = "libingot-cuda-sim.so";
/// From this architecture on a kernel may start before the one before it has ended, and waits for
/// it by itself (docs/cuda-kernels.md).
constexpr int32_t kFirstProgrammatic = 9;

/// Far more than a launch of any step takes.
constexpr std::chrono::seconds kLongestLaunch(5);

bool isCluster(const KernelShape &shape) {
  return shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1;
}

DevicePointer addressOf(const void *memory) { return reinterpret_cast<DevicePointer>(memory); }

/// The simulator beside this program or in the library folder of its installation; else its name
/// alone, for the loader to find.
std::string findSimulator() {
  std::error_code error;
  std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char *way : {".", "../lib"})
    if (std::filesystem::path file = folder / way / kSimulatorLibrary; exists(file, error))
      return file.lexically_normal().string();
  return kSimulatorLibrary;
}

/// "sm_90a" for 9.0: from 9 on engines use the features of exactly that architecture.
std::string architectureOf(int32_t major, int32_t minor) {
  constexpr int32_t firstSpecific = 9;
  return "sm_" + std::to_string(major) + std::to_string(minor) +
         (major >= firstSpecific ? "a" : "");
}

} // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaOptions &options) {
  if (!options.simulate.empty())
    if (Status status = checkSimulatorCpu(simulatorFeatures()); !status.ok())
      return status;
  Result<std::unique_ptr<Driver>> loaded =
      Driver::load(options.simulate.empty() ? Driver::systemLibrary : findSimulator());
  if (!loaded.ok())
    return std::move(loaded).status();
  return openOn(std::move(*loaded), options);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::openOn(std::unique_ptr<Driver> loaded,
                                                       const CudaOptions &options) {
  std::unique_ptr<CudaDevice> opened(new CudaDevice());
  opened->driver = std::move(loaded);
  opened->diagnosis = options.diagnosis;
  const Driver &driver = *opened->driver;
  if (Status status = opened->configureSimulator(options); !status.ok())
    return status;
  if (Status status = opened->takeContext(options.ordinal); !status.ok())
    return status;
  if (Status status = opened->readFacts(); !status.ok())
    return status;
  Result<std::unique_ptr<PinnedRing>> ring = PinnedRing::create(driver, opened->stream);
  if (!ring.ok())
    return std::move(ring).status();
  opened->ring = std::move(*ring);
  Result<std::unique_ptr<PinnedReads>> reads = PinnedReads::create(driver, opened->stream);
  if (!reads.ok())
    return std::move(reads).status();
  opened->reads = std::move(*reads);
  return opened;
}

CudaDevice::~CudaDevice() {
  if (!driver || !context)
    return;
  if (stuck) { // the driver would wait for what never ends; the process must
    (void)ring.release();
    (void)reads.release();
    return;
  }
  driver->cuCtxSetCurrent(context);
  // What follows only answers with the error again where the context is at its end.
  if (stream && !lost)
    driver->cuStreamSynchronize(stream);
  for (auto [key, recording] : recordings)
    driver->cuGraphExecDestroy(recording);
  if (graph)
    driver->cuGraphDestroy(graph);
  for (cuda::Event event : {timerStart, timerEnd, each})
    if (event)
      driver->cuEventDestroy_v2(event);
  ring.reset();
  reads.reset();
  for (cuda::Library library : libraries)
    driver->cuLibraryUnload(library);
  for (DevicePointer memory : allocations)
    driver->cuMemFree_v2(memory);
  if (stream)
    driver->cuStreamDestroy_v2(stream);
  driver->cuDevicePrimaryCtxRelease_v2(device);
}

Status CudaDevice::configureSimulator(const CudaOptions &options) {
  if (!driver->isSimulator())
    return {};
  cuda::SimulatorOptions simulator = options.simulator;
  simulator.structBytes = sizeof simulator;
  simulator.architecture = options.simulate.c_str();
  return driver->check(driver->ingotSimulatorConfigure(&simulator), "INGOT-E6502",
                       "simulating '" + options.simulate + "'");
}

Status CudaDevice::takeContext(int32_t ordinal) {
  const char *what = "finding the CUDA device";
  DriverResult result = driver->cuDeviceGet(&device, ordinal);
  if (result == DriverResult::Success) {
    what = "taking its context";
    result = driver->cuDevicePrimaryCtxRetain(&context, device);
  }
  if (result == DriverResult::Success) {
    what = "entering its context";
    result = driver->cuCtxSetCurrent(context);
  }
  if (result == DriverResult::Success) {
    what = "making a stream";
    result = driver->cuStreamCreate(&stream, cuda::StreamFlags::NonBlocking);
  }
  return driver->check(result, "INGOT-E6502", what);
}

Status CudaDevice::readFacts() {
  char text[256] = {};
  if (Status status = driver->check(driver->cuDeviceGetName(text, sizeof text, device),
                                    "INGOT-E6502", "naming the CUDA device");
      !status.ok())
    return status;
  arch = architectureOf(attribute(DeviceAttribute::ComputeCapabilityMajor),
                        attribute(DeviceAttribute::ComputeCapabilityMinor));
  sms = attribute(DeviceAttribute::MultiprocessorCount);
  if (sms <= 0 || attribute(DeviceAttribute::ComputeCapabilityMajor) <= 0)
    return Status::error("INGOT-E6502",
                         "the CUDA driver does not say how many multiprocessors of which "
                         "architecture '" +
                             std::string(text) + "' has",
                         "check the device with the driver's own tools");
  programmatic = attribute(DeviceAttribute::ComputeCapabilityMajor) >= kFirstProgrammatic &&
                 !diagnosis.noDependentLaunch;
  name = std::string(text) + ", " + arch + ", " + std::to_string(sms) + " multiprocessors";
  return driver->check(driver->cuDriverGetVersion(&version), "INGOT-E6502",
                       "asking for the driver's version");
}

int32_t CudaDevice::attribute(DeviceAttribute attribute) const {
  int32_t value = 0;
  driver->cuDeviceGetAttribute(&value, attribute, device);
  return value;
}

bool CudaDevice::enter() {
  if (failure.ok())
    note(driver->cuCtxSetCurrent(context), "entering the device's context");
  return failure.ok();
}

Status CudaDevice::checked(DriverResult result, const char *code, const std::string &what) {
  if (!endsContext(result))
    return driver->check(result, code, what);
  note(result, what);
  return failure;
}

void CudaDevice::note(DriverResult result, const std::string &what) {
  if (result == DriverResult::Success || !failure.ok())
    return;
  lost = endsContext(result);
  // An earlier launch's failure arrives with any later call.
  std::string fix = diagnosis.syncEach
                        ? "report it with the output of selftest --simulate for this target"
                        : "run it with --sync-each, which names the launch that fails";
  failure = lost ? driver->check(result, "INGOT-E6506", what,
                                 "this process cannot use the GPU any more: end it and " + fix)
                 : driver->check(result, "INGOT-E6504", what, fix);
}

void CudaDevice::fail(Status status) {
  if (failure.ok())
    failure = std::move(status);
}

/// Waits for what was put on the stream, so long as anything may take; NotReady beyond that.
DriverResult CudaDevice::waitForEach() {
  auto deadline = std::chrono::steady_clock::now() + kLongestLaunch;
  DriverResult result =
      each ? DriverResult::Success : driver->cuEventCreate(&each, cuda::EventFlags::DisableTiming);
  if (result == DriverResult::Success)
    result = driver->cuEventRecord(each, stream);
  while (result == DriverResult::Success) {
    result = driver->cuEventQuery(each);
    if (result != DriverResult::NotReady || std::chrono::steady_clock::now() > deadline)
      return result;
    std::this_thread::yield();
    result = DriverResult::Success;
  }
  return result;
}

template <class Text> void CudaDevice::settle(DriverResult result, const Text &what) {
  if (result == DriverResult::Success && diagnosis.syncEach)
    result = waitForEach();
  if (result == DriverResult::Success)
    return;
  std::string text;
  if constexpr (std::is_invocable_v<Text>)
    text = what();
  else
    text = what;
  if (result != DriverResult::NotReady)
    return note(result, text);
  stuck = lost = true;
  fail(Status::error("INGOT-E6506",
                     text + ": it has not ended within " + std::to_string(kLongestLaunch.count()) +
                         " s",
                     "end this process and report it with the output of selftest --simulate for "
                     "this target"));
}

int64_t CudaDevice::dimension(std::string_view dim) const {
  return dim == schema::dim::multiprocessors || dim == schema::dim::threads ? sms : -1;
}

uint64_t CudaDevice::availableMemory(uint64_t, double fraction) const {
  constexpr double usual = 0.9; // leaves a tenth to the driver's modules and graphs
  size_t free = 0, total = 0;
  if (lost || driver->cuCtxSetCurrent(context) != DriverResult::Success ||
      driver->cuMemGetInfo_v2(&free, &total) != DriverResult::Success)
    return UINT64_MAX;
  return uint64_t(double(free) * (fraction > 0 ? fraction : usual));
}

std::string CudaDevice::findings() const {
  size_t bytes = 0;
  if (!driver->isSimulator() ||
      driver->ingotSimulatorFindings(nullptr, 0, &bytes) != DriverResult::Success || bytes <= 1)
    return {};
  std::string text(bytes, '\0');
  if (driver->ingotSimulatorFindings(text.data(), text.size(), &bytes) != DriverResult::Success)
    return {};
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

Status CudaDevice::start(int64_t, uint64_t scratchBytes) {
  if (scratchBytes == 0)
    return {};
  return Status::error("INGOT-E5012",
                       "a kernel wants scratch memory, which CUDA kernels take from "
                       "the launch's workspace",
                       "rebuild the engine");
}

Result<void *> CudaDevice::allocate(uint64_t bytes) {
  if (!enter())
    return failure;
  uint64_t whole = 0;
  DevicePointer memory = 0;
  if (__builtin_add_overflow(bytes, uint64_t{INGOT_BUFFER_ALIGNMENT}, &whole))
    return Status::error("INGOT-E6010", "a buffer is too large to address");
  Status status = checked(driver->cuMemAlloc_v2(&memory, whole), "INGOT-E6010",
                          "allocating " + std::to_string(bytes) + " bytes on the device");
  if (!status.ok())
    return status;
  allocations.push_back(memory);
  status = checked(driver->cuMemsetD8Async(memory, 0, whole, stream), "INGOT-E6504",
                   "clearing device memory");
  if (!status.ok())
    return status;
  return reinterpret_cast<void *>(memory);
}

Result<void *> CudaDevice::adopt(std::span<const uint8_t> bytes) {
  auto known = adopted.find(bytes.data());
  if (known != adopted.end() && known->second.second >= bytes.size())
    return known->second.first;
  Result<void *> memory = allocate(bytes.size());
  if (!memory.ok())
    return memory;
  Status status = checked(ring->toDevice(addressOf(*memory), bytes.data(), bytes.size()),
                          "INGOT-E6504", "copying weights to the device");
  if (!status.ok())
    return status;
  adopted[bytes.data()] = {*memory, bytes.size()};
  return memory;
}

Result<size_t> CudaDevice::loadLibrary(std::span<const uint8_t> code, const std::string &name) {
  if (!enter())
    return failure;
  if (!driver->isSimulator())
    if (Status status = verifyCubin(code, arch, name); !status.ok())
      return status;
  // PTX must end in a zero; a copy also gives cubins the alignment that they need.
  std::vector<uint64_t> copy(code.size() / sizeof(uint64_t) + 1);
  std::copy(code.begin(), code.end(), reinterpret_cast<uint8_t *>(copy.data()));
  cuda::Library library = nullptr;
  Status status = checked(
      driver->cuLibraryLoadData(&library, copy.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "INGOT-E5021", "loading kernel library '" + name + "'");
  if (!status.ok())
    return status;
  libraries.push_back(library);
  return libraries.size() - 1;
}

Result<DeviceKernel> CudaDevice::kernel(size_t library, const std::string &symbol,
                                        const KernelShape &shape) {
  if (!enter())
    return failure;
  for (size_t i = 0; i < shape.tensorMaps.size(); ++i)
    if (std::string fault = tensorMapFault(shape.tensorMaps[i]); !fault.empty())
      return Status::error("INGOT-E5012",
                           "tensor map " + std::to_string(i) + " of buffer " +
                               std::to_string(shape.tensorMaps[i].buffer) + " has " + fault,
                           "rebuild the engine");
  const char *code = "INGOT-E5021";
  cuda::Kernel kernel = nullptr;
  cuda::Function function = nullptr;
  Status status = checked(driver->cuLibraryGetKernel(&kernel, libraries[library], symbol.c_str()),
                          code, "finding it");
  if (status.ok())
    status = prepareKernel(kernel, shape);
  if (status.ok())
    status = checked(driver->cuKernelGetFunction(&function, kernel), code, "loading it");
  // The driver may put loading off to the first launch, and wait there for all that runs.
  if (status.ok())
    status = checked(driver->cuFuncLoad(function), code, "loading it");
  if (!status.ok())
    return status;
  return DeviceKernel{function, shape, symbol};
}

/// Decision 0073 says why.
Status CudaDevice::prepareKernel(cuda::Kernel kernel, const KernelShape &shape) {
  const char *code = "INGOT-E5021";
  if (shape.sharedBytes > INT_MAX)
    return Status::error(code,
                         "it wants " + std::to_string(shape.sharedBytes) +
                             " bytes of shared memory, which no device has",
                         "rebuild the engine");
  if (shape.sharedBytes > 0)
    if (Status status = checked(
            driver->cuKernelSetAttribute(cuda::FunctionAttribute::MaxDynamicSharedBytes,
                                         int32_t(shape.sharedBytes), kernel, device),
            code, "giving it " + std::to_string(shape.sharedBytes) + " bytes of shared memory");
        !status.ok())
      return status;
  return checked(
      driver->cuKernelSetAttribute(cuda::FunctionAttribute::PreferredSharedMemoryCarveout,
                                   int32_t(cuda::SharedMemoryCarveout::MostShared), kernel, device),
      code, "asking for the most shared memory");
}

/// Everything that the driver was told of a launch, for messages.
static std::string describe(const DeviceLaunch &launch, const char *doing) {
  const KernelShape &shape = launch.kernel->shape;
  auto extents = [](const auto &of) {
    return std::to_string(of[0]) + "x" + std::to_string(of[1]) + "x" + std::to_string(of[2]);
  };
  std::string text = std::string(doing) + " kernel '" + launch.kernel->name + "'";
  if (!launch.operation.empty())
    text += " of op '" + std::string(launch.operation) + "'";
  text += ", grid " + extents(launch.grid) + ", block " + extents(shape.block);
  if (isCluster(shape))
    text += ", cluster " + extents(shape.cluster);
  return text + ", " + std::to_string(shape.sharedBytes) + " bytes of dynamic shared memory";
}

void CudaDevice::launch(const DeviceLaunch &launch) {
  if (!enter())
    return;
  uint32_t grid[3];
  for (int axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] <= 0)
      return;
    constexpr int64_t limits[] = {INT_MAX, USHRT_MAX, USHRT_MAX};
    if (launch.grid[axis] > limits[axis])
      return fail(Status::error("INGOT-E6504",
                                describe(launch, "launching") + ": the device's largest grid is " +
                                    std::to_string(limits[0]) + "x" + std::to_string(limits[1]) +
                                    "x" + std::to_string(limits[2]),
                                "rebuild the engine"));
    grid[axis] = uint32_t(launch.grid[axis]);
  }
  if (!bindArguments(launch))
    return;
  if (graph)
    recordLaunch(launch, grid);
  else
    launchAlone(launch, grid);
}

bool CudaDevice::bindArguments(const DeviceLaunch &launch) {
  values.clear();
  for (void *buffer : launch.buffers)
    values.push_back(addressOf(buffer));
  for (int64_t scalar : launch.scalars)
    values.push_back(uint64_t(scalar));
  arguments.clear();
  for (uint64_t &value : values)
    arguments.push_back(&value);
  for (size_t i = 0; i < launch.kernel->shape.tensorMaps.size(); ++i) {
    const cuda::TensorMap *map = tensorMap(i, launch);
    if (!map)
      return false;
    arguments.push_back(const_cast<cuda::TensorMap *>(map));
  }
  return true;
}

const cuda::TensorMap *CudaDevice::tensorMap(size_t index, const DeviceLaunch &launch) {
  const TensorMapRecipe &recipe = launch.kernel->shape.tensorMaps[index];
  DevicePointer address = values[recipe.buffer];
  auto known = maps.find({address, index, recipe.rowBytes, recipe.boxRows, recipe.boxBytes,
                          recipe.element, recipe.swizzle});
  if (known != maps.end() && known->second.first == recipe.rows)
    return &known->second.second;
  std::string what = "making the tensor map of buffer " + std::to_string(recipe.buffer) + ", for " +
                     describe(launch, "launching");
  if (address % kTensorMapAlignment) {
    fail(Status::error("INGOT-E6504",
                       what + ": the buffer's address " + std::to_string(address) +
                           " is no multiple of " + std::to_string(kTensorMapAlignment),
                       "rebuild the engine"));
    return nullptr;
  }
  cuda::TensorMap map = {};
  DriverResult result = encodeTensorMap(*driver, recipe, address, map);
  note(result, what);
  if (result != DriverResult::Success)
    return nullptr;
  auto &held = maps[{address, index, recipe.rowBytes, recipe.boxRows, recipe.boxBytes,
                     recipe.element, recipe.swizzle}];
  held = {recipe.rows, map};
  return &held.second;
}

static cuda::LaunchAttributeValue clusterOf(const KernelShape &shape) {
  cuda::LaunchAttributeValue value = {};
  value.clusterDimension = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
  return value;
}

void CudaDevice::launchAlone(const DeviceLaunch &launch, const uint32_t (&grid)[3]) {
  const KernelShape &shape = launch.kernel->shape;
  cuda::LaunchAttribute attributes[2] = {};
  cuda::LaunchConfig config = {grid[0],
                               grid[1],
                               grid[2],
                               shape.block[0],
                               shape.block[1],
                               shape.block[2],
                               uint32_t(shape.sharedBytes),
                               stream,
                               attributes,
                               0};
  if (programmatic) {
    cuda::LaunchAttribute &early = attributes[config.attributeCount++];
    early.id = cuda::LaunchAttributeId::ProgrammaticStreamSerialization;
    early.value.programmaticStreamSerializationAllowed = 1;
  }
  if (isCluster(shape)) {
    cuda::LaunchAttribute &cluster = attributes[config.attributeCount++];
    cluster.id = cuda::LaunchAttributeId::ClusterDimension;
    cluster.value = clusterOf(shape);
  }
  auto *function = static_cast<cuda::Function>(launch.kernel->entry);
  settle(driver->cuLaunchKernelEx(&config, function, arguments.data(), nullptr),
         [&] { return describe(launch, "launching"); });
}

void CudaDevice::recordLaunch(const DeviceLaunch &launch, const uint32_t (&grid)[3]) {
  const KernelShape &shape = launch.kernel->shape;
  cuda::GraphNodeParameters parameters = {};
  parameters.type = cuda::GraphNodeType::Kernel;
  parameters.kernel = {static_cast<cuda::Function>(launch.kernel->entry),
                       grid[0],
                       grid[1],
                       grid[2],
                       shape.block[0],
                       shape.block[1],
                       shape.block[2],
                       uint32_t(shape.sharedBytes),
                       arguments.data(),
                       nullptr,
                       nullptr,
                       nullptr};
  DriverResult result = addNode(parameters);
  if (result == DriverResult::Success && isCluster(shape)) {
    cuda::LaunchAttributeValue cluster = clusterOf(shape);
    result = driver->cuGraphKernelNodeSetAttribute(
        lastNode, cuda::LaunchAttributeId::ClusterDimension, &cluster);
  }
  if (result != DriverResult::Success)
    note(result, describe(launch, "recording"));
}

void CudaDevice::copy(void *destination, const void *source, uint64_t bytes) {
  if (bytes == 0 || !enter())
    return;
  if (!graph)
    return settle(
        driver->cuMemcpyDtoDAsync_v2(addressOf(destination), addressOf(source), bytes, stream),
        "copying on the device");
  cuda::GraphNodeParameters parameters = {};
  parameters.type = cuda::GraphNodeType::Memcpy;
  parameters.memcpy.context = context;
  cuda::Memcpy3d &box = parameters.memcpy.copy;
  box.sourceType = box.targetType = cuda::MemoryType::Device;
  box.sourceDevice = addressOf(source);
  box.targetDevice = addressOf(destination);
  box.widthBytes = bytes;
  box.height = box.depth = 1;
  note(addNode(parameters), "recording a copy");
}

void CudaDevice::zero(void *destination, uint64_t bytes) {
  if (bytes && enter())
    settle(driver->cuMemsetD8Async(addressOf(destination), 0, bytes, stream),
           "clearing device memory");
}

void CudaDevice::write(void *destination, const void *hostSource, uint64_t bytes) {
  if (enter())
    settle(ring->toDevice(addressOf(destination), hostSource, bytes), "writing to the device");
}

Status CudaDevice::read(void *hostDestination, const void *source, uint64_t bytes) {
  if (enter())
    note(ring->fromDevice(hostDestination, addressOf(source), bytes), "reading from the device");
  return failure;
}

void CudaDevice::startRead(const void *source, uint64_t bytes) {
  if (enter())
    note(reads->start(addressOf(source), bytes), "starting a read from the device");
}

Status CudaDevice::finishRead(void *hostDestination) {
  if (enter())
    note(reads->finish(hostDestination), "reading from the device");
  return failure;
}

//===- Recordings ---------------------------------------------------------------------------===//

bool CudaDevice::replay(uint64_t key) {
  auto known = recordings.find(key);
  if (known == recordings.end())
    return false;
  if (enter())
    note(driver->cuGraphLaunch(known->second, stream), "launching a graph");
  return true;
}

void CudaDevice::beginRecording(uint64_t key) {
  if (diagnosis.noGraphs || diagnosis.syncEach || !enter())
    return;
  recordingKey = key;
  lastNode = nullptr;
  lastIsKernel = false;
  note(driver->cuGraphCreate(&graph, 0), "making a graph");
}

DriverResult CudaDevice::addNode(cuda::GraphNodeParameters &parameters) {
  cuda::GraphNode node = nullptr;
  bool isKernel = parameters.type == cuda::GraphNodeType::Kernel;
  cuda::GraphEdge edge = {};
  if (programmatic && isKernel && lastIsKernel) {
    edge.fromPort = cuda::GraphPort::Programmatic;
    edge.type = cuda::GraphDependencyType::Programmatic;
  }
  DriverResult result =
      driver->cuGraphAddNode_v2(&node, graph, &lastNode, &edge, lastNode ? 1 : 0, &parameters);
  lastNode = node;
  lastIsKernel = isKernel;
  return result;
}

void CudaDevice::endRecording() {
  if (!graph)
    return;
  cuda::GraphExec executable = nullptr;
  if (failure.ok())
    note(driver->cuGraphInstantiateWithFlags(&executable, graph, 0),
         "instantiating a graph, which --no-graphs does without");
  driver->cuGraphDestroy(graph);
  graph = nullptr;
  if (!executable)
    return;
  recordings[recordingKey] = executable;
  note(driver->cuGraphLaunch(executable, stream), "launching a graph");
}

void CudaDevice::forget(uint64_t key) {
  auto known = recordings.find(key);
  if (known == recordings.end())
    return;
  if (enter())
    note(driver->cuStreamSynchronize(stream), "waiting for a graph");
  driver->cuGraphExecDestroy(known->second);
  recordings.erase(known);
}

//===- Timing -------------------------------------------------------------------------------===//

Status CudaDevice::startTimer() {
  for (cuda::Event *event : {&timerStart, &timerEnd})
    if (!*event && enter())
      note(driver->cuEventCreate(event, cuda::EventFlags::Default), "making an event");
  if (enter())
    note(driver->cuEventRecord(timerStart, stream), "recording an event");
  return failure;
}

Result<double> CudaDevice::stopTimer() {
  float milliseconds = 0;
  if (enter())
    note(driver->cuEventRecord(timerEnd, stream), "recording an event");
  if (failure.ok())
    note(driver->cuEventSynchronize(timerEnd), "waiting for an event");
  if (failure.ok())
    note(driver->cuEventElapsedTime_v2(&milliseconds, timerStart, timerEnd), "reading a timer");
  if (!failure.ok())
    return failure;
  constexpr double perSecond = 1000;
  return double(milliseconds) / perSecond;
}

uint64_t CudaDevice::cacheBytes() const {
  return uint64_t(std::max(attribute(DeviceAttribute::L2CacheBytes), 0));
}

} // namespace ingot::runtime
