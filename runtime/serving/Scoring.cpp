// SPDX-License-Identifier: Apache-2.0
// Running given tokens through "step" outside the queue: log-probabilities of a text, and taps.
#include "runtime/serving/Session.h"

#include "runtime/engine/Verify.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace ingot::runtime {
namespace {

float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    float value = std::ldexp(float(mantissa), -24);
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

template <class T> T load(const uint8_t *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

/// One element of a tap; false when its type has no meaning as a single f32.
bool convert(schema::DType type, const uint8_t *data, size_t index, float &value) {
  switch (type) {
  case schema::DType::F32:
    value = load<float>(data, index);
    return true;
  case schema::DType::F64:
    value = float(load<double>(data, index));
    return true;
  case schema::DType::F16:
    value = halfToFloat(load<uint16_t>(data, index));
    return true;
  case schema::DType::BF16:
    value = std::bit_cast<float>(uint32_t(load<uint16_t>(data, index)) << 16);
    return true;
  case schema::DType::I32:
    value = float(load<int32_t>(data, index));
    return true;
  case schema::DType::I8:
    value = load<int8_t>(data, index);
    return true;
  default:
    return false;
  }
}

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

/// Feeds `tokens` in steps with logits for every token. `run` executes the prepared step; `visit`
/// sees the result of tokens [first, first + count).
Status Session::runAlone(std::span<const int32_t> tokens, const std::function<Status()> &run,
                         const std::function<Status(int64_t first, int64_t count)> &visit) {
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
  while (status.ok() && sequence.pending() > 0) {
    int64_t chunk =
        std::min({memoryPlan().maxTokens, memoryPlan().maxLogitRows, sequence.pending()});
    BatchEntry entry = {&sequence, chunk, chunk};
    status = stepProgram->prepare({&entry, 1}, *cache);
    if (!status.ok())
      break;
    status = run();
    if (status.ok())
      status = visit(sequence.computed, chunk);
    sequence.computed += chunk;
  }
  scheduler->giveBack(sequence);
  return status;
}

Result<std::vector<float>> Session::score(std::span<const int32_t> tokens) {
  size_t vocabulary = size_t(stepProgram->vocabulary());
  std::vector<float> scores(tokens.size(), 0);
  std::vector<float> logits;
  auto visit = [&](int64_t first, int64_t count) -> Status {
    logits.resize(size_t(count) * vocabulary);
    if (Status status =
            executor->read(stepProgram->logits(), logits.data(), logits.size() * sizeof(float));
        !status.ok())
      return status;
    for (int64_t i = 0; i < count && size_t(first + i + 1) < tokens.size(); ++i)
      scores[size_t(first + i + 1)] =
          logProbability(std::span(logits).subspan(size_t(i) * vocabulary, vocabulary),
                         tokens[size_t(first + i + 1)]);
    return {};
  };
  auto run = [&]() -> Status {
    stepProgram->run();
    return {};
  };
  if (Status status = runAlone(tokens, run, visit); !status.ok())
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
  auto run = [&]() -> Status {
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
      convertible = convert(type, bytes.data(), i, value);
      values.push_back(value);
    }
    executor->runPart(stepProgram->index(), end, total - end);
    return {};
  };
  auto visit = [&](int64_t, int64_t) -> Status {
    return convertible ? Status() : refuse("has an element type that does not become f32");
  };
  if (Status status = runAlone(tokens, run, visit); !status.ok())
    return status;
  return values;
}

} // namespace ingot::runtime
