// SPDX-License-Identifier: Apache-2.0
// The simulated driver's state: one device, its memory, libraries, and what the API's handles mean.
#pragma once

#include "runtime/devices/cuda/DriverApi.h"
#include "runtime/simulator/GlobalTracker.h"
#include "runtime/simulator/Grid.h"

#include <chrono>
#include <set>

namespace ingot::simulator {

using cuda::DriverResult;

/// What an architecture has, as cuDeviceGetAttribute tells it.
struct Architecture {
  const char *name;
  uint32_t capability; // 10 * major + minor
  bool specific;       // an `a` architecture: runs its own PTX only
  uint32_t multiprocessors;
  uint32_t sharedPerBlock;
  uint32_t sharedPerMultiprocessor;
  uint32_t threadsPerMultiprocessor;
  uint32_t blocksPerMultiprocessor;
  uint32_t clockKilohertz;
  uint32_t memoryClockKilohertz;
  uint32_t memoryBusBits;
  uint32_t l2Bytes;
};

/// The architecture of that name, or null.
const Architecture *findArchitecture(std::string_view name);

struct LoadedKernel;

struct LoadedLibrary {
  std::shared_ptr<ModuleText> text;
  ModuleImage image;
  std::vector<uint64_t> allocations;
  std::map<std::string, std::unique_ptr<LoadedKernel>> kernels;
};

/// Both cuda::Kernel and cuda::Function point to one of these.
struct LoadedKernel {
  LoadedLibrary *library = nullptr;
  std::unique_ptr<Program> program;
  int32_t maxDynamicShared = 0;
  int32_t carveout = -1;
  int32_t nonPortableCluster = 0;
  uint64_t instructionsPerBlock = 0; // of the last launch; 0 before the first
};

struct SimulatedEvent {
  bool recorded = false;
  bool timed = true;
  std::chrono::steady_clock::time_point time;
};

/// A kernel launch with everything it needs copied.
struct LaunchRequest {
  LoadedKernel *kernel = nullptr;
  Dimensions grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
};

struct GraphNodeState {
  cuda::GraphNodeType type = cuda::GraphNodeType::Empty;
  LaunchRequest launch;
  cuda::Memcpy3d copy{};
  cuda::MemsetNodeParameters fill{};
  std::vector<size_t> after;      // positions of nodes it depends on
  std::vector<bool> programmatic; // per dependency
};

struct GraphState {
  std::vector<std::unique_ptr<GraphNodeState>> nodes;
};

struct GraphExecState {
  std::vector<GraphNodeState> nodes; // in the order they were added, which is topological
};

class Driver {
public:
  static Driver &get();

  std::mutex mutex; // held by every call that touches the device
  bool initialised = false;
  uint32_t contexts = 0;
  const Architecture *architecture = findArchitecture("sm_80");
  uint32_t multiprocessors = 0;
  uint64_t capacity = uint64_t(80) << 30;
  Modes modes;
  DeviceMemory memory;
  FindingLog log;
  cuda::SimulatorCounters counters{};
  std::set<LoadedLibrary *> libraries;
  std::set<void *> handles; // streams, events, graphs and their nodes
  std::map<void *, std::vector<uint8_t>> hostMemory;
  PredecessorAccesses predecessor;
  DriverResult sticky = DriverResult::Success; // a launch failure, until the context is released

  /// Records why a call fails, for ingotSimulatorLastError, and returns `result`.
  DriverResult fail(DriverResult result, const std::string &why);
  /// Checks a launch and copies its arguments.
  DriverResult prepare(LoadedKernel *kernel, void **arguments, LaunchRequest &request);
  /// Checks the cluster of a launch, which may be the kernel's own.
  DriverResult checkCluster(LaunchRequest &request);
  /// Runs a launch now. `programmatic`: the predecessor may still be running.
  DriverResult run(const LaunchRequest &request, bool programmatic);
  /// Keeps what a launch touched for the programmatic launches behind it.
  void remember(const std::string &name, const GlobalTracker &tracker, bool programmatic);
  DriverResult copy(const cuda::Memcpy3d &copy);
  DriverResult fill(const cuda::MemsetNodeParameters &fill);
  /// Whether all bytes lie in one allocation; fails with a reason otherwise.
  DriverResult checkRange(uint64_t address, uint64_t bytes, const char *what);
  /// Blocks of the kernel that one multiprocessor holds.
  uint32_t occupancy(const LoadedKernel &kernel, uint32_t threads, uint64_t dynamicShared) const;
  uint32_t multiprocessorCount() const {
    return multiprocessors ? multiprocessors : architecture->multiprocessors;
  }
  const std::string &lastError() const;
};

} // namespace ingot::simulator
