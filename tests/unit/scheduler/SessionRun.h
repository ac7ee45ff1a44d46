// SPDX-License-Identifier: Apache-2.0
// Requests of many kinds through a session, and what comes of them.
#pragma once

#include "tests/unit/engine/ToyEngine.h"

#include <gtest/gtest.h>
#include <map>

namespace ingot::test {

using namespace runtime;

struct Outcome {
  std::vector<int32_t> tokens;
  std::string text;
  std::vector<float> logprobs;
  FinishReason finish = FinishReason::None;
  int64_t cachedTokens = 0; ///< of the prompt
};

using Outcomes = std::map<uint64_t, Outcome>;

inline void take(Session &session, Outcomes &outcomes) {
  while (std::optional<Event> event = session.nextEvent()) {
    Outcome &outcome = outcomes[event->request];
    EXPECT_EQ(outcome.finish, FinishReason::None) << "an event after the last one";
    if (event->token >= 0)
      outcome.tokens.push_back(event->token);
    outcome.text += event->text;
    outcome.logprobs.push_back(event->logprob);
    for (const TokenLogprob &other : event->top)
      outcome.logprobs.push_back(other.logprob);
    outcome.finish = event->finish;
    outcome.cachedTokens = event->cachedTokens;
  }
}

inline void runToEnd(Session &session, Outcomes &outcomes) {
  for (bool active = true; active;) {
    Result<bool> stepped = session.step();
    ASSERT_TRUE(stepped.ok()) << stepped.status().toString();
    active = *stepped;
    take(session, outcomes);
  }
}

inline Request makeRequest(int index) {
  Request request;
  for (int i = 0; i < 1 + index * 11 % 50; ++i)
    request.tokens.push_back((index * 5 + i * 3) % 63);
  request.sampling.maxTokens = 1 + index * 7 % 30;
  request.sampling.seed = uint64_t(index);
  request.sampling.temperature = index % 3 ? 0.0f : 1.0f;
  if (index % 4 == 1)
    request.sampling.presencePenalty = 3;
  if (index % 5 == 2)
    request.sampling.bias = {{index % 60, 4.0f}};
  if (index % 6 == 3)
    request.sampling.allowed = {1, 2, 3, 5, 8, 13, 21, 34, 55};
  return request;
}

inline Outcome runOne(Session &session, const Request &request) {
  Result<uint64_t> id = session.submit(request);
  EXPECT_TRUE(id.ok()) << id.status().toString();
  Outcomes outcomes;
  runToEnd(session, outcomes);
  return id.ok() ? outcomes[*id] : Outcome();
}

inline SessionOptions limits(int64_t tokens, int64_t sequences, int64_t rows, int64_t threads) {
  SessionOptions options;
  options.memory.maxTokens = tokens;
  options.memory.maxSequences = sequences;
  options.memory.maxLogitRows = rows;
  options.device.threads = threads;
  return options;
}

/// Requests with everything that may end one, at unforeseen places.
inline Request makeVaried(int index) {
  Request request = makeRequest(index);
  if (index % 3 == 0)
    request.sampling.stopTokens = {index % 64, (index * 7 + 1) % 64, (index * 3 + 2) % 64};
  if (index % 7 == 2)
    request.sampling.stopStrings = {std::string(1, char('a' + index % 26))};
  if (index % 5 == 3)
    request.sampling.logprobs = index % 4;
  if (index % 5 == 1)
    request.sampling.noRepeatNgramSize = 1 + index % 3;
  if (index % 6 == 4)
    request.sampling.badSequences = {{index % 64}, {index * 3 % 64, index * 5 % 64}};
  if (index % 4 == 2)
    request.sampling.minTokens = std::min<int64_t>(request.sampling.maxTokens, 5);
  if (index % 8 == 3)
    request.markers = {.open = "a",
                       .close = "bcd",
                       .isOpen = index % 16 == 3,
                       .mayReopen = index % 3 == 0,
                       .mostThought = uint64_t(index % 5)};
  if (index % 8 == 6)
    request.form = {AnswerForm::Kind::Regex, "[a-f]{2,9}( [g-z]+)*", {}};
  return request;
}

} // namespace ingot::test
