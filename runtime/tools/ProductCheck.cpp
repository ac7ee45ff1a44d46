// SPDX-License-Identifier: Apache-2.0
// One kernel after the other writes the same result, which is read and compared on the host.
#include "runtime/tools/ProductCheck.h"

#include "runtime/engine/ElementValue.h"
#include "runtime/engine/Verify.h"
#include "runtime/tools/KernelWork.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

namespace ingot::runtime {
namespace {

using schema::DType;
using schema::Role;

constexpr std::string_view kCandidate = "tuning_candidate", kPlain = "plain_kernel";
/// One token, the usual batches, and the ends of tiles and what lies just behind them.
constexpr int64_t kRows[] = {1, 10, 16, 17, 32, 64, 65, 128, 512};
/// Of a workspace, what launches find and leave zero (docs/cuda-kernels.md).
constexpr uint64_t kCounterBytes = 16384;
/// Columns of k whose products are summed alone.
constexpr double kSegment = 512;

/// Least and most of the values made for an input; nothing where its values have a meaning (places,
/// counts) and are those of a step.
std::optional<std::pair<double, double>> rangeOf(DType type) {
  switch (type) {
  case DType::F32:
  case DType::F16:
  case DType::BF16:
  case DType::E4M3:
  case DType::E5M2:
    return std::pair(-1.0, 1.0);
  case DType::I8:
    return std::pair(-127.0, 127.0);
  default:
    return std::nullopt;
  }
}

/// Distance of 1 from the next number of a type of results; nothing for types that are not rounded
/// to by their own exponents.
std::optional<double> unitOf(DType type) {
  switch (type) {
  case DType::F32:
    return 0x1p-23;
  case DType::F16:
    return 0x1p-10;
  case DType::BF16:
    return 0x1p-7;
  default:
    return std::nullopt;
  }
}

std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// A product's instruction, its arguments by what they are, and the kernels that it may run.
struct Product {
  uint32_t program, instruction;
  std::string name;             ///< of the instruction
  std::vector<uint32_t> inputs; ///< buffers in the arena
  uint32_t result = 0;
  int64_t workspace = -1; ///< -1: none
  std::vector<const schema::Variant *> variants;
};

/// What a kernel wrote.
struct Written {
  const schema::Kernel *kernel = nullptr;
  std::vector<uint8_t> bytes;
};

class ProductChecker {
public:
  explicit ProductChecker(MeasuredEngine &engine) : engine(engine), executor(engine.executor()) {}

  /// Checks all products that have `tokens` rows in a step of so many tokens.
  Status check(int64_t tokens);

  /// The first thing that was wrong; empty: nothing.
  const std::string &fault() const { return found; }
  bool anyProduct() const { return !products.empty(); }
  std::string summary() const;

private:
  const schema::Kernel &kernelOf(const schema::Variant &variant) const {
    return *executor.target().kernels()->Get(variant.kernel());
  }
  bool isPlain(const schema::Kernel &kernel) const { return !factTextOf(kernel, kPlain).empty(); }
  std::optional<Product> productAt(uint32_t program, uint32_t instruction,
                                   const MeasuredShape &shape) const;
  Status makeInputs(const Product &product);
  Status run(const Product &product, const schema::Variant &variant, Written &written);
  Status check(const Product &product, int64_t rows);
  void compareBits(const Product &product, int64_t rows, const Written &one, const Written &other,
                   const Written &plain);
  void comparePlain(const Product &product, int64_t rows, const Written &one, const Written &plain);
  std::string place(const Product &product, int64_t rows, const Written &written,
                    size_t element) const;
  float valueOf(const Product &product, const Written &written, size_t element) const;
  DType resultType(const Product &product) const {
    return executor.target().buffers()->Get(product.result)->dtype();
  }

  MeasuredEngine &engine;
  Executor &executor;
  std::string found;
  std::set<std::string> products; ///< those checked, by what they are
  std::set<int64_t> rowCounts;
  std::set<uint32_t> kernels;
  size_t plainRuns = 0;
  double worst = 0; ///< share of the tolerance that a difference from the plain kernel took
};

/// The product at an instruction, if it is one with kernels to compare and the step's number of
/// rows.
std::optional<Product> ProductChecker::productAt(uint32_t program, uint32_t instruction,
                                                 const MeasuredShape &shape) const {
  Product product = {
      program, instruction, "", {}, 0, -1, executor.variantsOf(program, instruction)};
  auto &variants = product.variants;
  bool candidates = std::any_of(variants.begin(), variants.end(), [&](const auto *variant) {
    return !factTextOf(kernelOf(*variant), kCandidate).empty();
  });
  if (!candidates || variants.size() < 2 ||
      rowsOf(kernelOf(*variants.front()), shape) != shape.tokens)
    return std::nullopt;
  // The plain kernel first: it tells which of two that differ is wrong.
  auto plain = std::find_if(variants.begin(), variants.end(),
                            [&](const auto *variant) { return isPlain(kernelOf(*variant)); });
  if (plain != variants.end())
    std::rotate(variants.begin(), plain, plain + 1);
  const auto &target = executor.target();
  const auto &operation = *target.programs()->Get(program)->instructions()->Get(instruction);
  product.name = operation.name()->str();
  for (const schema::Arg *arg : *operation.operation_as_Launch()->args()) {
    if (arg->kind() != schema::ArgKind::Buffer)
      continue;
    const schema::Buffer &buffer = *target.buffers()->Get(arg->buffer());
    if (buffer.zeroed())
      product.workspace = arg->buffer();
    else if (isInArena(buffer.role()))
      product.inputs.push_back(arg->buffer());
  }
  // Operands come first, then the only result (KernelProvider::kernelsFor).
  if (product.inputs.size() < 2)
    return std::nullopt;
  product.result = product.inputs.back();
  product.inputs.pop_back();
  return product;
}

/// Inputs whose values have a meaning are made by the instructions before.
Status ProductChecker::makeInputs(const Product &product) {
  const auto *buffers = executor.target().buffers();
  bool all = std::all_of(product.inputs.begin(), product.inputs.end(), [&](uint32_t input) {
    return rangeOf(buffers->Get(input)->dtype()).has_value();
  });
  if (!all)
    executor.runPart(product.program, 0, product.instruction);
  for (uint32_t input : product.inputs)
    if (auto range = rangeOf(buffers->Get(input)->dtype()))
      if (Status status = executor.makeValues(input, range->first, range->second, input);
          !status.ok())
        return status;
  return {};
}

/// Runs one kernel over a result of zeros.
Status ProductChecker::run(const Product &product, const schema::Variant &variant,
                           Written &written) {
  written.kernel = &kernelOf(variant);
  written.bytes.resize(executor.bufferBytes(product.result));
  executor.zero(product.result, written.bytes.size());
  std::vector<uint8_t> counters;
  if (product.workspace >= 0) {
    auto workspace = uint32_t(product.workspace);
    counters.resize(std::min(kCounterBytes, executor.bufferBytes(workspace)));
    executor.zero(workspace, counters.size());
  }
  executor.runVariant(product.program, product.instruction, variant);
  if (!counters.empty())
    if (Status status =
            executor.read(uint32_t(product.workspace), counters.data(), counters.size());
        !status.ok())
      return status;
  auto counter = std::find_if(counters.begin(), counters.end(), [](uint8_t b) { return b != 0; });
  if (counter != counters.end() && found.empty())
    found = product.name + ", kernel '" + written.kernel->name()->str() +
            "': it leaves the workspace's counter " +
            std::to_string((counter - counters.begin()) / 4) + " other than zero";
  if (!isPlain(*written.kernel))
    kernels.insert(variant.kernel());
  return executor.read(product.result, written.bytes.data(), written.bytes.size());
}

float ProductChecker::valueOf(const Product &product, const Written &written,
                              size_t element) const {
  float value = NAN;
  elementValue(resultType(product), written.bytes.data(), element, value);
  return value;
}

/// "matmul layers.0.qkv, kernel 'MatmulTensor_3' (MatmulTensor:8x1x1x1,d128,s6,k), 17 rows, row 16,
/// column 5".
std::string ProductChecker::place(const Product &product, int64_t rows, const Written &written,
                                  size_t element) const {
  std::string name = written.kernel->name()->str();
  std::string_view candidate = factTextOf(*written.kernel, kCandidate);
  std::vector<int64_t> shape = executor.shapeOf(product.result);
  auto columns = size_t(shape.empty() ? 1 : std::max<int64_t>(shape.back(), 1));
  return product.name + ", kernel '" + name + "'" +
         (candidate.empty() ? "" : " (" + std::string(candidate) + ")") + ", " +
         counted(uint64_t(rows), "row") + ", row " + std::to_string(element / columns) +
         ", column " + std::to_string(element % columns);
}

void ProductChecker::compareBits(const Product &product, int64_t rows, const Written &one,
                                 const Written &other, const Written &plain) {
  if (one.bytes == other.bytes || !found.empty())
    return;
  size_t size = std::max<size_t>(size_t(bitsOf(resultType(product))) / 8, 1);
  size_t first =
      size_t(std::mismatch(one.bytes.begin(), one.bytes.end(), other.bytes.begin()).first -
             one.bytes.begin()) /
      size;
  size_t different = 0, elements = one.bytes.size() / size;
  for (size_t i = first; i < elements; ++i)
    different += std::memcmp(&one.bytes[i * size], &other.bytes[i * size], size) != 0;
  found = place(product, rows, other, first) + " is " + exact(valueOf(product, other, first)) +
          ", kernel '" + one.kernel->name()->str() + "' gives " +
          exact(valueOf(product, one, first)) +
          (plain.kernel ? ", the plain one " + exact(valueOf(product, plain, first)) : "") + " (" +
          grouped(different) + " of " + counted(elements, "element") + " differ)";
}

/// Both kernels sum segments of 512 columns, each addition wrong by at most 2^-23 of its sum; of
/// products without a trend a segment's sum is sqrt(512 / k) of the whole one. So k additions are
/// wrong by sqrt(512 k) 2^-23 of the largest result at most, in each kernel. Then the result is
/// rounded; where it is so in the middle of an epilogue, whose operands are at most 1, the largest
/// result and 1 stand for what is rounded there.
void ProductChecker::comparePlain(const Product &product, int64_t rows, const Written &one,
                                  const Written &plain) {
  std::optional<double> unit = unitOf(resultType(product));
  if (!unit)
    return;
  ++plainRuns;
  size_t elements = plain.bytes.size() / (size_t(bitsOf(resultType(product))) / 8);
  double largest = 0;
  for (size_t i = 0; i < elements; ++i)
    largest = std::max(largest, std::fabs(double(valueOf(product, plain, i))));
  std::istringstream words{std::string(factTextOf(*plain.kernel, "product"))};
  std::string operation;
  double n = 0, k = 0;
  words >> operation >> n >> k;
  bool hasEpilogue = plain.kernel->epilogue() && plain.kernel->epilogue()->size();
  double sums = 2 * std::sqrt(kSegment * std::max(k, kSegment)) * 0x1p-23 * largest;
  for (size_t i = 0; i < elements; ++i) {
    double expected = valueOf(product, plain, i), actual = valueOf(product, one, i);
    double rounding = hasEpilogue ? 2 * *unit * (largest + 1) : *unit * std::fabs(expected);
    double difference = std::fabs(actual - expected), tolerance = sums + rounding;
    if (difference <= tolerance) { // false for what is no number
      worst = tolerance > 0 ? std::max(worst, difference / tolerance) : worst;
      continue;
    }
    if (found.empty())
      found = place(product, rows, one, i) + " is " + exact(actual) + ", the plain kernel '" +
              plain.kernel->name()->str() + "' gives " + exact(expected) + " +- " +
              exact(tolerance);
    return;
  }
}

Status ProductChecker::check(const Product &product, int64_t rows) {
  if (Status status = makeInputs(product); !status.ok())
    return status;
  Written first, plain, other;
  for (const schema::Variant *variant : product.variants) {
    bool isReference = isPlain(kernelOf(*variant));
    Written &written = isReference ? plain : first.kernel ? other : first;
    if (Status status = run(product, *variant, written); !status.ok())
      return std::move(status).in("kernel '" + kernelOf(*variant).name()->str() + "'");
    if (&written == &other)
      compareBits(product, rows, first, other, plain);
    if (!found.empty())
      return {};
  }
  if (first.kernel && plain.kernel)
    comparePlain(product, rows, first, plain);
  return {};
}

Status ProductChecker::check(int64_t tokens) {
  Result<MeasuredShape> shape = engine.prepare(tokens, 1);
  if (!shape.ok())
    return std::move(shape).status();
  std::set<std::vector<uint32_t>> known;
  for (uint32_t program : engine.programs()) {
    const auto *instructions = executor.target().programs()->Get(program)->instructions();
    for (uint32_t i = 0; i < count(instructions) && found.empty(); ++i) {
      std::optional<Product> product = productAt(program, i, *shape);
      if (!product)
        continue;
      // Layers run the same kernels: one of them stands for all.
      std::vector<uint32_t> same;
      for (const schema::Variant *variant : product->variants)
        same.push_back(variant->kernel());
      if (!known.insert(same).second)
        continue;
      if (Status status = check(*product, tokens); !status.ok())
        return std::move(status).in(product->name + " at " + counted(uint64_t(tokens), "row"));
      products.insert(std::string(factTextOf(kernelOf(*product->variants.front()), "product")));
      rowCounts.insert(tokens);
    }
  }
  return {};
}

std::string ProductChecker::summary() const {
  std::string rows;
  for (int64_t rowCount : rowCounts)
    rows += (rows.empty() ? "" : ", ") + std::to_string(rowCount);
  return counted(kernels.size(), "kernel") + " of " + counted(products.size(), "product") +
         " equal bit for bit at " + rows + " rows" +
         (plainRuns ? ", and within " + fixedPoint(100 * worst, 1) +
                          " % of the tolerance of the plain kernel"
                    : "");
}

} // namespace

Status checkProducts(Session &session, Verdict &verdict) {
  // Takes what a step ahead of the last token left under way.
  if (Result<bool> idle = session.step(); !idle.ok())
    return std::move(idle).status();
  Result<std::unique_ptr<MeasuredEngine>> engine = MeasuredEngine::over(session.engine());
  if (!engine.ok())
    return std::move(engine).status();
  ProductChecker checker(**engine);
  const MemoryPlan &plan = session.memoryPlan();
  for (int64_t rows : kRows)
    if (rows <= plan.maxTokens && rows <= plan.maxContext && checker.fault().empty())
      if (Status status = checker.check(rows); !status.ok())
        return status;
  if (!checker.anyProduct() && checker.fault().empty())
    verdict.skip("products", "the engine was not built with --tuning-candidates");
  else
    verdict.add("products", checker.fault().empty(),
                checker.fault().empty() ? checker.summary() : checker.fault());
  return {};
}

} // namespace ingot::runtime
