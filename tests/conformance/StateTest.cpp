// SPDX-License-Identifier: Apache-2.0
// Recurrent state from llm IR to bits: blocks as the serving runtime hands them out, steps cut
// anywhere, values against plain loops in double precision.
#include "runtime/serving/KvCache.h"
#include "tests/conformance/Targets.h"

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

/// A sequence: its inputs, which its tokens determine, and what came out so far, as codes.
struct Stream {
  explicit Stream(const runtime::KvCache &cache, int64_t tokens, int32_t first = 0)
      : inputs(elementType("f32"), tokens, kColumns), results(tokens * kColumns) {
    for (int64_t i = 0; i < tokens; ++i)
      sequence.tokens.push_back(first + int32_t(i));
    sequence.promptTokens = tokens;
    cache.prepare(kBlock * kWidth, sequence);
    std::mt19937_64 random(uint64_t(first) + 1);
    fillRandom(inputs, random, 1);
  }

  runtime::Sequence sequence;
  HostTensor inputs;
  std::vector<uint32_t> results;
};

/// One target's engine, its state, and who has which block of it.
class Served {
public:
  explicit Served(const std::string &target)
      : compiled(CompiledFunction::compile(sharedContext(), target, text())),
        weight(elementType("f32"), kColumns, kTaps), bias(elementType("bf16"), kColumns, 1),
        // NaN: what a sequence does not write itself it must not read.
        state(size_t(kBlocks * rowBytes()), 0xff),
        cache({{"recurrent", kBlock, uint64_t(rowBytes()), kWidth, 4, kBlocks, kBlock + 1, true}}) {
    std::mt19937_64 random(7);
    fillRandom(weight, random, 1);
    fillRandom(bias, random, 1);
  }

  static int64_t rowBytes() {
    auto row = RankedTensorType::get({kTaps - 1, kColumns}, elementType("bf16"));
    return llm::StateType::get(&sharedContext(), row, kBlock).blockBytes();
  }

  /// Computes the next tokens of each of the streams in one step.
  void step(llvm::ArrayRef<std::pair<Stream *, int64_t>> parts) {
    ASSERT_TRUE(compiled);
    Type i32 = IntegerType::get(&sharedContext(), 32);
    Dims dims = {0, int64_t(parts.size()), 1, kWidth};
    for (auto [stream, count] : parts)
      dims.T += count;
    std::vector<HostValue> arguments(7);
    HostTensor &x = arguments[0].tensor = HostTensor(elementType("f32"), dims.T, kColumns);
    HostTensor &positions = arguments[1].tensor = HostTensor(i32, dims.T, 1);
    HostTensor &offsets = arguments[2].tensor = HostTensor(i32, dims.S + 1, 1);
    HostTensor &table = arguments[3].tensor = HostTensor(i32, dims.S, kWidth);
    arguments[4].memory = state;
    arguments[5].tensor = weight;
    arguments[6].tensor = bias;
    int64_t row = 0, entry = 0;
    for (auto [stream, count] : parts) {
      ASSERT_TRUE(cache.extend(stream->sequence, count));
      std::array<int32_t, kWidth> blocks = {};
      cache.fillTableRow(0, stream->sequence, blocks.data());
      for (int64_t i = 0; i < kWidth; ++i)
        table.codes[entry * kWidth + i] = uint32_t(blocks[size_t(i)]);
      for (int64_t i = 0; i < count; ++i, ++row) {
        int64_t position = stream->sequence.computed + i;
        positions.codes[row] = uint32_t(position);
        for (int64_t c = 0; c < kColumns; ++c)
          x.codes[row * kColumns + c] = stream->inputs.codes[position * kColumns + c];
      }
      offsets.codes[++entry] = uint32_t(row);
    }
    ASSERT_TRUE(cache.copies().empty());
    std::vector<HostValue> results = compiled->run(arguments, dims);
    ASSERT_EQ(results.size(), 1u);
    state = arguments[4].memory;
    row = 0;
    for (auto [stream, count] : parts) {
      auto from = results[0].tensor.codes.begin() + row * kColumns;
      std::copy(from, from + count * kColumns,
                stream->results.begin() + stream->sequence.computed * kColumns);
      row += count;
      stream->sequence.computed += count;
      cache.settle(stream->sequence);
    }
  }

  void finish(Stream &stream, int64_t each) {
    while (stream.sequence.computed < stream.inputs.rows)
      step({{&stream, std::min(each, stream.inputs.rows - stream.sequence.computed)}});
  }

  std::unique_ptr<CompiledFunction> compiled;
  HostTensor weight, bias;
  std::vector<uint8_t> state;
  runtime::KvCache cache;
};

/// Compares all that came out from position `first` on with the sums in double precision.
void expectConvolved(const Served &served, const Stream &stream, int64_t first = 0) {
  Type bf16 = elementType("bf16");
  for (int64_t position = first; position < stream.inputs.rows; ++position)
    for (int64_t c = 0; c < kColumns; ++c) {
      double sum = served.bias.at(c), size = std::abs(sum);
      for (int64_t j = 0; j < kTaps; ++j)
        if (int64_t at = position - kTaps + 1 + j; at >= 0) {
          double term = served.weight.at(c, j) * rounded(bf16, stream.inputs.at(at, c));
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
    Served whole(target);
    Stream wanted(whole.cache, 41);
    whole.finish(wanted, 41);
    expectConvolved(whole, wanted);
    for (int64_t each : {1, 2, 3, 4, 5, 7, 11, 40}) {
      Served cut(target);
      Stream stream(cut.cache, 41);
      cut.finish(stream, each);
      EXPECT_EQ(stream.results, wanted.results) << "steps of " << each;
    }
  }
}

TEST(State, SequencesJoinLeaveAndReuseBlocks) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    Served served(target);
    Stream first(served.cache, 23, 100), second(served.cache, 9, 200), third(served.cache, 30, 300);
    served.step({{&first, 10}, {&second, 3}});
    served.step({{&first, 1}, {&second, 6}, {&third, 17}});
    expectConvolved(served, second);
    served.cache.release(second.sequence);
    served.step({{&third, 13}, {&first, 12}});
    expectConvolved(served, first);
    expectConvolved(served, third);
    served.cache.release(first.sequence);
    served.cache.release(third.sequence);
    // Blocks that hold what others left: a sequence starts from zeros all the same.
    for (int32_t round = 4; round < 9; ++round) {
      Stream next(served.cache, 26, round * 100);
      served.finish(next, round);
      expectConvolved(served, next);
      served.cache.release(next.sequence);
    }
  }
}

TEST(State, PrefixesAndPreemptedSequencesGoOnFromBorders) {
  for (const std::string &target : typicalTargets()) {
    SCOPED_TRACE(target);
    Served served(target);
    Stream first(served.cache, 40);
    served.step({{&first, 22}});
    // Preempted: what it has computed is found again as far as a border was kept.
    served.cache.release(first.sequence);
    first.sequence.computed = 0;
    served.cache.takePrefix(first.sequence);
    EXPECT_EQ(first.sequence.computed, 20);
    served.finish(first, 3);
    expectConvolved(served, first);
    // Another one with the same beginning, while the first is there.
    for (int64_t tokens : {39, 37, 23}) {
      Stream same(served.cache, tokens);
      served.cache.takePrefix(same.sequence);
      int64_t known = same.sequence.computed;
      EXPECT_EQ(known, (tokens - 1) / kBlock * kBlock);
      served.finish(same, 2);
      expectConvolved(served, same, known);
      served.cache.release(same.sequence);
    }
    served.cache.release(first.sequence);
    EXPECT_EQ(served.cache.availableBlocks(0), kBlocks);
  }
}
