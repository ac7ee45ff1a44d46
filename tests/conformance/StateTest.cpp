// SPDX-License-Identifier: Apache-2.0
// Recurrent state from llm IR to bits: blocks as the serving runtime hands them out, steps cut
// anywhere, values against plain loops in double precision.
#include "tests/conformance/ServedState.h"

#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr int64_t kColumns = 70, kTaps = 4, kBlock = 4, kWidth = 16, kBlocks = 13;

/// A convolution of inputs in f32, whose state and result are bf16.
std::string text() {
  std::string state = llvm::formatv("!llm.state<tensor<{0}x{1}xbf16>, block = {2}>", kTaps - 1,
                                    kColumns, kBlock),
              weight = llvm::formatv("tensor<{0}x{1}xf32>", kColumns, kTaps),
              bias = llvm::formatv("tensor<{0}xbf16>", kColumns), x = activation(kColumns, "f32"),
              y = activation(kColumns, "bf16"), index = "tensor<?xi32, \"T\">",
              offsets = "tensor<?xi32, \"S + 1\">", table = "tensor<?x?xi32, \"S\">";
  return "func.func @f(%x: " + x + ", %p: " + index + ", %o: " + offsets + ", %b: " + table +
         ", %s: " + state + ", %w: " + weight + ", %c: " + bias + ") -> " + y +
         " {\n  %y = llm.causal_conv %x at %p, %o, %b with %s by %w bias(%c : " + bias +
         ") : " + x + ", " + index + ", " + offsets + ", " + table + ", " + state + ", " + weight +
         " -> " + y + "\n  return %y : " + y + "\n}";
}

std::unique_ptr<ServedState> start(const std::string &target) {
  return ServedState::start(target, text(), {kBlocks, kWidth});
}

/// Compares all that came out from position `first` on with the sums in double precision.
void expectConvolved(const ServedState &served, const Stream &stream, int64_t first = 0) {
  Type bf16 = elementType("bf16");
  const HostTensor &weight = served.weights[0], &bias = served.weights[1];
  for (int64_t position = first; position < stream.tokens(); ++position)
    for (int64_t c = 0; c < kColumns; ++c) {
      double sum = bias.at(c), size = std::abs(sum);
      for (int64_t j = 0; j < kTaps; ++j)
        if (int64_t at = position - kTaps + 1 + j; at >= 0) {
          double term = weight.at(c, j) * rounded(bf16, stream.inputs[0].at(at, c));
          sum += term;
          size += std::abs(term);
        }
      Expected wanted = stored(bf16, sum, 1e-6 * size);
      ASSERT_NEAR(decode(bf16, stream.results[position * kColumns + c]), wanted.value,
                  wanted.tolerance)
          << "position " << position << ", column " << c;
    }
}

} // namespace

TEST(State, StepsAreCutAnywhere) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto served = start(target);
    ASSERT_TRUE(served);
    Stream wanted = served->open(41);
    served->finish(wanted, 41);
    expectConvolved(*served, wanted);
    for (int64_t each : {1, 2, 3, 4, 5, 7, 11, 40}) {
      served->reset();
      Stream stream = served->open(41);
      served->finish(stream, each);
      EXPECT_EQ(stream.results, wanted.results) << "steps of " << each;
    }
  }
}

TEST(State, SequencesJoinLeaveAndReuseBlocks) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto served = start(target);
    ASSERT_TRUE(served);
    Stream first = served->open(23, 100), second = served->open(9, 200),
           third = served->open(30, 300);
    served->step({{&first, 10}, {&second, 3}});
    served->step({{&first, 1}, {&second, 6}, {&third, 17}});
    expectConvolved(*served, second);
    served->cache.release(second.sequence);
    served->step({{&third, 13}, {&first, 12}});
    expectConvolved(*served, first);
    expectConvolved(*served, third);
    served->cache.release(first.sequence);
    served->cache.release(third.sequence);
    // Blocks that hold what others left: a sequence starts from zeros all the same.
    for (int32_t round = 4; round < 9; ++round) {
      Stream next = served->open(26, round * 100);
      served->finish(next, round);
      expectConvolved(*served, next);
      served->cache.release(next.sequence);
    }
  }
}

TEST(State, PrefixesAndPreemptedSequencesGoOnFromBorders) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    auto served = start(target);
    ASSERT_TRUE(served);
    Stream first = served->open(40);
    served->step({{&first, 22}});
    // Preempted: what it has computed is found again as far as a border was kept.
    served->cache.release(first.sequence);
    first.sequence.computed = 0;
    served->cache.takePrefix(first.sequence);
    EXPECT_EQ(first.sequence.computed, 20);
    served->finish(first, 3);
    expectConvolved(*served, first);
    // Another one with the same beginning, while the first is there.
    for (int64_t tokens : {39, 37, 23}) {
      Stream same = served->open(tokens);
      served->cache.takePrefix(same.sequence);
      int64_t known = same.sequence.computed;
      EXPECT_EQ(known, (tokens - 1) / kBlock * kBlock);
      served->finish(same, 2);
      expectConvolved(*served, same, known);
      served->cache.release(same.sequence);
    }
    served->cache.release(first.sequence);
    EXPECT_EQ(served->cache.availableBlocks(0), kBlocks);
  }
}
