// SPDX-License-Identifier: Apache-2.0
// Down a weight's expression: what merges rows gives the parts, what is below decides the range.
#include "compiler/weights/RandomWeights.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

namespace ingot::compiler {

using checkpoint::Error;
using checkpoint::Expected;
using checkpoint::inQuotes;
using checkpoint::message;

/// Elements of a pattern, which the loader makes one by one. Rows repeat after so many, unless that
/// is less than kLeastPeriod rows: a multiple of every layout's tiles and blocks.
static constexpr uint64_t kPatternElements = uint64_t{1} << 22;
static constexpr uint64_t kLeastPeriod = 64;
/// Bytes of a pattern that the runtime accepts.
static constexpr uint64_t kPatternBytes = uint64_t{16} << 20;

bool dependsOnSource(const WeightGraph &graph, WeightValue value) {
  const WeightNode &node = graph.node(value);
  return node.kind == NodeKind::Source || llvm::any_of(node.operands, [&](WeightValue operand) {
           return dependsOnSource(graph, operand);
         });
}

/// The tensor that decides about `value`, which merges no rows.
static const WeightNode *sourceOf(const WeightGraph &graph, WeightValue value) {
  const WeightNode *node = &graph.node(value);
  while (node->kind != NodeKind::Source && !node->operands.empty())
    node = &graph.node(node->operands.front());
  return node->kind == NodeKind::Source ? node : nullptr;
}

namespace {
struct Range {
  double low, high;
};
} // namespace

/// Standard deviation of code - zero point, for uniform codes and zero points.
static double codeSpread(const WeightNode &quantize) {
  const Encoding &encoding = quantize.encoding;
  if (isFloat(encoding.element()))
    return 448 / std::sqrt(3.0);
  if (encoding.bits() == 8)
    return std::sqrt((255.0 * 255 - 1) / 12);
  const double squares = std::pow(4.0, encoding.bits()) - 1;
  return std::sqrt(encoding.zeroPoints ? squares / 6 : squares / 12 + 0.25);
}

/// Of a result of llm.quantize: codes, scales, zero points.
static Range quantizedRange(const WeightNode &quantize, uint32_t result) {
  if (result == 1) {
    double scale =
        1 / (codeSpread(quantize) * std::sqrt(static_cast<double>(quantize.results[0].columns)));
    return {0.5 * scale, 1.5 * scale};
  }
  if (isFloat(quantize.encoding.element()))
    return {-448, 448};
  if (quantize.encoding.bits() == 8)
    return {-127, 127};
  return {0, double(2 * middleOf(quantize.encoding.element()) - 1)};
}

/// What `value` has the elements of, in another order of rows.
static WeightValue withoutMoves(const WeightGraph &graph, WeightValue value) {
  constexpr NodeKind moves[] = {NodeKind::RepeatRows, NodeKind::PermuteRows};
  while (llvm::is_contained(moves, graph.node(value).kind))
    value = graph.node(value).operands.front();
  return value;
}

/// Of a value without moves.
static Range rangeOf(const WeightGraph &graph, WeightValue value, const WeightNode &source) {
  if (graph.node(value).kind == NodeKind::Quantize)
    return quantizedRange(graph.node(value), value.result);
  if (source.tensor->shape.size() == 1)
    return source.name.ends_with(".bias") ? Range{-0.1, 0.1} : Range{0.75, 1.25};
  double most = std::sqrt(3 / static_cast<double>(graph.shape(value).columns));
  return {-most, most};
}

/// Whether `node` takes two halves, or those of each of a stack's parts, by turns, as FuseSwiglu
/// makes it: digits {parts, 2, turns, rows of a turn}.
static bool takesTurns(const WeightNode &node) {
  return node.kind == NodeKind::PermuteRows && node.digits.size() == 4 && node.digits[1] == 2 &&
         node.order == std::vector<int64_t>{0, 2, 1, 3};
}

/// The block of the exchange of the halves of each of a stack's parts, two and two, for blocks of
/// them; 0 for others. As FuseSwiglu makes it of experts.
static int64_t stackBlock(const WeightGraph &graph, const WeightNode &node) {
  const std::vector<int64_t> &digits = node.digits;
  if (!takesTurns(node))
    return 0;
  const WeightNode &stack = graph.node(node.operands.front());
  bool halves = stack.kind == NodeKind::ConcatRows &&
                static_cast<int64_t>(stack.operands.size()) == 2 * digits[0] &&
                llvm::all_of(stack.operands, [&](WeightValue part) {
                  return graph.shape(part).rows == digits[2] * digits[3];
                });
  return halves ? digits[3] : 0;
}

/// Where value `value` is one, or a stack, of two halves by turns of a value that is not merged, as
/// FuseSwiglu makes it of what checkpoints store fused: that value, and rows of a turn; else 0
/// rows.
static std::pair<WeightValue, int64_t> turnsOf(const WeightGraph &graph, WeightValue value) {
  const WeightNode &node = graph.node(value);
  return takesTurns(node) ? std::pair(node.operands.front(), node.digits[3])
                          : std::pair(value, int64_t(0));
}

/// The halves of `whole`, one after the other, of each of the stack's.
static std::vector<engine::WeightFill::Part> halvesOf(const engine::WeightFill::Part &whole,
                                                      const std::vector<int64_t> &digits) {
  std::vector<engine::WeightFill::Part> parts;
  auto half = static_cast<uint64_t>(digits[2] * digits[3]);
  for (uint64_t first = 0; first < whole.rows; first += half)
    parts.push_back({whole.key, half, first});
  return parts;
}

static Error unmade(const StoredWeight &stored, const char *why) {
  return {"INGOT-E3104", message("--random-weights cannot make ", inQuotes(stored.name), ": ", why),
          "", "leave the option out, or report this with the recipe"};
}

Expected<engine::WeightFill> fillOf(const WeightGraph &graph, const StoredWeight &stored,
                                    uint64_t seed) {
  engine::WeightFill fill;
  const WeightNode &top = graph.node(stored.value);
  std::vector<WeightValue> values{stored.value};
  if (top.kind == NodeKind::ConcatRows || top.kind == NodeKind::InterleaveRows)
    values = top.operands;
  if (top.kind == NodeKind::InterleaveRows)
    fill.block = static_cast<uint64_t>(top.block);
  if (int64_t block = stackBlock(graph, top)) {
    values = graph.node(top.operands.front()).operands;
    fill.block = static_cast<uint64_t>(block);
  }
  int64_t turns = 0;
  if (fill.block == 0 && values.size() == 1)
    std::tie(values.front(), turns) = turnsOf(graph, values.front());
  for (WeightValue value : values) {
    const WeightNode *source = sourceOf(graph, value);
    if (!source || graph.node(value).kind == NodeKind::ConcatRows ||
        graph.node(value).kind == NodeKind::InterleaveRows)
      return unmade(stored, "it merges what does not come from one tensor each");
    WeightValue made = withoutMoves(graph, value);
    std::string identity = message(seed, " ", source->name, " ",
                                   graph.node(made).kind == NodeKind::Quantize, " ", made.result);
    fill.parts.push_back(
        {llvm::xxh3_64bits(identity), static_cast<uint64_t>(graph.shape(value).rows)});
    Range range = rangeOf(graph, made, *source);
    fill.low = range.low;
    fill.high = range.high;
  }
  if (turns) {
    fill.block = static_cast<uint64_t>(turns);
    fill.parts = halvesOf(fill.parts.front(), top.digits);
  }
  const WeightShape &shape = graph.shape(stored.value);
  fill.columns = static_cast<uint64_t>(shape.columns);
  fill.digits = stored.digits;
  fill.padding = stored.value.result == 0 ? top.padding : 0;
  fill.period = std::max(kLeastPeriod, llvm::bit_floor(kPatternElements / fill.columns));
  if (fill.period * fill.columns * static_cast<uint64_t>(elementBits(shape.element)) / 8 >
      kPatternBytes)
    return unmade(stored, "its rows are too long");
  int64_t places = 1;
  for (const auto &digit : llvm::drop_begin(fill.digits))
    places *= digit.radix;
  if (fill.digits.front().axis != 0 || places * elementBits(shape.element) % 8 != 0)
    return unmade(stored, "its rows do not lie one after the other");
  return fill;
}

} // namespace ingot::compiler
