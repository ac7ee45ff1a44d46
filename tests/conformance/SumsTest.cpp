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

/// Whether `sums` say all of what happens: tensor cores have bits of their own, and the order in
/// which parts of bf16 follow each other, or inputs that an offset or a zero point meets are added,
/// is the kernel's business.
bool isDetermined(engine::SumsAttr sums, llvm::StringRef product) {
  if (sums.getUnit() == SumUnit::Integers)
    return true;
  return sums.getUnit() != SumUnit::Tensor && sums.getParts() == 1 &&
         !product.contains("zero_points = true") && !product.contains("\"affine") &&
         !product.contains("\"codebook");
}

/// Compares a product on `target` with the reference in the same order; false where it is skipped.
bool compareInOrder(const Case &which, const std::string &target) {
  auto compiled = compileCase(which, target);
  if (!compiled)
    return false;
  llvm::SmallVector<engine::SumsAttr, 0> orders = compiled->orders();
  EXPECT_EQ(orders.size(), 1u);
  if (orders.size() != 1 || !isDetermined(orders.front(), which.plain))
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
    for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
      const auto &some = found[i].tensor.codes, &one = wanted[i].tensor.codes;
      size_t differing = 0;
      for (size_t j = 0; j < one.size(); ++j)
        differing += some[j] != one[j];
      EXPECT_EQ(differing, 0u) << "of " << one.size() << " values, " << tokens << " rows";
    }
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
      if (fullGrid() || (index + level) % 40 == 0)
        compared += compareInOrder(which, fastTargets()[level]);
    ++index;
  }
  EXPECT_TRUE(compared > 0 || fastTargets().empty());
}

TEST(Sums, SoOfNormsAndCombinedRows) {
  size_t compared = 0;
  for (const std::vector<Case> &cases : {rowCases(), expertCases()})
    for (const Case &which : cases)
      if (!which.fused && !which.full && !fastTargets().empty() &&
          (which.name.starts_with("rms_norm") || which.name.starts_with("layer_norm") ||
           which.name.starts_with("combine")))
        compared += compareInOrder(which, fastTargets().front());
  EXPECT_TRUE(compared > 0 || fastTargets().empty());
}

namespace {

/// The first of `cases` whose results are f32 and whose name begins so.
const Case &caseCalled(const std::vector<Case> &cases, const std::string &prefix) {
  return *llvm::find_if(cases, [&](const Case &one) { return one.name.starts_with(prefix); });
}

/// How far the results of `which` in an order are from those in the reference's own; nothing where
/// they are the same bits.
std::optional<double> distance(const Case &which, engine::SumsAttr sums) {
  auto run = [&](engine::SumsAttr order) {
    auto compiled = CompiledFunction::compile(sharedContext(), "reference", which.plain, {},
                                              CudaCode::Ptx, order);
    Inputs inputs = makeInputs(compiled->function(), which, 17, 5);
    return compiled->run(inputs.arguments, inputs.dims).front().tensor;
  };
  HostTensor own = run({}), other = run(sums);
  double most = 0;
  for (int64_t i = 0; i < own.size(); ++i)
    most = std::max(most, std::abs(own.at(i) - other.at(i)) / (1 + std::abs(own.at(i))));
  return own.codes == other.codes ? std::nullopt : std::optional(most);
}

} // namespace

TEST(Sums, TheReferenceExecutesAnyOrderOfWhatAdds) {
  const std::vector<Case> rows = rowCases(), attention = attentionCases(), experts = expertCases();
  const Case *cases[] = {
      &caseCalled(rows, "rms_norm_f32_f32"), &caseCalled(attention, "attention_f32_f32"),
      &caseCalled(attention, "encoder_attention_f32"), &caseCalled(experts, "combine_f32")};
  for (const Case *which : cases) {
    size_t differing = 0;
    for (auto [unit, width] : {std::pair(SumUnit::Columns, 1),
                               {SumUnit::Pairs, 2},
                               {SumUnit::Halves, 32},
                               {SumUnit::Tensor, 16},
                               {SumUnit::Lanes, 8}}) {
      auto sums = engine::SumsAttr::get(&sharedContext(), unit, width, 0, /*segment=*/64);
      SCOPED_TRACE(which->name + " in " + sums.text());
      std::optional<double> apart = distance(*which, sums);
      differing += apart.has_value();
      EXPECT_LT(apart.value_or(0), 1e-5);
    }
    EXPECT_GE(differing, 1u) << which->name << " adds in one order alone";
  }
}
