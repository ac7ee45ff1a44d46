// SPDX-License-Identifier: Apache-2.0
// The buffers of "sample", known by name (KernelAbi.h states their rows).
#include "runtime/serving/SampleProgram.h"

#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <algorithm>
#include <limits>

namespace ingot::runtime {

Result<SampleProgram> SampleProgram::bind(Executor &executor, uint32_t vocabulary) {
  SampleProgram sample;
  sample.executor = &executor;
  sample.vocabulary = vocabulary;
  sample.maskWords = (size_t(vocabulary) + 31) / 32;
  std::optional<uint32_t> program = executor.findProgram(schema::program::sample);
  auto incomplete = [](const std::string &what) {
    return Status::error("INGOT-E5022", "the engine cannot sample: " + what, "rebuild the engine");
  };
  if (!program)
    return incomplete("it has no program 'sample'");
  sample.program = *program;
  size_t rows = size_t(executor.plan().maxLogitRows);
  const schema::Program &description = *executor.target().programs()->Get(*program);
  static constexpr std::string_view known[] = {
      schema::input::logits,     schema::input::sampleParams, schema::input::biasIds,
      schema::input::biasValues, schema::input::allowMask,    schema::input::tokenCounts};
  for (uint32_t i = 0; i < count(description.inputs()); ++i) {
    const schema::Buffer &buffer = *executor.target().buffers()->Get(description.inputs()->Get(i));
    if (buffer.role() == schema::Role::Input &&
        std::find(std::begin(known), std::end(known), buffer.name()->string_view()) ==
            std::end(known))
      return Status::error("INGOT-E5011",
                           "this runtime cannot fill the input '" + buffer.name()->str() + "'",
                           "use the runtime of the release that built the engine");
  }
  const auto *inputs = description.inputs(), *outputs = description.outputs();
  sample.paramsBuffer =
      sample.find(inputs, schema::input::sampleParams, rows * sizeof(IngotSampleParams));
  sample.biasIdsBuffer = sample.find(inputs, schema::input::biasIds, rows * INGOT_MAX_BIAS * 4);
  sample.biasValuesBuffer =
      sample.find(inputs, schema::input::biasValues, rows * INGOT_MAX_BIAS * 4);
  sample.maskBuffer = sample.find(inputs, schema::input::allowMask, rows * sample.maskWords * 4);
  sample.tokensBuffer = sample.find(outputs, schema::output::sampledTokens, rows * 4);
  sample.logprobsBuffer = sample.find(outputs, schema::output::sampledLogprobs, rows * 4);
  sample.topTokensBuffer =
      sample.find(outputs, schema::output::topTokens, rows * INGOT_MAX_LOGPROBS * 4);
  sample.topLogprobsBuffer =
      sample.find(outputs, schema::output::topLogprobs, rows * INGOT_MAX_LOGPROBS * 4);
  if (sample.paramsBuffer == absent || sample.tokensBuffer == absent)
    return incomplete("'sample_params' or 'sampled_tokens' is missing or too small");
  for (uint32_t i = 0; i < count(executor.target().buffers()); ++i) {
    const schema::Buffer &buffer = *executor.target().buffers()->Get(i);
    if (buffer.role() == schema::Role::State &&
        buffer.name()->string_view() == schema::input::tokenCounts &&
        executor.bufferBytes(i) == uint64_t(vocabulary) * 4)
      sample.countsBuffer = i;
  }
  sample.params.resize(rows);
  sample.biasIds.resize(rows * INGOT_MAX_BIAS);
  sample.biasValues.resize(rows * INGOT_MAX_BIAS);
  sample.mask.resize(rows * sample.maskWords);
  sample.counts.resize(vocabulary);
  sample.drawn.resize(rows);
  sample.logprobs.resize(rows, std::numeric_limits<float>::quiet_NaN());
  sample.topTokens.resize(rows * INGOT_MAX_LOGPROBS);
  sample.topLogprobs.resize(rows * INGOT_MAX_LOGPROBS);
  uint64_t most = 0;
  for (const Output &output : sample.outputsOf({rows, 1}))
    most += output.bytes;
  sample.ahead = executor.device().startedReadBytes() >= 2 * most;
  return sample;
}

/// Index of the buffer of that name in the list, if it holds `bytes` at the largest step.
int64_t SampleProgram::find(const flatbuffers::Vector<uint32_t> *list, std::string_view name,
                            uint64_t bytes) const {
  for (uint32_t i = 0; i < count(list); ++i) {
    uint32_t index = list->Get(i);
    const schema::Buffer &buffer = *executor->target().buffers()->Get(index);
    if (buffer.name()->string_view() == name && isInArena(buffer.role()) &&
        executor->bufferBytes(index) >= bytes)
      return index;
  }
  return absent;
}

Status SampleProgram::supports(const SamplingParameters &sampling) const {
  const char *missing = nullptr;
  int32_t mostLogprobs = std::max(sampling.logprobs, sampling.promptLogprobs);
  if (sampling.usesCounts() && countsBuffer == absent)
    missing = "penalties";
  else if (!sampling.bias.empty() && (biasIdsBuffer == absent || biasValuesBuffer == absent))
    missing = "logit bias";
  else if (sampling.usesMask() && maskBuffer == absent)
    missing = "tokens that may not be drawn";
  else if (sampling.promptLogprobs >= 0 && maskBuffer == absent)
    missing = "log-probabilities of the prompt";
  else if (mostLogprobs >= 0 && logprobsBuffer == absent)
    missing = "log-probabilities";
  else if (mostLogprobs > 0 && (topTokensBuffer == absent || topLogprobsBuffer == absent))
    missing = "alternatives with log-probabilities";
  if (!missing)
    return {};
  return Status::error("INGOT-E6012", std::string("this engine cannot sample with ") + missing,
                       "leave the parameter out or rebuild the engine");
}

void SampleProgram::admit(Sequence &sequence) {
  executor->clearState(sequence.slot);
  sequence.needsState = false;
  if (countsBuffer == absent || !sequence.sampling.usesCounts())
    return;
  std::fill(counts.begin(), counts.end(), 0);
  for (int64_t i = 0; i < sequence.promptTokens; ++i)
    counts[size_t(sequence.tokens[size_t(i)])] = INGOT_COUNT_IN_PROMPT;
  // One that was preempted has drawn tokens already.
  for (size_t i = size_t(sequence.promptTokens); i < sequence.tokens.size(); ++i)
    ++counts[size_t(sequence.tokens[i])];
  executor->writeState(uint32_t(countsBuffer), sequence.slot, counts.data());
}

void SampleProgram::fillRow(size_t row, Sequence &sequence, int64_t place) {
  const SamplingParameters &sampling = sequence.sampling;
  params[row] = {sampling.temperature,
                 sampling.topK,
                 sampling.topP,
                 sampling.minP,
                 sampling.typicalP,
                 sampling.repetitionPenalty,
                 sampling.presencePenalty,
                 sampling.frequencyPenalty,
                 sampling.seed,
                 uint64_t(place - sequence.promptTokens),
                 sampling.usesCounts() ? int32_t(sequence.slot) : -1,
                 int32_t(sampling.bias.size()),
                 maskUse(row, sequence),
                 sampling.logprobs};
  for (size_t i = 0; i < sampling.bias.size(); ++i) {
    biasIds[row * INGOT_MAX_BIAS + i] = sampling.bias[i].first;
    biasValues[row * INGOT_MAX_BIAS + i] = sampling.bias[i].second;
  }
}

TokenMask SampleProgram::maskOf(size_t row) {
  return TokenMask({mask.data() + row * maskWords, maskWords});
}

/// A draw that can only end with `token`, for its log-probability and the alternatives.
void SampleProgram::fillKnown(size_t row, const Sequence &sequence, int32_t token) {
  IngotSampleParams &known = params[row] = {};
  known.topP = known.typicalP = known.repetitionPenalty = 1;
  known.countsSlot = -1;
  known.useMask = 1;
  known.logprobs = sequence.sampling.promptLogprobs;
  maskOf(row).allowOnly({&token, 1});
}

/// 0: all tokens may be drawn in the row. Else its words say which may: 1, or 2 where the
/// log-probabilities are to be those of the distribution that is left.
int32_t SampleProgram::maskUse(size_t row, Sequence &sequence) {
  if (!sequence.sampling.usesMask())
    return 0;
  TokenMask tokens = maskOf(row);
  tokens.applyTo(sequence);
  if (!tokens.restricts())
    return 0;
  return sequence.isMasked() ? 2 : 1;
}

/// Writes the masks of the rows that have one, neighbours together.
void SampleProgram::writeMasks(size_t rows) {
  for (size_t first = 0, end = 0; first < rows; first = end) {
    while (first < rows && !params[first].useMask)
      ++first;
    end = first;
    while (end < rows && params[end].useMask)
      ++end;
    if (end > first)
      executor->write(uint32_t(maskBuffer), mask.data() + first * maskWords,
                      (end - first) * maskWords * 4, first * maskWords * 4);
  }
}

/// What is read back of a draw.
std::array<SampleProgram::Output, 4> SampleProgram::outputsOf(const SampleDraw &draw) {
  bool some = draw.mostLogprobs >= 0, alternatives = draw.mostLogprobs > 0;
  uint64_t bytes = draw.rows * 4, all = bytes * INGOT_MAX_LOGPROBS;
  return {{{tokensBuffer, drawn.data(), bytes},
           {logprobsBuffer, logprobs.data(), some ? bytes : 0},
           {topTokensBuffer, topTokens.data(), alternatives ? all : 0},
           {topLogprobsBuffer, topLogprobs.data(), alternatives ? all : 0}}};
}

SampleDraw SampleProgram::start(std::span<const SampleRow> rows) {
  SampleDraw draw = {rows.size(), -1};
  bool anyBias = false;
  for (size_t row = 0; row < rows.size(); ++row) {
    Sequence &sequence = *rows[row].sequence;
    if (rows[row].known)
      fillKnown(row, sequence, sequence.tokens[size_t(rows[row].place)]);
    else
      fillRow(row, sequence, rows[row].place);
    anyBias |= params[row].biasCount > 0;
    draw.mostLogprobs = std::max(draw.mostLogprobs, params[row].logprobs);
  }
  if (anyBias) {
    uint64_t bytes = draw.rows * INGOT_MAX_BIAS * 4;
    executor->write(uint32_t(biasIdsBuffer), biasIds.data(), bytes);
    executor->write(uint32_t(biasValuesBuffer), biasValues.data(), bytes);
  }
  writeMasks(draw.rows);
  if (draw.rows > 0) {
    executor->write(uint32_t(paramsBuffer), params.data(), draw.rows * sizeof(IngotSampleParams));
    executor->run(program);
  }
  for (const Output &output : outputsOf(draw))
    if (ahead && (output.bytes > 0 || output.buffer == tokensBuffer))
      executor->startRead(uint32_t(output.buffer), output.bytes);
  return draw;
}

Status SampleProgram::finish(const SampleDraw &draw) {
  for (const Output &output : outputsOf(draw)) {
    Status status;
    // The tokens of no rows are waited for too: they say how far the device has come.
    if (ahead && (output.bytes > 0 || output.buffer == tokensBuffer))
      status = executor->finishRead(output.destination);
    else if (output.bytes > 0)
      status = executor->read(uint32_t(output.buffer), output.destination, output.bytes);
    if (!status.ok())
      return status;
  }
  return {};
}

std::vector<TokenLogprob> SampleProgram::top(size_t row, int32_t wanted) const {
  std::vector<TokenLogprob> list;
  for (int32_t i = 0; i < wanted; ++i)
    list.push_back({topTokens[row * INGOT_MAX_LOGPROBS + size_t(i)],
                    topLogprobs[row * INGOT_MAX_LOGPROBS + size_t(i)]});
  return list;
}

} // namespace ingot::runtime
