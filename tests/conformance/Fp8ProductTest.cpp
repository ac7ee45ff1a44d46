// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit floats mean the same numbers on every architecture, whether its tensor cores
// take them as they are or decoded: within the tolerance of their order of sums, when sums are
// formed as the hardware forms them, on numbers that leave few bits to spare.
#include "tests/conformance/Cases.h"
#include "tests/conformance/Targets.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr const char *kCase = "matmul_f8E4M3FN_fp8_f32_72x656";
/// Where the case's function has its input and its weight.
constexpr size_t kInput = 0, kWeight = 2;

constexpr uint32_t kSign = 0x80, kLargest = 0x7e; // the code after it is NaN

/// How input and weight are filled.
enum class Range { Even, AllCodes, Cancelling };

/// Any finite code.
uint32_t anyCode(std::mt19937_64 &random) {
  return uint32_t(random() % (kLargest + 1)) | (random() % 2 ? kSign : 0);
}

void fill(HostTensor &tensor, Range range, bool isInput, std::mt19937_64 &random) {
  if (range == Range::Even)
    return fillRandom(tensor, random, 1);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.codes[i] = anyCode(random);
  if (range == Range::AllCodes)
    return;
  // Of each 16 columns, two hold the largest products there are, which cancel; the rest are small.
  for (int64_t i = 0; i < tensor.size(); ++i) {
    int64_t column = i % tensor.columns;
    if (column % 16 == 3 || column % 16 == 12)
      tensor.codes[i] = kLargest | (isInput && column % 16 == 12 ? kSign : 0);
    else
      tensor.codes[i] &= kSign | 0x3f;
  }
}

/// worstError with both sides filled so.
double worstErrorIn(const Case &which, CompiledFunction &compiled, Range range, int64_t tokens) {
  return worstError(which, compiled, tokens, [&](std::vector<HostValue> &arguments) {
    std::mt19937_64 random(29);
    fill(arguments[kInput].tensor, range, true, random);
    fill(arguments[kWeight].tensor, range, false, random);
  });
}

} // namespace

/// How many times the tolerance of f32 sums an order may miss: wgmma keeps 13 bits of up to 128
/// columns before they join a sum in f32.
static double allowedBy(engine::SumsAttr sums) {
  constexpr double kWarpGroup = 12;
  return sums.getUnit() == engine::SumUnit::WarpGroup ? kWarpGroup : 1;
}

TEST(Fp8Products, AreTheSameNumbersOnEveryArchitecture) {
  std::vector<Case> cases = matmulCases();
  auto which = llvm::find_if(cases, [](const Case &one) { return one.name == kCase; });
  ASSERT_NE(which, cases.end());
  for (const std::string &target : simulatedTargets()) {
    auto compiled = CompiledFunction::compile(sharedContext(), target, which->plain);
    ASSERT_TRUE(compiled);
    SimulatedMode mode;
    mode.exactSums = true;
    compiled->simulateIn(mode);
    llvm::SmallVector<engine::SumsAttr, 0> orders = compiled->orders();
    ASSERT_EQ(orders.size(), 1u);
    // The order that is allowed more must be the one that needs it.
    double allowed = allowedBy(orders.front()), largest = 0;
    for (Range range : {Range::Even, Range::AllCodes, Range::Cancelling})
      for (int64_t tokens : {3, 18}) {
        double worst = worstErrorIn(*which, *compiled, range, tokens);
        EXPECT_LE(worst, allowed) << target << ", range " << int(range) << ", T = " << tokens;
        largest = std::max(largest, worst);
      }
    EXPECT_EQ(largest > 1, allowed > 1) << target << ": " << largest;
  }
}
