// SPDX-License-Identifier: Apache-2.0
// Kernels that run where a compiler has too few registers for the usual ones: the same bits.
#include "tests/conformance/Targets.h"

#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::conformance;

TEST(Fallbacks, GiveTheBitsOfTheUsualKernels) {
  // Cases with tokens enough for kernels of whole prompts, which are those that have fallbacks.
  constexpr size_t kMost = 4;
  constexpr int64_t kPrompt = 64;
  size_t differing = 0;
  for (const Case &which : allCases()) {
    auto tokens = llvm::find_if(which.tokens, [](int64_t count) { return count > kPrompt; });
    if (differing == kMost || which.full || tokens == which.tokens.end() ||
        !which.name.starts_with("attention") || !runsOn(which, "sm_80"))
      continue;
    SCOPED_TRACE(which.name);
    std::vector<Dims> steps = stepsOf(which, *tokens);
    auto usual = compileCase(which, "sm_80", steps);
    auto fallback = compileCase(which, "sm_80", {}, CudaCode::PtxOfFallbacks);
    ASSERT_TRUE(usual && fallback);
    const Inputs inputs = makeInputs(usual->function(), which, *tokens, 11);
    if (usual->kernelsAt(inputs.dims).empty())
      continue;
    Inputs copy = inputs, other = inputs;
    std::string kernel, instead;
    usual->observe([&](const ObservedLaunch &seen) { kernel = seen.symbol; });
    fallback->observe([&](const ObservedLaunch &seen) { instead = seen.symbol; });
    std::vector<HostValue> expected = usual->run(copy.arguments, copy.dims);
    std::vector<HostValue> results = fallback->run(other.arguments, other.dims);
    ASSERT_EQ(results.size(), expected.size());
    for (size_t r = 0; r < results.size(); ++r)
      EXPECT_EQ(results[r].tensor.codes, expected[r].tensor.codes);
    differing += kernel != instead;
  }
  EXPECT_EQ(differing, kMost);
}
