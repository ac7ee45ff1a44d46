// SPDX-License-Identifier: Apache-2.0
// Launches, copies and fills: what the driver's calls and graph nodes have in common. Work runs
// when it is asked for, on the calling thread, which is one legal order of every stream.
#include "runtime/simulator/Driver.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace ingot::simulator {

namespace {

thread_local std::string lastErrorText;

constexpr uint32_t defaultDynamicShared = 48 * 1024;

std::string dimensions(const Dimensions &d) {
  return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
}

} // namespace

Driver &Driver::get() {
  static Driver *driver = new Driver; // never destroyed: handles may outlive everything
  return *driver;
}

const std::string &Driver::lastError() const { return lastErrorText; }

DriverResult Driver::fail(DriverResult result, const std::string &why) {
  lastErrorText = why;
  return result;
}

DriverResult Driver::checkRange(uint64_t address, uint64_t bytes, const char *what) {
  if (memory.contains(address, bytes))
    return DriverResult::Success;
  return fail(DriverResult::InvalidValue, std::string(what) + ": " + std::to_string(bytes) +
                                              " bytes do not lie within one allocation; " +
                                              memory.map().describe(address));
}

uint32_t Driver::occupancy(const LoadedKernel &kernel, uint32_t threads,
                           uint64_t dynamicShared) const {
  uint32_t warps = std::max<uint32_t>(1, (threads + warpSize - 1) / warpSize);
  uint32_t blocks = std::min(architecture->threadsPerMultiprocessor / (warps * warpSize),
                             architecture->blocksPerMultiprocessor);
  uint64_t shared = kernel.program->staticSharedBytes + dynamicShared + 1024;
  blocks = uint32_t(std::min<uint64_t>(blocks, architecture->sharedPerMultiprocessor / shared));
  if (kernel.program->declaredRegisters)
    blocks = std::min(blocks, 65536 / (kernel.program->declaredRegisters * warps * warpSize));
  return blocks;
}

DriverResult Driver::prepare(LoadedKernel *kernel, void **arguments, LaunchRequest &request) {
  const Program &program = *kernel->program;
  request.kernel = kernel;
  auto refuse = [&](DriverResult result, const std::string &why) {
    return fail(result, "launch of " + program.name + ": " + why);
  };
  const Dimensions &grid = request.grid, &block = request.block;
  if (grid.count() == 0 || grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
    return refuse(DriverResult::InvalidValue, "a grid of " + dimensions(grid) + " blocks");
  if (block.count() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.count() > 1024)
    return refuse(DriverResult::InvalidValue, "a block of " + dimensions(block) + " threads");
  const uint32_t *most = program.maxThreads, *exact = program.requiredThreads;
  if (exact[0] && (block.x != exact[0] || block.y != exact[1] || block.z != exact[2]))
    return refuse(DriverResult::InvalidValue, "a block of " + dimensions(block) +
                                                  " threads, .reqntid says " +
                                                  dimensions({exact[0], exact[1], exact[2]}));
  if (most[0] && block.count() > uint64_t(most[0]) * most[1] * most[2])
    return refuse(DriverResult::InvalidValue, "a block of " + dimensions(block) +
                                                  " threads, .maxntid says " +
                                                  dimensions({most[0], most[1], most[2]}));
  if (DriverResult result = checkCluster(request); result != DriverResult::Success)
    return result;
  uint64_t allowed = std::max<uint64_t>(uint64_t(kernel->maxDynamicShared),
                                        defaultDynamicShared > program.staticSharedBytes
                                            ? defaultDynamicShared - program.staticSharedBytes
                                            : 0);
  if (request.dynamicSharedBytes > allowed ||
      request.dynamicSharedBytes + program.staticSharedBytes > architecture->sharedPerBlock)
    return refuse(DriverResult::InvalidValue,
                  std::to_string(request.dynamicSharedBytes) +
                      " bytes of dynamic shared memory, the kernel's attribute allows " +
                      std::to_string(allowed));
  if (!program.parameters.empty() && !arguments)
    return refuse(DriverResult::InvalidValue, "no arguments are given");
  request.parameters.assign(program.parameterBytes, 0);
  for (size_t i = 0; i < program.parameters.size(); ++i) {
    const Variable &parameter = program.parameters[i];
    if (!arguments[i])
      return refuse(DriverResult::InvalidValue, "argument " + std::to_string(i) + " is null");
    std::memcpy(&request.parameters[parameter.offset], arguments[i], parameter.bytes);
  }
  return DriverResult::Success;
}

DriverResult Driver::checkCluster(LaunchRequest &request) {
  const Program &program = *request.kernel->program;
  if (program.clusterSize[0] && request.cluster.count() == 1)
    request.cluster = {program.clusterSize[0], program.clusterSize[1], program.clusterSize[2]};
  const Dimensions &cluster = request.cluster, &grid = request.grid;
  if (cluster.count() == 0 || cluster.count() > (request.kernel->nonPortableCluster ? 16 : 8) ||
      grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return fail(DriverResult::InvalidClusterSize, "launch of " + program.name + ": clusters of " +
                                                      dimensions(cluster) +
                                                      " blocks in a grid of " + dimensions(grid));
  return DriverResult::Success;
}

DriverResult Driver::run(const LaunchRequest &request, bool programmatic) {
  if (sticky != DriverResult::Success)
    return fail(sticky, "an earlier launch failed; see ingotSimulatorFindings");
  const Program &program = *request.kernel->program;
  MemoryMap map = memory.map();
  GlobalTracker tracker(programmatic ? &predecessor : nullptr);
  Launch launch;
  launch.program = &program;
  launch.grid = request.grid;
  launch.block = request.block;
  launch.cluster = request.cluster;
  launch.dynamicSharedBytes = request.dynamicSharedBytes;
  launch.parameters = request.parameters;
  launch.modes = modes;
  if (launch.modes.workerThreads == 0)
    launch.modes.workerThreads = std::max(1u, std::thread::hardware_concurrency());
  launch.memory = &map;
  launch.log = &log;
  launch.tracker = &tracker;
  launch.architecture = architecture->capability;
  launch.multiprocessors = multiprocessorCount();
  launch.programmaticEdge = programmatic;
  uint32_t perMultiprocessor =
      occupancy(*request.kernel, uint32_t(request.block.count()), request.dynamicSharedBytes);
  uint64_t blocks = request.grid.count();
  uint64_t &perBlock = request.kernel->instructionsPerBlock;
  uint64_t warps = (request.block.count() + warpSize - 1) / warpSize;
  uint64_t expected = (perBlock ? perBlock : program.ops.size() * warps) * blocks;
  runLaunch(launch, uint64_t(std::max(1u, perMultiprocessor)) * multiprocessorCount(), expected);
  perBlock = launch.instructions / blocks;
  counters.launches += 1;
  counters.blocks += request.grid.count();
  counters.warpInstructions += launch.instructions;
  counters.tensorInstructions += launch.tensorInstructions;
  counters.sharedAccesses += launch.sharedAccesses;
  counters.bankConflicts += launch.conflicts;
  if (modes.fullChecks)
    remember(program.name, tracker, programmatic);
  if (programmatic && modes.fullChecks && !launch.waitExecuted && !launch.failed)
    log.add(FindingKind::ProgrammaticLaunch, program.name,
            "kernel " + program.name +
                " was launched over a programmatic edge and ended without griddepcontrol.wait: "
                "its end does not mean that its predecessors have ended");
  if (!launch.failed)
    return DriverResult::Success;
  sticky = DriverResult(launch.failure.load());
  return fail(sticky, "kernel " + program.name + " failed: " + log.text());
}

void Driver::remember(const std::string &name, const GlobalTracker &tracker, bool programmatic) {
  // Over a programmatic edge the predecessors of the predecessor may still run, too.
  if (!programmatic)
    predecessor = PredecessorAccesses();
  predecessor.kernels += (predecessor.kernels.empty() ? "" : " or ") + name;
  tracker.addTo(predecessor);
}

DriverResult Driver::fill(const cuda::MemsetNodeParameters &fill) {
  if ((fill.elementBytes != 1 && fill.elementBytes != 2 && fill.elementBytes != 4) ||
      fill.target % fill.elementBytes)
    return fail(DriverResult::InvalidValue,
                "a memset of elements of " + std::to_string(fill.elementBytes) + " bytes");
  for (size_t row = 0; row < fill.height; ++row) {
    uint64_t target = fill.target + row * fill.pitch;
    uint64_t bytes = fill.width * fill.elementBytes;
    if (DriverResult result = checkRange(target, bytes, "memset"); result != DriverResult::Success)
      return result;
    for (size_t i = 0; i < bytes && fill.elementBytes > 1; ++i)
      reinterpret_cast<uint8_t *>(target)[i] = uint8_t(fill.value >> 8 * (i % fill.elementBytes));
    if (fill.elementBytes == 1)
      std::memset(reinterpret_cast<void *>(target), int(fill.value & 255), bytes);
  }
  return DriverResult::Success;
}

DriverResult Driver::copy(const cuda::Memcpy3d &copy) {
  using cuda::MemoryType;
  if (copy.depth > 1 && (copy.sourceHeight == 0 || copy.targetHeight == 0))
    return fail(DriverResult::InvalidValue, "a copy of several planes needs their heights");
  for (size_t z = 0; z < copy.depth; ++z)
    for (size_t y = 0; y < copy.height; ++y) {
      uint64_t source = copy.sourceType == MemoryType::Host
                            ? reinterpret_cast<uint64_t>(copy.sourceHost)
                            : copy.sourceDevice;
      uint64_t target = copy.targetType == MemoryType::Host
                            ? reinterpret_cast<uint64_t>(copy.targetHost)
                            : copy.targetDevice;
      source += copy.sourceXBytes +
                ((copy.sourceZ + z) * copy.sourceHeight + copy.sourceY + y) * copy.sourcePitch;
      target += copy.targetXBytes +
                ((copy.targetZ + z) * copy.targetHeight + copy.targetY + y) * copy.targetPitch;
      DriverResult result = DriverResult::Success;
      if (copy.sourceType == MemoryType::Device)
        result = checkRange(source, copy.widthBytes, "source of a copy");
      if (result == DriverResult::Success && copy.targetType == MemoryType::Device)
        result = checkRange(target, copy.widthBytes, "target of a copy");
      if (result != DriverResult::Success)
        return result;
      std::memmove(reinterpret_cast<void *>(target), reinterpret_cast<const void *>(source),
                   copy.widthBytes);
    }
  return DriverResult::Success;
}

} // namespace ingot::simulator
