// SPDX-License-Identifier: Apache-2.0
// Sums of products of bytes are exact where all of them have the largest magnitude there is:
// kernels that keep some in 16 bits for a while must not count on smaller ones.
#include "tests/conformance/Cases.h"
#include "tests/conformance/Targets.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Codes of 2 to 6 bits, long groups and short ones, offsets, a book and whole bytes.
constexpr const char *kCases[] = {"matmul_i8_int4row_f32_43x172",  "matmul_i8_int3rowh_f32_72x656",
                                  "matmul_i8_int5g32h_f32_72x656", "matmul_i8_int6g32h_f32_72x656",
                                  "matmul_i8_q2_k_f32_43x256",     "matmul_i8_iq4_xs_f32_43x256",
                                  "matmul_i8_int8_f32_43x172"};
/// Where the cases' functions have their inputs and their weights.
constexpr size_t kInput = 0, kWeight = 2;

constexpr int64_t kTokens[] = {1, 9, 40};

/// The least and the largest number of an integer type, as codes.
std::array<uint32_t, 2> endsOf(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits < 8)
    return {0, (1u << bits) - 1};
  return {0x80, 0x7f};
}

/// How a tensor is filled: with one end of its type, or with both at random.
enum class Ends { Least, Largest, Both };

void fill(HostTensor &tensor, Ends ends, std::mt19937_64 &random) {
  for (uint32_t &code : tensor.codes)
    code = endsOf(tensor.element)[ends == Ends::Both ? random() % 2 : ends == Ends::Largest];
}

/// worstError with both sides filled so.
double worstErrorAt(const Case &which, CompiledFunction &compiled, Ends input, Ends weight,
                    int64_t tokens) {
  return worstError(which, compiled, tokens, [&](std::vector<HostValue> &arguments) {
    std::mt19937_64 random(31);
    fill(arguments[kInput].tensor, input, random);
    fill(arguments[kWeight].tensor, weight, random);
  });
}

} // namespace

TEST(ByteProducts, AreExactAtTheEndsOfTheirTypes) {
  std::vector<Case> cases = matmulCases();
  for (const char *name : kCases) {
    auto which = llvm::find_if(cases, [&](const Case &one) { return one.name == name; });
    ASSERT_NE(which, cases.end()) << name;
    for (const std::string &target : fastTargets()) {
      if (!isChosen(target))
        continue;
      auto compiled = CompiledFunction::compile(sharedContext(), target, which->plain,
                                                stepsOf(*which, kTokens));
      ASSERT_TRUE(compiled) << name << " on " << target;
      for (auto [input, weight] :
           {std::pair(Ends::Least, Ends::Largest), std::pair(Ends::Largest, Ends::Both)})
        for (int64_t tokens : kTokens)
          EXPECT_LE(worstErrorAt(*which, *compiled, input, weight, tokens), 1)
              << name << " on " << target << ", ends " << int(input) << " by " << int(weight)
              << ", T = " << tokens;
    }
  }
}
