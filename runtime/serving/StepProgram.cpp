// SPDX-License-Identifier: Apache-2.0
// The inputs of "step", known by name, and how each is made from a batch.
#include "runtime/serving/StepProgram.h"

#include "runtime/engine/Verify.h"

#include <algorithm>

namespace ingot::runtime {

Result<StepProgram> StepProgram::bind(Executor &executor) {
  StepProgram step;
  step.executor = &executor;
  std::optional<uint32_t> program = executor.findProgram("step");
  auto incomplete = [](const char *what) {
    return Status::error("INGOT-E5022", std::string("the engine cannot generate: ") + what,
                         "rebuild the engine");
  };
  if (!program)
    return incomplete("it has no program 'step'");
  step.program = *program;
  const schema::Target &target = executor.target();
  const schema::Program &description = *target.programs()->Get(*program);
  for (uint32_t i = 0; i < count(description.inputs()); ++i)
    if (Status status = step.bindInput(description.inputs()->Get(i)); !status.ok())
      return status;
  bool found = false;
  for (uint32_t i = 0; i < count(description.outputs()); ++i) {
    uint32_t index = description.outputs()->Get(i);
    const schema::Buffer &buffer = *target.buffers()->Get(index);
    if (buffer.name()->string_view() != "logits")
      continue;
    if (buffer.dtype() != schema::DType::F32 || count(buffer.shape()) != 2)
      return incomplete("its logits are not a matrix of f32");
    step.logitsBuffer = index;
    step.vocabularySize = executor.shapeOf(index)[1];
    found = true;
  }
  if (!found || step.vocabularySize <= 0)
    return incomplete("its program 'step' has no output 'logits'");
  return step;
}

Status StepProgram::bindInput(uint32_t index) {
  const MemoryPlan &plan = executor->plan();
  const schema::Buffer &buffer = *executor->target().buffers()->Get(index);
  // Weights, KV and state may be listed as inputs; they are not ours to fill.
  if (buffer.role() != schema::Role::Input)
    return {};
  const struct {
    const char *name;
    Input input;
    int64_t elements;
  } known[] = {
      {"tokens", Input::Tokens, plan.maxTokens},
      {"positions", Input::Positions, plan.maxTokens},
      {"token_sequences", Input::TokenSequences, plan.maxTokens},
      {"sequence_offsets", Input::SequenceOffsets, plan.maxSequences + 1},
      {"context_lengths", Input::ContextLengths, plan.maxSequences},
      {"logit_rows", Input::LogitRows, plan.maxLogitRows},
  };
  std::string name = buffer.name()->str();
  Binding binding = {Input::Tokens, index, 0, {}, 0};
  int64_t elements = -1;
  for (const auto &entry : known)
    if (name == entry.name) {
      binding.input = entry.input;
      elements = entry.elements;
    }
  for (size_t group = 0; group < plan.groups.size(); ++group)
    if ((buffer.group() == int64_t(group) && name.rfind("block_table", 0) == 0) ||
        (buffer.group() < 0 && ((group == 0 && name == "block_table") ||
                                name == "block_table." + plan.groups[group].name))) {
      binding.input = Input::BlockTable;
      binding.group = group;
      elements = plan.maxSequences * plan.groups[group].tableWidth;
    }
  if (elements < 0)
    return Status::error("INGOT-E5011", "this runtime cannot fill the input '" + name + "'",
                         "use the runtime of the release that built the engine");
  if (buffer.dtype() != schema::DType::I32 ||
      executor->bufferBytes(index) < uint64_t(elements) * sizeof(int32_t))
    return Status::error("INGOT-E5022",
                         "the input '" + name + "' is not i32 or too small for the largest step",
                         "rebuild the engine");
  binding.data.resize(size_t(elements));
  bindings.push_back(std::move(binding));
  return {};
}

Status StepProgram::prepare(std::span<const BatchEntry> batch, const KvCache &cache,
                            uint32_t drawn) {
  StepShape shape = {0, int64_t(batch.size()), 0};
  for (const BatchEntry &entry : batch) {
    shape.tokens += entry.tokens;
    shape.logitRows += entry.logitRows;
  }
  // A step without wanted logits computes those of its first token, for engines that need a row.
  shape.logitRows = std::max<int64_t>(shape.logitRows, 1);
  if (Status status = executor->beginStep(shape); !status.ok())
    return status;
  for (Binding &binding : bindings) {
    fill(binding, batch, cache, shape.logitRows);
    executor->write(binding.buffer, binding.data.data(), binding.used * sizeof(int32_t));
    if (binding.input == Input::Tokens)
      copyDrawn(binding.buffer, batch, drawn);
  }
  return {};
}

/// Copies the tokens that only the device knows: neighbours in both buffers together.
void StepProgram::copyDrawn(uint32_t buffer, std::span<const BatchEntry> batch, uint32_t drawn) {
  constexpr uint64_t bytes = sizeof(int32_t);
  uint64_t token = 0, first = 0, firstRow = 0, length = 0;
  auto flush = [&] {
    if (length > 0)
      executor->copy(buffer, first * bytes, drawn, firstRow * bytes, length * bytes);
    length = 0;
  };
  for (const BatchEntry &entry : batch) {
    if (entry.sequence->unknown()) {
      auto row = uint64_t(entry.sequence->drawRow);
      if (token != first + length || row != firstRow + length)
        flush();
      if (length == 0) {
        first = token;
        firstRow = row;
      }
      ++length;
    }
    token += uint64_t(entry.tokens);
  }
  flush();
}

void StepProgram::fill(Binding &binding, std::span<const BatchEntry> batch, const KvCache &cache,
                       int64_t logitRows) {
  int32_t *out = binding.data.data();
  int32_t row = 0, token = 0;
  if (binding.input == Input::SequenceOffsets)
    *out++ = 0;
  for (const BatchEntry &entry : batch) {
    const Sequence &sequence = *entry.sequence;
    int64_t first = sequence.computed;
    switch (binding.input) {
    case Input::Tokens:
      out = std::copy_n(sequence.tokens.begin() + first, entry.tokens, out);
      break;
    case Input::Positions:
      for (int64_t i = 0; i < entry.tokens; ++i)
        *out++ = int32_t(first + i);
      break;
    case Input::TokenSequences:
      out = std::fill_n(out, entry.tokens, row);
      break;
    case Input::SequenceOffsets:
      *out++ = token + int32_t(entry.tokens);
      break;
    case Input::ContextLengths:
      *out++ = int32_t(first + entry.tokens);
      break;
    case Input::LogitRows:
      for (int64_t i = entry.tokens - entry.logitRows; i < entry.tokens; ++i)
        *out++ = token + int32_t(i);
      break;
    case Input::BlockTable:
      cache.fillTableRow(binding.group, sequence, out);
      out += executor->plan().groups[binding.group].tableWidth;
      break;
    }
    ++row;
    token += int32_t(entry.tokens);
  }
  if (binding.input == Input::LogitRows && out == binding.data.data())
    out = std::fill_n(out, logitRows, 0);
  binding.used = size_t(out - binding.data.data());
}

} // namespace ingot::runtime
