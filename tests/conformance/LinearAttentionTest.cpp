// SPDX-License-Identifier: Apache-2.0
// The gated delta rule and the selective state space from llm IR to bits: values against the
// recurrence, token by token in double precision, and equal bits however a prompt is cut into steps
// and whoever is in them.
#include "tests/conformance/ServedState.h"

#include "dialects/llm/LlmStateOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

namespace {

constexpr double kEpsilon = 1e-6;
constexpr ServedState::Blocks kBlocks = {32, 40};

constexpr double kLeast = 0.01, kMost = 20; ///< steps of a state space

enum class Rule : uint8_t { Delta, StateSpace };

struct LinearNet {
  Rule rule;
  int64_t keyHeads, valueHeads, keyDim, valueDim, chunk;
  const char *input = "f32", *decay = "f32", *weight = "f32", *result = "f32";

  std::string text() const;
  std::string name() const {
    return llvm::formatv("{0}{1}/{2} heads of {3} x {4}, chunks of {5}",
                         corrects() ? "" : "state space, ", keyHeads, valueHeads, keyDim, valueDim,
                         chunk);
  }
  bool corrects() const { return rule == Rule::Delta; }
  /// Where in the input all heads of q, k and v begin.
  int64_t query() const { return corrects() ? 0 : valueHeads * valueDim + keyHeads * keyDim; }
  int64_t key() const { return corrects() ? keyHeads * keyDim : valueHeads * valueDim; }
  int64_t value() const { return corrects() ? 2 * keyHeads * keyDim : 0; }
};

std::string LinearNet::text() const {
  int64_t numbers =
      llm::GatedDeltaRuleOp::stateElements(keyHeads, valueHeads, keyDim, valueDim, chunk);
  std::string ofHeads = llvm::formatv("tensor<{0}xf32>", valueHeads),
              input = activation(2 * keyHeads * keyDim + valueHeads * valueDim, this->input),
              result = activation(valueHeads * valueDim, this->result),
              state = llvm::formatv("!llm.state<tensor<{0}xf32>, block = {1}>", numbers, chunk),
              rates = llvm::formatv("tensor<{0}x{1}>", valueHeads, weight),
              places = "tensor<?xi32, \"T\">, tensor<?xi32, \"S + 1\">, tensor<?x?xi32, \"S\">";
  std::string arguments =
      "%d: tensor<?xi32, \"T\">, %e: tensor<?xi32, \"S + 1\">, %f: tensor<?x?xi32, \"S\">";
  std::string decay = activation(valueHeads, this->decay);
  if (!corrects())
    return llvm::formatv("func.func @f(%a: {0}, %b: {1}, {2}, %g: {3}, %h: {4}, %i: {5}, %c: {5}) "
                         "-> {6} {{\n  %y = llm.state_space %a, %b at %d, %e, %f with %g decay %h, "
                         "%i skip %c heads {7}, {8} within {9:e}, {10:e} : {0}, {1}, {11}, {3}, "
                         "{4}, {5}, {5} -> {6}\n  return %y : {6}\n}",
                         input, decay, arguments, state, rates, ofHeads, result, keyHeads,
                         valueHeads, kLeast, kMost, places);
  std::string gate = activation(valueHeads, this->input);
  return llvm::formatv("func.func @f(%a: {0}, %b: {1}, %c: {2}, {3}, %g: {4}, %h: {5}, %i: {6}) -> "
                       "{7} {{\n  %y = llm.gated_delta_rule %a, %b, %c at %d, %e, %f with %g decay "
                       "%h, %i heads {8}, {9} epsilon {10:e} : {0}, {1}, {2}, {11}, {4}, {5}, {6} "
                       "-> {7}\n  return %y : {7}\n}",
                       input, decay, gate, arguments, state, rates, ofHeads, result, keyHeads,
                       valueHeads, kEpsilon, places);
}

/// With heads that forget at very different rates.
std::unique_ptr<ServedState> start(const LinearNet &net, const std::string &target) {
  auto served = ServedState::start(target, net.text(), kBlocks);
  for (int64_t h = 0; served && h < net.valueHeads; ++h)
    served->weights[0].set(h, std::array{-5.0, -1.0, 1.5}[size_t(h) % 3]);
  return served;
}

/// A sequence with tokens whose q and k are short or nothing, and such as forget all or nothing.
Stream open(const LinearNet &net, const ServedState &served, int64_t tokens, int32_t first = 0) {
  Stream stream = served.open(tokens, first);
  HostTensor &input = stream.inputs[0], &decay = stream.inputs[1];
  for (int64_t token = 0; token < tokens; ++token) {
    double scale = token % 11 == 4 ? 0x1p-10 : token % 11 == 7 ? 0 : 1;
    for (int64_t c = 0; scale != 1 && c < net.keyHeads * net.keyDim; ++c)
      for (int64_t column : {net.query() + c, net.key() + c})
        input.set(token * input.columns + column, scale * input.at(token, column));
    for (int64_t h = 0; token % 29 > 26 && h < net.valueHeads; ++h)
      decay.set(token * net.valueHeads + h, token % 29 == 27 ? 30 : -60);
  }
  return stream;
}

/// A head of q or k of a token, of the delta rule over its length.
std::vector<double> headOf(const LinearNet &net, const HostTensor &input, int64_t token,
                           int64_t first) {
  std::vector<double> head;
  double squares = 0;
  for (int64_t c = 0; c < net.keyDim; ++c) {
    head.push_back(input.at(token, first + c));
    squares += head.back() * head.back();
  }
  for (double &x : head)
    x /= net.corrects() ? std::sqrt(squares + kEpsilon) : 1;
  return head;
}

/// The recurrence of one value head.
class LinearHead {
public:
  LinearHead(const LinearNet &net, const ServedState &served, int64_t head)
      : net(net), head(head), rate(std::exp(served.weights[0].at(head))),
        bias(served.weights[1].at(head)), skip(net.corrects() ? 0 : served.weights[2].at(head)),
        state(size_t(net.keyDim * net.valueDim)) {}

  /// The results of the stream's next token.
  std::vector<Expected> take(const Stream &stream, int64_t token) {
    const HostTensor &input = stream.inputs[0];
    int64_t keyHead = head / (net.valueHeads / net.keyHeads) * net.keyDim;
    auto q = headOf(net, input, token, net.query() + keyHead),
         k = headOf(net, input, token, net.key() + keyHead);
    double step = std::log1p(std::exp(stream.inputs[1].at(token, head) + bias)), beta = 0;
    if (net.corrects())
      beta = 1 / (1 + std::exp(-stream.inputs[2].at(token, head)));
    else
      beta = step = std::clamp(step, kLeast, kMost);
    double decay = -rate * step, largest = 0;
    std::vector<double> results;
    for (int64_t v = 0; v < net.valueDim; ++v) {
      double value = input.at(token, net.value() + head * net.valueDim + v), known = 0, result = 0;
      for (int64_t c = 0; c < net.keyDim; ++c) {
        at(c, v) *= std::exp(decay);
        known += at(c, v) * k[size_t(c)];
      }
      double update = beta * (net.corrects() ? value - known : value);
      largest = std::max(largest, std::abs(update));
      for (int64_t c = 0; c < net.keyDim; ++c) {
        at(c, v) += k[size_t(c)] * update;
        result += at(c, v) * q[size_t(c)];
      }
      results.push_back(net.corrects() ? result / std::sqrt(double(net.keyDim))
                                       : result + skip * value);
    }
    double tolerance = error(token, decay, largest * lengthOf(k)) * lengthOf(q) /
                       (net.corrects() ? std::sqrt(double(net.keyDim)) : 1);
    std::vector<Expected> expected;
    for (double result : results)
      expected.push_back(
          stored(elementType(net.result), result,
                 tolerance + (net.corrects() ? 0 : kRoundings * 0x1p-24 * std::abs(result))));
    return expected;
  }

private:
  static double lengthOf(const std::vector<double> &x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  }
  double &at(int64_t c, int64_t v) { return state[size_t(c * net.valueDim + v)]; }

  /// How far S^T of a query of length 1 may be off: of all that was added to it a few roundings,
  /// and as many as make up the sum of the chunk's decays.
  double error(int64_t token, double decay, double update) {
    if (token % net.chunk == 0) {
      before += (1 + sum) * size;
      sum = 0;
    }
    sum -= decay;
    size = std::exp(decay) * size + update;
    before *= std::exp(decay);
    return kRoundings * 0x1p-24 * ((1 + sum) * size + before);
  }

  static constexpr double kRoundings = 4;

  const LinearNet &net;
  int64_t head;
  double rate, bias, skip;
  std::vector<double> state;            ///< S [keyDim][valueDim]
  double sum = 0, size = 0, before = 0; ///< of error()
};

/// Compares all that came out with the recurrence.
void expectRecurrence(const LinearNet &net, const ServedState &served, const Stream &stream) {
  Type element = elementType(net.result);
  for (int64_t h = 0; h < net.valueHeads; ++h) {
    LinearHead head(net, served, h);
    for (int64_t token = 0; token < stream.tokens(); ++token)
      for (auto [v, expected] : llvm::enumerate(head.take(stream, token))) {
        auto place = size_t((token * net.valueHeads + h) * net.valueDim) + v;
        ASSERT_NEAR(decode(element, stream.results[place]), expected.value, expected.tolerance)
            << "token " << token << " of " << stream.tokens() << ", head " << h << ", column " << v;
      }
  }
}

bool isSimulated(const std::string &target) {
  return llvm::is_contained(simulatedTargets(), target);
}

/// Whether results from position `first` on are those of a longer sequence or one cut otherwise.
void expectEqual(const Stream &stream, const Stream &wanted, int64_t first = 0) {
  auto columns = ptrdiff_t(wanted.results.size()) / wanted.tokens();
  EXPECT_TRUE(std::equal(stream.results.begin() + first * columns, stream.results.end(),
                         wanted.results.begin() + first * columns));
}

} // namespace

TEST(LinearAttention, ValuesAreThoseOfTheRecurrence) {
  const LinearNet nets[] = {{Rule::Delta, 2, 4, 24, 40, 64, "f32", "bf16", "bf16", "bf16"},
                            {Rule::Delta, 3, 3, 16, 24, 5},
                            {Rule::Delta, 1, 4, 32, 16, 32, "bf16", "bf16", "f32", "bf16"},
                            {Rule::Delta, 1, 2, 128, 128, 64, "bf16", "f32", "f32", "f32"},
                            {Rule::StateSpace, 2, 6, 24, 12, 64, "f32", "bf16", "bf16", "bf16"},
                            {Rule::StateSpace, 1, 3, 16, 40, 5},
                            {Rule::StateSpace, 2, 2, 128, 64, 64, "bf16", "f32", "f32", "bf16"}};
  for (const LinearNet &net : nets)
    for (const std::string &target : typicalTargets()) {
      SCOPED_TRACE(net.name() + " on " + target);
      auto served = start(net, target);
      ASSERT_TRUE(served);
      std::vector<Stream> streams;
      for (int64_t tokens : {1, 15, 16, 17, 63, 64, 65, 200, 130})
        if (!isSimulated(target) || tokens % 64 <= 2)
          streams.push_back(open(net, *served, tokens, int32_t(1000 * tokens)));
      std::vector<std::pair<Stream *, int64_t>> parts;
      for (Stream &stream : streams)
        parts.emplace_back(&stream, stream.tokens());
      served->step(parts);
      for (const Stream &stream : streams)
        expectRecurrence(net, *served, stream);
    }
}

TEST(LinearAttention, StepsAreCutAnywhere) {
  for (const LinearNet &net :
       {LinearNet{Rule::Delta, 2, 4, 24, 40, 16, "bf16"}, LinearNet{Rule::Delta, 1, 2, 16, 24, 64},
        LinearNet{Rule::StateSpace, 1, 3, 24, 40, 16, "bf16"}}) {
    for (const std::string &target : typicalTargets()) {
      SCOPED_TRACE(net.name() + " on " + target);
      auto served = start(net, target);
      ASSERT_TRUE(served);
      const int64_t tokens = 2 * net.chunk + 3;
      Stream wanted = open(net, *served, tokens);
      served->finish(wanted, tokens);
      expectRecurrence(net, *served, wanted);
      for (int64_t each : {1, 2, 5, 6, 7, 13, 16, 17, 31, 64}) {
        served->reset();
        Stream stream = open(net, *served, tokens);
        served->finish(stream, each);
        SCOPED_TRACE(llvm::formatv("steps of {0}", each).str());
        expectEqual(stream, wanted);
      }
      for (int64_t cut = 1; cut < tokens; ++cut) {
        // Of long chunks, or where steps take long, those around borders of chunks and of the rows
        // that are taken together.
        if (int64_t place = (cut + 1) % 16; (net.chunk > 16 || isSimulated(target)) && place > 2)
          continue;
        served->reset();
        Stream stream = open(net, *served, tokens);
        served->step({{&stream, cut}});
        served->finish(stream, tokens);
        SCOPED_TRACE(llvm::formatv("cut at {0}", cut).str());
        expectEqual(stream, wanted);
      }
    }
  }
}

TEST(LinearAttention, SequencesJoinLeaveAndReuseBlocks) {
  for (const LinearNet &net : {LinearNet{Rule::Delta, 2, 4, 24, 40, 16, "bf16"},
                               LinearNet{Rule::StateSpace, 2, 4, 24, 40, 16, "bf16"}})
    for (const std::string &target : typicalTargets()) {
      SCOPED_TRACE(net.name() + " on " + target);
      auto served = start(net, target);
      ASSERT_TRUE(served);
      auto alone = [&](int64_t tokens, int32_t first) {
        served->reset();
        Stream stream = open(net, *served, tokens, first);
        served->finish(stream, tokens);
        expectRecurrence(net, *served, stream);
        return stream;
      };
      Stream wanted[] = {alone(53, 100), alone(20, 200), alone(50, 300)};
      served->reset();
      Stream streams[] = {open(net, *served, 53, 100), open(net, *served, 20, 200),
                          open(net, *served, 50, 300)};
      auto &[first, second, third] = streams;
      served->step({{&first, 15}, {&second, 3}});
      served->step({{&first, 1}, {&second, 1}});
      served->step({{&second, 13}, {&third, 37}, {&first, 1}});
      served->step({{&first, 18}, {&second, 3}, {&third, 1}});
      served->cache.release(second.sequence);
      served->step({{&third, 12}, {&first, 18}});
      for (int i = 0; i < 3; ++i)
        expectEqual(streams[i], wanted[i]);
      served->cache.release(first.sequence);
      served->cache.release(third.sequence);
      // Blocks that hold what others left: a sequence starts from zeros all the same.
      for (int64_t round = 4; round < 24; ++round) {
        Stream next = open(net, *served, 53, 100);
        served->finish(next, round);
        expectEqual(next, wanted[0]);
        served->cache.release(next.sequence);
      }
    }
}

TEST(LinearAttention, SequencesGoOnFromBorders) {
  for (const LinearNet &net :
       {LinearNet{Rule::Delta, 1, 2, 32, 24, 16}, LinearNet{Rule::StateSpace, 1, 2, 32, 24, 16}})
    for (const std::string &target : typicalTargets()) {
      SCOPED_TRACE(net.name() + " on " + target);
      auto served = start(net, target);
      ASSERT_TRUE(served);
      Stream wanted = open(net, *served, 70);
      served->finish(wanted, 70);
      served->reset();
      Stream first = open(net, *served, 70);
      served->step({{&first, 39}});
      // Preempted: what it has computed is found again as far as a border was kept.
      served->cache.release(first.sequence);
      first.sequence.computed = 0;
      served->cache.takePrefix(first.sequence);
      EXPECT_EQ(first.sequence.computed, 32);
      served->finish(first, 3);
      expectEqual(first, wanted);
      // Others with the same beginning, while the first is there.
      for (int64_t tokens : {70, 65, 64, 49}) {
        Stream same = open(net, *served, tokens);
        served->cache.takePrefix(same.sequence);
        int64_t known = same.sequence.computed;
        EXPECT_EQ(known, (tokens - 1) / net.chunk * net.chunk);
        served->finish(same, tokens % 2 + 1);
        expectEqual(same, wanted, known);
        served->cache.release(same.sequence);
      }
    }
}
