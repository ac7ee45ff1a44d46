// SPDX-License-Identifier: Apache-2.0
// The reference executes the order in which another target's products add: the same bits, where the
// order determines them.
#include "tests/conformance/Targets.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;
using engine::SumUnit;

namespace {

/// Whether `sums` say all of what happens: tensor cores have bits of their own, and of what parts
/// of bf16 an encoded weight is a sum is the kernel's business.
bool isDetermined(engine::SumsAttr sums) {
  return sums.getUnit() != SumUnit::Tensor && sums.getParts() == 1;
}

/// Compares a product on `target` with the reference in the same order; false where it is skipped.
bool compareInOrder(const Case &which, const std::string &target) {
  auto compiled = compileCase(which, target);
  if (!compiled)
    return false;
  std::vector<engine::SumsAttr> orders = compiled->orders();
  EXPECT_EQ(orders.size(), 1u);
  if (orders.size() != 1 || !isDetermined(orders.front()))
    return false;
  SCOPED_TRACE(which.name + " on " + target + ": " + orders.front().text());
  auto reference = CompiledFunction::compile(sharedContext(), "reference", which.plain, {},
                                             CudaCode::Ptx, orders.front());
  if (!reference)
    return false;
  for (int64_t tokens : {1, 17}) {
    Inputs inputs = makeInputs(reference->function(), which, tokens, 100 + tokens), same = inputs;
    std::vector<HostValue> wanted = reference->run(inputs.arguments, inputs.dims);
    std::vector<HostValue> found = compiled->run(same.arguments, same.dims);
    EXPECT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i)
      EXPECT_EQ(found[i].tensor.codes, wanted[i].tensor.codes) << tokens << " rows";
  }
  return true;
}

} // namespace

TEST(Sums, TheReferenceExecutesTheOrderOfATarget) {
  size_t index = 0, compared = 0;
  for (const Case &which : matmulCases()) {
    // Products alone: functions in epilogues are computed otherwise.
    if (which.name.starts_with("matmul_epilogue") || which.name.starts_with("matmul_pair") ||
        which.fused || (which.full && !fullGrid()))
      continue;
    for (size_t level = 0; level < fastTargets().size(); ++level)
      if (fullGrid() || (index + level) % 8 == 0)
        compared += compareInOrder(which, fastTargets()[level]);
    ++index;
  }
  EXPECT_TRUE(compared > 0 || fastTargets().empty());
}
