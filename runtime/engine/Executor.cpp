// SPDX-License-Identifier: Apache-2.0
// Loading (allocate, resolve, check against the plan) and running (evaluate, launch).
#include "runtime/engine/Executor.h"

#include "runtime/devices/host/CpuCount.h"
#include "runtime/engine/Coverage.h"
#include "runtime/engine/DeviceKernels.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <bit>

namespace ingot::runtime {

using schema::Role;

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<const EngineFile> file,
                                                   uint32_t target, std::unique_ptr<Device> device,
                                                   const MemoryPlan &plan) {
  std::unique_ptr<Executor> executor(new Executor());
  executor->engineFile = std::move(file);
  executor->executionDevice = std::move(device);
  executor->chosen = executor->engineFile->metadata().targets()->Get(target);
  executor->memoryPlan = plan;
  for (auto stage :
       {&Executor::bindDims, &Executor::allocate, &Executor::loadKernels, &Executor::prepare}) {
    if (Status status = (executor.get()->*stage)(); !status.ok())
      return std::move(status).in("target '" + executor->chosen->name()->str() + "'");
  }
  return executor;
}

static bool usesDim(const schema::Expr *expr, uint32_t dim) {
  for (uint32_t i = 0; expr && i < count(expr->nodes()); ++i)
    if (const schema::ExprNode &node = *expr->nodes()->Get(i);
        node.op() == schema::ExprOp::Dim && node.value() == int64_t(dim))
      return true;
  return false;
}

/// Whether a grid, or what a tensor map reads, depends on the dim.
static bool usesDim(const schema::Variant &variant, const schema::Kernel &kernel, uint32_t dim) {
  for (uint32_t i = 0; i < count(variant.grid()); ++i)
    if (usesDim(variant.grid()->Get(i), dim))
      return true;
  for (uint32_t i = 0; i < count(kernel.tensor_maps()); ++i)
    if (usesDim(kernel.tensor_maps()->Get(i)->step_rows(), dim))
      return true;
  return false;
}

/// Whether an argument, a grid or a tensor map of a launch, or what a copy moves, depends on the
/// dim.
static bool usesDim(const schema::Target &target, const schema::Program &program, uint32_t dim) {
  for (uint32_t j = 0; j < count(program.instructions()); ++j) {
    const schema::Instruction &instruction = *program.instructions()->Get(j);
    if (const schema::Copy *copy = instruction.operation_as_Copy())
      for (const schema::Expr *moved :
           {copy->source_offset(), copy->destination_offset(), copy->bytes()})
        if (usesDim(moved, dim))
          return true;
    const schema::Launch *launch = instruction.operation_as_Launch();
    for (uint32_t k = 0; launch && k < count(launch->args()); ++k)
      if (usesDim(launch->args()->Get(k)->value(), dim))
        return true;
    for (uint32_t k = 0; launch && k < count(launch->variants()); ++k)
      if (const schema::Variant &variant = *launch->variants()->Get(k);
          usesDim(variant, *target.kernels()->Get(variant.kernel()), dim))
        return true;
  }
  return false;
}

/// Likewise of the target; or whether a size does.
static bool usesDim(const schema::Target &target, uint32_t dim) {
  for (uint32_t i = 0; i < count(target.buffers()); ++i)
    if (usesDim(target.buffers()->Get(i)->bytes(), dim))
      return true;
  for (uint32_t i = 0; i < count(target.programs()); ++i)
    if (usesDim(target, *target.programs()->Get(i), dim))
      return true;
  return false;
}

Status Executor::bindDims() {
  const schema::Engine &engine = engineFile->metadata();
  ranges = plannedRanges(engine, *chosen, memoryPlan);
  for (uint32_t i = 0; i < count(engine.dims()); ++i) {
    const schema::Dim &dim = *engine.dims()->Get(i);
    std::string name = dim.name()->str();
    // Other targets of the engine may count things that this device has not.
    if (dim.source() != schema::DimSource::Device || name == schema::dim::threads ||
        !usesDim(*chosen, i))
      continue;
    int64_t value = executionDevice->dimension(name);
    if (value < dim.min() || value > dim.max())
      return Status::error(
          "INGOT-E5011",
          "this device has no dim '" + name + "' in the range " + std::to_string(dim.min()) +
              " to " + std::to_string(dim.max()),
          "use another target or the runtime of the release that built the engine");
    ranges[i] = {value, value};
  }
  for (const Interval &range : ranges)
    dims.push_back(range.max);
  return checkSupported();
}

Status Executor::checkSupported() const {
  auto unsupported = [](const std::string &what) {
    return Status::error("INGOT-E5012", what + " cannot run on this device in this release",
                         "build the engine without it");
  };
  if (chosen->ranks() != 1)
    return unsupported("a target of several ranks");
  for (uint32_t i = 0; i < count(chosen->buffers()); ++i)
    if (chosen->buffers()->Get(i)->role() == Role::Slot)
      return unsupported("buffer '" + chosen->buffers()->Get(i)->name()->str() +
                         "' of replaceable weights");
  for (uint32_t i = 0; i < count(chosen->programs()); ++i) {
    const auto *instructions = chosen->programs()->Get(i)->instructions();
    for (uint32_t j = 0; j < count(instructions); ++j) {
      std::string name = "op '" + instructions->Get(j)->name()->str() + "'";
      if (instructions->Get(j)->operation_type() == schema::Operation::Collective)
        return unsupported(name + ", a collective,");
      if (const schema::HostCall *call = instructions->Get(j)->operation_as_HostCall())
        return unsupported(name + ", the host function '" + call->function()->str() + "',");
    }
  }
  return {};
}

Status Executor::allocate() {
  if (Status status =
          executionDevice->start(memoryPlan.threads, chosen->memory()->scratch_bytes_per_thread());
      !status.ok())
    return status;
  weightFiller.emplace(*executionDevice, usableCpus());
  Result<void *> arena = executionDevice->allocate(memoryPlan.arenaBytes);
  if (!arena.ok())
    return std::move(arena).status();
  uint32_t arenaIndex = 0;
  for (uint32_t i = 0; i < count(chosen->buffers()); ++i) {
    const schema::Buffer &buffer = *chosen->buffers()->Get(i);
    if (isInArena(buffer.role())) {
      uint64_t offset =
          chosen->memory()->tiers()->Get(memoryPlan.tier)->offsets()->Get(arenaIndex++);
      bases.push_back(static_cast<uint8_t *>(*arena) + offset);
      continue;
    }
    Result<void *> memory = buffer.role() == Role::Weight
                                ? weightMemory(uint32_t(buffer.weight()))
                                : executionDevice->allocate(allocatedBytes(i));
    if (!memory.ok())
      return std::move(memory).status().in("buffer '" + buffer.name()->str() + "'");
    bases.push_back(static_cast<uint8_t *>(*memory));
  }
  return {};
}

/// Where a weight lies on the device: the file's bytes, or memory filled once.
Result<void *> Executor::weightMemory(uint32_t index) {
  const schema::Weight &weight = *engineFile->metadata().weights()->Get(index);
  if (!weight.fill())
    return executionDevice->adopt(engineFile->weight(index));
  void *&memory = madeWeights[index];
  if (memory)
    return memory;
  Result<void *> allocated = executionDevice->allocate(weight.bytes());
  if (!allocated.ok())
    return allocated;
  memory = *allocated;
  weightFiller->fill(memory, weight);
  return memory;
}

/// Bytes that may be touched through a buffer, over all blocks or rows.
uint64_t Executor::allocatedBytes(uint32_t index) const {
  const schema::Buffer &buffer = *chosen->buffers()->Get(index);
  uint64_t bytes = uint64_t(boundExpression(*buffer.bytes(), ranges)->min);
  if (buffer.role() == Role::Kv)
    return bytes * uint64_t(memoryPlan.groups[size_t(buffer.group())].blocks);
  if (buffer.role() == Role::State)
    return bytes * uint64_t(memoryPlan.maxSequences);
  return bytes;
}

/// Loads the code of `library` in a form that the device takes: its own, or for "x.cubin" that of
/// "x.ptx". `loaded`: index of every library on the device, or -1.
Result<size_t> Executor::loadLibraryFor(const schema::Library &library,
                                        std::vector<int64_t> &loaded) {
  constexpr std::string_view cubin = ".cubin";
  std::string_view name = library.name()->string_view();
  std::string other(name.ends_with(cubin) ? name.substr(0, name.size() - cubin.size()) : name);
  other += ".ptx";
  for (uint32_t i = 0; i < count(chosen->libraries()); ++i) {
    const schema::Library &candidate = *chosen->libraries()->Get(i);
    if ((&candidate != &library && candidate.name()->string_view() != other) ||
        !executionDevice->loads(CodeKind(candidate.kind())))
      continue;
    if (loaded[i] < 0) {
      Result<size_t> index = executionDevice->loadLibrary(engineFile->section(candidate.section()),
                                                          candidate.name()->str());
      if (!index.ok())
        return index;
      loaded[i] = int64_t(*index);
    }
    return size_t(loaded[i]);
  }
  return Status::error("INGOT-E5012",
                       "library '" + library.name()->str() + "' is not code for this device",
                       library.kind() == schema::LibraryKind::Cubin
                           ? "a simulator needs PTX: build the engine without --no-ptx"
                           : "rebuild the engine");
}

/// The shape of a kernel whose maps read as many rows as they ever do.
KernelShape Executor::launchShapeOf(const schema::Kernel &kernel) const {
  KernelShape shape;
  shape.spmd = kernel.spmd();
  shape.sharedBytes = kernel.shared_bytes();
  for (uint32_t axis = 0; axis < 3; ++axis) {
    if (axis < count(kernel.block()))
      shape.block[axis] = kernel.block()->Get(axis);
    if (axis < count(kernel.cluster()))
      shape.cluster[axis] = kernel.cluster()->Get(axis);
  }
  for (uint32_t i = 0; i < count(kernel.tensor_maps()); ++i) {
    const schema::TensorMap &map = *kernel.tensor_maps()->Get(i);
    uint64_t rows =
        map.step_rows() ? uint64_t(boundExpression(*map.step_rows(), ranges)->max) : map.rows();
    shape.tensorMaps.push_back({map.buffer(), rows, map.row_bytes(), map.box_rows(),
                                map.box_bytes(), ElementType(map.element()), map.swizzle()});
  }
  return shape;
}

Status Executor::loadKernels() {
  std::vector<int64_t> loaded(count(chosen->libraries()), -1);
  for (uint32_t i = 0; i < count(chosen->kernels()); ++i) {
    const schema::Kernel &kernel = *chosen->kernels()->Get(i);
    Result<size_t> library = loadLibraryFor(*chosen->libraries()->Get(kernel.library()), loaded);
    if (!library.ok())
      return std::move(library).status();
    Result<DeviceKernel> found =
        executionDevice->kernel(*library, kernel.symbol()->str(), launchShapeOf(kernel));
    if (!found.ok())
      return std::move(found).status().in("kernel '" + kernel.name()->str() + "'");
    found->name = kernel.name()->str();
    kernels.push_back(std::move(*found));
  }
  return {};
}

Status Executor::prepare() {
  for (uint32_t i = 0; i < count(chosen->programs()); ++i) {
    const schema::Program &program = *chosen->programs()->Get(i);
    std::vector<Step> &steps = programs.emplace_back();
    for (uint32_t j = 0; j < count(program.instructions()); ++j) {
      Step step = {program.instructions()->Get(j), {}};
      std::string where = "op '" + step.instruction->name()->str() + "'";
      const schema::Launch *launch = step.instruction->operation_as_Launch();
      Status status = launch ? prepareLaunch(*launch, step, where)
                             : prepareCopy(*step.instruction->operation_as_Copy(), where);
      if (!status.ok())
        return status;
      steps.push_back(std::move(step));
    }
    stepDims.push_back(stepDimsOf(program));
  }
  return {};
}

/// Dims of a step on which sizes, grids or the choice of kernels of `program`, the last of
/// `programs`, depend.
std::vector<uint32_t> Executor::stepDimsOf(const schema::Program &program) const {
  std::vector<uint32_t> found;
  for (uint32_t dim = 0; dim < dims.size(); ++dim) {
    if (engineFile->metadata().dims()->Get(dim)->source() != schema::DimSource::Step)
      continue;
    bool chooses =
        std::any_of(programs.back().begin(), programs.back().end(), [&](const Step &step) {
          return std::any_of(step.variants.begin(), step.variants.end(), [&](const auto &choice) {
            return std::any_of(choice.conditions.begin(), choice.conditions.end(),
                               [&](const auto &held) { return held.first == dim; });
          });
        });
    if (chooses || usesDim(*chosen, program, dim))
      found.push_back(dim);
  }
  return found;
}

Status Executor::prepareLaunch(const schema::Launch &launch, Step &step, const std::string &where) {
  std::vector<Interval> declared = declaredRanges(engineFile->metadata());
  for (uint32_t i = 0; i < count(launch.variants()); ++i) {
    const schema::Variant &variant = *launch.variants()->Get(i);
    std::optional<ShapeBox> box = variantBox(variant, *chosen, declared);
    if (!box)
      continue;
    VariantChoice choice = {{}, &variant, kernels[variant.kernel()]};
    if (Status status = checkTensorMaps(launch, *chosen->kernels()->Get(variant.kernel()), where);
        !status.ok())
      return status;
    for (uint32_t dim = 0; dim < declared.size(); ++dim)
      if (!(*box)[dim].contains(ranges[dim]))
        choice.conditions.push_back({dim, (*box)[dim]});
    step.variants.push_back(std::move(choice));
  }
  size_t buffers = 0, scalars = 0;
  for (uint32_t i = 0; i < count(launch.args()); ++i) {
    const schema::Arg &arg = *launch.args()->Get(i);
    (arg.kind() == schema::ArgKind::Buffer ? buffers : scalars) += 1;
    if (arg.kind() == schema::ArgKind::Buffer)
      if (Status status = checkExtent(arg.buffer(), arg.value(), 0, where); !status.ok())
        return status;
  }
  bufferArgs.resize(std::max(bufferArgs.size(), buffers));
  scalarArgs.resize(std::max(scalarArgs.size(), scalars));
  return {};
}

/// Tensor maps whose rows follow the step read within their buffers at the plan's largest one.
Status Executor::checkTensorMaps(const schema::Launch &launch, const schema::Kernel &kernel,
                                 const std::string &where) const {
  for (uint32_t i = 0; i < count(kernel.tensor_maps()); ++i) {
    const schema::TensorMap &map = *kernel.tensor_maps()->Get(i);
    const schema::Arg *read = bufferArgument(launch, map.buffer());
    if (!map.step_rows())
      continue;
    uint64_t bytes = uint64_t(boundExpression(*map.step_rows(), ranges)->max) * map.row_bytes();
    if (Status status = checkExtent(read->buffer(), read->value(), bytes, where); !status.ok())
      return status;
  }
  return {};
}

Status Executor::prepareCopy(const schema::Copy &copy, const std::string &where) const {
  uint64_t bytes = uint64_t(boundExpression(*copy.bytes(), ranges)->max);
  if (Status status = checkExtent(copy.source(), copy.source_offset(), bytes, where); !status.ok())
    return status;
  return checkExtent(copy.destination(), copy.destination_offset(), bytes, where);
}

/// At every shape of the plan, `offset` + `bytes` must lie in the buffer. Buffers in the arena are
/// held against the arena's end, since their own size follows the step.
Status Executor::checkExtent(uint32_t index, const schema::Expr *offset, uint64_t bytes,
                             const std::string &where) const {
  uint64_t end = bytes + (offset ? uint64_t(boundExpression(*offset, ranges)->max) : 0);
  const schema::Buffer &buffer = *chosen->buffers()->Get(index);
  uint64_t size = buffer.role() == Role::Weight
                      ? engineFile->metadata().weights()->Get(uint32_t(buffer.weight()))->bytes()
                      : allocatedBytes(index);
  if (isInArena(buffer.role()))
    size = uint64_t(boundExpression(*buffer.bytes(), ranges)->max);
  if (end > size)
    return Status::error("INGOT-E5010",
                         where + " reaches byte " + std::to_string(end) + " of buffer '" +
                             buffer.name()->str() + "' of " + std::to_string(size) + " bytes",
                         "rebuild the engine");
  return {};
}

std::optional<uint32_t> Executor::findProgram(std::string_view name) const {
  for (uint32_t i = 0; i < count(chosen->programs()); ++i)
    if (chosen->programs()->Get(i)->name()->string_view() == name)
      return i;
  return std::nullopt;
}

Status Executor::beginStep(std::span<const DimSize> shape) {
  for (auto [name, size] : shape) {
    int64_t dim = findDim(engineFile->metadata(), name);
    if (dim < 0)
      continue;
    if (size < ranges[size_t(dim)].min || size > ranges[size_t(dim)].max)
      return Status::error("INGOT-E6015", "a step is outside the limits chosen at load");
    dims[size_t(dim)] = size;
  }
  return {};
}

/// Launches of a whole program at one shape. Steps that only decode come again and again: their
/// dims are equal, or 0 where nothing is counted, each of which has a bit of its own.
static constexpr uint64_t kShapeBits = 20, kZeroBits = 16;

void Executor::run(uint32_t program) {
  const std::vector<uint32_t> &own = stepDims[program];
  uint64_t size = 0, zeros = 0;
  bool isEven = own.size() <= kZeroBits;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto value = uint64_t(dims[own[i]]);
    if (value == 0)
      zeros |= uint64_t(1) << (i % kZeroBits);
    isEven &= value == 0 || size == 0 || value == size;
    size = std::max(size, value);
  }
  auto whole = uint32_t(programs[program].size());
  if (!isEven || size >> kShapeBits)
    return runPart(program, 0, whole);
  uint64_t key = (((uint64_t(program) << kZeroBits) | zeros) << kShapeBits) | size;
  if (executionDevice->replay(key)) {
    launchCount += std::count_if(programs[program].begin(), programs[program].end(),
                                 [](const Step &step) { return !step.variants.empty(); });
    return;
  }
  executionDevice->beginRecording(key);
  runPart(program, 0, whole);
  executionDevice->endRecording();
}

void Executor::runPart(uint32_t program, uint32_t first, uint32_t instructions) {
  for (uint32_t i = first; i < first + instructions; ++i) {
    Step &step = programs[program][i];
    if (const schema::Copy *copy = step.instruction->operation_as_Copy())
      runCopy(*copy);
    else
      runLaunch(step);
  }
}

bool Executor::applies(const VariantChoice &choice) const {
  return std::all_of(choice.conditions.begin(), choice.conditions.end(), [&](const auto &held) {
    return dims[held.first] >= held.second.min && dims[held.first] <= held.second.max;
  });
}

std::vector<const schema::Variant *> Executor::variantsOf(uint32_t program,
                                                          uint32_t instruction) const {
  std::vector<const schema::Variant *> found;
  for (const VariantChoice &choice : programs[program][instruction].variants)
    if (applies(choice) && std::none_of(found.begin(), found.end(), [&](const auto *other) {
          return other->kernel() == choice.variant->kernel();
        }))
      found.push_back(choice.variant);
  return found;
}

void Executor::runVariant(uint32_t program, uint32_t instruction, const schema::Variant &variant) {
  Step &step = programs[program][instruction];
  for (VariantChoice &choice : step.variants)
    if (choice.variant == &variant)
      return runLaunch(step, choice);
}

void Executor::runLaunch(Step &step) {
  // The coverage proof says that one applies to every shape `beginStep` accepts.
  auto choice = std::find_if(step.variants.begin(), step.variants.end(),
                             [&](const VariantChoice &one) { return applies(one); });
  if (choice != step.variants.end())
    runLaunch(step, *choice);
}

void Executor::runLaunch(const Step &step, VariantChoice &choice) {
  const schema::Launch &launch = *step.instruction->operation_as_Launch();
  size_t buffers = 0, scalars = 0;
  for (uint32_t i = 0; i < count(launch.args()); ++i) {
    const schema::Arg &arg = *launch.args()->Get(i);
    if (arg.kind() == schema::ArgKind::Buffer)
      bufferArgs[buffers++] =
          bases[arg.buffer()] + (arg.value() ? evaluate(*arg.value(), dims) : 0);
    else if (arg.kind() == schema::ArgKind::Integer)
      scalarArgs[scalars++] = evaluate(*arg.value(), dims);
    else
      scalarArgs[scalars++] = std::bit_cast<int64_t>(arg.real());
  }
  std::vector<TensorMapRecipe> &maps = choice.kernel.shape.tensorMaps;
  for (uint32_t i = 0; i < maps.size(); ++i)
    if (const auto &map = *chosen->kernels()->Get(choice.variant->kernel())->tensor_maps()->Get(i);
        map.step_rows())
      maps[i].rows = uint64_t(evaluate(*map.step_rows(), dims));
  DeviceLaunch call = {&choice.kernel,
                       {bufferArgs.data(), buffers},
                       {scalarArgs.data(), scalars},
                       {1, 1, 1},
                       step.instruction->name()->string_view()};
  for (uint32_t i = 0; i < count(choice.variant->grid()); ++i)
    call.grid[i] = evaluate(*choice.variant->grid()->Get(i), dims);
  executionDevice->launch(call);
  ++launchCount;
}

void Executor::runCopy(const schema::Copy &copy) {
  int64_t sourceOffset = copy.source_offset() ? evaluate(*copy.source_offset(), dims) : 0;
  int64_t destinationOffset =
      copy.destination_offset() ? evaluate(*copy.destination_offset(), dims) : 0;
  executionDevice->copy(bases[copy.destination()] + destinationOffset,
                        bases[copy.source()] + sourceOffset, bytesOf(copy));
}

uint64_t Executor::bytesOf(const schema::Copy &copy) const {
  return uint64_t(evaluate(*copy.bytes(), dims));
}

uint64_t Executor::bufferBytes(uint32_t buffer) const {
  return uint64_t(evaluate(*chosen->buffers()->Get(buffer)->bytes(), dims));
}

void Executor::write(uint32_t buffer, const void *source, uint64_t bytes, uint64_t offset) {
  uint64_t size = bufferBytes(buffer), begin = std::min(offset, size);
  executionDevice->write(bases[buffer] + begin, source, std::min(bytes, size - begin));
}

Status Executor::read(uint32_t buffer, void *destination, uint64_t bytes) {
  return executionDevice->read(destination, bases[buffer], std::min(bytes, bufferBytes(buffer)));
}

void Executor::zero(uint32_t buffer, uint64_t bytes) {
  executionDevice->zero(bases[buffer], std::min(bytes, bufferBytes(buffer)));
}

Status Executor::makeValues(uint32_t buffer, double low, double high, uint64_t key) {
  std::vector<int64_t> shape = shapeOf(buffer);
  uint64_t columns = shape.empty() ? 1 : uint64_t(std::max<int64_t>(shape.back(), 1));
  return weightFiller->fillRows(bases[buffer], chosen->buffers()->Get(buffer)->dtype(), columns,
                                bufferBytes(buffer), {low, high}, key);
}

void Executor::copy(uint32_t target, uint64_t targetOffset, uint32_t source, uint64_t sourceOffset,
                    uint64_t bytes) {
  executionDevice->copy(bases[target] + targetOffset, bases[source] + sourceOffset, bytes);
}

void Executor::startRead(uint32_t buffer, uint64_t bytes) {
  executionDevice->startRead(bases[buffer], std::min(bytes, bufferBytes(buffer)));
}

void Executor::copyBlock(size_t group, int32_t from, int32_t to) {
  for (uint32_t i = 0; i < bases.size(); ++i) {
    const schema::Buffer &buffer = *chosen->buffers()->Get(i);
    if (buffer.role() != Role::Kv || buffer.group() != int64_t(group))
      continue;
    uint64_t bytes = bufferBytes(i);
    executionDevice->copy(bases[i] + uint64_t(to) * bytes, bases[i] + uint64_t(from) * bytes,
                          bytes);
  }
}

void Executor::clearState(int64_t slot) {
  for (uint32_t i = 0; i < bases.size(); ++i)
    if (chosen->buffers()->Get(i)->role() == Role::State)
      executionDevice->zero(bases[i] + uint64_t(slot) * bufferBytes(i), bufferBytes(i));
}

void Executor::writeState(uint32_t buffer, int64_t slot, const void *source) {
  uint64_t bytes = bufferBytes(buffer);
  executionDevice->write(bases[buffer] + uint64_t(slot) * bytes, source, bytes);
}

std::vector<int64_t> Executor::shapeOf(uint32_t buffer) const {
  std::vector<int64_t> shape;
  const auto *extents = chosen->buffers()->Get(buffer)->shape();
  for (uint32_t i = 0; i < count(extents); ++i)
    shape.push_back(evaluate(*extents->Get(i), dims));
  return shape;
}

} // namespace ingot::runtime
