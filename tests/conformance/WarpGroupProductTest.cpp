// SPDX-License-Identifier: Apache-2.0
// Products by wgmma: one order of sums for any number of rows, as the hardware forms sums, over
// shapes that no tile divides; and bugs planted in their PTX are found.
#include "tests/conformance/Targets.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr const char *kTarget = "sm_90a";

const Case &caseCalled(llvm::StringRef name) {
  return *llvm::find_if(allCases(), [&](const Case &one) { return one.name == name; });
}

/// Weights of every kind that the method takes, several segments of k among them.
constexpr const char *kCases[] = {
    "matmul_bf16_bf16_f32_72x656",           "matmul_bf16_int4g128_f32_200x2080",
    "matmul_bf16_int4g64z_f32_72x1280",      "matmul_bf16_int4row_f32_72x656",
    "matmul_bf16_codebook4g32h_f32_72x1152", "matmul_f16_f16_f16_65x96",
    "matmul_f8E4M3FN_fp8_f32_72x656",        "matmul_f8E4M3FN_fp8g128_f32_72x656",
    "matmul_pair_bf16_int4g64z_bf16_70x640", "matmul_pair_bf16_int4g64z_bf16_520x640"};

class OrderTest : public testing::TestWithParam<const char *> {};

} // namespace

TEST_P(OrderTest, IsOneForAnyNumberOfRows) {
  if (!isChosen(kTarget))
    GTEST_SKIP() << "another target was chosen";
  ASSERT_TRUE(llvm::any_of(allCases(), [](const Case &one) { return one.name == GetParam(); }));
  const Case &which = caseCalled(GetParam());
  auto compiled = compileCase(which, kTarget);
  ASSERT_TRUE(compiled);
  std::set<std::string> sources, kernels;
  compiled->observe([&](const ObservedLaunch &seen) {
    sources.insert(seen.source);
    kernels.insert(seen.symbol);
  });
  SimulatedMode mode;
  mode.exactSums = true;
  mode.warpOrderSeed = 11;
  compiled->simulateIn(mode);
  // Enough for every tile that few rows and many get.
  ASSERT_TRUE(hasInvariantRows(which));
  checkInvariance(which, *compiled, /*rows=*/140);
  EXPECT_EQ(sources, std::set<std::string>{"MatmulGroup"});
  EXPECT_GE(kernels.size(), 4u) << "batches went to the same kernels";
}

INSTANTIATE_TEST_SUITE_P(WarpGroupProducts, OrderTest, testing::ValuesIn(kCases));

namespace {

using Change = std::function<std::string(const std::string &)>;

/// Every match of `pattern`, or the `place`th alone, becomes `to`.
Change replacing(const std::string &pattern, const std::string &to, int place = -1) {
  return [=](const std::string &text) {
    if (place < 0)
      return std::regex_replace(text, std::regex(pattern), to);
    std::smatch match;
    std::regex compiled(pattern);
    std::string before, left = text;
    for (int i = 0; std::regex_search(left, match, compiled); ++i) {
      before += match.prefix();
      before += i == place ? match.format(to) : match.str();
      left = match.suffix();
    }
    return before + left;
  };
}

/// Whether runs of a product fail, or have other results, once its PTX was changed.
class PlantedBugTest : public testing::Test {
protected:
  static void expectFound(llvm::StringRef name, const Change &change) {
    SCOPED_TRACE(name.str());
    const Case &which = caseCalled(name);
    constexpr int64_t kRows = 20;
    std::vector<Dims> runs = stepsOf(which, kRows);
    auto good = compileCase(which, kTarget, runs), bad = compileCase(which, kTarget, runs);
    ASSERT_TRUE(good && bad);
    ASSERT_TRUE(bad->changePtx(change)) << "the bug is not planted";
    Inputs inputs = makeInputs(good->function(), which, kRows, 5), same = inputs;
    std::vector<HostValue> wanted = good->run(inputs.arguments, inputs.dims);
    ASSERT_EQ(wanted.size(), 1u);
    for (cuda::AsyncCompletion completion :
         {cuda::AsyncCompletion::Late, cuda::AsyncCompletion::Early}) {
      Inputs copy = same;
      bad->simulateIn({completion, 3, 3});
      testing::TestPartResultArray failures;
      std::vector<HostValue> found;
      {
        testing::ScopedFakeTestPartResultReporter reporter(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
        found = bad->run(copy.arguments, copy.dims);
      }
      bool differs = found.size() != 1 || found.front().tensor.codes != wanted.front().tensor.codes;
      EXPECT_TRUE(failures.size() > 0 || differs)
          << (completion == cuda::AsyncCompletion::Late ? "late" : "early");
    }
  }

  void SetUp() override {
    if (!isChosen(kTarget))
      GTEST_SKIP() << "another target was chosen";
  }
};

constexpr const char *kWhole = "matmul_bf16_bf16_f32_72x656";
constexpr const char *kGrouped = "matmul_bf16_int4g128_f32_200x2080";
constexpr const char *kClustered = "matmul_bf16_int4g128_f32_1032x1280";
/// A wait for a phase, and its parity.
constexpr const char *kPhase =
    R"((mbarrier\.try_wait\.parity\.shared\.b64 ended, \[%r\d+\]), %r\d+;)";

} // namespace

TEST_F(PlantedBugTest, MissingWaitForProducts) {
  for (const char *name : {kWhole, kGrouped})
    expectFound(name, replacing(R"(wgmma\.wait_group\.sync\.aligned 0;)", ""));
}

TEST_F(PlantedBugTest, MissingFenceOfRegisters) {
  expectFound(kGrouped, replacing(R"(wgmma\.fence\.sync\.aligned;)", ""));
}

TEST_F(PlantedBugTest, WrongSwizzle) {
  // The descriptor's upper half: rows are not exchanged, or by another pattern.
  constexpr uint64_t kBits = uint64_t(1024 / 16) << 32 | uint64_t(1) << 62;
  for (uint64_t swizzle : {uint64_t(0), uint64_t(2)}) {
    uint64_t wrong = (kBits & ~(uint64_t(3) << 62)) | swizzle << 62;
    expectFound(kWhole, replacing(std::to_string(kBits), std::to_string(int64_t(wrong))));
  }
}

TEST_F(PlantedBugTest, MissingFenceOfProxies) {
  expectFound("matmul_experts_bf16_bf16_48_656x2of5",
              replacing(R"(fence\.proxy\.async\.shared::cta;)", ""));
}

TEST_F(PlantedBugTest, StageReusedEarly) {
  // The wait of the warp that copies, behind those of the warps that multiply.
  expectFound(kWhole, replacing(kPhase, "$1, 1;", 2));
}

TEST_F(PlantedBugTest, WrongPhaseOfABarrier) {
  expectFound(kGrouped, replacing(kPhase, "$1, 1;", 0));
}

TEST_F(PlantedBugTest, WrongRankOfACluster) {
  expectFound(kClustered,
              replacing(R"((mapa\.shared::cluster\.u32 there, %r\d+), %r\d+;)", "$1, 0;", 1));
}

TEST_F(PlantedBugTest, MissingBarrierOfACluster) {
  // Before blocks read each other's sums, and before they end.
  for (int place : {0, 1})
    expectFound(kClustered, replacing(R"(barrier\.cluster\.arrive\.release\.aligned;\s*)"
                                      R"(barrier\.cluster\.wait\.acquire\.aligned;)",
                                      "", place));
}
