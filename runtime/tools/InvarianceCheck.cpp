// SPDX-License-Identifier: Apache-2.0
// The same prompts through other batches and other steps.
#include "runtime/tools/InvarianceCheck.h"

#include "runtime/core/Sha256.h"
#include "runtime/engine/Verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace ingot::runtime {
namespace {

/// Sizes of steps that begin and end within tiles of every size.
constexpr int64_t kUnevenSteps[] = {5, 1, 16, 17, 2, 33, 8, 63, 65, 1, 100, 7};
constexpr int64_t kMostPrompt = 31;

/// Engines built with "--determinism fast" promise no equality between batches.
bool promisesInvariance(const schema::Engine &engine) {
  const auto *options = engine.provenance()->options();
  for (uint32_t i = 0; i < count(options); ++i)
    if (options->Get(i)->name()->string_view() == "--determinism" && options->Get(i)->effective() &&
        options->Get(i)->effective()->string_view() == "fast")
      return false;
  return true;
}

/// Tokens without a pattern; those of each `index` are others.
Tokens promptOf(const Session &session, int64_t index, int64_t length) {
  uint32_t vocabulary = session.file().metadata().serving()->vocabulary();
  Tokens prompt;
  for (int64_t i = 0; i < length; ++i)
    prompt.push_back(int32_t((uint64_t(i) * 7919 + uint64_t(index) * 104729 + 1) % vocabulary));
  return prompt;
}

bool sameBits(float left, float right) { return std::memcmp(&left, &right, sizeof left) == 0; }

bool same(const Generated &left, const Generated &right) {
  return left.token == right.token && sameBits(left.logprob, right.logprob) &&
         std::equal(left.top.begin(), left.top.end(), right.top.begin(), right.top.end(),
                    [](const TokenLogprob &a, const TokenLogprob &b) {
                      return a.token == b.token && sameBits(a.logprob, b.logprob);
                    });
}

/// Nine digits tell every float from its neighbours.
std::string exact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// What the first token that differs is, there and here.
std::string describe(const Generated &one, const Generated &other) {
  auto text = [](int32_t token, float logprob) {
    return std::to_string(token) +
           (std::isnan(logprob) ? "" : " with log-probability " + exact(logprob));
  };
  if (one.token != other.token || !sameBits(one.logprob, other.logprob))
    return text(one.token, one.logprob) + " alone, " + text(other.token, other.logprob) +
           " in the batch";
  size_t i = 0;
  while (i < std::min(one.top.size(), other.top.size()) && one.top[i].token == other.top[i].token &&
         sameBits(one.top[i].logprob, other.top[i].logprob))
    ++i;
  if (i >= std::min(one.top.size(), other.top.size()))
    return "given with another number of alternatives";
  return "given with alternative " + std::to_string(i) + " of " +
         text(one.top[i].token, one.top[i].logprob) + " alone, " +
         text(other.top[i].token, other.top[i].logprob) + " in the batch";
}

/// What the logits of a position are: their digest, and a number that says something to people.
struct PositionLogits {
  Digest digest;
  float largest;
};
using LogitsByPosition = std::map<int64_t, PositionLogits>;

Result<LogitsByPosition> logitsOf(Session &session, const Tokens &prompt,
                                  std::span<const int64_t> steps) {
  LogitsByPosition found;
  auto visit = [&](int64_t position, std::span<const float> logits) {
    found[position] = {sha256(logits.data(), logits.size_bytes()),
                       *std::max_element(logits.begin(), logits.end())};
  };
  if (Status status = session.readLogits(prompt, steps, visit); !status.ok())
    return status;
  return found;
}

/// The first position that both have and that differs; empty: none does.
std::string firstDifference(const LogitsByPosition &expected, const LogitsByPosition &found,
                            const std::string &steps) {
  for (const auto &[position, logits] : found)
    if (auto other = expected.find(position);
        other != expected.end() && other->second.digest != logits.digest)
      return "the logits of position " + std::to_string(position) + " differ in " + steps +
             ": the largest is " + exact(logits.largest) + ", otherwise " +
             exact(other->second.largest);
  return "";
}

} // namespace

CheckSizes CheckSizes::within(int64_t tokens) const {
  return {sequences, alone, std::min(promptTokens, tokens), std::min(generated, tokens)};
}

Result<std::vector<Continuation>> continueGreedily(Session &session,
                                                   const std::vector<Tokens> &prompts,
                                                   const std::vector<int64_t> &lengths,
                                                   bool cachePrompts) {
  std::map<uint64_t, size_t> places;
  int32_t logprobs = INGOT_MAX_LOGPROBS;
  for (size_t i = 0; i < prompts.size(); ++i) {
    Request request;
    request.tokens = prompts[i];
    request.sampling.temperature = 0;
    request.sampling.maxTokens = lengths[i];
    request.sampling.ignoreEos = true;
    request.sampling.logprobs = logprobs;
    request.cachePrompt = cachePrompts;
    Result<uint64_t> id = session.submit(request);
    if (!id.ok() && id.status().code() == "INGOT-E6012") {
      request.sampling.logprobs = logprobs = -1;
      id = session.submit(request);
    }
    if (!id.ok())
      return std::move(id).status().in("prompt " + std::to_string(i));
    places[*id] = i;
  }
  std::vector<Continuation> outputs(prompts.size());
  for (bool active = !prompts.empty(); active;) {
    Result<bool> stepped = session.step();
    if (!stepped.ok())
      return std::move(stepped).status();
    active = *stepped;
    while (std::optional<Event> event = session.nextEvent()) {
      if (!event->error.ok())
        return std::move(event->error).in("prompt " + std::to_string(places.at(event->request)));
      if (event->token >= 0)
        outputs[places.at(event->request)].push_back(
            {event->token, logprobs < 0 ? NAN : event->logprob, std::move(event->top)});
    }
  }
  return outputs;
}

Status checkBatches(Session &session, const CheckSizes &sizes, Verdict &verdict) {
  if (!promisesInvariance(session.file().metadata())) {
    verdict.skip("batches", "the engine was built with --determinism fast");
    return {};
  }
  const MemoryPlan &plan = session.memoryPlan();
  int64_t prompts = std::min(plan.maxSequences, sizes.sequences);
  int64_t half = std::max<int64_t>(plan.maxContext / 2, 1);
  int64_t longest = std::min(kMostPrompt, sizes.promptTokens);
  std::vector<Tokens> all;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < prompts; ++i) {
    all.push_back(promptOf(session, i, std::min(half, 1 + i * 13 % longest)));
    lengths.push_back(std::min(half, 1 + (i * 5 + 3) % sizes.generated));
  }
  Result<std::vector<Continuation>> together = continueGreedily(session, all, lengths);
  if (!together.ok())
    return std::move(together).status();
  int64_t singles = std::min(prompts, sizes.alone);
  uint64_t tokens = 0;
  for (int64_t single = 0; single < singles; ++single) {
    // The first, the last, and what lies between at equal distances.
    auto i = size_t(singles > 1 ? single * (prompts - 1) / (singles - 1) : 0);
    Result<std::vector<Continuation>> alone = continueGreedily(session, {all[i]}, {lengths[i]});
    if (!alone.ok())
      return std::move(alone).status();
    const Continuation &one = alone->front(), &other = (*together)[i];
    size_t both = std::min(one.size(), other.size()), equal = 0;
    while (equal < both && same(one[equal], other[equal]))
      ++equal;
    tokens += equal;
    if (equal == one.size() && equal == other.size())
      continue;
    verdict.add(
        "batches", false,
        "prompt " + std::to_string(i) + " of " + std::to_string(prompts) + ", token " +
            std::to_string(equal) + " is " +
            (equal < both ? describe(one[equal], other[equal]) : "missing alone or in the batch"));
    return {};
  }
  verdict.add("batches", true,
              counted(tokens, "token") + " of " + counted(uint64_t(singles), "prompt") +
                  " equal bit for bit alone and in a batch of " + std::to_string(prompts));
  return {};
}

Status checkReuse(Session &session, const CheckSizes &sizes, Verdict &verdict) {
  const MemoryPlan &plan = session.memoryPlan();
  const int64_t continued = std::min<int64_t>(4, sizes.generated);
  int64_t size = std::min(plan.maxContext - continued, sizes.promptTokens);
  if (!promisesInvariance(session.file().metadata()) || size < 1) {
    verdict.skip("reuse", size < 1 ? "the context is too short"
                                   : "the engine was built with --determinism fast");
    return {};
  }
  Tokens prompt = promptOf(session, 2, size);
  Result<std::vector<Continuation>> computed = continueGreedily(session, {prompt}, {continued});
  if (!computed.ok())
    return std::move(computed).status();
  int64_t before = session.counters().prefixHits;
  Result<std::vector<Continuation>> reused =
      continueGreedily(session, {prompt, prompt}, {continued, continued}, true);
  if (!reused.ok())
    return std::move(reused).status();
  int64_t hits = session.counters().prefixHits - before;
  if (hits == 0) {
    verdict.skip("reuse", "the prompt is shorter than a block of the KV cache");
    return {};
  }
  const Continuation &expected = computed->front();
  for (const Continuation &found : *reused)
    for (size_t i = 0; i < expected.size(); ++i)
      if (found.size() != expected.size() || !same(expected[i], found[i])) {
        verdict.add("reuse", false,
                    "token " + std::to_string(i) + " is " +
                        (i < found.size() ? describe(expected[i], found[i]) : "missing") +
                        " behind a prompt from the KV cache");
        return {};
      }
  verdict.add("reuse", true,
              counted(expected.size(), "token") + " equal bit for bit behind " +
                  counted(uint64_t(hits), "token") + " of prompts from the KV cache");
  return {};
}

Status checkSteps(Session &session, const CheckSizes &sizes, Verdict &verdict) {
  if (!promisesInvariance(session.file().metadata())) {
    verdict.skip("steps", "the engine was built with --determinism fast");
    return {};
  }
  const MemoryPlan &plan = session.memoryPlan();
  Tokens prompt = promptOf(session, 1, std::min(plan.maxContext, sizes.promptTokens));
  const int64_t whole[] = {plan.maxTokens};
  const int64_t everywhere[] = {std::min(plan.maxTokens, plan.maxLogitRows)};
  Result<LogitsByPosition> expected = logitsOf(session, prompt, everywhere);
  if (!expected.ok())
    return std::move(expected).status();
  const struct {
    std::span<const int64_t> steps;
    std::string name;
  } others[] = {{whole, "steps of " + std::to_string(std::min<int64_t>(plan.maxTokens,
                                                                       int64_t(prompt.size())))},
                {kUnevenSteps, "uneven steps"}};
  size_t compared = 0;
  for (const auto &other : others) {
    Result<LogitsByPosition> found = logitsOf(session, prompt, other.steps);
    if (!found.ok())
      return std::move(found).status();
    std::string difference = firstDifference(
        *expected, *found, other.name + " instead of " + std::to_string(everywhere[0]) + " tokens");
    if (!difference.empty()) {
      verdict.add("steps", false, difference);
      return {};
    }
    compared += found->size();
  }
  verdict.add("steps", true,
              counted(compared, "row") + " of logits equal bit for bit: a prompt of " +
                  counted(prompt.size(), "token") + " in " + others[0].name + ", " +
                  std::to_string(everywhere[0]) + " and uneven ones");
  return {};
}

} // namespace ingot::runtime
