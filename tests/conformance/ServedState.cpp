// SPDX-License-Identifier: Apache-2.0
// Sequences over blocks of recurrent state, and the arguments of a step of them.
#include "tests/conformance/ServedState.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ingot;
using namespace ingot::conformance;

static runtime::KvGroupPlan groupOf(llm::StateType type, ServedState::Blocks blocks) {
  runtime::KvGroupPlan group;
  group.name = "recurrent";
  group.blockTokens = type.getBlockTokens();
  group.blockBytes = uint64_t(type.blockBytes());
  group.tableWidth = blocks.width;
  group.blocksPerSequence = 4;
  group.blocks = blocks.count;
  group.window = group.blockTokens + 1;
  group.recurrent = true;
  return group;
}

std::unique_ptr<ServedState> ServedState::start(const std::string &target, const std::string &text,
                                                Blocks blocks) {
  auto compiled = CompiledFunction::compile(sharedContext(), target, text);
  if (!compiled)
    return nullptr;
  llvm::ArrayRef<Type> types = compiled->function().getArgumentTypes();
  auto state = llvm::find_if(types, llvm::IsaPred<llm::StateType>);
  return std::unique_ptr<ServedState>(
      new ServedState(std::move(compiled), cast<llm::StateType>(*state), blocks));
}

ServedState::ServedState(std::unique_ptr<CompiledFunction> function, llm::StateType type,
                         Blocks blocks)
    : cache({groupOf(type, blocks)}), compiled(std::move(function)), type(type), blocks(blocks),
      statePlace(size_t(llvm::find(types(), type) - types().begin())) {
  reset();
  std::mt19937_64 random(7);
  for (Type weight : types().drop_front(statePlace + 1)) {
    auto tensor = cast<RankedTensorType>(weight);
    int64_t columns = tensor.getRank() > 1 ? tensor.getDimSize(1) : 1;
    weights.emplace_back(tensor.getElementType(), tensor.getDimSize(0), columns);
    fillRandom(weights.back(), random, 1);
  }
}

void ServedState::reset() {
  cache = runtime::KvCache({groupOf(type, blocks)});
  // NaN: what a sequence does not write itself it must not read.
  memory.assign(size_t(blocks.count * type.blockBytes()), 0xff);
}

llvm::ArrayRef<Type> ServedState::types() const { return compiled->function().getArgumentTypes(); }

int64_t ServedState::resultColumns() const {
  return cast<RankedTensorType>(compiled->function().getResultTypes().front()).getDimSize(1);
}

Stream ServedState::open(int64_t tokens, int32_t first) const {
  Stream stream;
  for (int64_t i = 0; i < tokens; ++i)
    stream.sequence.tokens.push_back(first + int32_t(i));
  stream.sequence.promptTokens = tokens;
  cache.prepare(tokens, stream.sequence);
  for (Type type : types().take_front(statePlace - positionsBefore)) {
    auto tensor = cast<RankedTensorType>(type);
    // Each has its own numbers, so that they are the same in longer sequences.
    std::mt19937_64 random(uint64_t(first) + 1 + (uint64_t(stream.inputs.size()) << 32));
    stream.inputs.emplace_back(tensor.getElementType(), tokens, tensor.getDimSize(1));
    fillRandom(stream.inputs.back(), random, 1);
  }
  stream.results.resize(size_t(tokens * resultColumns()));
  return stream;
}

std::vector<HostValue> ServedState::argumentsOf(Dims dims) const {
  std::vector<HostValue> arguments(types().size());
  Type i32 = IntegerType::get(&sharedContext(), 32);
  for (size_t i = 0; i < statePlace - positionsBefore; ++i) {
    auto tensor = cast<RankedTensorType>(types()[i]);
    arguments[i].tensor = HostTensor(tensor.getElementType(), dims.T, tensor.getDimSize(1));
  }
  arguments[statePlace - positionsBefore].tensor = HostTensor(i32, dims.T, 1);
  arguments[statePlace - offsetsBefore].tensor = HostTensor(i32, dims.S + 1, 1);
  arguments[statePlace - tableBefore].tensor = HostTensor(i32, dims.S, blocks.width);
  arguments[statePlace].memory = memory;
  for (auto [i, weight] : llvm::enumerate(weights))
    arguments[statePlace + 1 + i].tensor = weight;
  return arguments;
}

/// Copies `count` rows of codes.
template <class From, class To>
static void copyRows(const From &from, int64_t row, int64_t count, int64_t columns, To &to,
                     int64_t toRow) {
  std::copy_n(from.begin() + row * columns, count * columns, to.begin() + toRow * columns);
}

void ServedState::step(llvm::ArrayRef<std::pair<Stream *, int64_t>> parts) {
  Dims dims = {0, int64_t(parts.size()), 1, blocks.width};
  for (auto [stream, count] : parts)
    dims.T += count;
  std::vector<HostValue> arguments = argumentsOf(dims);
  std::vector<uint32_t> &positions = arguments[statePlace - positionsBefore].tensor.codes,
                        &offsets = arguments[statePlace - offsetsBefore].tensor.codes,
                        &table = arguments[statePlace - tableBefore].tensor.codes;
  int64_t row = 0, entry = 0;
  for (auto [stream, count] : parts) {
    ASSERT_TRUE(cache.extend(stream->sequence, count));
    std::vector<int32_t> taken(size_t(blocks.width));
    cache.fillTableRow(0, stream->sequence, taken.data());
    llvm::copy(taken, table.begin() + entry * blocks.width);
    int64_t computed = stream->sequence.computed;
    for (auto [i, input] : llvm::enumerate(stream->inputs))
      copyRows(input.codes, computed, count, input.columns, arguments[i].tensor.codes, row);
    std::iota(positions.begin() + row, positions.begin() + row + count, uint32_t(computed));
    row += count;
    offsets[size_t(++entry)] = uint32_t(row);
  }
  ASSERT_TRUE(cache.copies().empty());
  std::vector<HostValue> results = compiled->run(arguments, dims);
  ASSERT_EQ(results.size(), 1u);
  memory = std::move(arguments[statePlace].memory);
  row = 0;
  for (auto [stream, count] : parts) {
    copyRows(results[0].tensor.codes, row, count, resultColumns(), stream->results,
             stream->sequence.computed);
    row += count;
    stream->sequence.computed += count;
    cache.settle(stream->sequence);
  }
}

void ServedState::finish(Stream &stream, int64_t each) {
  while (stream.sequence.computed < stream.tokens() && !testing::Test::HasFatalFailure())
    step({{&stream, std::min(each, stream.tokens() - stream.sequence.computed)}});
}
