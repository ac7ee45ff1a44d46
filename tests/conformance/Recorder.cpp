// SPDX-License-Identifier: Apache-2.0
// What a device must leave is what the simulator left, up to the tolerances of the case.
#include "tests/conformance/Recorder.h"

#include "codegen/cuda/CudaArchitecture.h"
#include "dialects/engine/KernelProvider.h"
#include "dialects/llm/LlmAttentionOps.h"
#include "dialects/llm/LlmMatmulOps.h"
#include "tests/conformance/Targets.h"
#include "tests/gpu/LaunchRecord.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;
using record::RecordT;

namespace {

/// Preferred rows: more make a record large, fewer leave the ends of tiles out.
constexpr int64_t kMostTokens = 33;
/// Sequences reach a second segment of attention, and no further; some blocks of the cache where
/// nothing attends, where so many do that their caches are large, and in f32, which no model
/// serves.
constexpr int64_t kMostPositions = 264, kFewPositions = 40, kManySequences = 16;
/// Elements of a weight beyond which products are left out; of f32, which no model serves, sooner.
constexpr int64_t kMostElements = 400000, kMostOfF32 = 40000;
constexpr uint64_t kSeed = 1;
constexpr const char *kSampleCase = "sample";
/// Which results of llm.sample are logprobs.
constexpr unsigned kSampleLogprobs[] = {1, 3};

std::optional<record::Element> elementOf(Type type) {
  if (type.isF32())
    return record::Element::F32;
  if (type.isF16())
    return record::Element::F16;
  if (type.isBF16())
    return record::Element::BF16;
  if (isa<Float8E4M3FNType>(type))
    return record::Element::E4M3;
  if (isa<Float8E5M2Type>(type))
    return record::Element::E5M2;
  if (type.isInteger(8))
    return record::Element::I8;
  return type.isInteger(32) ? std::optional(record::Element::I32) : std::nullopt;
}

/// `tolerance` in f32, rounded up to 8 bits, which compress.
float shortened(double tolerance) {
  auto bits = std::bit_cast<uint32_t>(float(tolerance));
  return std::bit_cast<float>((bits + 0xffff) & 0xffff0000);
}

record::Extent extent(const auto &values) {
  return {uint32_t(values[0]), uint32_t(values[1]), uint32_t(values[2])};
}

std::unique_ptr<record::ValuesT> valuesAt(uint64_t offset, uint64_t count, Type element) {
  auto values = std::make_unique<record::ValuesT>();
  values->offset = offset;
  values->count = count;
  // Results and caches have no other types.
  values->element = elementOf(element).value();
  return values;
}

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// Fills a record case by case.
class Recorder {
public:
  explicit Recorder(const RecordOptions &options, int64_t multiprocessors) : noPtx(options.noPtx) {
    content.architecture = options.architecture;
    content.multiprocessors = uint32_t(multiprocessors);
  }

  bool add(const Case &which);
  /// Launches of llm.sample: tokens bit for bit, logprobs as SampleTest compares them.
  void addSamples();
  void leaveOut(const std::string &what) { content.left_out.push_back(what); }
  const RecordT &get() const { return content; }

private:
  std::vector<int64_t> chooseTokens(const Case &which, CompiledFunction &compiled);
  bool addRun(const Case &which, CompiledFunction &compiled, const Inputs &inputs);
  void addLaunch(const std::string &name, const ObservedLaunch &seen);
  uint32_t addKernel(const ObservedLaunch &seen);
  /// Gives a buffer its tolerances, those of its values from `first` on; their number.
  size_t addTolerances(const std::string &name, Type type, const std::vector<double> &tolerances,
                       size_t first);

  const bool noPtx;
  RecordT content;
  record::BlobStore blobs{content};
  /// By cubin, dynamic memory and the rows that tensor maps read.
  std::map<std::vector<uint64_t>, uint32_t> kernels;
  std::map<std::string, record::BufferT *> recorded; ///< the last launch's, by their names
  size_t launchesOfRun = 0;
};

} // namespace

/// Whether a function has a product that would make the record large.
static bool isLarge(CompiledFunction &compiled) {
  bool found = false;
  compiled.function().walk([&](llm::MatmulOp op) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    int64_t most = getElementTypeOrSelf(op.getInput()).isF32() ? kMostOfF32 : kMostElements;
    found |= weight.hasStaticShape() && weight.getNumElements() > most;
  });
  return found;
}

bool Recorder::add(const Case &which) {
  auto compiled = compileCase(which, content.architecture, {}, CudaCode::PtxAndBinary);
  if (!compiled)
    return false;
  if (isLarge(*compiled)) {
    leaveOut(which.name + ": a large weight");
    return true;
  }
  compiled->simulateIn({cuda::AsyncCompletion::Late, 0, content.multiprocessors});
  compiled->observe([&](const ObservedLaunch &seen) { addLaunch(which.name, seen); });
  Case shorter = which;
  bool reaches = false;
  compiled->function().walk([&](llm::AttentionOp op) {
    reaches = which.sequences <= kManySequences && !getElementTypeOrSelf(op.getQuery()).isF32();
  });
  shorter.maxPosition = std::min(which.maxPosition, reaches ? kMostPositions : kFewPositions);
  for (int64_t tokens : chooseTokens(which, *compiled))
    if (!addRun(which, *compiled, makeInputs(compiled->function(), shorter, tokens, kSeed)))
      return false;
  return true;
}

void Recorder::addSamples() {
  constexpr float kLogprobTolerance = 2e-6f;
  SimulatedMode mode = {cuda::AsyncCompletion::Late, 0, content.multiprocessors};
  drawSamples(content.architecture, mode, [&](const ObservedLaunch &seen) {
    addLaunch(kSampleCase, seen);
    for (unsigned i : kSampleLogprobs) {
      record::BufferT &buffer = *recorded.at(outputName(i));
      size_t count = content.blobs[buffer.output]->bytes.size() / sizeof(float);
      std::vector<float> tolerances(count, shortened(kLogprobTolerance));
      buffer.values.push_back(valuesAt(0, count, elementType("f32")));
      buffer.tolerances =
          blobs.add({reinterpret_cast<const uint8_t *>(tolerances.data()), count * sizeof(float)});
    }
  });
}

std::vector<int64_t> Recorder::chooseTokens(const Case &which, CompiledFunction &compiled) {
  std::map<std::vector<size_t>, int64_t> chosen;
  for (int64_t tokens : which.tokens) {
    Dims dims = makeInputs(compiled.function(), which, tokens, kSeed).dims;
    auto [place, isNew] = chosen.try_emplace(compiled.kernelsAt(dims), tokens);
    if (!isNew && tokens <= kMostTokens)
      place->second = tokens;
  }
  std::vector<int64_t> result;
  for (const auto &[kernel, tokens] : chosen)
    result.push_back(tokens);
  std::string others;
  for (int64_t tokens : which.tokens)
    if (!llvm::is_contained(result, tokens))
      others += " " + std::to_string(tokens);
  if (!others.empty())
    leaveOut(which.name + ": T =" + others);
  return result;
}

bool Recorder::addRun(const Case &which, CompiledFunction &compiled, const Inputs &inputs) {
  launchesOfRun = 0;
  Output output = runCase(compiled, inputs);
  if (output.values.empty() || launchesOfRun != 1) {
    ADD_FAILURE() << which.name << " is not one launch with results";
    return false;
  }
  std::vector<Expected> oracle = which.oracle ? which.oracle(inputs) : std::vector<Expected>();
  std::vector<double> tolerances;
  for (size_t i = 0; i < output.values.size(); ++i)
    tolerances.push_back(toleranceOf(which, oracle, i, output.values[i], output.elements[i]));
  size_t done = 0;
  Block &body = compiled.function().getBody().front();
  for (auto [i, type] : llvm::enumerate(compiled.function().getResultTypes()))
    done += addTolerances(outputName(unsigned(i)), type, tolerances, done);
  for (BlockArgument argument : body.getArguments())
    if (isa<llm::KvType>(argument.getType()))
      done +=
          addTolerances(inputName(argument.getArgNumber()), argument.getType(), tolerances, done);
  EXPECT_EQ(done, tolerances.size()) << which.name;
  return true;
}

uint32_t Recorder::addKernel(const ObservedLaunch &seen) {
  uint32_t cubin = blobs.add(bytesOf(seen.cubin));
  const runtime::KernelShape &shape = seen.launch.call.shape;
  std::vector<uint64_t> key = {cubin, shape.sharedBytes};
  for (const runtime::TensorMapRecipe &recipe : shape.tensorMaps)
    key.push_back(recipe.rows);
  auto [place, isNew] = kernels.try_emplace(key, uint32_t(content.kernels.size()));
  if (isNew) {
    auto kernel = std::make_unique<record::KernelT>();
    kernel->symbol = seen.symbol;
    kernel->source = seen.source;
    kernel->cubin = cubin;
    kernel->ptx = blobs.add(bytesOf(noPtx ? std::string() : seen.ptx));
    kernel->block = std::make_unique<record::Extent>(extent(shape.block));
    kernel->cluster = std::make_unique<record::Extent>(extent(shape.cluster));
    kernel->shared_bytes = shape.sharedBytes;
    for (const runtime::TensorMapRecipe &recipe : shape.tensorMaps) {
      auto &map = kernel->tensor_maps.emplace_back(std::make_unique<record::TensorMapT>());
      map->buffer = recipe.buffer;
      map->rows = recipe.rows;
      map->row_bytes = recipe.rowBytes;
      map->box_rows = recipe.boxRows;
      map->box_bytes = recipe.boxBytes;
      map->element = recipe.element;
      map->swizzle = recipe.swizzle;
    }
    content.kernels.push_back(std::move(kernel));
  }
  return place->second;
}

void Recorder::addLaunch(const std::string &name, const ObservedLaunch &seen) {
  auto launch = std::make_unique<record::LaunchT>();
  launch->case_name = name;
  launch->operation = seen.launch.operation;
  launch->kernel = addKernel(seen);
  launch->grid = std::make_unique<record::Extent>(extent(seen.launch.call.grid));
  launch->scalars = seen.launch.call.scalars;
  launch->workspace_bytes = seen.launch.workspaceBytes;
  launch->counter_bytes =
      uint64_t(std::max<int64_t>(std::min(seen.launch.workspaceBytes, engine::kCounterBytes), 0));
  recorded.clear();
  for (const EngineRun::Seen::Buffer &held : seen.launch.buffers) {
    auto buffer = std::make_unique<record::BufferT>();
    if (!held.isResult)
      buffer->input = blobs.add(held.before);
    if (held.isResult || held.before != held.after)
      buffer->output = blobs.add(held.after);
    recorded[held.name] = buffer.get();
    launch->buffers.push_back(std::move(buffer));
  }
  content.launches.push_back(std::move(launch));
  ++launchesOfRun;
}

size_t Recorder::addTolerances(const std::string &name, Type slot,
                               const std::vector<double> &tolerances, size_t first) {
  record::BufferT &buffer = *recorded.at(name);
  uint32_t held = buffer.output != record::kNone ? buffer.output : buffer.input;
  uint64_t bytes = content.blobs[held]->bytes.size();
  std::vector<std::unique_ptr<record::ValuesT>> values;
  if (auto type = dyn_cast<RankedTensorType>(slot)) {
    values.push_back(
        valuesAt(0, bytes * 8 / engine::elementBits(type.getElementType()), type.getElementType()));
  } else {
    auto cache = cast<llm::KvType>(slot);
    int64_t slots = cache.getHeads() * cache.getBlockTokens();
    for (uint64_t block = 0; block < bytes; block += uint64_t(cache.blockBytes()))
      for (const CacheSection &section : sectionsOf(cache)) {
        values.push_back(valuesAt(block + uint64_t(section.offset),
                                  uint64_t(slots * section.columns), cache.getElement()));
        if (!cache.hasScales())
          continue;
        values.back()->scales = block + uint64_t(section.scales);
        values.back()->scale_columns = uint64_t(section.columns);
      }
  }
  size_t count = 0;
  for (const auto &part : values)
    count += part->count;
  auto begin = tolerances.begin() + int64_t(first), end = begin + int64_t(count);
  if (std::all_of(begin, end, [](double tolerance) { return tolerance == 0; }))
    return count; // bit for bit
  std::vector<float> rounded;
  std::transform(begin, end, std::back_inserter(rounded), shortened);
  buffer.output = held;
  buffer.values = std::move(values);
  buffer.tolerances = blobs.add(
      {reinterpret_cast<const uint8_t *>(rounded.data()), rounded.size() * sizeof(float)});
  return count;
}

bool conformance::record(const RecordOptions &options) {
  const codegen::CudaArchitecture *architecture =
      codegen::findCudaArchitecture(options.architecture);
  if (!architecture) {
    std::fprintf(stderr, "conformance: there is no CUDA target '%s'\n",
                 options.architecture.c_str());
    return false;
  }
  Recorder recorder(options, architecture->typicalPart().multiprocessors);
  auto isWanted = [&](const std::string &name) {
    return options.prefixes.empty() ||
           llvm::any_of(options.prefixes,
                        [&](const std::string &prefix) { return name.starts_with(prefix); });
  };
  if (isWanted(kSampleCase))
    recorder.addSamples();
  for (const Case &which : allCases()) {
    if (!isWanted(which.name))
      continue;
    if (!runsOn(which, options.architecture))
      recorder.leaveOut(which.name + ": the architecture has no FP8 products");
    else if (which.full && !fullGrid())
      recorder.leaveOut(which.name + ": only with --full");
    else if (!recorder.add(which))
      return false;
  }
  std::vector<uint8_t> packed = record::packRecord(recorder.get());
  std::ofstream file(options.file, std::ios::binary);
  file.write(reinterpret_cast<const char *>(packed.data()), int64_t(packed.size()));
  if (packed.empty() || !file.flush()) {
    std::fprintf(stderr, "conformance: cannot write %s\n", options.file.c_str());
    return false;
  }
  std::printf("%zu launches of %zu kernels, %zu bytes; not recorded: %zu lines\n",
              recorder.get().launches.size(), recorder.get().kernels.size(), packed.size(),
              recorder.get().left_out.size());
  return !testing::UnitTest::GetInstance()->Failed();
}
