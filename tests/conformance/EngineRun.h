// SPDX-License-Identifier: Apache-2.0
// One step of an engine's program by the runtime's executor, launch by launch, on a guarded device.
#pragma once

#include "dialects/engine/EngineDialect.h"
#include "runtime/devices/cuda/DriverApi.h"
#include "runtime/engine/Executor.h"
#include "tests/conformance/GuardedDevice.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace ingot::conformance {

/// Threads of the host.
inline constexpr int kThreads = 2;

/// The step's dims: tokens, sequences, logit rows, blocks in a row of the block table; and rows of
/// programs that are none of these.
struct Dims {
  int64_t T = 1, S = 1, L = 1, B = 1, P = 1, Q = 1;
};

/// How a simulated GPU behaves where hardware is free to choose.
struct SimulatedMode {
  cuda::AsyncCompletion completion = cuda::AsyncCompletion::Late;
  uint64_t warpOrderSeed = 0;
  uint32_t multiprocessors = 0; ///< 0: few, so that loops run
  bool exactSums = false;       ///< tensor cores sum as the hardware does, not in f32 steps
};

/// A GPU of the simulator with all of its checks.
runtime::Result<std::unique_ptr<runtime::Device>> openSimulator(llvm::StringRef architecture,
                                                                const SimulatedMode &mode);

class EngineRun {
public:
  /// Loads the engine for one step. `memoryBytes`: of KV caches and states, by their names; of
  /// others a block. Reports a GoogleTest failure and returns null where that does not work.
  static std::unique_ptr<EngineRun> start(std::shared_ptr<const runtime::EngineFile> file,
                                          engine::TargetAttr target, const SimulatedMode &mode,
                                          Dims dims,
                                          const std::map<std::string, size_t> &memoryBytes);

  /// Whether the engine has a buffer of this name.
  bool has(const std::string &name) const { return indices.count(name) != 0; }
  void write(const std::string &name, const std::vector<uint8_t> &bytes);
  std::vector<uint8_t> read(const std::string &name);

  /// A launch that was run, and what its buffers held; the workspace is none of these.
  struct Seen {
    struct Buffer {
      std::string name;
      bool isResult = false; ///< of the program or of this launch: held nothing before
      std::vector<uint8_t> before, after;
    };
    std::string operation; ///< "llm.matmul"
    const GuardedDevice::Launch &call;
    std::vector<Buffer> buffers;
    int64_t workspaceBytes = -1; ///< -1: the kernel takes none
  };
  using Observer = std::function<void(const Seen &)>;

  /// Runs a program; false after a failure, which GoogleTest reports: of the runtime, canaries
  /// that are gone, findings of a simulator, counters of a workspace that are not left zero.
  bool execute(const std::string &program, const Observer &observer);

private:
  EngineRun() = default;
  runtime::Status load(engine::TargetAttr target, const SimulatedMode &mode, Dims dims,
                       const std::map<std::string, size_t> &memoryBytes);
  runtime::Status place(const std::map<std::string, size_t> &memoryBytes);
  runtime::Status runLaunch(uint32_t program, uint32_t instruction, const Observer &observer);
  runtime::Result<std::vector<uint8_t>> content(size_t buffer);
  runtime::Status checkCounters(size_t workspace);

  std::shared_ptr<const runtime::EngineFile> file;
  std::unique_ptr<runtime::Executor> executor;
  GuardedDevice *device = nullptr; ///< the executor's
  std::vector<GuardedDevice::Buffer> buffers;
  std::map<std::string, size_t> indices;
  std::vector<bool> written; ///< buffers, so far
};

} // namespace ingot::conformance
