// SPDX-License-Identifier: Apache-2.0
// Cases assemble, with all evidence that a build asks of binaries, for CUDA architectures. What the
// simulator runs is PTX alone.
#include "tests/conformance/Targets.h"

#include "codegen/cuda/CudaArchitecture.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;

namespace {

class CudaCompileTest : public testing::Test {
public:
  CudaCompileTest(const Case &which, std::string target, bool all)
      : which(which), target(std::move(target)), all(all) {}

  void TestBody() override {
    std::vector<Dims> runs;
    if (!all)
      runs = stepsOf(which, which.tokens);
    EXPECT_TRUE(compileCase(which, target, runs, CudaCode::PtxAndBinary));
  }

private:
  const Case &which;
  std::string target;
  bool all; ///< kernels, or those that the case's runs take
};

} // namespace

/// A simulator ends a launch that waits in vain; a device would hang if kernels did not end it.
TEST(CudaKernels, WaitsForCopiesEnd) {
  auto which = llvm::find_if(
      allCases(), [](const Case &one) { return one.name == "matmul_bf16_int4g128_f32_200x2080"; });
  ASSERT_NE(which, allCases().end());
  auto compiled = compileCase(*which, "sm_90a");
  ASSERT_TRUE(compiled);
  std::string text = compiled->portablePtx();
  llvm::StringRef ptx = text;
  EXPECT_GT(ptx.count("mbarrier.try_wait"), 0u);
  EXPECT_EQ(ptx.count("mbarrier.try_wait"), 2 * ptx.count("trap;")); // before the loop and in it
}

void conformance::registerCudaCases(const std::vector<Case> &cases) {
  auto add = [&](const Case &which, const std::string &target, bool all) {
    if (runsOn(which, target) && isChosen(target))
      testing::RegisterTest(
          ("compile_" + target).c_str(), which.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
          [=, &which]() -> testing::Test * { return new CudaCompileTest(which, target, all); });
  };
  std::vector<std::string> others;
  for (const codegen::CudaArchitecture &architecture : codegen::cudaArchitectures())
    if (!llvm::is_contained(simulatedTargets(), architecture.name.str()))
      others.push_back(architecture.name.str());
  for (auto [i, which] : llvm::enumerate(cases)) {
    if (fullGrid()) {
      for (const std::string &target : simulatedTargets())
        add(which, target, /*all=*/true);
      continue;
    }
    if (which.full)
      continue;
    // Each case for one of the architectures that run it, and a third of them for one of the rest.
    if (!simulatedTargets().empty())
      add(which, simulatedTargets()[i % simulatedTargets().size()], /*all=*/false);
    if (size_t place = i % (3 * others.size()); place < others.size())
      add(which, others[place], /*all=*/true);
  }
}
