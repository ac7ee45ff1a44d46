// SPDX-License-Identifier: Apache-2.0
// One method per table of the schema; each trusts only what the ones before it have checked.
#include "runtime/engine/Verify.h"

#include "runtime/engine/DeviceKernels.h"
#include "runtime/engine/Lifetimes.h"
#include "runtime/engine/Parameters.h"
#include "runtime/engine/WeightFill.h"
#include "runtime/schema/Elements.h"
#include "runtime/schema/KernelAbi.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <set>
#include <string>

namespace ingot::runtime {
namespace {

using schema::Role;

/// Larger values than any shape, size or count of a real engine; keeps products in 64 bits.
constexpr int64_t maximumDim = int64_t(1) << 40;
constexpr uint64_t maximumBytes = uint64_t(1) << 44;
constexpr uint32_t maximumDims = 64;
constexpr uint32_t maximumBuffers = 1 << 18;

Status malformed(const std::string &where, const std::string &what) {
  return Status::error("INGOT-E5006", where + ": " + what, "rebuild the engine");
}

Status badContract(const std::string &where, const std::string &what) {
  return Status::error("INGOT-E5010", where + ": " + what, "rebuild the engine");
}

/// Bytes of `elements` elements, rounded up; -1 on overflow.
int64_t bytesOf(int64_t elements, schema::DType type) {
  int64_t bits;
  if (elements > INT64_MAX - kPlanePlaces)
    return -1;
  if (__builtin_mul_overflow(filledPlaces(elements, bitsOf(type)), bitsOf(type), &bits) ||
      bits > INT64_MAX - 7)
    return -1;
  return (bits + 7) / 8;
}

/// The FlatBuffers verifier looks at the alignment of a vector's length only.
bool isAligned(const flatbuffers::Vector<uint64_t> *vector) {
  return !vector || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(uint64_t) == 0;
}

class StructureVerifier {
public:
  explicit StructureVerifier(const schema::Engine &engine)
      : engine(engine), dims(declaredRanges(engine)) {}

  Status verify();

private:
  Status verifyDims() const;
  Status verifySections() const;
  Status verifyTarget(const schema::Target &target) const;
  Status verifyKernels(const schema::Target &target, const std::string &where) const;
  Status verifyBuffers(const schema::Target &target, const std::string &where) const;
  Status verifyBuffer(const schema::Buffer &buffer, const schema::Target &target,
                      const std::string &where) const;
  Status verifyShape(const schema::Buffer &buffer, const std::string &where) const;
  Status verifyKvGroups(const schema::Target &target, const std::string &where) const;
  Status verifyProgram(const schema::Program &program, const schema::Target &target,
                       const std::string &where) const;
  Status verifyOperation(const schema::Instruction &instruction, const schema::Target &target,
                         const std::string &where) const;
  Status verifyLaunch(const schema::Launch &launch, const schema::Target &target,
                      const std::string &where) const;
  Status verifyArgs(const flatbuffers::Vector<flatbuffers::Offset<schema::Arg>> *args,
                    const schema::Target &target, const std::string &where) const;
  Status verifyCollective(const schema::Collective &operation, const schema::Target &target,
                          const std::string &where) const;
  Status verifyRanges(const flatbuffers::Vector<flatbuffers::Offset<schema::Range>> *ranges,
                      const std::string &where) const;
  Status verifyContract(const schema::Target &target, const std::string &where) const;
  Status verifyTier(const schema::ArenaTier &tier, const schema::Target &target,
                    const std::string &where) const;
  Status verifyCoverageRows(const schema::Target &target, const std::string &where) const;
  Status verifyOffset(const schema::Expr *offset, const std::string &where) const;

  bool isBuffer(const schema::Target &target, int64_t index) const {
    return index >= 0 && index < int64_t(count(target.buffers()));
  }

  const schema::Engine &engine;
  std::vector<Interval> dims;
};

Status StructureVerifier::verify() {
  if (Status status = verifyDims(); !status.ok())
    return status;
  if (Status status = verifySections(); !status.ok())
    return status;
  if (count(engine.targets()) == 0)
    return malformed("engine", "has no target");
  std::set<std::pair<std::string, uint32_t>> names; // of each rank
  for (const schema::Target *target : *engine.targets()) {
    if (!names.insert({target->name()->str(), target->rank()}).second)
      return malformed("engine", "two targets are named '" + target->name()->str() + "'");
    if (Status status = verifyTarget(*target); !status.ok())
      return status;
  }
  if (engine.serving()->max_context() == 0 || engine.serving()->vocabulary() == 0 ||
      engine.serving()->vocabulary() > (1u << 30) || engine.serving()->max_context() > (1u << 30))
    return malformed("serving", "the vocabulary or the context has an impossible size");
  return {};
}

/// What cannot be given a value.
static Status unknownDim(const schema::Dim &dim) {
  static const char *const sources[] = {"step", "load", "device"};
  return Status::error("INGOT-E5011",
                       "this runtime knows no " + std::string(sources[int(dim.source())]) +
                           " dim '" + dim.name()->str() + "'",
                       "use the runtime of the release that built the engine");
}

Status StructureVerifier::verifyDims() const {
  if (count(engine.dims()) > maximumDims)
    return malformed("engine", "more dims than any engine has");
  std::set<std::string> names;
  for (uint32_t i = 0; i < count(engine.dims()); ++i) {
    const schema::Dim &dim = *engine.dims()->Get(i);
    std::string name = dim.name()->str();
    if (dim.source() > schema::DimSource::MAX)
      return malformed("dim '" + name + "'", "unknown source");
    if (dim.min() < 0 || dim.min() > dim.max() || dim.max() > maximumDim)
      return malformed("dim '" + name + "'", "its range is empty, negative or too large");
    if (!names.insert(name).second)
      return malformed("dim '" + name + "'", "declared twice");
    const std::string width(schema::dim::tableWidth);
    bool ofLoad = name == width || name.starts_with(width + ".");
    if (dim.source() == schema::DimSource::Load && !ofLoad)
      return unknownDim(dim);
    if (dim.source() == schema::DimSource::Step && (dim.min() > 1 || dim.max() < 1))
      return malformed("dim '" + name + "'", "steps of one token must be in its range");
  }
  return {};
}

Status StructureVerifier::verifySections() const {
  for (uint32_t i = 0; i < count(engine.sections()); ++i)
    if (engine.sections()->Get(i)->kind() > schema::SectionKind::MAX)
      return malformed("section '" + engine.sections()->Get(i)->name()->str() + "'",
                       "unknown kind");
  for (uint32_t i = 0; i < count(engine.weights()); ++i) {
    const schema::Weight &weight = *engine.weights()->Get(i);
    std::string where = "weight '" + weight.name()->str() + "'";
    if (weight.dtype() > schema::DType::MAX || !isAligned(weight.shape()))
      return malformed(where, "unknown element type, or a misaligned shape");
    if (weight.section() >= count(engine.sections()) ||
        engine.sections()->Get(weight.section())->kind() != schema::SectionKind::Weights)
      return malformed(where, "does not lie in a section of weights");
    if (weight.fill())
      if (Status status = verifyFill(weight); !status.ok())
        return status;
  }
  return {};
}

Status StructureVerifier::verifyTarget(const schema::Target &target) const {
  std::string where = "target '" + target.name()->str() + "'";
  if (target.ranks() == 0 || target.rank() >= target.ranks())
    return malformed(where, "its rank is not below its number of ranks");
  for (uint32_t i = 0; i < count(target.rank_groups()); ++i)
    for (uint32_t j = 0; j < count(target.rank_groups()->Get(i)->ranks()); ++j)
      if (target.rank_groups()->Get(i)->ranks()->Get(j) >= target.ranks())
        return malformed(where, "a rank group names a rank that does not exist");
  if (Status status = verifyKernels(target, where); !status.ok())
    return status;
  if (Status status = verifyKvGroups(target, where); !status.ok())
    return status;
  if (Status status = verifyBuffers(target, where); !status.ok())
    return status;
  std::set<std::string> names;
  for (uint32_t i = 0; i < count(target.programs()); ++i) {
    const schema::Program &program = *target.programs()->Get(i);
    std::string inProgram = where + ", program '" + program.name()->str() + "'";
    if (!names.insert(program.name()->str()).second)
      return malformed(inProgram, "declared twice");
    if (Status status = verifyProgram(program, target, inProgram); !status.ok())
      return status;
  }
  if (Status status = verifyContract(target, where); !status.ok())
    return status;
  if (Status status = verifyParameters(target, where); !status.ok())
    return status;
  if (Status status = verifyLifetimes(engine, target, where); !status.ok())
    return status;
  return verifyCoverageRows(target, where);
}

Status StructureVerifier::verifyKernels(const schema::Target &target,
                                        const std::string &where) const {
  for (uint32_t i = 0; i < count(target.libraries()); ++i) {
    const schema::Library &library = *target.libraries()->Get(i);
    if (library.kind() > schema::LibraryKind::MAX ||
        library.section() >= count(engine.sections()) ||
        engine.sections()->Get(library.section())->kind() != schema::SectionKind::Kernels)
      return malformed(where + ", library '" + library.name()->str() + "'",
                       "does not lie in a section of kernels, or is of an unknown kind");
  }
  for (uint32_t i = 0; i < count(target.kernels()); ++i) {
    const schema::Kernel &kernel = *target.kernels()->Get(i);
    std::string inKernel = where + ", kernel '" + kernel.name()->str() + "'";
    if (kernel.library() >= count(target.libraries()))
      return malformed(inKernel, "its library does not exist");
    if (kernel.scratch_bytes() > maximumBytes || kernel.shared_bytes() > maximumBytes)
      return malformed(inKernel, "asks for an impossible amount of memory");
    if (Status status = verifyDeviceKernel(kernel, dims, inKernel); !status.ok())
      return status;
    if (Status status = verifyRanges(kernel.guards(), inKernel); !status.ok())
      return status;
  }
  return {};
}

Status StructureVerifier::verifyKvGroups(const schema::Target &target,
                                         const std::string &where) const {
  std::set<std::string> names;
  for (uint32_t i = 0; i < count(target.kv_groups()); ++i) {
    const schema::KvGroup &group = *target.kv_groups()->Get(i);
    std::string inGroup = where + ", KV group '" + group.name()->str() + "'";
    if (group.kind() > schema::KvKind::MAX)
      return malformed(inGroup, "unknown kind");
    if (group.block_tokens() <= 0 || group.block_tokens() > (1 << 20))
      return malformed(inGroup, "a block holds an impossible number of positions");
    if (group.kind() == schema::KvKind::Sliding &&
        (group.window() <= 0 || group.window() > maximumDim))
      return malformed(inGroup, "its window is empty or too long");
    if (!names.insert(group.name()->str()).second)
      return malformed(inGroup, "declared twice");
  }
  return {};
}

Status StructureVerifier::verifyBuffers(const schema::Target &target,
                                        const std::string &where) const {
  if (count(target.buffers()) > maximumBuffers)
    return malformed(where, "more buffers than any engine has");
  std::vector<int64_t> groupBytes(count(target.kv_groups()), 0);
  std::set<std::string> taps;
  for (uint32_t i = 0; i < count(target.buffers()); ++i) {
    const schema::Buffer &buffer = *target.buffers()->Get(i);
    std::string inBuffer = where + ", buffer '" + buffer.name()->str() + "'";
    if (Status status = verifyBuffer(buffer, target, inBuffer); !status.ok())
      return status;
    if (buffer.tap() && buffer.tap()->size() && !taps.insert(buffer.tap()->str()).second)
      return malformed(inBuffer, "another buffer has the same tap name");
    if (buffer.role() == Role::Kv)
      groupBytes[size_t(buffer.group())] += boundExpression(*buffer.bytes(), dims)->max;
  }
  for (size_t i = 0; i < groupBytes.size(); ++i) {
    const schema::KvGroup &group = *target.kv_groups()->Get(uint32_t(i));
    if (group.block_bytes() != uint64_t(groupBytes[i]))
      return badContract(where + ", KV group '" + group.name()->str() + "'",
                         "states " + std::to_string(group.block_bytes()) +
                             " bytes per block, its buffers take " + std::to_string(groupBytes[i]));
  }
  return {};
}

Status StructureVerifier::verifyBuffer(const schema::Buffer &buffer, const schema::Target &target,
                                       const std::string &where) const {
  if (buffer.role() > Role::MAX || buffer.dtype() > schema::DType::MAX)
    return malformed(where, "unknown role or element type");
  Result<Interval> bytes = boundExpression(*buffer.bytes(), dims);
  if (!bytes.ok())
    return std::move(bytes).status().in(where);
  if (bytes->min < 0 || uint64_t(bytes->max) > maximumBytes)
    return malformed(where, "its size is negative or impossibly large");
  if ((buffer.role() == Role::Kv || buffer.role() == Role::State) && bytes->min != bytes->max)
    return malformed(where, "the size of a block or row must not depend on the step");
  if (buffer.role() == Role::Kv) {
    if (buffer.group() < 0 || uint32_t(buffer.group()) >= count(target.kv_groups()))
      return malformed(where, "its KV group does not exist");
    if (bytes->max % INGOT_BUFFER_ALIGNMENT != 0)
      return malformed(where, "the bytes of a KV block are not a multiple of 64");
  }
  if (buffer.role() == Role::Input &&
      (buffer.group() < -1 || buffer.group() >= int64_t(count(target.kv_groups()))))
    return malformed(where, "its KV group does not exist");
  if (buffer.role() == Role::Weight) {
    if (buffer.weight() < 0 || uint32_t(buffer.weight()) >= count(engine.weights()))
      return malformed(where, "its weight does not exist");
    if (uint64_t(bytes->max) > engine.weights()->Get(uint32_t(buffer.weight()))->bytes())
      return malformed(where, "is larger than its weight");
  }
  return verifyShape(buffer, where);
}

/// The bytes must hold the shape at both ends of the declared ranges.
Status StructureVerifier::verifyShape(const schema::Buffer &buffer,
                                      const std::string &where) const {
  if (count(buffer.shape()) == 0)
    return {};
  std::vector<int64_t> smallest, largest;
  for (const Interval &dim : dims) {
    smallest.push_back(dim.min);
    largest.push_back(dim.max);
  }
  for (const std::vector<int64_t> *values : {&smallest, &largest}) {
    int64_t elements = 1;
    for (const schema::Expr *extent : *buffer.shape()) {
      Result<Interval> bounds = boundExpression(*extent, dims);
      if (!bounds.ok())
        return std::move(bounds).status().in(where);
      if (bounds->min < 0 ||
          __builtin_mul_overflow(elements, evaluate(*extent, *values), &elements))
        return malformed(where, "its shape is negative or overflows");
    }
    int64_t needed = bytesOf(elements, buffer.dtype());
    if (needed < 0 || evaluate(*buffer.bytes(), *values) < needed)
      return malformed(where, "its bytes do not hold its shape");
  }
  return {};
}

Status StructureVerifier::verifyProgram(const schema::Program &program,
                                        const schema::Target &target,
                                        const std::string &where) const {
  // Programs that serve are run at these; others at whatever their callers say.
  std::string_view own = program.name()->string_view();
  bool serves = own == schema::program::step || own == schema::program::sample;
  for (uint32_t i = 0; i < count(program.dims()); ++i) {
    if (program.dims()->Get(i) >= dims.size())
      return malformed(where, "names a dim that does not exist");
    const schema::Dim &dim = *engine.dims()->Get(program.dims()->Get(i));
    std::string_view name = dim.name()->string_view();
    bool ofStep = name == schema::dim::tokens || name == schema::dim::sequences ||
                  name == schema::dim::logitRows || name == schema::dim::givenRows;
    if (serves && dim.source() == schema::DimSource::Step && !ofStep)
      return unknownDim(dim);
  }
  auto verifyList = [&](const flatbuffers::Vector<uint32_t> *list, bool inputs) -> Status {
    for (uint32_t i = 0; i < count(list); ++i) {
      uint32_t index = list->Get(i);
      if (!isBuffer(target, index))
        return malformed(where, "names a buffer that does not exist");
      if (!inputs && !isInArena(target.buffers()->Get(index)->role()))
        return malformed(where, "an output is not in the arena");
    }
    return {};
  };
  if (Status status = verifyList(program.inputs(), true); !status.ok())
    return status;
  if (Status status = verifyList(program.outputs(), false); !status.ok())
    return status;
  uint32_t instructions = count(program.instructions());
  for (uint32_t i = 0; i < instructions; ++i) {
    const schema::Instruction &instruction = *program.instructions()->Get(i);
    if (Status status = verifyOperation(instruction, target,
                                        where + ", op '" + instruction.name()->str() + "'");
        !status.ok())
      return status;
  }
  for (uint32_t i = 0; i < count(program.segments()); ++i) {
    const schema::Segment &segment = *program.segments()->Get(i);
    if (segment.first() > instructions || segment.count() > instructions - segment.first() ||
        segment.tap() < -1 || (segment.tap() >= 0 && !isBuffer(target, segment.tap())))
      return malformed(where + ", segment '" + segment.name()->str() + "'",
                       "lies outside the program or has a tap that does not exist");
  }
  return {};
}

Status StructureVerifier::verifyOperation(const schema::Instruction &instruction,
                                          const schema::Target &target,
                                          const std::string &where) const {
  switch (instruction.operation_type()) {
  case schema::Operation::Launch:
    return verifyLaunch(*instruction.operation_as_Launch(), target, where);
  case schema::Operation::Copy: {
    const schema::Copy &copy = *instruction.operation_as_Copy();
    if (!isBuffer(target, copy.source()) || !isBuffer(target, copy.destination()))
      return malformed(where, "copies a buffer that does not exist");
    if (target.buffers()->Get(copy.destination())->role() == Role::Weight)
      return malformed(where, "copies into a weight");
    for (const schema::Expr *expression :
         {copy.source_offset(), copy.destination_offset(), copy.bytes()})
      if (Status status = verifyOffset(expression, where); !status.ok())
        return status;
    return {};
  }
  case schema::Operation::Collective:
    return verifyCollective(*instruction.operation_as_Collective(), target, where);
  case schema::Operation::HostCall:
    return verifyArgs(instruction.operation_as_HostCall()->args(), target, where);
  default:
    return malformed(where, "unknown kind of instruction");
  }
}

/// An optional expression that is never negative.
Status StructureVerifier::verifyOffset(const schema::Expr *offset, const std::string &where) const {
  if (!offset)
    return {};
  Result<Interval> bounds = boundExpression(*offset, dims);
  if (!bounds.ok())
    return std::move(bounds).status().in(where);
  return bounds->min < 0 || bounds->max > int64_t(maximumBytes)
             ? malformed(where, "an offset or size is negative or too large")
             : Status();
}

Status StructureVerifier::verifyLaunch(const schema::Launch &launch, const schema::Target &target,
                                       const std::string &where) const {
  if (Status status = verifyArgs(launch.args(), target, where); !status.ok())
    return status;
  for (uint32_t i = 0; i < count(launch.variants()); ++i) {
    const schema::Variant &variant = *launch.variants()->Get(i);
    if (variant.kernel() >= count(target.kernels()))
      return malformed(where, "a variant's kernel does not exist");
    if (Status status = verifyRanges(variant.ranges(), where); !status.ok())
      return status;
    if (count(variant.grid()) > 3)
      return malformed(where, "a grid has more than three dimensions");
    int64_t tiles = 1;
    for (uint32_t j = 0; j < count(variant.grid()); ++j) {
      Result<Interval> bounds = boundExpression(*variant.grid()->Get(j), dims);
      if (!bounds.ok())
        return std::move(bounds).status().in(where);
      if (bounds->min < 0 ||
          __builtin_mul_overflow(tiles, std::max<int64_t>(bounds->max, 1), &tiles) ||
          tiles > maximumDim)
        return malformed(where, "a grid is negative or too large");
    }
    if (Status status = verifyDeviceLaunch(*target.kernels()->Get(variant.kernel()), variant,
                                           launch, target, dims, where);
        !status.ok())
      return status;
  }
  return {};
}

Status
StructureVerifier::verifyArgs(const flatbuffers::Vector<flatbuffers::Offset<schema::Arg>> *args,
                              const schema::Target &target, const std::string &where) const {
  for (uint32_t i = 0; i < count(args); ++i) {
    const schema::Arg &arg = *args->Get(i);
    switch (arg.kind()) {
    case schema::ArgKind::Buffer:
      if (!isBuffer(target, arg.buffer()))
        return malformed(where, "an argument's buffer does not exist");
      if (Status status = verifyOffset(arg.value(), where); !status.ok())
        return status;
      break;
    case schema::ArgKind::Integer: {
      if (!arg.value())
        return malformed(where, "an integer argument has no value");
      Result<Interval> bounds = boundExpression(*arg.value(), dims);
      if (!bounds.ok())
        return std::move(bounds).status().in(where);
      break;
    }
    case schema::ArgKind::Real:
      break;
    default:
      return malformed(where, "unknown kind of argument");
    }
  }
  return {};
}

Status StructureVerifier::verifyCollective(const schema::Collective &operation,
                                           const schema::Target &target,
                                           const std::string &where) const {
  if (operation.kind() > schema::CollectiveKind::MAX || operation.dtype() > schema::DType::MAX ||
      !isBuffer(target, operation.source()) || !isBuffer(target, operation.destination()) ||
      operation.counts() < -1 ||
      (operation.counts() >= 0 && !isBuffer(target, operation.counts())) ||
      operation.receive_counts() < -1 ||
      (operation.receive_counts() >= 0 && !isBuffer(target, operation.receive_counts())) ||
      operation.group() >= count(target.rank_groups()) || operation.peer() < -1 ||
      operation.peer() >= int64_t(target.ranks()))
    return malformed(where, "a collective names something that does not exist");
  return verifyOffset(operation.count(), where);
}

Status StructureVerifier::verifyRanges(
    const flatbuffers::Vector<flatbuffers::Offset<schema::Range>> *ranges,
    const std::string &where) const {
  for (uint32_t i = 0; i < count(ranges); ++i)
    if (ranges->Get(i)->dim() >= dims.size() || ranges->Get(i)->min() > ranges->Get(i)->max())
      return malformed(where, "a range is empty or names a dim that does not exist");
  return {};
}

Status StructureVerifier::verifyContract(const schema::Target &target,
                                         const std::string &where) const {
  const schema::MemoryContract &contract = *target.memory();
  uint64_t stateBytes = 0, scratchBytes = 0, weightBytes = 0;
  bool usesArena = false;
  std::set<int32_t> weights;
  for (uint32_t i = 0; i < count(target.buffers()); ++i) {
    const schema::Buffer &buffer = *target.buffers()->Get(i);
    uint64_t bytes = uint64_t(boundExpression(*buffer.bytes(), dims)->max);
    usesArena |= isInArena(buffer.role());
    if (buffer.role() == Role::State)
      stateBytes += bytes;
    if (buffer.role() == Role::Weight && weights.insert(buffer.weight()).second)
      weightBytes += engine.weights()->Get(uint32_t(buffer.weight()))->bytes();
  }
  for (uint32_t i = 0; i < count(target.kernels()); ++i)
    scratchBytes = std::max<uint64_t>(scratchBytes, target.kernels()->Get(i)->scratch_bytes());
  auto tooSmall = [&](const char *what, uint64_t stated, uint64_t needed) {
    return badContract(where, std::string("the memory contract states ") + std::to_string(stated) +
                                  " bytes of " + what + ", " + std::to_string(needed) +
                                  " are needed");
  };
  if (contract.state_bytes_per_sequence() < stateBytes ||
      contract.state_bytes_per_sequence() > maximumBytes)
    return tooSmall("state per sequence", contract.state_bytes_per_sequence(), stateBytes);
  if (contract.scratch_bytes_per_thread() < scratchBytes ||
      contract.scratch_bytes_per_thread() > maximumBytes)
    return tooSmall("scratch per thread", contract.scratch_bytes_per_thread(), scratchBytes);
  if (contract.weight_bytes() < weightBytes || contract.weight_bytes() > maximumBytes)
    return tooSmall("weights", contract.weight_bytes(), weightBytes);
  if (usesArena && count(contract.tiers()) == 0)
    return badContract(where, "the memory contract has no arena tier");
  uint64_t before = 0;
  for (uint32_t i = 0; i < count(contract.tiers()); ++i) {
    const schema::ArenaTier &tier = *contract.tiers()->Get(i);
    std::string inTier = where + ", arena tier " + std::to_string(i);
    if (tier.bytes() < before || tier.bytes() > maximumBytes)
      return badContract(inTier, "tiers do not ascend, or one is impossibly large");
    before = tier.bytes();
    if (Status status = verifyTier(tier, target, inTier); !status.ok())
      return status;
    if (i + 1 == contract.tiers()->size())
      for (uint32_t j = 0; j < count(tier.limits()); ++j)
        if (tier.limits()->Get(j)->max() < dims[tier.limits()->Get(j)->dim()].max)
          return badContract(inTier, "the last tier does not hold the declared maximum");
  }
  return {};
}

Status StructureVerifier::verifyTier(const schema::ArenaTier &tier, const schema::Target &target,
                                     const std::string &where) const {
  if (Status status = verifyRanges(tier.limits(), where); !status.ok())
    return status;
  if (!isAligned(tier.offsets()))
    return malformed(where, "its offsets are misaligned");
  std::vector<Interval> limited = dims;
  for (uint32_t i = 0; i < count(tier.limits()); ++i) {
    Interval &dim = limited[tier.limits()->Get(i)->dim()];
    if (tier.limits()->Get(i)->max() < dim.min)
      return badContract(where, "holds no declared shape");
    dim.max = std::min(dim.max, int64_t(tier.limits()->Get(i)->max()));
  }
  uint32_t next = 0;
  for (uint32_t i = 0; i < count(target.buffers()); ++i) {
    const schema::Buffer &buffer = *target.buffers()->Get(i);
    if (!isInArena(buffer.role()))
      continue;
    if (next == count(tier.offsets()))
      return badContract(where, "has fewer offsets than buffers");
    uint64_t offset = tier.offsets()->Get(next++);
    Result<Interval> bytes = boundExpression(*buffer.bytes(), limited);
    if (!bytes.ok())
      return std::move(bytes).status().in(where);
    if (offset % INGOT_BUFFER_ALIGNMENT != 0 || offset > tier.bytes() ||
        uint64_t(bytes->max) > tier.bytes() - offset)
      return badContract(where, "buffer '" + buffer.name()->str() + "' (" +
                                    std::to_string(bytes->max) + " bytes at " +
                                    std::to_string(offset) + ") is misaligned or outside the " +
                                    std::to_string(tier.bytes()) + " bytes of the arena");
  }
  return next == count(tier.offsets())
             ? Status()
             : badContract(where, "has more offsets than buffers in the arena");
}

Status StructureVerifier::verifyCoverageRows(const schema::Target &target,
                                             const std::string &where) const {
  for (uint32_t i = 0; i < count(target.coverage()); ++i) {
    const schema::Coverage &row = *target.coverage()->Get(i);
    std::string inRow = where + ", coverage row " + std::to_string(i);
    if (row.program() >= count(target.programs()) ||
        row.instruction() >= count(target.programs()->Get(row.program())->instructions()))
      return malformed(inRow, "names an instruction that does not exist");
    for (uint32_t j = 0; j < count(row.kernels()); ++j)
      if (row.kernels()->Get(j) >= count(target.kernels()))
        return malformed(inRow, "names a kernel that does not exist");
    if (Status status = verifyRanges(row.ranges(), inRow); !status.ok())
      return status;
  }
  return {};
}

} // namespace

static_assert(int(schema::DType::MAX) + 1 == kElementTypes);

int64_t bitsOf(schema::DType type) {
  return type <= schema::DType::MAX ? elementBits(int64_t(type)) : 64;
}

bool isInArena(schema::Role role) {
  return role == Role::Input || role == Role::Output || role == Role::Arena;
}

std::vector<Interval> declaredRanges(const schema::Engine &engine) {
  std::vector<Interval> ranges;
  for (uint32_t i = 0; i < count(engine.dims()); ++i)
    ranges.push_back({engine.dims()->Get(i)->min(), engine.dims()->Get(i)->max()});
  return ranges;
}

Status verifyStructure(const schema::Engine &engine) { return StructureVerifier(engine).verify(); }

} // namespace ingot::runtime
