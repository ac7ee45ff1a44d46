// SPDX-License-Identifier: Apache-2.0
// Buffers get memory where the executor believes them to be, and launches are run one by one.
#include "tests/conformance/EngineRun.h"

#include "dialects/engine/KernelProvider.h"
#include "runtime/devices/cuda/CudaDevice.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"
#include "tests/conformance/EmulatedDevice.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;
using runtime::Result;
using runtime::Status;
using schema::Role;

namespace {

/// Multiprocessors of a simulated device, where a test does not say.
constexpr uint32_t kMultiprocessors = 5;

} // namespace

Result<std::unique_ptr<runtime::Device>> conformance::openSimulator(llvm::StringRef architecture,
                                                                    const SimulatedMode &mode) {
  Result<std::unique_ptr<runtime::Driver>> driver = runtime::Driver::load(INGOT_SIMULATOR);
  if (!driver.ok())
    return std::move(driver).status();
  (*driver)->ingotSimulatorReset();
  runtime::CudaOptions options;
  options.simulate = architecture.str();
  options.simulator.multiprocessors =
      mode.multiprocessors ? mode.multiprocessors : kMultiprocessors;
  options.simulator.asyncCompletion = mode.completion;
  options.simulator.warpOrderSeed = mode.warpOrderSeed;
  options.simulator.exactTensorCores = mode.exactSums;
  options.simulator.checks = cuda::SimulatorChecks::Full;
  options.simulator.workerThreads = 1; // ctest runs shards side by side
  auto device = runtime::CudaDevice::openOn(std::move(*driver), options);
  if (!device.ok())
    return std::move(device).status();
  return std::unique_ptr<runtime::Device>(std::move(*device));
}

namespace {

Result<std::unique_ptr<runtime::Device>> openDevice(engine::TargetAttr target,
                                                    const SimulatedMode &mode) {
  if (target.getBackend() == "cuda")
    return openSimulator(target.getArch(), mode);
  if (!emulating() || target.getBackend() == "reference")
    return std::unique_ptr<runtime::Device>(std::make_unique<GuardedHost>(kThreads));
  auto device = EmulatedDevice::open();
  if (!device.ok())
    return std::move(device).status();
  return std::unique_ptr<runtime::Device>(std::move(*device));
}

/// Whether kernels of the architecture may begin before the one in front of them has ended.
bool hasProgrammaticLaunches(llvm::StringRef architecture) {
  unsigned number = 0;
  return architecture.consume_front("sm_") && !architecture.consumeInteger(10, number) &&
         number >= 90;
}

/// "llm.matmul" of "matmul layers.0.mlp".
std::string operationOf(const schema::Instruction &instruction) {
  return "llm." + llvm::StringRef(instruction.name()->str()).split(' ').first.str();
}

} // namespace

std::unique_ptr<EngineRun> EngineRun::start(std::shared_ptr<const runtime::EngineFile> file,
                                            engine::TargetAttr target, const SimulatedMode &mode,
                                            Dims dims,
                                            const std::map<std::string, size_t> &memoryBytes) {
  std::unique_ptr<EngineRun> run(new EngineRun());
  run->file = std::move(file);
  Status status = run->load(target, mode, dims, memoryBytes);
  if (status.ok())
    return run;
  ADD_FAILURE() << target.getName().str() << ": " << status.toString();
  return nullptr;
}

Status EngineRun::load(engine::TargetAttr target, const SimulatedMode &mode, Dims dims,
                       const std::map<std::string, size_t> &memoryBytes) {
  auto opened = openDevice(target, mode);
  if (!opened.ok())
    return std::move(opened).status();
  auto guarded = std::make_unique<GuardedDevice>(std::move(*opened));
  device = guarded.get();
  const schema::Target &described = *file->metadata().targets()->Get(0);
  runtime::MemoryRequest request;
  request.maxTokens = dims.T;
  request.maxLogitRows = dims.L;
  request.maxSequences = dims.S;
  if (runtime::count(described.kv_groups()))
    request.maxContext = dims.B * described.kv_groups()->Get(0)->block_tokens();
  for (uint32_t i = 0; i < runtime::count(described.buffers()); ++i) {
    const schema::Buffer &buffer = *described.buffers()->Get(i);
    indices[buffer.name()->str()] = i;
    if (buffer.role() == Role::State)
      request.maxSequences =
          std::max(request.maxSequences, int64_t(memoryBytes.at(buffer.name()->str()) /
                                                 described.memory()->state_bytes_per_sequence()));
  }
  auto plan =
      runtime::planMemory(file->metadata(), described, device->dimension("threads"), request);
  if (!plan.ok())
    return std::move(plan).status();
  auto created = runtime::Executor::create(file, 0, std::move(guarded), *plan);
  if (!created.ok())
    return std::move(created).status();
  executor = std::move(*created);
  const runtime::DimSize shape[] = {{schema::dim::tokens, dims.T},
                                    {schema::dim::sequences, dims.S},
                                    {schema::dim::logitRows, dims.L},
                                    {"P", dims.P},
                                    {"Q", dims.Q}};
  if (Status status = executor->beginStep(shape); !status.ok())
    return status;
  if (Status status = place(memoryBytes); !status.ok())
    return status;
  return hasProgrammaticLaunches(target.getArch()) ? device->writeBeforeLaunches() : Status();
}

/// Repeats the order in which the executor allocates: the arena, then what lies outside it.
Status EngineRun::place(const std::map<std::string, size_t> &memoryBytes) {
  const schema::Target &target = executor->target();
  const auto *offsets = target.memory()->tiers()->Get(executor->plan().tier)->offsets();
  auto *arena = static_cast<uint8_t *>(device->allocations().front());
  uint32_t inArena = 0;
  size_t outside = 1;
  for (uint32_t i = 0; i < runtime::count(target.buffers()); ++i) {
    const schema::Buffer &buffer = *target.buffers()->Get(i);
    GuardedDevice::Buffer &placed = buffers.emplace_back();
    placed.name = buffer.name()->str();
    placed.zeroed = buffer.zeroed();
    written.push_back(buffer.role() != Role::Arena && buffer.role() != Role::Output);
    if (buffer.role() == Role::Weight)
      continue;
    bool isPart = runtime::isInArena(buffer.role());
    placed.address = isPart ? arena + offsets->Get(inArena++) : device->allocations()[outside++];
    auto known = memoryBytes.find(placed.name);
    placed.bytes = isPart || known == memoryBytes.end() ? executor->bufferBytes(i) : known->second;
  }
  return device->place(buffers);
}

void EngineRun::write(const std::string &name, const std::vector<uint8_t> &bytes) {
  const GuardedDevice::Buffer &buffer = buffers[indices.at(name)];
  ASSERT_EQ(buffer.bytes, bytes.size()) << name;
  device->write(buffer.address, bytes.data(), bytes.size());
}

std::vector<uint8_t> EngineRun::read(const std::string &name) {
  Result<std::vector<uint8_t>> bytes = device->content(indices.at(name));
  if (bytes.ok())
    return *bytes;
  ADD_FAILURE() << bytes.status().toString();
  return std::vector<uint8_t>(buffers[indices.at(name)].bytes);
}

bool EngineRun::execute(const std::string &program, const Observer &observer) {
  uint32_t index = executor->findProgram(program).value();
  const auto *instructions = executor->target().programs()->Get(index)->instructions();
  for (uint32_t i = 0; i < runtime::count(instructions); ++i) {
    Status status = runLaunch(index, i, observer);
    std::string found = device->findings();
    if (status.ok() && found.empty())
      continue;
    ADD_FAILURE() << instructions->Get(i)->name()->str() << ", kernel "
                  << device->lastLaunch().kernel << ": " << (status.ok() ? "" : status.toString())
                  << "\n"
                  << found;
    return false;
  }
  return true;
}

Status EngineRun::runLaunch(uint32_t program, uint32_t instruction, const Observer &observer) {
  const schema::Instruction &described =
      *executor->target().programs()->Get(program)->instructions()->Get(instruction);
  const schema::Launch *launch = described.operation_as_Launch();
  if (!launch)
    return Status::error("INGOT-E5012", "a case is launches alone");
  std::vector<size_t> arguments;
  size_t workspace = SIZE_MAX;
  for (uint32_t i = 0; i < runtime::count(launch->args()); ++i)
    if (launch->args()->Get(i)->kind() == schema::ArgKind::Buffer) {
      arguments.push_back(launch->args()->Get(i)->buffer());
      workspace = buffers[arguments.back()].zeroed ? arguments.back() : workspace;
    }
  Seen seen = {operationOf(described), device->lastLaunch(), {}};
  for (size_t argument : arguments) {
    if (observer && argument != workspace) {
      auto before = content(argument);
      if (!before.ok())
        return std::move(before).status();
      seen.buffers.push_back({buffers[argument].name, !written[argument], *before, {}});
    }
    written[argument] = true;
  }
  device->expect(arguments);
  executor->runPart(program, instruction, 1);
  Status status = device->check();
  if (workspace != SIZE_MAX) {
    seen.workspaceBytes = int64_t(buffers[workspace].bytes);
    status = status.ok() ? checkCounters(workspace) : std::move(status);
  }
  if (!observer || !status.ok())
    return status;
  size_t next = 0;
  for (size_t argument : arguments) {
    if (argument == workspace)
      continue;
    auto after = content(argument);
    if (!after.ok())
      return std::move(after).status();
    seen.buffers[next++].after = *after;
  }
  observer(seen);
  return {};
}

/// What a buffer holds; a weight what the file has.
Result<std::vector<uint8_t>> EngineRun::content(size_t buffer) {
  int32_t weight = executor->target().buffers()->Get(uint32_t(buffer))->weight();
  if (weight < 0)
    return device->content(buffer);
  std::span<const uint8_t> bytes = file->weight(uint32_t(weight));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

Status EngineRun::checkCounters(size_t workspace) {
  auto counters = device->content(workspace);
  if (!counters.ok())
    return std::move(counters).status();
  counters->resize(std::min<size_t>(counters->size(), engine::kCounterBytes));
  if (std::all_of(counters->begin(), counters->end(), [](uint8_t byte) { return byte == 0; }))
    return {};
  return Status::error("INGOT-E6504", "counters of the workspace are not left zero");
}
