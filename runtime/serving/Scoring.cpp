// SPDX-License-Identifier: Apache-2.0
// Running given tokens through "step" outside the queue: log-probabilities of a text, and taps.
#include "runtime/serving/Session.h"

#include "runtime/engine/ElementValue.h"
#include "runtime/engine/Verify.h"
#include "runtime/schema/Names.h"

#include <cmath>

namespace ingot::runtime {
namespace {

/// log(exp(logits[token]) / sum exp(logits)), summed in f64 in the order of the vocabulary.
float logProbability(std::span<const float> logits, int32_t token) {
  float largest = logits[0];
  for (float logit : logits)
    largest = std::max(largest, logit);
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - double(largest));
  return float(double(logits[size_t(token)]) - double(largest) - std::log(sum));
}

} // namespace

/// The most tokens of a step that gives logits for all of them.
int64_t Session::mostScored() const {
  return std::min(memoryPlan().maxTokens, memoryPlan().maxLogitRows);
}

/// Feeds `tokens` in steps of the sizes `steps` in turn. `run` executes the prepared step and takes
/// its results; the sequence counts the tokens of the steps before.
Status Session::runAlone(std::span<const int32_t> tokens, std::span<const int64_t> steps,
                         const std::function<Status(const BatchEntry &)> &run,
                         std::span<const float> embeddings) {
  if (Status status = checkPrompt(tokens, memoryPlan().maxContext); !status.ok())
    return status;
  // Its steps overwrite what the next one of the requests would read.
  if (Status status = settle(); !status.ok())
    return status;
  Sequence sequence;
  sequence.tokens.assign(tokens.begin(), tokens.end());
  sequence.promptTokens = int64_t(tokens.size());
  sequence.embeddings = embeddings;
  if (!cache->canEverHold(sequence.promptTokens))
    return Status::error("INGOT-E6005",
                         "the KV cache cannot hold " + std::to_string(tokens.size()) + " positions",
                         "load the engine with more --memory");
  auto busy = [] {
    return Status::error("INGOT-E6016", "no sequence slot or KV blocks are free",
                         "let running requests finish first");
  };
  if (!scheduler->borrow(sequence, sequence.promptTokens))
    return busy();
  executor->clearState(sequence.slot);
  Status status;
  for (size_t i = 0; sequence.pending() > 0; ++i) {
    int64_t chunk = std::min({steps[i % steps.size()], memoryPlan().maxTokens, sequence.pending()});
    BatchEntry entry = {&sequence, chunk, std::min(chunk, memoryPlan().maxLogitRows)};
    status = cache->extend(sequence, chunk) ? stepProgram->prepare({&entry, 1}, *cache) : busy();
    if (status.ok())
      status = run(entry);
    if (!status.ok())
      break;
    sequence.computed += chunk;
    cache->settle(sequence);
  }
  scheduler->giveBack(sequence);
  return status;
}

Status Session::readLogits(
    std::span<const int32_t> tokens, std::span<const int64_t> steps,
    const std::function<void(int64_t position, std::span<const float> logits)> &visit) {
  if (Status status = checkLogits(); !status.ok())
    return status;
  size_t vocabulary = size_t(stepProgram->vocabulary());
  std::vector<float> logits;
  auto run = [&](const BatchEntry &entry) -> Status {
    stepProgram->run();
    logits.resize(size_t(entry.logitRows) * vocabulary);
    Status status =
        executor->read(stepProgram->logits(), logits.data(), logits.size() * sizeof(float));
    int64_t first = entry.sequence->computed + entry.tokens - entry.logitRows;
    for (int64_t i = 0; status.ok() && i < entry.logitRows; ++i)
      visit(first + i, std::span(logits).subspan(size_t(i) * vocabulary, vocabulary));
    return status;
  };
  return runAlone(tokens, steps, run);
}

Result<std::vector<float>> Session::score(std::span<const int32_t> tokens) {
  std::vector<float> scores(tokens.size(), 0);
  auto visit = [&](int64_t position, std::span<const float> logits) {
    size_t next = size_t(position) + 1;
    if (next < tokens.size())
      scores[next] = logProbability(logits, tokens[next]);
  };
  int64_t most = mostScored();
  if (Status status = readLogits(tokens, {&most, 1}, visit); !status.ok())
    return status;
  return scores;
}

std::vector<std::string> Session::taps() const {
  std::vector<std::string> names;
  const auto *buffers = executor->target().buffers();
  for (uint32_t i = 0; i < count(buffers); ++i)
    if (buffers->Get(i)->tap() && buffers->Get(i)->tap()->size())
      names.push_back(buffers->Get(i)->tap()->str());
  return names;
}

/// Where the values of a tap are, and when.
struct Session::Tap {
  size_t index;    ///< among those asked for
  uint32_t buffer; ///< its dtype is one that becomes f32
  uint32_t end;    ///< instruction before which it is read: later ones may reuse its memory
};

Result<Session::Tap> Session::findTap(std::string_view name) const {
  const schema::Target &target = executor->target();
  auto refuse = [&](const char *what) {
    return Status::error("INGOT-E6009", "tap '" + std::string(name) + "' " + what,
                         "choose another; 'inspect' lists them");
  };
  int64_t found = -1;
  for (uint32_t i = 0; i < count(target.buffers()); ++i)
    if (target.buffers()->Get(i)->tap() && target.buffers()->Get(i)->tap()->string_view() == name)
      found = i;
  if (found < 0 && name == schema::output::logits)
    found = stepProgram->logits();
  if (name.empty() || found < 0)
    return refuse("does not exist");
  const schema::Buffer &buffer = *target.buffers()->Get(uint32_t(found));
  if (!isInArena(buffer.role()))
    return refuse("is not a value of a step");
  float value = 0;
  std::byte zero[8] = {};
  if (!elementValue(buffer.dtype(), reinterpret_cast<const uint8_t *>(zero), 0, value))
    return refuse("has an element type that does not become f32");
  const schema::Program &program = *target.programs()->Get(stepProgram->index());
  Tap tap = {0, uint32_t(found), count(program.instructions())};
  for (uint32_t i = 0; i < count(program.segments()); ++i)
    if (program.segments()->Get(i)->tap() == found)
      tap.end = program.segments()->Get(i)->first() + program.segments()->Get(i)->count();
  return tap;
}

Status Session::readTap(const Tap &tap, std::vector<float> &values) {
  schema::DType type = executor->target().buffers()->Get(tap.buffer)->dtype();
  size_t elements = 1;
  for (int64_t extent : executor->shapeOf(tap.buffer))
    elements *= size_t(extent);
  std::vector<uint8_t> bytes(executor->bufferBytes(tap.buffer));
  elements = std::min(elements, bytes.size() * 8 / size_t(bitsOf(type)));
  values.resize(elements);
  if (type == schema::DType::F32)
    return executor->read(tap.buffer, values.data(), elements * sizeof(float));
  if (Status status = executor->read(tap.buffer, bytes.data(), bytes.size()); !status.ok())
    return status;
  for (size_t i = 0; i < elements; ++i)
    elementValue(type, bytes.data(), i, values[i]);
  return {};
}

Status Session::record(std::span<const int32_t> tokens, std::span<const float> embeddings,
                       std::span<const std::string_view> names, const TapVisitor &visit) {
  std::vector<Tap> taps;
  for (size_t i = 0; i < names.size(); ++i) {
    Result<Tap> tap = findTap(names[i]);
    if (!tap.ok())
      return std::move(tap).status();
    taps.push_back(*tap);
    taps.back().index = i;
  }
  std::sort(taps.begin(), taps.end(), [](const Tap &one, const Tap &other) {
    return std::pair(one.end, one.index) < std::pair(other.end, other.index);
  });
  std::vector<float> values;
  auto run = [&](const BatchEntry &entry) -> Status {
    uint32_t done = 0;
    for (const Tap &tap : taps) {
      executor->runPart(stepProgram->index(), done, tap.end - done);
      done = tap.end;
      if (Status status = readTap(tap, values); !status.ok())
        return status;
      visit(tap.index, entry.sequence->computed, values);
    }
    return {}; // what comes after the last tap is of no use
  };
  int64_t most = mostScored();
  return runAlone(tokens, {&most, 1}, run, embeddings);
}

} // namespace ingot::runtime
