// SPDX-License-Identifier: Apache-2.0
// Cases compile, with all evidence that a build asks for, for the CUDA architectures on which the
// default grid does not run them; the larger grid runs them on all.
#include "tests/conformance/Targets.h"

#include "codegen/cuda/CudaArchitecture.h"
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;

namespace {

class CudaCompileTest : public testing::Test {
public:
  CudaCompileTest(const Case &which, std::string target)
      : which(which), target(std::move(target)) {}

  void TestBody() override { EXPECT_TRUE(compileCase(which, target)); }

private:
  const Case &which;
  std::string target;
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
  std::vector<std::string> others;
  for (const codegen::CudaArchitecture &architecture : codegen::cudaArchitectures())
    if (isChosen(architecture.name) &&
        !llvm::is_contained(simulatedTargets(), architecture.name.str()))
      others.push_back(architecture.name.str());
  for (size_t a = 0; a < others.size(); ++a)
    for (size_t i = 0; i < cases.size(); ++i) {
      // A third of the cases, each for one of them.
      if (cases[i].full || i % (3 * others.size()) != a || !runsOn(cases[i], others[a]))
        continue;
      testing::RegisterTest(("compile_" + others[a]).c_str(), cases[i].name.c_str(), nullptr,
                            nullptr, __FILE__, __LINE__,
                            [which = &cases[i], target = others[a]]() -> testing::Test * {
                              return new CudaCompileTest(*which, target);
                            });
    }
}
