// SPDX-License-Identifier: Apache-2.0
// Running given tokens through "step" outside the queue: log-probabilities of a text, and taps.
#include "runtime/serving/Session.h"

#include "runtime/engine/ElementValue.h"
#include "runtime/engine/Verify.h"

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
                         const std::function<Status(const BatchEntry &)> &run) {
  if (Status status = checkPrompt(tokens, memoryPlan().maxContext); !status.ok())
    return status;
  // Its steps overwrite what the next one of the requests would read.
  if (Status status = settle(); !status.ok())
    return status;
  Sequence sequence;
  sequence.tokens.assign(tokens.begin(), tokens.end());
  sequence.promptTokens = int64_t(tokens.size());
  if (!cache->canEverHold(sequence.promptTokens))
    return Status::error("INGOT-E6005",
                         "the KV cache cannot hold " + std::to_string(tokens.size()) + " positions",
                         "load the engine with more --memory");
  if (!scheduler->borrow(sequence, sequence.promptTokens))
    return Status::error("INGOT-E6016", "no sequence slot or KV blocks are free",
                         "let running requests finish first");
  executor->clearState(sequence.slot);
  Status status;
  for (size_t i = 0; status.ok() && sequence.pending() > 0; ++i) {
    int64_t chunk = std::min({steps[i % steps.size()], memoryPlan().maxTokens, sequence.pending()});
    BatchEntry entry = {&sequence, chunk, std::min(chunk, memoryPlan().maxLogitRows)};
    status = stepProgram->prepare({&entry, 1}, *cache);
    if (status.ok())
      status = run(entry);
    sequence.computed += chunk;
  }
  scheduler->giveBack(sequence);
  return status;
}

Status Session::readLogits(
    std::span<const int32_t> tokens, std::span<const int64_t> steps,
    const std::function<void(int64_t position, std::span<const float> logits)> &visit) {
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

Result<std::vector<float>> Session::readTap(std::span<const int32_t> tokens, std::string_view tap) {
  const schema::Target &target = executor->target();
  auto refuse = [&](const char *what) {
    return Status::error("INGOT-E6009", "tap '" + std::string(tap) + "' " + what,
                         "choose another; 'inspect' lists them");
  };
  int64_t found = -1;
  for (uint32_t i = 0; i < count(target.buffers()); ++i)
    if (target.buffers()->Get(i)->tap() && target.buffers()->Get(i)->tap()->string_view() == tap)
      found = i;
  if (tap.empty() || found < 0)
    return refuse("does not exist");
  uint32_t buffer = uint32_t(found);
  schema::DType type = target.buffers()->Get(buffer)->dtype();
  if (!isInArena(target.buffers()->Get(buffer)->role()))
    return refuse("is not a value of a step");

  // Read at the end of the segment that makes it: later instructions may reuse its memory.
  const schema::Program &program = *target.programs()->Get(stepProgram->index());
  uint32_t total = count(program.instructions()), end = total;
  for (uint32_t i = 0; i < count(program.segments()); ++i)
    if (program.segments()->Get(i)->tap() == found)
      end = program.segments()->Get(i)->first() + program.segments()->Get(i)->count();
  std::vector<float> values;
  std::vector<uint8_t> bytes;
  bool convertible = true;
  auto run = [&](const BatchEntry &) -> Status {
    executor->runPart(stepProgram->index(), 0, end);
    size_t elements = 1;
    for (int64_t extent : executor->shapeOf(buffer))
      elements *= size_t(extent);
    bytes.resize(executor->bufferBytes(buffer));
    elements = std::min(elements, bytes.size() * 8 / size_t(bitsOf(type)));
    if (Status status = executor->read(buffer, bytes.data(), bytes.size()); !status.ok())
      return status;
    for (size_t i = 0; i < elements && convertible; ++i) {
      float value = 0;
      convertible = elementValue(type, bytes.data(), i, value);
      values.push_back(value);
    }
    executor->runPart(stepProgram->index(), end, total - end);
    return convertible ? Status() : refuse("has an element type that does not become f32");
  };
  int64_t most = mostScored();
  if (Status status = runAlone(tokens, {&most, 1}, run); !status.ok())
    return status;
  return values;
}

} // namespace ingot::runtime
