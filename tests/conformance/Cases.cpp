// SPDX-License-Identifier: Apache-2.0
// Inputs and comparisons that the case families share.
#include "tests/conformance/Cases.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

double conformance::rounded(Type element, double value) {
  return decode(element, encode(element, value));
}

Expected conformance::stored(Type element, double value, double tolerance) {
  // The exact value may round the other way when it is moved by the tolerance.
  double nearest = rounded(element, value);
  bool settled = rounded(element, value - tolerance) == rounded(element, value + tolerance);
  return {nearest, settled ? 0 : tolerance + spacing(element, value)};
}

Type conformance::elementType(llvm::StringRef name) {
  static auto *known = new llvm::StringMap<Type>();
  Type &type = (*known)[name];
  if (!type)
    type = parseType(name, &sharedContext());
  return type;
}

std::string conformance::activation(int64_t columns, llvm::StringRef element,
                                    llvm::StringRef rows) {
  return llvm::formatv("tensor<?x{0}x{1}, \"{2}\">", columns, element, rows);
}

namespace {

/// A ragged batch: each sequence's tokens are consecutive positions.
struct Batch {
  std::vector<int32_t> positions, sequences, table;
  std::vector<int32_t> reaches;       ///< positions where pictures end, and those of other tokens
  std::vector<int32_t> offsets = {0}; ///< of sequences
  std::vector<int32_t> starts;        ///< of experts, for the order that was drawn last
  int64_t blocks = 0;
};

Batch makeBatch(Dims dims, const Case &which, std::mt19937_64 &random) {
  int64_t maxPosition = which.maxPosition;
  // Starts on both sides of a segment's and a block's border.
  const int64_t starts[] = {0, 250, maxPosition - 1, 15};
  Batch batch;
  for (int64_t sequence = 0; sequence < dims.S; ++sequence) {
    int64_t count = dims.T / dims.S + (sequence < dims.T % dims.S ? 1 : 0);
    int64_t others = dims.S - 1 - sequence, left = dims.T - batch.offsets.back();
    if (which.ragged)
      count = others ? std::min(left - others, 1 + 5 * sequence) : left;
    batch.offsets.push_back(batch.offsets.back() + int32_t(count));
    int64_t first = std::min(starts[(sequence + dims.T) % 4], maxPosition);
    // Text of two tokens and a picture by turns, or a picture first.
    const int64_t lengths[] = {2, 7, 2, 1, 2, 33, 2, 13, 2, 71};
    for (int64_t part = sequence % 2, done = 0; done < count; ++part) {
      int64_t end = std::min(done + lengths[part % 10], count);
      for (; done < end && done < count; ++done)
        batch.reaches.push_back(int32_t(first + (part % 2 ? end - 1 : done)));
    }
    for (int64_t i = 0; i < count; ++i) {
      batch.positions.push_back(static_cast<int32_t>(first + i));
      batch.sequences.push_back(static_cast<int32_t>(sequence));
    }
  }
  batch.blocks = dims.S * dims.B;
  batch.table.resize(batch.blocks);
  std::iota(batch.table.begin(), batch.table.end(), 0);
  std::shuffle(batch.table.begin(), batch.table.end(), random);
  return batch;
}

std::vector<uint8_t> randomCache(llm::KvType type, int64_t blocks, std::mt19937_64 &random) {
  std::vector<uint8_t> memory;
  std::uniform_real_distribution<float> scales(0.01f, 0.02f);
  int64_t slots = type.getHeads() * type.getBlockTokens();
  for (int64_t block = 0; block < blocks; ++block) {
    std::vector<uint8_t> bytes(type.blockBytes());
    for (const CacheSection &section : sectionsOf(type)) {
      HostTensor elements(type.getElement(), slots, section.columns);
      fillRandom(elements, random, type.hasScales() ? 60 : 1);
      std::vector<uint8_t> packed = elements.bytes();
      std::copy(packed.begin(), packed.end(), bytes.begin() + section.offset);
    }
    if (type.hasScales())
      for (const CacheSection &section : sectionsOf(type))
        for (int64_t slot = 0; slot < slots; ++slot) {
          float scale = scales(random);
          std::memcpy(bytes.data() + section.scales + 4 * slot, &scale, 4);
        }
    memory.insert(memory.end(), bytes.begin(), bytes.end());
  }
  return memory;
}

/// What other sequences may have left behind the last position of each sequence: NaN, or for
/// integers a scale of NaN.
void leaveNan(llm::KvType type, const Batch &batch, Dims dims, std::vector<uint8_t> &memory) {
  std::vector<int32_t> next(dims.S, 0);
  for (size_t i = 0; i < batch.positions.size(); ++i)
    next[batch.sequences[i]] = std::max(next[batch.sequences[i]], batch.positions[i] + 1);
  int64_t tokens = type.getBlockTokens();
  int64_t elementBytes = type.getElement().getIntOrFloatBitWidth() / 8;
  for (int64_t sequence = 0; sequence < dims.S; ++sequence)
    for (int64_t position = next[sequence]; position < dims.B * tokens; ++position) {
      uint8_t *block =
          memory.data() + batch.table[sequence * dims.B + position / tokens] * type.blockBytes();
      for (int64_t head = 0; head < type.getHeads(); ++head) {
        int64_t slot = head * tokens + position % tokens;
        for (const CacheSection &section : sectionsOf(type)) {
          int64_t headBytes = section.columns * elementBytes;
          std::memset(block + section.offset + slot * headBytes, 0xff, headBytes);
          if (type.hasScales())
            std::memset(block + section.scales + slot * 4, 0xff, 4);
        }
      }
    }
}

HostTensor fromInts(Type type, const std::vector<int32_t> &values, int64_t columns) {
  HostTensor tensor(type, static_cast<int64_t>(values.size()) / columns, columns);
  for (size_t i = 0; i < values.size(); ++i)
    tensor.codes[i] = static_cast<uint32_t>(values[i]);
  return tensor;
}

llm::KvType cacheOf(func::FuncOp function) {
  for (Type type : function.getBody().front().getArgumentTypes())
    if (auto cache = dyn_cast<llm::KvType>(type))
      return cache;
  return {};
}

} // namespace

/// `rows` rows in the order of experts that are drawn for them; says in `starts` where each begins.
static std::vector<int32_t> drawOrder(int64_t rows, int64_t experts, std::vector<int32_t> &starts,
                                      std::mt19937_64 &random) {
  std::vector<int64_t> drawn(rows);
  for (int64_t &expert : drawn)
    expert = static_cast<int64_t>(random() % static_cast<uint64_t>(experts));
  std::vector<int32_t> order;
  starts.assign(1, 0);
  for (int64_t expert = 0; expert < experts; ++expert) {
    for (int64_t row = 0; row < rows; ++row)
      if (drawn[row] == expert)
        order.push_back(static_cast<int32_t>(row));
    starts.push_back(static_cast<int32_t>(order.size()));
  }
  return order;
}

/// Of each token so many of the positions up to its own, or all, in ascending order.
static std::vector<int32_t> drawSelected(const Batch &batch, int64_t most,
                                         std::mt19937_64 &random) {
  std::vector<int32_t> lists;
  for (int32_t position : batch.positions) {
    std::vector<int32_t> own(position + 1);
    std::iota(own.begin(), own.end(), 0);
    std::shuffle(own.begin(), own.end(), random);
    own.resize(std::min<int64_t>(most, position + 1));
    std::sort(own.begin(), own.end());
    own.resize(most, -1);
    lists.insert(lists.end(), own.begin(), own.end());
  }
  return lists;
}

/// Index values of a role: "positions", "selected", "sequences", "offsets", "table", "order" and
/// then "starts" of "limit" experts, "tokens" of which every fourth is outside the table, "places"
/// of which half are none, or below "limit".
static HostTensor indexTensor(func::FuncOp function, unsigned argument, Batch &batch, Dims dims,
                              std::mt19937_64 &random) {
  auto type = cast<RankedTensorType>(function.getBody().front().getArgument(argument).getType());
  auto role = function.getArgAttrOfType<StringAttr>(argument, "test.role");
  if (role && role.getValue() == "positions")
    return fromInts(type.getElementType(), batch.positions, 1);
  if (role && role.getValue() == "sequences")
    return fromInts(type.getElementType(), batch.sequences, 1);
  if (role && role.getValue() == "reaches")
    return fromInts(type.getElementType(), batch.reaches, 1);
  if (role && role.getValue() == "selected")
    return fromInts(type.getElementType(), drawSelected(batch, type.getDimSize(1), random),
                    type.getDimSize(1));
  if (role && role.getValue() == "offsets")
    return fromInts(type.getElementType(), batch.offsets, 1);
  if (role && role.getValue() == "table")
    return fromInts(type.getElementType(), batch.table, dims.B);
  auto limit = function.getArgAttrOfType<IntegerAttr>(argument, "test.limit");
  if (role && role.getValue() == "order")
    return fromInts(type.getElementType(),
                    drawOrder(rowsOf(type, dims), limit.getInt(), batch.starts, random), 1);
  if (role && role.getValue() == "starts")
    return fromInts(type.getElementType(), batch.starts, 1);
  std::uniform_int_distribution<int32_t> below(
      0, static_cast<int32_t>(limit ? limit.getInt() : dims.T) - 1);
  std::vector<int32_t> values(rowsOf(type, dims));
  for (int32_t &value : values)
    value = below(random);
  for (int32_t &value : values)
    if (role && role.getValue() == "places")
      value = int32_t(random() % uint64_t(2 * dims.L)) - int32_t(dims.L);
  for (size_t i = 3; role && role.getValue() == "tokens" && i < values.size(); i += 4)
    values[i] = i % 8 == 3 ? -1 : static_cast<int32_t>(limit.getInt());
  return fromInts(type.getElementType(), values, 1);
}

/// The dims of a step of `function` with so many tokens.
static Dims stepOf(func::FuncOp function, const Case &which, int64_t tokens) {
  llm::KvType cache = cacheOf(function);
  int64_t blockTokens = cache ? cache.getBlockTokens() : 16;
  Dims dims;
  dims.T = tokens;
  dims.S = std::min(tokens, which.sequences);
  dims.L = std::clamp<int64_t>(tokens / 2, 1, kMostLogitRows);
  dims.B = (which.maxPosition + tokens + blockTokens - 1) / blockTokens;
  return dims;
}

/// All runs of a case have the same weights.
constexpr uint64_t kWeightSeed = 4711;

Inputs conformance::makeInputs(func::FuncOp function, const Case &which, int64_t tokens,
                               uint64_t seed) {
  // The cache has its own, so that it begins alike for every case of an element type: launch
  // records hold equal content once. So have weights, which all runs of an engine share.
  std::mt19937_64 activations(seed), cacheRandom(seed), weightRandom(kWeightSeed);
  Inputs inputs;
  inputs.dims = stepOf(function, which, tokens);
  llm::KvType cache = cacheOf(function);
  Batch batch = makeBatch(inputs.dims, which, activations);
  Block &body = function.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    HostValue &value = inputs.arguments.emplace_back();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    std::mt19937_64 &random = type && type.hasStaticShape() ? weightRandom : activations;
    if (!type) {
      value.memory = randomCache(cache, batch.blocks, cacheRandom);
      if (function.getArgAttr(argument.getArgNumber(), "test.stale"))
        leaveNan(cache, batch, inputs.dims, value.memory);
      continue;
    }
    if (type.getElementType().isInteger(32)) {
      value.tensor = indexTensor(function, argument.getArgNumber(), batch, inputs.dims, random);
      continue;
    }
    value.tensor = HostTensor(type.getElementType(), rowsOf(type, inputs.dims),
                              type.getRank() < 2 ? 1 : type.getShape().back());
    fillRandom(value.tensor, random, which.scale);
    // Scales and frequencies are positive and small.
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "test.role");
    auto limit = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "test.limit");
    std::uniform_real_distribution<double> positive(0.001, 0.01);
    for (int64_t i = 0; role && role.getValue() == "scales" && i < value.tensor.size(); ++i)
      value.tensor.set(i, positive(random));
    for (int64_t i = 0; role && role.getValue() == "zeros" && i < value.tensor.size(); ++i)
      value.tensor.set(i, double(random() % uint64_t(limit ? limit.getInt() : 16)));
    for (int64_t i = 0; role && role.getValue() == "super_scales" && i < value.tensor.size(); ++i)
      value.tensor.set(i, random() % 2 ? positive(random) : -positive(random));
    for (int64_t i = 0; role && role.getValue() == "signed_zeros" && i < value.tensor.size(); ++i)
      value.tensor.set(i, double(random() % 256) - 128);
    for (int64_t i = 0; role && role.getValue() == "halves" && i < value.tensor.size(); ++i)
      value.tensor.set(i, (double(random() % 31) - 15) / 2);
    for (int64_t i = 0; role && role.getValue() == "integers" && i < value.tensor.size(); ++i)
      value.tensor.set(i, double(random() % 255) - 127);
    for (int64_t i = 0; role && role.getValue() == "frequencies" && i < value.tensor.size(); ++i)
      value.tensor.set(i, std::pow(10000.0, -double(i) / double(value.tensor.size())));
    // Some sinks weigh less than a position, some more than all of them.
    std::uniform_real_distribution<double> sink(-2, 8);
    for (int64_t i = 0; role && role.getValue() == "sinks" && i < value.tensor.size(); ++i)
      value.tensor.set(i, sink(random));
  }
  return inputs;
}

std::vector<Dims> conformance::stepsOf(const Case &which, llvm::ArrayRef<int64_t> tokens) {
  auto module = parseSourceString<ModuleOp>(which.plain, &sharedContext());
  std::vector<Dims> steps;
  for (int64_t each : tokens)
    steps.push_back(stepOf(*module->getOps<func::FuncOp>().begin(), which, each));
  return steps;
}

llvm::SmallVector<CacheSection, 2> conformance::sectionsOf(llm::KvType type) {
  llvm::SmallVector<CacheSection, 2> sections = {{0, type.keyScalesOffset(), type.getHeadDim()}};
  if (!type.getLatent())
    sections.push_back({type.valuesOffset(), type.valueScalesOffset(), type.getValueDim()});
  return sections;
}

std::vector<double> conformance::decodeCache(llm::KvType type, const std::vector<uint8_t> &memory) {
  std::vector<double> values;
  int64_t slots = type.getHeads() * type.getBlockTokens();
  for (size_t block = 0; block < memory.size(); block += type.blockBytes()) {
    const uint8_t *base = memory.data() + block;
    for (const CacheSection &section : sectionsOf(type)) {
      HostTensor elements(type.getElement(), slots, section.columns);
      elements.unpack({base + section.offset, size_t(type.blockBytes() - section.offset)});
      for (int64_t slot = 0; slot < slots; ++slot) {
        float scale = 1;
        if (type.hasScales())
          std::memcpy(&scale, base + section.scales + 4 * slot, 4);
        for (int64_t i = 0; i < section.columns; ++i)
          values.push_back(elements.at(slot, i) * double(scale));
      }
    }
  }
  return values;
}

std::vector<double> conformance::flatten(const std::vector<HostValue> &results,
                                         const Inputs &inputs, func::FuncOp function) {
  std::vector<double> values;
  for (const HostValue &result : results)
    for (int64_t i = 0; i < result.tensor.size(); ++i)
      values.push_back(result.tensor.at(i));
  if (llm::KvType cache = cacheOf(function))
    for (const HostValue &argument : inputs.arguments)
      if (!argument.memory.empty())
        llvm::append_range(values, decodeCache(cache, argument.memory));
  return values;
}

std::vector<int64_t> conformance::sectionAxes(const std::vector<int64_t> &sections) {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < sections.size(); ++axis)
    axes.insert(axes.end(), size_t(sections[axis]), int64_t(axis));
  return axes;
}

std::vector<int64_t> conformance::interleavedAxes(const std::vector<int64_t> &sections,
                                                  int64_t count) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < count; ++i)
    axes.push_back(i % 3 != 0 && i < 3 * sections[size_t(i % 3)] ? i % 3 : 0);
  return axes;
}

std::string conformance::axesText(const std::vector<int64_t> &axes) {
  std::vector<std::string> texts;
  for (int64_t axis : axes)
    texts.push_back(std::to_string(axis));
  return axes.empty() ? "" : "axes [" + llvm::join(texts, ", ") + "] ";
}

namespace {

/// Writes a region line by line; later operations draw from the values so far.
class RegionText {
public:
  RegionText(unsigned arguments, uint64_t seed) : random(seed) {
    text = "{\n^bb0(";
    for (unsigned i = 0; i < arguments; ++i) {
      values.push_back("%x" + std::to_string(i));
      text += (i ? ", " : "") + values.back() + ": f32";
    }
    text += "):\n";
  }

  uint64_t below(uint64_t limit) { return random() % limit; }
  const std::string &pick() { return values[below(values.size())]; }
  /// Adds a line; `keep`: what follows may use its value.
  std::string line(const std::string &right, bool keep = false) {
    std::string name = "%r" + std::to_string(next++);
    text += "  " + name + " = " + right + "\n";
    if (keep)
      values.push_back(name);
    return name;
  }
  std::string finish(const std::string &result) {
    return text + "  llm.yield " + result + " : f32\n}";
  }

  /// x / sqrt(x * x + 1), within [-1, 1] and exact up to IEEE rounding.
  std::string squash(const std::string &x, bool keep = false) {
    std::string one = line("arith.constant 1.0 : f32");
    std::string square = line("arith.mulf " + x + ", " + x + " : f32");
    std::string sum = line("arith.addf " + square + ", " + one + " : f32");
    if (below(2))
      return line("arith.mulf " + x + ", " + line("math.rsqrt " + sum + " : f32") + " : f32", keep);
    return line("arith.divf " + x + ", " + line("math.sqrt " + sum + " : f32") + " : f32", keep);
  }

private:
  std::mt19937_64 random;
  std::string text;
  std::vector<std::string> values;
  unsigned next = 0;
};

} // namespace

/// An operation whose result IEEE arithmetic determines but which is not continuous.
static void addExactStep(RegionText &region) {
  if (region.below(2)) {
    const char *predicates[] = {"olt", "oge", "oeq", "une", "ugt", "ord"};
    std::string limit = region.line("arith.constant 0.25 : f32");
    std::string flag = region.line(std::string("arith.cmpf ") + predicates[region.below(6)] + ", " +
                                   region.pick() + ", " + limit + " : f32");
    region.line("arith.select " + flag + ", " + region.pick() + ", " + region.pick() + " : f32",
                true);
    return;
  }
  std::string narrow = region.below(2) ? "bf16" : "f16";
  std::string cut = region.line("arith.truncf " + region.pick() + " : f32 to " + narrow);
  region.line("arith.extf " + cut + " : " + narrow + " to f32", true);
}

std::string conformance::randomRegion(unsigned arguments, bool exact, uint64_t seed) {
  RegionText region(arguments, seed);
  const char *binary[] = {"addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"};
  for (int step = 0; step < 12; ++step)
    switch (region.below(5)) {
    case 0:
      region.squash(region.pick(), true);
      break;
    case 1:
      if (exact) {
        addExactStep(region);
      } else {
        std::string bounded = region.line("math.tanh " + region.pick() + " : f32");
        region.line("math.exp " + bounded + " : f32", true);
      }
      break;
    case 2:
      region.line((region.below(2) ? "arith.negf " : "math.absf ") + region.pick() + " : f32",
                  true);
      break;
    default:
      region.line(std::string("arith.") + binary[region.below(7)] + " " + region.pick() + ", " +
                      region.pick() + " : f32",
                  true);
    }
  std::string sum = region.pick();
  for (unsigned i = 0; i < arguments; ++i)
    sum = region.line("arith.addf " + sum + ", %x" + std::to_string(i) + " : f32");
  return region.finish(region.squash(sum));
}
