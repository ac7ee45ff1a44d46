// SPDX-License-Identifier: Apache-2.0
// What a request asks of its tokens: which may not come, what ends it, how likely its prompt is.
#include "tests/unit/scheduler/SessionRun.h"

#include <set>

using namespace ingot::test;

namespace {

/// A greedy request whose 12 tokens nothing ends.
Request makePlain() {
  Request request;
  request.tokens = {10, 20, 30};
  request.sampling.maxTokens = 12;
  request.sampling.ignoreEos = true;
  return request;
}

TEST(SamplingTest, NothingEndsAnAnswerBeforeItsMinimum) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makePlain();
  Outcome whole = runOne(*toy.session, request);
  int32_t early = whole.tokens[3];
  request.sampling.stopTokens = {early};
  size_t first =
      size_t(std::find(whole.tokens.begin(), whole.tokens.end(), early) - whole.tokens.begin());
  EXPECT_EQ(runOne(*toy.session, request).tokens.size(), first + 1);
  request.sampling.minTokens = 7;
  Outcome later = runOne(*toy.session, request);
  // Masked, not dropped: until then another token is drawn in its place.
  ASSERT_GE(later.tokens.size(), 7u);
  EXPECT_EQ(std::find(later.tokens.begin(), later.tokens.begin() + 7, early) - later.tokens.begin(),
            7);
  request.sampling.bias = {{early, 1000.0f}};
  EXPECT_EQ(runOne(*toy.session, request).tokens.size(), 8u);

  request = makePlain();
  request.sampling.stopStrings = {whole.text.substr(2, 2)};
  EXPECT_LE(runOne(*toy.session, request).text.size(), 2u);
  request.sampling.minTokens = 11;
  Outcome passed = runOne(*toy.session, request);
  EXPECT_EQ(passed.text.substr(0, 10), whole.text.substr(0, 10));
  request.sampling.minTokens = 13;
  EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6006");
}

/// Whether `part` occurs in `tokens`.
bool occurs(const std::vector<int32_t> &tokens, const std::vector<int32_t> &part) {
  return std::search(tokens.begin(), tokens.end(), part.begin(), part.end()) != tokens.end();
}

TEST(SamplingTest, BadWordsAreNotCompleted) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makePlain();
  std::vector<int32_t> whole = runOne(*toy.session, request).tokens;
  std::vector<int32_t> pair(whole.begin() + 4, whole.begin() + 6);
  std::vector<int32_t> triple(whole.begin(), whole.begin() + 3);
  std::vector<int32_t> first(1, whole[0]), second(1, whole[1]);
  using Sequences = std::vector<std::vector<int32_t>>;
  for (const Sequences &bad :
       {Sequences{first}, Sequences{pair}, Sequences{triple}, Sequences{second, pair, triple}}) {
    request.sampling.badSequences = bad;
    std::vector<int32_t> tokens = runOne(*toy.session, request).tokens;
    EXPECT_EQ(tokens.size(), whole.size());
    EXPECT_NE(tokens, whole);
    for (const std::vector<int32_t> &sequence : bad)
      EXPECT_FALSE(occurs(tokens, sequence));
  }
  // Only the answer counts: the end of the prompt begins nothing.
  request.sampling.badSequences = {{30, whole[0]}};
  EXPECT_EQ(runOne(*toy.session, request).tokens[0], whole[0]);
  // What is allowed and bad is bad, and where nothing is left the request fails.
  request.sampling.allowed = {5, 6};
  request.sampling.badSequences = {{5}};
  EXPECT_EQ(runOne(*toy.session, request).tokens, std::vector<int32_t>(12, 6));
  request.sampling.badSequences = {{5}, {6, 6}};
  EXPECT_EQ(runOne(*toy.session, request).finish, FinishReason::Failed);
  // Where nothing may come first, that is known before anything is computed.
  request.sampling.badSequences = {{5}, {6}};
  EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6034");
  request.sampling.badSequences = {};
  request.sampling.allowed = {63};
  request.sampling.ignoreEos = false;
  request.sampling.minTokens = 2;
  EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6034");
  request.sampling.allowed = request.tokens;
  request.sampling.minTokens = 0;
  request.sampling.noRepeatNgramSize = 1; // depends on the prompt
  EXPECT_EQ(runOne(*toy.session, request).finish, FinishReason::Failed);
  request.promptOnly = true; // draws nothing
  EXPECT_EQ(runOne(*toy.session, request).finish, FinishReason::Length);
  EXPECT_TRUE(runOne(*toy.session, request).tokens.empty());

  request = makePlain();
  request.sampling.badWords = {"bc", " d"};
  request.sampling.allowed = {1, 2, 3, 7};
  std::string text = runOne(*toy.session, request).text;
  EXPECT_EQ(text.size(), 12u);
  EXPECT_EQ(text.find("bc"), std::string::npos);
  EXPECT_EQ(text.find('d'), std::string::npos);
  request.sampling.badWords = {""};
  EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6006");
  request.sampling.badWords = {};
  for (const std::vector<int32_t> &bad : {std::vector<int32_t>(), {1, 64}}) {
    request.sampling.badSequences = {bad};
    EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6006");
  }
}

TEST(SamplingTest, NoRunOfTokensOccursTwice) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makePlain();
  request.sampling.maxTokens = 60;
  request.sampling.allowed = {10, 20, 30, 40, 50, 60, 1, 2};
  for (size_t size : {2u, 3u}) {
    request.sampling.noRepeatNgramSize = 0;
    auto repeats = [&](const std::vector<int32_t> &answer) {
      std::vector<int32_t> tokens = request.tokens;
      tokens.insert(tokens.end(), answer.begin(), answer.end());
      std::set<std::vector<int32_t>> seen;
      size_t count = 0;
      for (auto at = tokens.begin(); at + ptrdiff_t(size) <= tokens.end(); ++at)
        count += !seen.emplace(at, at + ptrdiff_t(size)).second;
      return count;
    };
    EXPECT_GT(repeats(runOne(*toy.session, request).tokens), 0u);
    request.sampling.noRepeatNgramSize = int32_t(size);
    Outcome outcome = runOne(*toy.session, request);
    EXPECT_GT(outcome.tokens.size(), 20u);
    EXPECT_EQ(repeats(outcome.tokens), 0u);
  }
  // Of size 1 no token comes twice, nor one of the prompt; then none is left.
  request.sampling.noRepeatNgramSize = 1;
  Outcome outcome = runOne(*toy.session, request);
  std::sort(outcome.tokens.begin(), outcome.tokens.end());
  EXPECT_EQ(outcome.tokens, (std::vector<int32_t>{1, 2, 40, 50, 60}));
  EXPECT_EQ(outcome.finish, FinishReason::Failed);
  request.sampling.noRepeatNgramSize = -1;
  EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6006");
}

TEST(SamplingTest, WhatEndsAnAnswerMayBePartOfIt) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makePlain();
  Outcome whole = runOne(*toy.session, request);
  std::string stop = whole.text.substr(4, 3);
  size_t at = whole.text.find(stop);
  request.sampling.stopStrings = {stop};
  request.sampling.includeStop = true;
  Outcome byText = runOne(*toy.session, request);
  EXPECT_EQ(byText.finish, FinishReason::StopString);
  EXPECT_EQ(byText.text, whole.text.substr(0, at + 3));
  request.sampling.stopStrings = {};
  request.sampling.stopTokens = {whole.tokens[5]};
  Outcome byToken = runOne(*toy.session, request);
  EXPECT_EQ(byToken.finish, FinishReason::EndToken);
  EXPECT_EQ(byToken.text, whole.text.substr(0, byToken.tokens.size()));
  request.sampling.includeStop = false;
  EXPECT_EQ(runOne(*toy.session, request).text + byToken.text.back(), byToken.text);
}

/// What a request is told of its prompt, in the event before its first token.
std::vector<PromptLogprob> promptLogprobsOf(Session &session, const Request &request,
                                            std::vector<int32_t> &tokens) {
  std::vector<PromptLogprob> scores;
  Result<uint64_t> id = session.submit(request);
  EXPECT_TRUE(id.ok()) << id.status().toString();
  for (bool active = id.ok(); active;) {
    Result<bool> stepped = session.step();
    active = stepped.ok() && *stepped;
    while (std::optional<Event> event = session.nextEvent(*id)) {
      if (!event->promptLogprobs.empty()) {
        EXPECT_TRUE(scores.empty() && tokens.empty());
        EXPECT_EQ(event->token, -1);
        EXPECT_EQ(event->finish, FinishReason::None);
        EXPECT_EQ(event->promptTokens, int64_t(event->promptLogprobs.size()));
        scores = event->promptLogprobs;
      } else if (event->choice == 0) {
        tokens.push_back(event->token);
      }
    }
  }
  return scores;
}

TEST(SamplingTest, APromptIsScoredOnItsWay) {
  for (SessionOptions options :
       {limits(32, 8, 32, 2), limits(7, 8, 3, 1), limits(1, 2, 1, 1), limits(9, 5, 2, 1)})
    for (auto *open : {openToy, openToyAhead}) {
      ToySession toy = open({}, options);
      ASSERT_TRUE(toy.session);
      for (int i : {0, 6, 9}) {
        Request request = makeVaried(i);
        request.sampling.temperature = 1;
        std::vector<int32_t> plain = runOne(*toy.session, request).tokens;
        // Beside others, who get the tokens that they get alone.
        Outcome alone = runOne(*toy.session, makeVaried(5));
        request.sampling.promptLogprobs = 3;
        request.choices = 2;
        Result<uint64_t> other = toy->submit(makeVaried(5));
        std::vector<int32_t> tokens;
        std::vector<PromptLogprob> scores = promptLogprobsOf(*toy.session, request, tokens);
        EXPECT_EQ(tokens, plain);
        Outcomes outcomes;
        take(*toy.session, outcomes);
        EXPECT_EQ(outcomes[*other].tokens, alone.tokens);

        ASSERT_EQ(scores.size(), request.tokens.size());
        EXPECT_EQ(scores[0].token, request.tokens[0]);
        EXPECT_TRUE(scores[0].logprob == 0 && scores[0].top.empty());
        int64_t one = 1;
        // The toy's log-probabilities are its logits.
        Status read = toy->readLogits(request.tokens, {&one, 1}, [&](int64_t position, auto row) {
          if (size_t next = size_t(position) + 1; next < scores.size()) {
            EXPECT_EQ(scores[next].token, request.tokens[next]);
            EXPECT_EQ(scores[next].logprob, row[size_t(request.tokens[next])]);
            ASSERT_EQ(scores[next].top.size(), 3u);
            EXPECT_EQ(scores[next].top[0].logprob, *std::max_element(row.begin(), row.end()));
          }
        });
        EXPECT_TRUE(read.ok()) << read.toString();
      }
    }
}

} // namespace
