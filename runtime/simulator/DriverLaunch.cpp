// SPDX-License-Identifier: Apache-2.0
// The exported driver: libraries, kernels, launches, graphs.
#include "runtime/simulator/Exports.h"

#include <algorithm>
#include <cstring>

using namespace ingot::simulator;

namespace {

LoadedKernel *kernelOf(void *handle) { return static_cast<LoadedKernel *>(handle); }
LoadedKernel *kernelOf(Function function) { return reinterpret_cast<LoadedKernel *>(function); }

/// "sm_90a" of the module must suit the device.
bool suits(const std::string &target, const Architecture &device) {
  if (target == device.name)
    return true;
  if (target.rfind("sm_", 0) != 0 || target.back() < '0' || target.back() > '9')
    return false;
  return strtoul(target.c_str() + 3, nullptr, 10) <= device.capability;
}

void writeLog(JitOption *options, void **values, uint32_t count, const std::string &text) {
  char *buffer = nullptr;
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (options[i] == JitOption::ErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == JitOption::ErrorLogBufferBytes)
      bytes = size_t(reinterpret_cast<uintptr_t>(values[i]));
  }
  if (!buffer || bytes == 0)
    return;
  std::strncpy(buffer, text.c_str(), bytes - 1);
  buffer[bytes - 1] = '\0';
}

/// Allocates and fills the variables of a module.
bool placeVariables(Driver &driver, LoadedLibrary &library) {
  for (const Variable &variable : library.text->variables) {
    uint64_t address = 0;
    if (variable.space == Space::Global || variable.space == Space::Const) {
      address = driver.memory.allocate(std::max<uint64_t>(variable.bytes, 1), driver.capacity);
      if (address == 0)
        return false;
      library.allocations.push_back(address);
      std::memset(reinterpret_cast<void *>(address), 0, variable.bytes);
      std::copy(variable.content.begin(), variable.content.end(),
                reinterpret_cast<uint8_t *>(address));
    }
    library.image.addresses.push_back(address);
  }
  return true;
}

DriverResult loadLibrary(Driver &driver, LoadedLibrary &library, std::string_view text) {
  library.text = std::make_shared<ModuleText>(parsePtx(text));
  if (!suits(library.text->target, *driver.architecture))
    return driver.fail(DriverResult::NoBinaryForGpu, "PTX for " + library.text->target +
                                                         " does not run on the simulated " +
                                                         driver.architecture->name);
  library.image.text = library.text;
  if (!placeVariables(driver, library))
    return driver.fail(DriverResult::OutOfMemory, "no memory for the variables of the module");
  for (const KernelText &text : library.text->kernels) {
    auto kernel = std::make_unique<LoadedKernel>();
    kernel->library = &library;
    kernel->program = decodeKernel(library.image, text);
    library.kernels[text.name] = std::move(kernel);
  }
  return DriverResult::Success;
}

void unload(Driver &driver, LoadedLibrary *library) {
  for (uint64_t address : library->allocations)
    driver.memory.release(address);
  delete library;
}

DriverResult attributeOf(Driver &driver, int32_t *value, FunctionAttribute attribute,
                         const LoadedKernel &kernel) {
  const Program &program = *kernel.program;
  switch (attribute) {
  case FunctionAttribute::MaxThreadsPerBlock:
    *value = program.maxThreads[0]
                 ? int32_t(program.maxThreads[0] * program.maxThreads[1] * program.maxThreads[2])
                 : 1024;
    return DriverResult::Success;
  case FunctionAttribute::StaticSharedBytes:
    *value = int32_t(program.staticSharedBytes);
    return DriverResult::Success;
  case FunctionAttribute::ConstBytes:
    *value = 0;
    return DriverResult::Success;
  case FunctionAttribute::LocalBytes:
    *value = int32_t(program.localBytes);
    return DriverResult::Success;
  case FunctionAttribute::Registers:
    *value = int32_t(program.declaredRegisters);
    return DriverResult::Success;
  case FunctionAttribute::PtxVersion:
  case FunctionAttribute::BinaryVersion:
    *value = int32_t(driver.architecture->capability);
    return DriverResult::Success;
  case FunctionAttribute::MaxDynamicSharedBytes:
    *value = kernel.maxDynamicShared;
    return DriverResult::Success;
  case FunctionAttribute::PreferredSharedMemoryCarveout:
    *value = kernel.carveout;
    return DriverResult::Success;
  case FunctionAttribute::NonPortableClusterSizeAllowed:
    *value = kernel.nonPortableCluster;
    return DriverResult::Success;
  }
  return driver.fail(DriverResult::InvalidValue, "an unknown attribute of functions");
}

DriverResult setAttribute(Driver &driver, FunctionAttribute attribute, int32_t value,
                          LoadedKernel &kernel) {
  switch (attribute) {
  case FunctionAttribute::MaxDynamicSharedBytes:
    if (value < 0 ||
        uint64_t(value) + kernel.program->staticSharedBytes > driver.architecture->sharedPerBlock)
      return driver.fail(DriverResult::InvalidValue,
                         "kernel " + kernel.program->name + ": " + std::to_string(value) +
                             " bytes of dynamic shared memory and " +
                             std::to_string(kernel.program->staticSharedBytes) +
                             " static are more than the " +
                             std::to_string(driver.architecture->sharedPerBlock) + " of " +
                             driver.architecture->name);
    kernel.maxDynamicShared = value;
    return DriverResult::Success;
  case FunctionAttribute::PreferredSharedMemoryCarveout:
    kernel.carveout = value;
    return DriverResult::Success;
  case FunctionAttribute::NonPortableClusterSizeAllowed:
    kernel.nonPortableCluster = value;
    return DriverResult::Success;
  default:
    return driver.fail(DriverResult::InvalidValue, "this attribute of functions cannot be set");
  }
}

/// The position of a node in its graph, or -1.
int64_t positionOf(const GraphState &graph, GraphNode node) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (reinterpret_cast<GraphNode>(graph.nodes[i].get()) == node)
      return int64_t(i);
  return -1;
}

/// What the driver's documentation asks of a copy in a graph.
DriverResult checkCopy(Driver &driver, const MemcpyNodeParameters &node) {
  constexpr size_t mostPitch = 0x7fffffff;
  const Memcpy3d &copy = node.copy;
  auto refuse = [&](const char *why) {
    return driver.fail(DriverResult::InvalidValue, std::string("a memcpy node: ") + why);
  };
  if (!node.context || node.flags || node.reserved)
    return refuse("it needs a context and no flags");
  if (copy.widthBytes == 0 || copy.height == 0 || copy.depth == 0)
    return refuse("it copies nothing");
  const std::pair<size_t, size_t> rows[] = {
      {copy.sourcePitch, copy.widthBytes + copy.sourceXBytes},
      {copy.targetPitch, copy.widthBytes + copy.targetXBytes}};
  for (auto [pitch, bytes] : rows)
    if (pitch ? pitch < bytes || pitch > mostPitch : copy.height * copy.depth > 1)
      return refuse("a pitch is less than its row, more than 2^31 - 1, or missing");
  return DriverResult::Success;
}

DriverResult fillNode(Driver &driver, GraphNodeState &node, GraphNodeParameters &parameters) {
  node.type = parameters.type;
  switch (parameters.type) {
  case GraphNodeType::Kernel: {
    const KernelNodeParameters &k = parameters.kernel;
    LoadedKernel *kernel =
        k.function ? kernelOf(k.function) : kernelOf(static_cast<void *>(k.kernel));
    if (!kernel || k.extra)
      return driver.fail(DriverResult::InvalidValue, "a kernel node needs a kernel and no extra");
    node.launch.grid = {k.gridDimX, k.gridDimY, k.gridDimZ};
    node.launch.block = {k.blockDimX, k.blockDimY, k.blockDimZ};
    node.launch.dynamicSharedBytes = k.dynamicSharedBytes;
    return driver.prepare(kernel, k.arguments, node.launch);
  }
  case GraphNodeType::Memcpy:
    node.copy = parameters.memcpy.copy;
    return checkCopy(driver, parameters.memcpy);
  case GraphNodeType::Memset:
    node.fill = parameters.memset;
    return DriverResult::Success;
  case GraphNodeType::Empty:
    return DriverResult::Success;
  }
  return driver.fail(DriverResult::NotSupported, "the simulator does not know this kind of node");
}

} // namespace

DriverResult cuLibraryLoadData(Library *library, const void *code, JitOption *jitOptions,
                               void **jitValues, uint32_t jitCount, uint32_t *, void **, uint32_t) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  const char *text = static_cast<const char *>(code);
  if (!text || text[0] == '\x7f')
    return driver.fail(DriverResult::InvalidImage, "the simulator takes PTX text; this is " +
                                                       std::string(text ? "a binary" : "null"));
  auto loaded = std::make_unique<LoadedLibrary>();
  DriverResult result;
  try {
    result = loadLibrary(driver, *loaded, text);
  } catch (const PtxError &error) {
    result = driver.fail(DriverResult::InvalidPtx, error.what());
  } catch (const std::bad_alloc &) {
    result = driver.fail(DriverResult::OutOfMemory, "no host memory to decode the module");
  }
  if (result != DriverResult::Success) {
    writeLog(jitOptions, jitValues, jitCount, driver.lastError());
    unload(driver, loaded.release());
    return result;
  }
  driver.libraries.insert(loaded.get());
  *library = reinterpret_cast<Library>(loaded.release());
  return DriverResult::Success;
}

DriverResult cuLibraryUnload(Library library) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  auto *loaded = reinterpret_cast<LoadedLibrary *>(library);
  if (!driver.libraries.erase(loaded))
    return driver.fail(DriverResult::InvalidHandle, "not a library");
  unload(driver, loaded);
  return DriverResult::Success;
}

DriverResult cuLibraryGetKernel(Kernel *kernel, Library library, const char *name) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  auto *loaded = reinterpret_cast<LoadedLibrary *>(library);
  if (!driver.libraries.count(loaded))
    return driver.fail(DriverResult::InvalidHandle, "not a library");
  auto found = loaded->kernels.find(name);
  if (found == loaded->kernels.end())
    return driver.fail(DriverResult::NotFound, std::string("the library has no kernel ") + name);
  *kernel = reinterpret_cast<Kernel>(found->second.get());
  return DriverResult::Success;
}

DriverResult cuKernelGetFunction(Function *function, Kernel kernel) {
  *function = reinterpret_cast<Function>(kernel);
  return DriverResult::Success;
}

DriverResult cuKernelSetAttribute(FunctionAttribute attribute, int32_t value, Kernel kernel,
                                  DeviceOrdinal) {
  return cuFuncSetAttribute(reinterpret_cast<Function>(kernel), attribute, value);
}

DriverResult cuKernelGetAttribute(int32_t *value, FunctionAttribute attribute, Kernel kernel,
                                  DeviceOrdinal) {
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<Function>(kernel));
}

DriverResult cuFuncLoad(Function function) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  return function ? DriverResult::Success
                  : driver.fail(DriverResult::InvalidHandle, "not a function");
}

DriverResult cuFuncSetAttribute(Function function, FunctionAttribute attribute, int32_t value) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!function)
    return driver.fail(DriverResult::InvalidHandle, "not a function");
  return setAttribute(driver, attribute, value, *kernelOf(function));
}

DriverResult cuFuncGetAttribute(int32_t *value, FunctionAttribute attribute, Function function) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!function)
    return driver.fail(DriverResult::InvalidHandle, "not a function");
  return attributeOf(driver, value, attribute, *kernelOf(function));
}

DriverResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int32_t *blocks, Function function,
                                                         int32_t blockThreads,
                                                         size_t dynamicSharedBytes) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!function || blockThreads <= 0 || blockThreads > 1024)
    return driver.fail(DriverResult::InvalidValue, "no such block");
  *blocks =
      int32_t(driver.occupancy(*kernelOf(function), uint32_t(blockThreads), dynamicSharedBytes));
  return DriverResult::Success;
}

DriverResult cuLaunchKernelEx(const LaunchConfig *config, Function function, void **arguments,
                              void **extra) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!config || !function || extra)
    return driver.fail(DriverResult::InvalidValue, "a launch needs a function and no extra");
  LaunchRequest request;
  request.grid = {config->gridDimX, config->gridDimY, config->gridDimZ};
  request.block = {config->blockDimX, config->blockDimY, config->blockDimZ};
  request.dynamicSharedBytes = config->dynamicSharedBytes;
  bool programmatic = false;
  for (uint32_t i = 0; i < config->attributeCount; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == LaunchAttributeId::ClusterDimension)
      request.cluster = {attribute.value.clusterDimension.x, attribute.value.clusterDimension.y,
                         attribute.value.clusterDimension.z};
    else if (attribute.id == LaunchAttributeId::ProgrammaticStreamSerialization)
      programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
    else if (attribute.id != LaunchAttributeId::Ignore &&
             attribute.id != LaunchAttributeId::Priority)
      return driver.fail(DriverResult::NotSupported,
                         "the simulator does not know launch attribute " +
                             std::to_string(uint32_t(attribute.id)));
  }
  DriverResult result = driver.prepare(kernelOf(function), arguments, request);
  return result == DriverResult::Success ? driver.run(request, programmatic) : result;
}

DriverResult cuGraphCreate(Graph *graph, uint32_t) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  auto *state = new GraphState;
  driver.handles.insert(state);
  *graph = reinterpret_cast<Graph>(state);
  return DriverResult::Success;
}

DriverResult cuGraphDestroy(Graph graph) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.erase(graph))
    return driver.fail(DriverResult::InvalidHandle, "not a graph");
  auto *state = reinterpret_cast<GraphState *>(graph);
  for (const auto &node : state->nodes)
    driver.handles.erase(node.get());
  delete state;
  return DriverResult::Success;
}

DriverResult cuGraphAddNode_v2(GraphNode *node, Graph graph, const GraphNode *dependencies,
                               const GraphEdge *edges, size_t dependencyCount,
                               GraphNodeParameters *parameters) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.count(graph) || !parameters)
    return driver.fail(DriverResult::InvalidHandle, "not a graph");
  auto *state = reinterpret_cast<GraphState *>(graph);
  auto fresh = std::make_unique<GraphNodeState>();
  for (size_t i = 0; i < dependencyCount; ++i) {
    int64_t position = positionOf(*state, dependencies[i]);
    if (position < 0)
      return driver.fail(DriverResult::InvalidValue, "a dependency is not a node of the graph");
    bool programmatic = edges && edges[i].type == GraphDependencyType::Programmatic;
    bool port = edges && edges[i].fromPort != GraphPort::Default;
    bool kernels = parameters->type == GraphNodeType::Kernel &&
                   state->nodes[size_t(position)]->type == GraphNodeType::Kernel;
    if (programmatic != port || (programmatic && !kernels) || (edges && edges[i].toPort))
      return driver.fail(DriverResult::InvalidValue,
                         "a programmatic edge joins two kernels, with port and type set");
    fresh->after.push_back(size_t(position));
    fresh->programmatic.push_back(programmatic);
  }
  DriverResult result = fillNode(driver, *fresh, *parameters);
  if (result != DriverResult::Success)
    return result;
  *node = reinterpret_cast<GraphNode>(fresh.get());
  driver.handles.insert(fresh.get());
  state->nodes.push_back(std::move(fresh));
  return DriverResult::Success;
}

DriverResult cuGraphKernelNodeSetAttribute(GraphNode node, LaunchAttributeId attribute,
                                           const LaunchAttributeValue *value) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  auto *state = reinterpret_cast<GraphNodeState *>(node);
  if (!driver.handles.count(node) || state->type != GraphNodeType::Kernel)
    return driver.fail(DriverResult::InvalidHandle, "not a kernel node");
  if (attribute != LaunchAttributeId::ClusterDimension || !value)
    return driver.fail(DriverResult::NotSupported, "the simulator does not know attribute " +
                                                       std::to_string(uint32_t(attribute)) +
                                                       " of kernel nodes");
  Dimensions before = state->launch.cluster;
  state->launch.cluster = {value->clusterDimension.x, value->clusterDimension.y,
                           value->clusterDimension.z};
  DriverResult result = driver.checkCluster(state->launch);
  if (result != DriverResult::Success)
    state->launch.cluster = before;
  return result;
}

DriverResult cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph, uint64_t) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.count(graph))
    return driver.fail(DriverResult::InvalidHandle, "not a graph");
  auto *state = new GraphExecState;
  for (const auto &node : reinterpret_cast<GraphState *>(graph)->nodes)
    state->nodes.push_back(*node);
  driver.handles.insert(state);
  *executable = reinterpret_cast<GraphExec>(state);
  return DriverResult::Success;
}

DriverResult cuGraphExecDestroy(GraphExec executable) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.erase(executable))
    return driver.fail(DriverResult::InvalidHandle, "not an executable graph");
  delete reinterpret_cast<GraphExecState *>(executable);
  return DriverResult::Success;
}

DriverResult cuGraphLaunch(GraphExec executable, Stream) {
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.mutex);
  if (!driver.handles.count(executable))
    return driver.fail(DriverResult::InvalidHandle, "not an executable graph");
  for (const GraphNodeState &node : reinterpret_cast<GraphExecState *>(executable)->nodes) {
    bool programmatic = false;
    for (bool edge : node.programmatic)
      programmatic |= edge;
    DriverResult result = DriverResult::Success;
    if (node.type == GraphNodeType::Kernel)
      result = driver.run(node.launch, programmatic);
    else if (node.type == GraphNodeType::Memcpy)
      result = driver.copy(node.copy);
    else if (node.type == GraphNodeType::Memset)
      result = driver.fill(node.fill);
    if (result != DriverResult::Success)
      return result;
  }
  return DriverResult::Success;
}
