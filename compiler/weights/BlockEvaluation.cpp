// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a planned block, and reads its sources.
#include "compiler/weights/BlockPlan.h"

#include "compiler/checkpoint/gguf/GgmlBlocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ingot::compiler {

using checkpoint::Error;
using checkpoint::inQuotes;
using checkpoint::message;
using checkpoint::Outcome;

//===- WeightSource -------------------------------------------------------------------------===//

WeightSource::WeightSource(const checkpoint::Checkpoint &checkpoint, const WeightGraph &graph)
    : checkpoint(checkpoint) {
  for (const WeightNode &node : graph.nodes()) {
    if (!node.tensor || descriptors.contains(node.tensor->fileIndex))
      continue;
    // A file that cannot be opened here only goes without advice.
    int descriptor =
        ::open((checkpoint.folder() / node.file).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    descriptors.emplace(node.tensor->fileIndex, descriptor);
  }
}

WeightSource::~WeightSource() {
  for (auto [index, descriptor] : descriptors)
    if (descriptor >= 0)
      ::close(descriptor);
}

/// Smaller reads, such as norm weights, repeat and are better kept in the page cache.
static constexpr size_t leastBytesToDrop = size_t{64} << 10;

Outcome WeightSource::read(const checkpoint::Tensor &tensor, int64_t offset,
                           std::span<std::byte> out) const {
  if (auto done = checkpoint.read(tensor, static_cast<uint64_t>(offset), out); !done)
    return done;
  auto descriptor = descriptors.find(tensor.fileIndex);
  if (out.size() >= leastBytesToDrop && descriptor != descriptors.end() && descriptor->second >= 0)
    ::posix_fadvise(descriptor->second, static_cast<off_t>(tensor.offset) + offset,
                    static_cast<off_t>(out.size()), POSIX_FADV_DONTNEED);
  return {};
}

//===- BlockPlan::Runner --------------------------------------------------------------------===//

/// Elements that pass through f32 on the stack at a time.
static constexpr int64_t chunk = 2048;

class BlockPlan::Runner {
public:
  Runner(const WeightGraph &graph, const WeightSource &source, const WeightRanges &ranges,
         std::byte *memory)
      : graph(graph), source(source), ranges(ranges), memory(memory) {}

  Outcome run(const Step &step);

private:
  Outcome readSource(const Step &step, const WeightNode &node);
  void copyLiteral(const Step &step, const WeightNode &node);
  void convert(const Step &step, const WeightNode &node);
  Outcome quantize(const Step &step, const WeightNode &node);
  Outcome quantizeByTensor(const Step &step, const WeightNode &node);
  Outcome quantizeRow(const Step &step, const WeightNode &node, int64_t row);
  void storeScale(const Step &step, const WeightNode &node, int64_t row, int64_t index,
                  const Quantizer &quantizer);
  void dequantize(const Step &step, const WeightNode &node);
  void widenScales(const Step &step, const WeightNode &node, size_t operand, int64_t row,
                   float *out) const;
  void dequantizeRun(const Step &step, const WeightNode &node, int64_t row, int64_t index,
                     float scale, const uint8_t *in, float *out, int64_t count) const;
  void unpack(const Step &step, const WeightNode &node);
  void takeBlockPart(const Step &step, const WeightNode &node);
  void transpose(const Step &step, const WeightNode &node);
  void repeatRows(const Step &step, const WeightNode &node);
  void concatRows(const Step &step, const WeightNode &node);
  void interleaveRows(const Step &step, const WeightNode &node);
  void permuteRows(const Step &step, const WeightNode &node);
  void scaleColumns(const Step &step, const WeightNode &node);
  void reshape(const Step &step, const WeightNode &node);
  void addLowRank(const Step &step, const WeightNode &node);

  std::byte *at(WeightView view, ElementType element, int64_t row) const {
    return memory + view.offset + row * view.pitch * workingBytes(element);
  }
  float *scratch(const Step &step) const {
    return reinterpret_cast<float *>(memory + step.scratch);
  }
  void copyRows(const Input &from, int64_t fromRow, const Step &to, int64_t toRow, int64_t rows,
                ElementType element) const;
  Error notFinite(uint32_t node, int64_t row) const;

  const WeightGraph &graph;
  const WeightSource &source;
  const WeightRanges &ranges;
  std::byte *memory;
};

Outcome BlockPlan::evaluate(const WeightSource &source, const WeightRanges &ranges,
                            std::byte *memory) const {
  Runner runner(graph, source, ranges, memory);
  for (const Step &step : steps)
    if (auto done = runner.run(step); !done)
      return done;
  return {};
}

Outcome BlockPlan::Runner::run(const Step &step) {
  const WeightNode &node = graph.nodes()[step.node];
  switch (node.kind) {
  case NodeKind::Source:
    return readSource(step, node);
  case NodeKind::Literal:
    copyLiteral(step, node);
    return {};
  case NodeKind::Convert:
    convert(step, node);
    return {};
  case NodeKind::Quantize:
    return node.encoding.group == -1 ? quantizeByTensor(step, node) : quantize(step, node);
  case NodeKind::Dequantize:
    dequantize(step, node);
    return {};
  case NodeKind::Unpack:
    unpack(step, node);
    return {};
  case NodeKind::BlockPart:
    takeBlockPart(step, node);
    return {};
  case NodeKind::Transpose:
    transpose(step, node);
    return {};
  case NodeKind::RepeatRows:
    repeatRows(step, node);
    return {};
  case NodeKind::SliceRows:
    copyRows(step.inputs[0], 0, step, 0, step.window.rows(), node.results[0].element);
    return {};
  case NodeKind::ConcatRows:
    concatRows(step, node);
    return {};
  case NodeKind::InterleaveRows:
    interleaveRows(step, node);
    return {};
  case NodeKind::PermuteRows:
    permuteRows(step, node);
    return {};
  case NodeKind::ScaleColumns:
    scaleColumns(step, node);
    return {};
  case NodeKind::Reshape:
    reshape(step, node);
    return {};
  case NodeKind::AddLowRank:
    addLowRank(step, node);
    return {};
  }
  return {};
}

Outcome BlockPlan::Runner::readSource(const Step &step, const WeightNode &node) {
  const WeightShape &shape = node.results[0];
  const Window &window = step.window;
  int64_t size = workingBytes(shape.element);
  // Whole rows lie together in the file.
  int64_t rows = window.columns() == shape.columns ? window.rows() : 1;
  for (int64_t row = window.row; row < window.rowEnd; row += rows) {
    std::byte *out = at(step.results[0], shape.element, row - window.row);
    int64_t offset = (row * shape.columns + window.column) * size;
    auto bytes = static_cast<size_t>(rows * window.columns() * size);
    if (auto read = source.read(*node.tensor, offset, {out, bytes}); !read)
      return read;
  }
  return {};
}

void BlockPlan::Runner::copyLiteral(const Step &step, const WeightNode &node) {
  const WeightShape &shape = node.results[0];
  int64_t size = workingBytes(shape.element);
  for (int64_t row = step.window.row; row < step.window.rowEnd; ++row)
    std::memcpy(at(step.results[0], shape.element, row - step.window.row),
                node.literal.data() + (row * shape.columns + step.window.column) * size,
                static_cast<size_t>(step.window.columns() * size));
}

void BlockPlan::Runner::convert(const Step &step, const WeightNode &node) {
  ElementType from = graph.shape(node.operands[0]).element, to = node.results[0].element;
  int64_t rows = step.window.rows(), columns = step.window.columns();
  if (step.inputs[0].view.pitch == columns) {
    columns *= rows;
    rows = 1;
  }
  std::array<float, chunk> floats;
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte *in = at(step.inputs[0].view, from, row);
    std::byte *out = at(step.results[0], to, row);
    for (int64_t start = 0; start < columns; start += chunk) {
      int64_t count = std::min(chunk, columns - start);
      widen(from, in + start * workingBytes(from), floats.data(), count);
      if (node.plus != 0)
        for (float &number : std::span(floats).first(static_cast<size_t>(count)))
          number += node.plus;
      narrow(to, floats.data(), out + start * workingBytes(to), count);
    }
  }
}

//===- Quantization -------------------------------------------------------------------------===//

/// Names the tensor that row `row` of a node comes from, and its row.
Error BlockPlan::Runner::notFinite(uint32_t index, int64_t row) const {
  const WeightNode *node = &graph.nodes()[index];
  bool whole = node->encoding.group == -1;
  while (!node->operands.empty()) {
    WeightValue next = node->operands[0];
    if (node->kind == NodeKind::InterleaveRows) {
      int64_t operand = row / node->block % 2;
      row = interleavedBefore(row, node->block, operand);
      next = node->operands[operand];
    }
    if (node->kind == NodeKind::PermuteRows)
      row = permutedFrom(*node, row);
    if (node->kind == NodeKind::SliceRows)
      row += node->first;
    for (size_t i = 0; node->kind == NodeKind::ConcatRows && row >= graph.shape(next).rows;) {
      row -= graph.shape(next).rows;
      next = node->operands[++i];
    }
    node = &graph.node(next);
  }
  return {"INGOT-E3103",
          "a value is infinite, not a number or too large, so that no scale can express it",
          message("tensor ", inQuotes(node->name), whole ? "" : message(", row ", row)),
          "correct the checkpoint, or keep this weight in a float format by the recipe"};
}

void BlockPlan::Runner::storeScale(const Step &step, const WeightNode &node, int64_t row,
                                   int64_t index, const Quantizer &quantizer) {
  ElementType type = node.results[1].element;
  narrow(type, &quantizer.scale, at(step.results[1], type, row) + index * workingBytes(type), 1);
  if (node.encoding.zeroPoints)
    at(step.results[2], kI8, row)[index] = static_cast<std::byte>(quantizer.zero);
}

Outcome BlockPlan::Runner::quantize(const Step &step, const WeightNode &node) {
  for (int64_t row = 0; row < step.window.rows(); ++row)
    if (auto done = quantizeRow(step, node, row); !done)
      return done;
  return {};
}

Outcome BlockPlan::Runner::quantizeRow(const Step &step, const WeightNode &node, int64_t row) {
  ElementType from = graph.shape(node.operands[0]).element;
  int64_t columns = step.window.columns(),
          group = node.encoding.group == 0 ? columns : node.encoding.group;
  float *floats = scratch(step);
  widen(from, at(step.inputs[0].view, from, row), floats, columns);
  auto *out = reinterpret_cast<uint8_t *>(at(step.results[0], kI8, row));
  for (int64_t start = 0, index = 0; start < columns; start += group, ++index) {
    int64_t count = std::min(group, columns - start);
    ValueRange range;
    range.include(floats + start, count);
    auto quantizer = Quantizer::choose(node.encoding, node.results[1].element, range);
    if (!range.isFinite() || !std::isfinite(quantizer.scale))
      return notFinite(step.node, step.window.row + row);
    quantizer.quantize(floats + start, out + start, count);
    storeScale(step, node, row, index, quantizer);
  }
  return {};
}

/// The range was found in a pass of its own, which refused what is not finite.
Outcome BlockPlan::Runner::quantizeByTensor(const Step &step, const WeightNode &node) {
  const ValueRange &range = *ranges[step.node];
  auto quantizer = Quantizer::choose(node.encoding, node.results[1].element, range);
  if (!range.isFinite() || !std::isfinite(quantizer.scale))
    return notFinite(step.node, 0);
  storeScale(step, node, 0, 0, quantizer);
  ElementType from = graph.shape(node.operands[0]).element;
  for (int64_t row = 0; row < step.window.rows(); ++row) {
    widen(from, at(step.inputs[0].view, from, row), scratch(step), step.window.columns());
    quantizer.quantize(scratch(step), reinterpret_cast<uint8_t *>(at(step.results[0], kI8, row)),
                       step.window.columns());
  }
  return {};
}

void BlockPlan::Runner::dequantize(const Step &step, const WeightNode &node) {
  const Window &window = step.window, &scaleWindow = step.inputs[1].window;
  float *scales = scratch(step), *offsets = scales + scaleWindow.columns();
  for (int64_t row = 0; row < window.rows(); ++row) {
    int64_t scaleRow = node.encoding.group == -1 ? 0 : row;
    widenScales(step, node, 1, scaleRow, scales);
    if (node.encoding.hasOffsets())
      widenScales(step, node, 2, scaleRow, offsets);
    auto *in = reinterpret_cast<const uint8_t *>(at(step.inputs[0].view, kI8, row));
    auto *out = reinterpret_cast<float *>(at(step.results[0], kF32, row));
    for (int64_t column = window.column; column < window.columnEnd;) {
      int64_t index =
          node.encoding.group > 0 ? column / node.encoding.group - scaleWindow.column : 0;
      int64_t end = node.encoding.group > 0
                        ? (column / node.encoding.group + 1) * node.encoding.group
                        : window.columnEnd;
      int64_t count = std::min(end, window.columnEnd) - column;
      const uint8_t *from = in + (column - window.column);
      float *to = out + (column - window.column);
      if (node.encoding.hasOffsets())
        dequantizeAffine(from, to, count, scales[index], offsets[index]);
      else
        dequantizeRun(step, node, scaleRow, index, scales[index], from, to, count);
      column += count;
    }
  }
}

/// Row `row` of operand `operand`, scales or offsets, in f32.
void BlockPlan::Runner::widenScales(const Step &step, const WeightNode &node, size_t operand,
                                    int64_t row, float *out) const {
  const Window &window = step.inputs[operand].window;
  ElementType type = graph.shape(node.operands[operand]).element;
  const std::byte *in = at(step.inputs[operand].view, type, row);
  const Input &superScales = step.inputs.back();
  switch (node.encoding.scales) {
  case kPlainScales:
    return widen(type, in, out, window.columns());
  case kTableScales:
    for (int64_t i = 0; i < window.columns(); ++i)
      out[i] =
          *reinterpret_cast<const float *>(at(superScales.view, kF32, static_cast<int64_t>(in[i])));
    return;
  case kBlockScales:
    break;
  }
  const int64_t numbers = node.encoding.groupNumbers();
  widenCodes(type, in, out, window.columns(), node.encoding.codeMiddle(type));
  ElementType superType = graph.shape(node.operands.back()).element;
  for (int64_t i = 0; i < window.columns(); ++i) {
    int64_t block = (window.column + i) * node.encoding.group / kSuperColumns;
    int64_t place = numbers * block + static_cast<int64_t>(operand) - 1;
    float super = 0;
    widen(superType, at(superScales.view, superType, row) + place * workingBytes(superType), &super,
          1);
    out[i] *= super;
  }
}

/// Elements of one group, whose scale is number `index` of row `row` of the scales.
void BlockPlan::Runner::dequantizeRun(const Step &step, const WeightNode &node, int64_t row,
                                      int64_t index, float scale, const uint8_t *in, float *out,
                                      int64_t count) const {
  if (node.encoding.hasCodeBook()) {
    auto *book = reinterpret_cast<const float *>(at(step.inputs[2].view, kF32, 0));
    return dequantizeCodes(in, out, count, scale, book);
  }
  Quantizer quantizer{node.encoding, scale, node.encoding.middle()};
  if (node.encoding.zeroPoints)
    quantizer.zero = static_cast<int8_t>(at(step.inputs[2].view, kI8, row)[index]);
  quantizer.dequantize(in, out, count);
}

//===- Stored words -------------------------------------------------------------------------===//

void BlockPlan::Runner::unpack(const Step &step, const WeightNode &node) {
  const PackedFields &fields = node.fields;
  const Window &window = step.window, &words = step.inputs[0].window;
  ElementType from = graph.shape(node.operands[0]).element, to = node.results[0].element;
  int64_t first = window.column / fields.period() * fields.period();
  int64_t skipped = first * fields.bits - words.column * workingBytes(from) * 8;
  for (int64_t row = 0; row < window.rows(); ++row)
    fields.unpack(at(step.inputs[0].view, from, row), skipped, window.column - first,
                  at(step.results[0], to, row), window.columns());
}

void BlockPlan::Runner::takeBlockPart(const Step &step, const WeightNode &node) {
  checkpoint::GgmlBlock parts;
  const BlockPart &part = node.part;
  const Window &window = step.window;
  ElementType element = node.results[0].element;
  int64_t size = workingBytes(element), firstBlock = window.column / part.elements;
  for (int64_t row = 0; row < window.rows(); ++row) {
    const std::byte *in = at(step.inputs[0].view, kI8, row);
    std::byte *out = at(step.results[0], element, row);
    for (int64_t column = window.column; column < window.columnEnd;) {
      int64_t block = column / part.elements, place = column % part.elements;
      int64_t count = std::min(part.elements - place, window.columnEnd - column);
      checkpoint::splitGgml(part.type, in + (block - firstBlock) * part.bytes, parts);
      bool ofScales = part.part == BlockPart::Part::Scales;
      if (part.part == BlockPart::Part::Values)
        std::memcpy(out, parts.stored + place, static_cast<size_t>(count));
      else if (part.part == BlockPart::Part::SuperScales)
        narrow(element, parts.superScales + place, out, count);
      else if (isFloat(element))
        narrow(element, (ofScales ? parts.scales : parts.offsets) + place, out, count);
      else
        std::memcpy(out, (ofScales ? parts.scaleCodes : parts.offsetCodes) + place,
                    static_cast<size_t>(count));
      out += count * size;
      column += count;
    }
  }
}

template <class Word>
static void transposeWords(const std::byte *in, int64_t inPitch, std::byte *out, int64_t outPitch,
                           int64_t rows, int64_t columns) {
  constexpr int64_t tile = 16;
  auto *from = reinterpret_cast<const Word *>(in);
  auto *to = reinterpret_cast<Word *>(out);
  for (int64_t firstRow = 0; firstRow < rows; firstRow += tile)
    for (int64_t firstColumn = 0; firstColumn < columns; firstColumn += tile)
      for (int64_t row = firstRow; row < std::min(firstRow + tile, rows); ++row)
        for (int64_t column = firstColumn; column < std::min(firstColumn + tile, columns); ++column)
          to[row * outPitch + column] = from[column * inPitch + row];
}

void BlockPlan::Runner::transpose(const Step &step, const WeightNode &node) {
  ElementType element = node.results[0].element;
  auto move = [&]<class Word>(Word) {
    transposeWords<Word>(at(step.inputs[0].view, element, 0), step.inputs[0].view.pitch,
                         at(step.results[0], element, 0), step.results[0].pitch, step.window.rows(),
                         step.window.columns());
  };
  switch (workingBytes(element)) {
  case 1:
    return move(uint8_t());
  case 2:
    return move(uint16_t());
  default:
    return move(uint32_t());
  }
}

void BlockPlan::Runner::reshape(const Step &step, const WeightNode &node) {
  const WeightShape &shape = node.results[0];
  const Input &from = step.inputs[0];
  const int64_t width = graph.shape(node.operands[0]).columns, size = workingBytes(shape.element);
  for (int64_t row = step.window.row; row < step.window.rowEnd; ++row) {
    std::byte *out = at(step.results[0], shape.element, row - step.window.row);
    for (int64_t column = step.window.column; column < step.window.columnEnd;) {
      int64_t place = row * shape.columns + column, source = place / width;
      int64_t count = std::min(width - place % width, step.window.columnEnd - column);
      std::memcpy(out,
                  at(from.view, shape.element, source - from.window.row) +
                      (place % width - from.window.column) * size,
                  static_cast<size_t>(count * size));
      out += count * size;
      column += count;
    }
  }
}

void BlockPlan::Runner::addLowRank(const Step &step, const WeightNode &node) {
  std::array<ElementType, 3> elements;
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = graph.shape(node.operands[i]).element;
  const int64_t columns = step.window.columns(), rank = graph.shape(node.operands[1]).columns;
  float *sums = scratch(step), *row = sums + columns, *right = row + columns,
        *left = right + columns;
  for (int64_t n = 0; n < step.window.rows(); ++n) {
    widen(elements[0], at(step.inputs[0].view, elements[0], n), row, columns);
    widen(elements[1], at(step.inputs[1].view, elements[1], n), left, rank);
    std::fill_n(sums, columns, 0.0f);
    for (int64_t r = 0; r < rank; ++r) {
      widen(elements[2], at(step.inputs[2].view, elements[2], r), right, columns);
      for (int64_t k = 0; k < columns; ++k)
        sums[k] += left[r] * right[k];
    }
    for (int64_t k = 0; k < columns; ++k)
      row[k] += node.scale * sums[k];
    ElementType to = node.results[0].element;
    narrow(to, row, at(step.results[0], to, n), columns);
  }
}

void BlockPlan::Runner::repeatRows(const Step &step, const WeightNode &node) {
  for (int64_t row = 0; row < step.window.rows(); ++row)
    copyRows(step.inputs[0], (step.window.row + row) / node.block - step.inputs[0].window.row, step,
             row, 1, node.results[0].element);
}

//===- Rows and columns ---------------------------------------------------------------------===//

void BlockPlan::Runner::copyRows(const Input &from, int64_t fromRow, const Step &to, int64_t toRow,
                                 int64_t rows, ElementType element) const {
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(at(to.results[0], element, toRow + row), at(from.view, element, fromRow + row),
                static_cast<size_t>(to.window.columns() * workingBytes(element)));
}

void BlockPlan::Runner::concatRows(const Step &step, const WeightNode &node) {
  int64_t row = 0;
  for (const Input &input : step.inputs) {
    copyRows(input, 0, step, row, input.window.rows(), node.results[0].element);
    row += input.window.rows();
  }
}

void BlockPlan::Runner::interleaveRows(const Step &step, const WeightNode &node) {
  ElementType element = node.results[0].element;
  const Window &window = step.window;
  for (int64_t row = window.row; row < window.rowEnd;) {
    int64_t operand = row / node.block % 2;
    int64_t end = std::min((row / node.block + 1) * node.block, window.rowEnd);
    int64_t from = interleavedBefore(row, node.block, operand);
    int64_t rows = graph.shape(node.operands[operand]).rows;
    int64_t present = std::clamp<int64_t>(rows - from, 0, end - row);
    const Input &input = step.inputs[operand];
    copyRows(input, from - input.window.row, step, row - window.row, present, element);
    for (int64_t padding = row + present; padding < end; ++padding)
      std::memset(at(step.results[0], element, padding - window.row), node.padding,
                  static_cast<size_t>(window.columns() * workingBytes(element)));
    row = end;
  }
}

void BlockPlan::Runner::permuteRows(const Step &step, const WeightNode &node) {
  for (int64_t row = step.window.row; row < step.window.rowEnd; ++row) {
    int64_t from = permutedFrom(node, row);
    // Inputs are runs of rows, in order.
    auto behind = std::upper_bound(
        step.inputs.begin(), step.inputs.end(), from,
        [](int64_t wanted, const Input &input) { return wanted < input.window.row; });
    const Input &input = *std::prev(behind);
    copyRows(input, from - input.window.row, step, row - step.window.row, 1,
             node.results[0].element);
  }
}

void BlockPlan::Runner::scaleColumns(const Step &step, const WeightNode &node) {
  ElementType from = graph.shape(node.operands[0]).element, to = node.results[0].element;
  ElementType factorType = graph.shape(node.operands[1]).element;
  int64_t columns = step.window.columns();
  float *factors = scratch(step), *row = factors + columns;
  widen(factorType, at(step.inputs[1].view, factorType, 0), factors, columns);
  std::array<float, chunk> products;
  for (int64_t index = 0; index < step.window.rows(); ++index) {
    widen(from, at(step.inputs[0].view, from, index), row, columns);
    std::byte *out = at(step.results[0], to, index);
    for (int64_t start = 0; start < columns; start += chunk) {
      int64_t count = std::min(chunk, columns - start);
      multiply(row + start, factors + start, products.data(), count);
      narrow(to, products.data(), out + start * workingBytes(to), count);
    }
  }
}

} // namespace ingot::compiler
