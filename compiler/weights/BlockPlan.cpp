// SPDX-License-Identifier: Apache-2.0
// Plans a block: which window of which node is needed for the windows asked for, and where in the
// block's memory it will lie.
#include "compiler/weights/BlockPlan.h"

#include <algorithm>

namespace ingot::compiler {

WeightView BlockPlan::allocate(int64_t rows, int64_t columns, ElementType element) {
  WeightView view{used, columns};
  int64_t bytes = rows * columns * workingBytes(element);
  used += (bytes + 63) / 64 * 64;
  return view;
}

int64_t BlockPlan::allocateFloats(int64_t count) { return allocate(1, count, kF32).offset; }

/// The part of a view that starts `columns` further right.
static WeightView shifted(WeightView view, int64_t columns, ElementType element) {
  view.offset += columns * workingBytes(element);
  return view;
}

WeightView BlockPlan::request(WeightValue value, const Window &window) {
  const WeightNode &node = graph.node(value);
  if (node.kind == NodeKind::Quantize)
    return requestQuantized(value, window);
  if (auto view = requestOneInput(node, window))
    return *view;
  return stepFor(value.node, window).results[0];
}

/// Windows that are those of one operand need no step of their own.
std::optional<WeightView> BlockPlan::requestOneInput(const WeightNode &node, const Window &window) {
  if (node.kind == NodeKind::Convert && node.plus == 0 &&
      graph.shape(node.operands[0]).element == node.results[0].element)
    return request(node.operands[0], window);
  if (node.kind != NodeKind::ConcatRows)
    return std::nullopt;
  int64_t first = 0;
  for (WeightValue operand : node.operands) {
    int64_t end = first + graph.shape(operand).rows;
    if (window.row >= first && window.rowEnd <= end)
      return request(operand,
                     {window.row - first, window.rowEnd - first, window.column, window.columnEnd});
    first = end;
  }
  return std::nullopt;
}

/// Values, scales and zeros of the same rows come from one step, over whole groups of columns.
WeightView BlockPlan::requestQuantized(WeightValue value, const Window &window) {
  const WeightNode &node = graph.node(value);
  int64_t columns = node.results[0].columns, group = node.encoding.group;
  ElementType element = node.results[value.result].element;
  if (group == -1)
    return stepFor(value.node, value.result == 0 ? window : Window()).results[value.result];
  if (group == 0)
    group = columns;
  Window whole = window;
  if (value.result == 0) {
    whole.column = window.column / group * group;
    whole.columnEnd = std::min((window.columnEnd + group - 1) / group * group, columns);
    const Step &step = stepFor(value.node, whole);
    return shifted(step.results[0], window.column - whole.column, element);
  }
  whole.column = window.column * group;
  whole.columnEnd = std::min(window.columnEnd * group, columns);
  return stepFor(value.node, whole).results[value.result];
}

const BlockPlan::Step &BlockPlan::stepFor(uint32_t node, const Window &window) {
  std::pair key(node, window);
  if (auto found = planned.find(key); found != planned.end())
    return steps[found->second];
  Step step;
  step.node = node;
  step.window = window;
  planInputs(step);
  planResults(step);
  planned.emplace(key, steps.size());
  steps.push_back(std::move(step));
  return steps.back();
}

BlockPlan::Input BlockPlan::input(WeightValue value, const Window &window) {
  if (window.isEmpty())
    return {};
  return {request(value, window), window};
}

int64_t interleavedBefore(int64_t row, int64_t block, int64_t operand) {
  int64_t pair = 2 * block;
  return row / pair * block + std::clamp<int64_t>(row % pair - operand * block, 0, block);
}

/// The words that hold the fields of `window`, whole periods of them.
Window BlockPlan::packedWindow(const WeightNode &node, const Window &window) const {
  int64_t period = node.fields.period(), bits = node.fields.bits;
  int64_t width = 8 * workingBytes(graph.shape(node.operands[0]).element);
  int64_t first = window.column / period * period;
  int64_t end = (window.columnEnd + period - 1) / period * period;
  return {window.row, window.rowEnd, first * bits / width, (end * bits + width - 1) / width};
}

int64_t permutedFrom(const WeightNode &permute, int64_t row) {
  std::vector<int64_t> values(permute.digits.size());
  for (size_t place = values.size(); place-- > 0;) {
    auto digit = static_cast<size_t>(permute.order[place]);
    values[digit] = row % permute.digits[digit];
    row /= permute.digits[digit];
  }
  int64_t from = 0;
  for (size_t digit = 0; digit < values.size(); ++digit)
    from = from * permute.digits[digit] + values[digit];
  return from;
}

int64_t permutedTo(const WeightNode &permute, int64_t row) {
  std::vector<int64_t> values(permute.digits.size());
  for (size_t digit = values.size(); digit-- > 0; row /= permute.digits[digit])
    values[digit] = row % permute.digits[digit];
  int64_t to = 0;
  for (int64_t digit : permute.order)
    to = to * permute.digits[static_cast<size_t>(digit)] + values[static_cast<size_t>(digit)];
  return to;
}

/// The input rows that `window` of the result of llm.permute_rows needs, in runs. Rows with one
/// unneeded row between them share a run: half of a head's rotary pairs is read in one piece.
static std::vector<Window> permutedRuns(const WeightNode &permute, const Window &window) {
  std::vector<int64_t> rows;
  for (int64_t row = window.row; row < window.rowEnd; ++row)
    rows.push_back(permutedFrom(permute, row));
  std::sort(rows.begin(), rows.end());
  std::vector<Window> runs;
  for (int64_t row : rows)
    if (!runs.empty() && row <= runs.back().rowEnd + 1)
      runs.back().rowEnd = row + 1;
    else
      runs.push_back({row, row + 1, window.column, window.columnEnd});
  return runs;
}

/// What `window` of the result needs of the only operand, in one piece.
Window BlockPlan::windowOfInput(const WeightNode &node, const Window &window) const {
  switch (node.kind) {
  case NodeKind::Unpack:
    return packedWindow(node, window);
  case NodeKind::BlockPart: {
    int64_t elements = node.part.elements, bytes = node.part.bytes;
    return {window.row, window.rowEnd, window.column / elements * bytes,
            (window.columnEnd + elements - 1) / elements * bytes};
  }
  case NodeKind::Transpose:
    return {window.column, window.columnEnd, window.row, window.rowEnd};
  case NodeKind::Reshape: {
    int64_t columns = node.results[0].columns, width = graph.shape(node.operands[0]).columns;
    int64_t first = window.row * columns + window.column;
    int64_t last = (window.rowEnd - 1) * columns + window.columnEnd - 1;
    // Of one row, only what is asked for.
    if (first / width == last / width)
      return {first / width, first / width + 1, first % width, last % width + 1};
    return {first / width, last / width + 1, 0, width};
  }
  case NodeKind::RepeatRows:
    return {window.row / node.block, (window.rowEnd + node.block - 1) / node.block, window.column,
            window.columnEnd};
  case NodeKind::SliceRows:
    return {window.row + node.first, window.rowEnd + node.first, window.column, window.columnEnd};
  default:
    return window;
  }
}

/// The tensors of an encoded weight.
void BlockPlan::planEncoded(Step &step) {
  const WeightNode &node = graph.nodes()[step.node];
  const Window &window = step.window;
  Window scales{window.row, window.rowEnd, 0, 1};
  if (node.encoding.group == -1)
    scales = {0, 1, 0, 1};
  else if (node.encoding.group > 0)
    scales = {window.row, window.rowEnd, window.column / node.encoding.group,
              (window.columnEnd + node.encoding.group - 1) / node.encoding.group};
  step.inputs = {input(node.operands[0], window), input(node.operands[1], scales)};
  auto whole = [&](WeightValue table) { return Window{0, graph.shape(table).rows, 0, 1}; };
  bool superScales = node.encoding.hasSuperScales();
  if (node.operands.size() > (superScales ? 3 : 2)) {
    WeightValue zeros = node.operands[2];
    step.inputs.push_back(input(zeros, node.encoding.hasCodeBook() ? whole(zeros) : scales));
  }
  if (superScales) {
    WeightValue last = node.operands.back();
    step.inputs.push_back(
        input(last, node.encoding.scales == kTableScales
                        ? whole(last)
                        : Window{window.row, window.rowEnd, 0, graph.shape(last).columns}));
  }
}

void BlockPlan::planInputs(Step &step) {
  const WeightNode &node = graph.nodes()[step.node];
  const Window &window = step.window;
  switch (node.kind) {
  case NodeKind::Source:
  case NodeKind::Literal:
    break;
  case NodeKind::ScaleColumns: {
    Input weight = input(node.operands[0], window);
    step.inputs = {weight, input(node.operands[1], {window.column, window.columnEnd, 0, 1})};
    break;
  }
  case NodeKind::Dequantize:
    planEncoded(step);
    break;
  case NodeKind::AddLowRank: {
    int64_t rank = graph.shape(node.operands[1]).columns;
    Input weight = input(node.operands[0], window);
    Input left = input(node.operands[1], {window.row, window.rowEnd, 0, rank});
    step.inputs = {weight, left,
                   input(node.operands[2], {0, rank, window.column, window.columnEnd})};
    break;
  }
  case NodeKind::ConcatRows: {
    int64_t first = 0;
    for (WeightValue operand : node.operands) {
      int64_t rows = graph.shape(operand).rows;
      step.inputs.push_back(input(operand, {std::clamp<int64_t>(window.row - first, 0, rows),
                                            std::clamp<int64_t>(window.rowEnd - first, 0, rows),
                                            window.column, window.columnEnd}));
      first += rows;
    }
    break;
  }
  case NodeKind::InterleaveRows:
    for (int64_t i = 0; i < 2; ++i) {
      int64_t rows = graph.shape(node.operands[i]).rows;
      step.inputs.push_back(
          input(node.operands[i], {std::min(interleavedBefore(window.row, node.block, i), rows),
                                   std::min(interleavedBefore(window.rowEnd, node.block, i), rows),
                                   window.column, window.columnEnd}));
    }
    break;
  case NodeKind::PermuteRows:
    if (!window.isEmpty())
      for (const Window &run : permutedRuns(node, window))
        step.inputs.push_back(input(node.operands[0], run));
    break;
  default:
    step.inputs = {input(node.operands[0], windowOfInput(node, window))};
  }
}

void BlockPlan::planResults(Step &step) {
  const WeightNode &node = graph.nodes()[step.node];
  const Window &window = step.window;
  step.results.resize(node.results.size());
  if (!window.isEmpty())
    step.results[0] = allocate(window.rows(), window.columns(), node.results[0].element);
  switch (node.kind) {
  case NodeKind::Quantize: {
    step.scratch = allocateFloats(window.columns());
    int64_t groups = node.encoding.group > 0
                         ? (window.columns() + node.encoding.group - 1) / node.encoding.group
                         : 1;
    int64_t rows = node.encoding.group == -1 ? 1 : window.rows();
    for (size_t i = 1; i < node.results.size(); ++i)
      step.results[i] = allocate(rows, groups, node.results[i].element);
    break;
  }
  case NodeKind::Dequantize: // a row of scales and one of offsets
    step.scratch = allocateFloats(2 * step.inputs[1].window.columns());
    break;
  case NodeKind::ScaleColumns:
    step.scratch = allocateFloats(2 * window.columns());
    break;
  case NodeKind::AddLowRank: // sums, and a row of each operand
    step.scratch = allocateFloats(3 * window.columns() + graph.shape(node.operands[1]).columns);
    break;
  default:
    break;
  }
}

} // namespace ingot::compiler
