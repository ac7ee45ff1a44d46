// SPDX-License-Identifier: Apache-2.0
// The numerics rule: a row's result is the same bits whatever else is in the batch, wherever the
// row stands in it, and however many multiprocessors a GPU has.
#include "tests/conformance/Cases.h"
#include "tests/conformance/Targets.h"

#include "dialects/llm/EncodedWeight.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Rows of the large batch that most tests look at.
constexpr int64_t kTokens = 67;

/// Rows that a value has for each token; 0 for weights.
int64_t rowsOfToken(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<llm::RowCount> rows = tensor && tensor.getEncoding() && !tensor.hasStaticShape()
                                          ? llm::rowCountOf(tensor)
                                          : std::nullopt;
  return rows && rows->dim == "T" ? rows->factor : 0;
}

/// The batch that holds rows `picked` of `all`, in this order.
Inputs pickRows(const Inputs &all, const std::vector<int64_t> &picked, func::FuncOp function) {
  Inputs inputs = all;
  inputs.dims.T = static_cast<int64_t>(picked.size());
  for (auto [argument, value] :
       llvm::zip_equal(function.getBody().front().getArguments(), inputs.arguments)) {
    int64_t each = rowsOfToken(argument.getType());
    if (each == 0)
      continue;
    HostTensor &tensor = value.tensor;
    HostTensor rows(tensor.element, inputs.dims.T * each, tensor.columns);
    const int64_t codes = each * tensor.columns;
    for (size_t i = 0; i < picked.size(); ++i)
      std::copy_n(tensor.codes.begin() + picked[i] * codes, codes,
                  rows.codes.begin() + int64_t(i) * codes);
    tensor = rows;
  }
  return inputs;
}

} // namespace

/// The batches of some of the rows.
static std::vector<std::vector<int64_t>> batches(int64_t rows) {
  std::vector<int64_t> half;
  for (int64_t i = 0; i < rows; i += 2)
    half.push_back((i * 29 + 5) % rows);
  std::vector<std::vector<int64_t>> batches = {
      half, {rows - 1, 0, 33}, {12, 13, 14, 15, 16, 17, 18, 19}};
  for (int64_t row : {int64_t(0), int64_t(1), int64_t(16), int64_t(31), rows - 1})
    batches.push_back({row});
  // Of sizes between those.
  if (rows > kTokens)
    for (int64_t size : {14, 25, 50})
      llvm::append_range(batches.emplace_back(), llvm::seq<int64_t>(7, 7 + size));
  return batches;
}

/// The dims of what checkInvariance runs.
static std::vector<Dims> stepsOfBatches(const Case &which) {
  std::vector<Dims> steps = stepsOf(which, kTokens);
  for (const std::vector<int64_t> &batch : batches(kTokens)) {
    steps.push_back(steps.front());
    steps.back().T = int64_t(batch.size());
  }
  return steps;
}

void conformance::checkInvariance(const Case &which, CompiledFunction &compiled, int64_t rows) {
  Inputs all = makeInputs(compiled.function(), which, rows, 7);
  Inputs whole = all;
  std::vector<HostValue> expected = compiled.run(whole.arguments, whole.dims);
  for (const std::vector<int64_t> &batch : batches(rows)) {
    Inputs inputs = pickRows(all, batch, compiled.function());
    std::vector<HostValue> results = compiled.run(inputs.arguments, inputs.dims);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t r = 0; r < results.size(); ++r)
      for (size_t i = 0; i < batch.size(); ++i) {
        const HostTensor &some = results[r].tensor, &one = expected[r].tensor;
        const int64_t codes = some.size() / int64_t(batch.size());
        ASSERT_TRUE(std::equal(some.codes.begin() + int64_t(i) * codes,
                               some.codes.begin() + int64_t(i + 1) * codes,
                               one.codes.begin() + batch[i] * codes))
            << "row " << batch[i] << " differs in a batch of " << batch.size();
      }
  }
}

bool conformance::hasInvariantRows(const Case &which) {
  if (which.fp8Products)
    return false;
  auto module = parseSourceString<ModuleOp>(which.plain, &sharedContext());
  bool found = false, all = true;
  module->walk([&](func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      // Rows of several tokens that belong together.
      if (auto role = function.getArgAttrOfType<StringAttr>(i, "test.role"))
        all &= role.getValue() != "order" && role.getValue() != "rows";
    for (Operation &op : function.getBody().front().without_terminator())
      if (!op.hasTrait<llm::WeightExpression>()) {
        found = true;
        all &= op.hasTrait<llm::RowIndependent>();
      }
  });
  return found && all;
}

namespace {

/// The first cases whose names begin so, `most` of them, on the best target and the emulation of
/// AMX; with --full each case is checked on every target where it is compared with the reference.
void checkFamily(const std::vector<Case> &cases, const std::string &prefix, size_t most) {
  if (fastTargets().empty())
    GTEST_SKIP() << "this machine runs no target but the reference";
  for (const std::string &target : fastTargets()) {
    if (target != fastTargets().front() && target != kEmulatedAmx)
      continue;
    size_t done = 0;
    for (const Case &which : cases)
      if (which.name.starts_with(prefix) && hasInvariantRows(which) && !which.full &&
          done++ < most) {
        SCOPED_TRACE(which.name + " on " + target);
        auto compiled = compileCase(which, target, stepsOfBatches(which));
        ASSERT_TRUE(compiled);
        checkInvariance(which, *compiled);
      }
  }
}

/// One case on simulated GPUs of different sizes: the same bits.
class MultiprocessorTest : public testing::Test {
public:
  MultiprocessorTest(const Case &which, std::string target, bool mustDiffer)
      : which(which), target(std::move(target)), mustDiffer(mustDiffer) {}

  void TestBody() override {
    auto compiled = compileCase(which, target);
    ASSERT_TRUE(compiled);
    std::set<std::vector<int64_t>> grids;
    compiled->observe([&](const ObservedLaunch &seen) {
      grids.insert({std::begin(seen.launch.call.grid), std::end(seen.launch.call.grid)});
    });
    // Enough rows for tiles, few enough for four simulations.
    constexpr int64_t kMost = 17;
    int64_t tokens = which.tokens.front();
    for (int64_t each : which.tokens)
      tokens = each <= kMost ? each : tokens;
    const Inputs inputs = makeInputs(compiled->function(), which, tokens, 3);
    std::vector<HostValue> expected;
    for (uint32_t count : {1u, 5u, 78u, 132u}) {
      compiled->simulateIn({cuda::AsyncCompletion::Late, count, count});
      Inputs copy = inputs;
      std::vector<HostValue> results = compiled->run(copy.arguments, copy.dims);
      for (HostValue &argument : copy.arguments)
        results.push_back({{}, std::move(argument.memory)});
      if (expected.empty())
        expected = results;
      ASSERT_EQ(results.size(), expected.size());
      for (size_t r = 0; r < results.size(); ++r)
        ASSERT_TRUE(results[r].tensor.codes == expected[r].tensor.codes &&
                    results[r].memory == expected[r].memory)
            << "result " << r << " differs with " << count << " multiprocessors";
    }
    if (mustDiffer)
      EXPECT_GT(grids.size(), 1u) << "the number of multiprocessors changed nothing";
  }

private:
  const Case &which;
  std::string target;
  bool mustDiffer;
};

/// Cases whose kernels divide their work by the number of multiprocessors.
constexpr llvm::StringLiteral kDivided[] = {"matmul_bf16_int4g128_f32_200x2080",
                                            "matmul_i8_int8_f32_200x2080",
                                            "matmul_pair_bf16_int4g64z_bf16_70x640",
                                            "matmul_bf16_q4_k_f32_200x2048",
                                            "attention_bf16_bf16_1_1x96_v64_latent_to_1100",
                                            "attention_bf16_bf16_8_4x64",
                                            "attention_bf16_i8_4_2x64"};

} // namespace

void conformance::registerMultiprocessorTests() {
  // A Hopper target by default, whose parts have 78, 114 or 132; with --full one without
  // programmatic launches too.
  std::vector<std::string> targets = {"sm_90a"};
  if (fullGrid())
    targets.push_back("sm_80");
  for (const Case &which : allCases()) {
    bool divided = llvm::is_contained(kDivided, which.name);
    for (const std::string &target : targets)
      if ((divided || fullGrid()) && isChosen(target) && runsOn(which, target))
        testing::RegisterTest(("multiprocessors_" + target).c_str(), which.name.c_str(), nullptr,
                              nullptr, __FILE__, __LINE__, [=, &which]() -> testing::Test * {
                                return new MultiprocessorTest(which, target, divided);
                              });
  }
}

/// Tiles of tokens go over the weight in groups, here of four: all rows of three groups at once,
/// and some at a time, which have one tile.
TEST(Invariance, GroupsOfTokenTiles) {
  const std::string target = "sm_87"; // few multiprocessors and a small L2 make groups small
  if (!isChosen(target))
    GTEST_SKIP() << "another target was chosen";
  Case which;
  which.plain = "func.func @f(%x: tensor<?x4096xbf16, \"T\">, %w: tensor<136x4096xbf16>) -> "
                "tensor<?x136xf32, \"T\"> {\n  %y = llm.matmul %x, %w : tensor<?x4096xbf16, \"T\">,"
                " tensor<136x4096xbf16> -> tensor<?x136xf32, \"T\">\n"
                "  return %y : tensor<?x136xf32, \"T\">\n}\n";
  auto compiled = CompiledFunction::compile(sharedContext(), target, which.plain);
  ASSERT_TRUE(compiled);
  constexpr int64_t kAll = 1100, kSome = 55, kGroup = 4;
  std::vector<int64_t> grid;
  compiled->observe([&](const ObservedLaunch &seen) {
    grid.assign(std::begin(seen.launch.call.grid), std::end(seen.launch.call.grid));
  });
  Inputs all = makeInputs(compiled->function(), which, kAll, 7);
  Inputs whole = all;
  std::vector<HostValue> expected = compiled->run(whole.arguments, whole.dims);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_GT(grid.front(), 2 * kGroup);
  const HostTensor &wanted = expected.front().tensor;
  for (int64_t first = 0; first < kAll; first += kSome) {
    std::vector<int64_t> picked(kSome);
    std::iota(picked.begin(), picked.end(), first);
    Inputs some = pickRows(all, picked, compiled->function());
    std::vector<HostValue> results = compiled->run(some.arguments, some.dims);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_TRUE(std::equal(results.front().tensor.codes.begin(), results.front().tensor.codes.end(),
                           wanted.codes.begin() + first * wanted.columns))
        << "rows from " << first;
  }
}

TEST(Invariance, Matmul) { checkFamily(matmulCases(), "matmul_f32", 8); }
TEST(Invariance, IntegerMatmul) { checkFamily(matmulCases(), "matmul_i8", 3); }
TEST(Invariance, NarrowMatmul) { checkFamily(matmulCases(), "matmul_bf16", 4); }
TEST(Invariance, PairMatmul) { checkFamily(matmulCases(), "matmul_bf16_bf16", 3); }
TEST(Invariance, TiledFloats) {
  checkFamily(matmulCases(), "matmul_bf16_int4g64z_f32_72x1280", 1);
  checkFamily(matmulCases(), "matmul_f16_int4g64z_f32_72x640", 1);
}
TEST(Invariance, Epilogue) { checkFamily(matmulCases(), "matmul_epilogue_random", 2); }
TEST(Invariance, Pair) { checkFamily(matmulCases(), "matmul_pair", 2); }
TEST(Invariance, RmsNorm) { checkFamily(rowCases(), "rms_norm", 8); }
TEST(Invariance, LayerNorm) { checkFamily(rowCases(), "layer_norm", 3); }
TEST(Invariance, Pointwise) { checkFamily(rowCases(), "pointwise_random", 4); }
TEST(Invariance, Quantize) { checkFamily(rowCases(), "quantize", 4); }
TEST(Invariance, Rope) { checkFamily(rowCases(), "rope", 3); }
TEST(Invariance, RopeAxes) {
  checkFamily(rowCases(), "rope_f32_3x128_sections", 1);
  checkFamily(rowCases(), "rope_bf16_3x72_patches", 1);
}
TEST(Invariance, Attention) { checkFamily(attentionCases(), "attention", 3); }
TEST(Invariance, NarrowAttention) { checkFamily(attentionCases(), "attention_bf16_bf16", 3); }
TEST(Invariance, Reaches) {
  checkFamily(attentionCases(), "attention_f32_f32_4_2x80_window9_reaches", 1);
  checkFamily(attentionCases(), "attention_bf16_bf16_4_2x64_reaches", 1);
  checkFamily(attentionCases(), "attention_bf16_bf16_4_2x64_window20_reaches", 1);
}
/// Few tokens and many have kernels of their own.
TEST(Invariance, AttentionOnSimulatedGpus) {
  const std::string names[] = {"attention_bf16_bf16_4_2x64_window20_reaches",
                               "attention_bf16_bf16_1_1x96_v64_latent_to_1100",
                               "attention_f16_f16_20_1x80_v64_latent_to_1100"};
  if (simulatedTargets().empty())
    GTEST_SKIP() << "another target was chosen";
  for (const Case &which : attentionCases())
    if (llvm::is_contained(names, which.name)) {
      SCOPED_TRACE(which.name);
      auto compiled = compileCase(which, simulatedTargets().front(), stepsOfBatches(which));
      ASSERT_TRUE(compiled);
      checkInvariance(which, *compiled);
    }
}
TEST(Invariance, Combine) { checkFamily(expertCases(), "combine", 5); }
TEST(Invariance, Route) { checkFamily(expertCases(), "route", 12); }
