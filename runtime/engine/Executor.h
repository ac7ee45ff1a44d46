// SPDX-License-Identifier: Apache-2.0
// A loaded engine: memory allocated once, kernels resolved, programs ready to run step after step.
#pragma once

#include "runtime/devices/Device.h"
#include "runtime/engine/EngineFile.h"
#include "runtime/engine/MemoryPlan.h"
#include "runtime/engine/WeightFill.h"

#include <map>
#include <optional>
#include <span>

namespace ingot::runtime {

/// What a dim of a step counts to (schema/Names.h).
struct DimSize {
  std::string_view dim;
  int64_t size;
};

/// Runs the programs of one target. Nothing here allocates after `create`. One thread at a time.
class Executor {
public:
  /// Allocates what `plan` says, loads the kernels and resolves every argument.
  /// INGOT-E5011, E5012: something this runtime or device does not have. INGOT-E5021: the
  /// kernels cannot be loaded. INGOT-E6010, E6014: no memory or threads.
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<const EngineFile> file,
                                                  uint32_t target, std::unique_ptr<Device> device,
                                                  const MemoryPlan &plan);

  const EngineFile &file() const { return *engineFile; }
  const schema::Target &target() const { return *chosen; }
  const MemoryPlan &plan() const { return memoryPlan; }
  Device &device() { return *executionDevice; }

  /// Index of a program; nothing when there is none of that name.
  std::optional<uint32_t> findProgram(std::string_view name) const;

  /// Sets the step's shape: sizes of buffers and everything that follows are for it. Dims that are
  /// not among `shape` keep their values, at first the largest of the plan; names that the engine
  /// does not have are passed over. INGOT-E6015 when a size is outside the plan.
  Status beginStep(std::span<const DimSize> shape);
  /// Runs a whole program at the step's shape.
  void run(uint32_t program);
  /// Runs instructions [first, first + count).
  void runPart(uint32_t program, uint32_t first, uint32_t count);

  /// The variants of an instruction that are right at the step's shape, the one that `run` takes
  /// first, each kernel once; empty for instructions that are no launch.
  std::vector<const schema::Variant *> variantsOf(uint32_t program, uint32_t instruction) const;
  /// Launches one of `variantsOf` the instruction.
  void runVariant(uint32_t program, uint32_t instruction, const schema::Variant &variant);

  /// Launches since the engine was loaded.
  int64_t launches() const { return launchCount; }

  /// Bytes of a buffer at the step's shape; for Kv and State of one block or row.
  uint64_t bufferBytes(uint32_t buffer) const;
  /// Bytes that a copy of a program moves at the step's shape.
  uint64_t bytesOf(const schema::Copy &copy) const;
  /// Writes to a buffer in the arena, from `offset` on, or reads from its front; `bytes` must not
  /// exceed its size.
  void write(uint32_t buffer, const void *source, uint64_t bytes, uint64_t offset = 0);
  /// INGOT-E6504 when the device failed since the last read.
  Status read(uint32_t buffer, void *destination, uint64_t bytes);
  /// Zeroes the front of a buffer in the arena.
  void zero(uint32_t buffer, uint64_t bytes);
  /// Fills a buffer in the arena, at the step's shape, with numbers from `low` to `high` that `key`
  /// names. For tests: takes host memory. INGOT-E5006 when its type cannot be filled.
  Status makeValues(uint32_t buffer, double low, double high, uint64_t key);
  /// Copies bytes at the front of `source`, from `sourceOffset` on, to `target` from `targetOffset`
  /// on; both buffers lie in the arena and hold them.
  void copy(uint32_t target, uint64_t targetOffset, uint32_t source, uint64_t sourceOffset,
            uint64_t bytes);
  /// As Device::startRead and finishRead, of the front of a buffer in the arena.
  void startRead(uint32_t buffer, uint64_t bytes);
  Status finishRead(void *destination) { return executionDevice->finishRead(destination); }
  /// Copies a block of every Kv buffer of a group to another of its blocks.
  void copyBlock(size_t group, int32_t from, int32_t to);
  /// Zeroes the rows of every State buffer that belong to a sequence slot.
  void clearState(int64_t slot);
  /// Writes a whole row of a State buffer.
  void writeState(uint32_t buffer, int64_t slot, const void *source);

  /// Element counts of a buffer's shape at the step's shape.
  std::vector<int64_t> shapeOf(uint32_t buffer) const;

private:
  struct VariantChoice {
    std::vector<std::pair<uint32_t, Interval>> conditions; ///< dim, range; all must hold
    const schema::Variant *variant;
    DeviceKernel kernel; ///< whose tensor maps have the rows of the last launch
  };
  struct Step {
    const schema::Instruction *instruction;
    std::vector<VariantChoice> variants; ///< launches
  };

  Executor() = default;
  Status bindDims();
  Status checkSupported() const;
  Status allocate();
  Result<void *> weightMemory(uint32_t index);
  Result<size_t> loadLibraryFor(const schema::Library &library, std::vector<int64_t> &loaded);
  KernelShape launchShapeOf(const schema::Kernel &kernel) const;
  Status loadKernels();
  Status prepare();
  Status prepareLaunch(const schema::Launch &launch, Step &step, const std::string &where);
  Status prepareCopy(const schema::Copy &copy, const std::string &where) const;
  Status checkTensorMaps(const schema::Launch &launch, const schema::Kernel &kernel,
                         const std::string &where) const;
  Status checkExtent(uint32_t buffer, const schema::Expr *offset, uint64_t bytes,
                     const std::string &where) const;
  uint64_t allocatedBytes(uint32_t buffer) const;
  bool applies(const VariantChoice &choice) const;
  std::vector<uint32_t> stepDimsOf(const schema::Program &program) const;
  void runLaunch(Step &step);
  void runLaunch(const Step &step, VariantChoice &choice);
  void runCopy(const schema::Copy &copy);

  std::shared_ptr<const EngineFile> engineFile;
  std::unique_ptr<Device> executionDevice;
  const schema::Target *chosen = nullptr;
  MemoryPlan memoryPlan;
  std::vector<Interval> ranges;           ///< of every dim within the plan
  std::vector<int64_t> dims;              ///< of the current step
  std::vector<uint8_t *> bases;           ///< of every buffer
  std::map<uint32_t, void *> madeWeights; ///< those with a fill, by index
  std::optional<WeightFiller> weightFiller;
  std::vector<DeviceKernel> kernels;
  std::vector<std::vector<Step>> programs;
  std::vector<std::vector<uint32_t>> stepDims; ///< that launches and copies of a program depend on
  std::vector<void *> bufferArgs;              ///< room for the longest argument list
  std::vector<int64_t> scalarArgs;
  int64_t launchCount = 0;
};

} // namespace ingot::runtime
