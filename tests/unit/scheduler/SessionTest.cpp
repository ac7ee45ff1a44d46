// SPDX-License-Identifier: Apache-2.0
// Requests through a toy engine: what a request gets never depends on who runs beside it.
#include "tests/unit/scheduler/LostDevice.h"
#include "tests/unit/scheduler/SessionRun.h"

#include <cmath>
#include <numeric>

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

TEST(SessionTest, NeighboursChunksAndThreadsChangeNothing) {
  constexpr int requests = 64;
  std::vector<Outcome> alone;
  {
    ToySession toy = openToy({}, limits(32, 1, 1, 1));
    ASSERT_TRUE(toy.session);
    for (int i = 0; i < requests; ++i)
      alone.push_back(runOne(*toy.session, makeRequest(i)));
  }
  for (SessionOptions options : {limits(32, 8, 32, 1), limits(32, 8, 32, 4), limits(7, 8, 3, 2),
                                 limits(1, 2, 1, 1), limits(9, 5, 2, 3)}) {
    ToySession toy = openToy({}, options);
    ASSERT_TRUE(toy.session);
    Outcomes outcomes;
    std::map<uint64_t, int> index;
    for (int i = 0; i < requests; ++i) {
      Result<uint64_t> id = toy->submit(makeRequest(i));
      ASSERT_TRUE(id.ok()) << id.status().toString();
      index[*id] = i;
      if (i % 3 == 0) { // the others join while these run
        ASSERT_TRUE(toy->step().ok());
        take(*toy.session, outcomes);
      }
    }
    runToEnd(*toy.session, outcomes);
    ASSERT_EQ(outcomes.size(), size_t(requests));
    for (auto &[id, outcome] : outcomes) {
      const Outcome &expected = alone[size_t(index[id])];
      EXPECT_EQ(outcome.tokens, expected.tokens) << index[id];
      EXPECT_EQ(outcome.text, expected.text);
      EXPECT_EQ(outcome.finish, expected.finish);
    }
  }
}

TEST(SessionTest, WorkingAheadChangesNothing) {
  constexpr int requests = 64;
  for (SessionOptions options :
       {limits(32, 8, 32, 2), limits(7, 8, 3, 1), limits(1, 2, 1, 1), limits(9, 5, 2, 1)}) {
    ToySession plain = openToy({}, options), ahead = openToyAhead({}, options);
    ASSERT_TRUE(plain.session && ahead.session);
    Outcomes expected, outcomes;
    for (int i = 0; i < requests; ++i)
      for (auto [toy, into] : {std::pair(&plain, &expected), std::pair(&ahead, &outcomes)}) {
        ASSERT_TRUE((*toy)->submit(makeVaried(i)).ok());
        if (i % 3 == 0) {
          ASSERT_TRUE((*toy)->step().ok());
          take(*toy->session, *into);
        }
      }
    runToEnd(*plain.session, expected);
    runToEnd(*ahead.session, outcomes);
    ASSERT_EQ(outcomes.size(), size_t(requests));
    for (auto &[id, outcome] : outcomes) {
      EXPECT_EQ(outcome.tokens, expected[id].tokens) << id;
      EXPECT_EQ(outcome.text, expected[id].text);
      EXPECT_EQ(outcome.finish, expected[id].finish);
      EXPECT_EQ(outcome.logprobs, expected[id].logprobs);
    }
    EXPECT_EQ(ahead->counters().generatedTokens, plain->counters().generatedTokens);
    EXPECT_EQ(ahead->counters().promptTokens, plain->counters().promptTokens);
  }
}

TEST(SessionTest, EndsWithTheErrorOfALostDevice) {
  AlignedBytes bytes(makeToyEngine());
  auto file = EngineFile::openBytes(bytes.view(), ".", {true});
  ASSERT_TRUE(file.ok());
  auto session = Session::createOn(std::make_unique<LostDevice>(2), std::move(*file), {});
  ASSERT_TRUE(session.ok()) << session.status().toString();
  Request request = makeRequest(0);
  request.sampling.ignoreEos = true;
  request.sampling.maxTokens = 20;
  ASSERT_TRUE((*session)->submit(request).ok());
  int steps = 0;
  Result<bool> active = true;
  for (; active.ok() && *active; ++steps)
    active = (*session)->step();
  EXPECT_LT(steps, 20);
  for (int again = 0; again < 5; ++again) {
    EXPECT_EQ(active.status().code(), "INGOT-E6506");
    active = (*session)->step();
  }
  EXPECT_EQ((*session)->score(std::vector<int32_t>{1, 2, 3}).status().code(), "INGOT-E6506");
}

/// A request whose logits become NaN once it has computed token 60, here in its prompt.
Request makePoisoned() {
  Request request = makeRequest(0);
  request.tokens = {4, 60, 9};
  request.sampling.presencePenalty = 3;
  request.sampling.logprobs = 2;
  request.sampling.maxTokens = 20;
  return request;
}

TEST(SessionTest, ARequestWithoutLogitsFailsAlone) {
  ToyOptions poisoned;
  poisoned.hiddenKernel = "toy_hidden_poisoned";
  Request healthy[3];
  for (int i = 0; i < 3; ++i) {
    healthy[i].tokens = {10 + i, 20, 30};
    healthy[i].sampling.maxTokens = 8;
    healthy[i].sampling.allowed = {1, 2, 3, 5, 8, 13, 21};
  }
  for (auto *open : {openToy, openToyAhead}) {
    ToySession toy = open(poisoned, limits(32, 4, 32, 1));
    ASSERT_TRUE(toy.session);
    Outcome expected[3];
    for (int i = 0; i < 3; ++i)
      expected[i] = runOne(*toy.session, healthy[i]);
    // More of them than slots: what a failed one held is given back.
    for (int round = 0; round < 6; ++round) {
      std::vector<uint64_t> ids;
      for (int i = 0; i < 3; ++i) {
        auto failing = toy->submit(makePoisoned()), id = toy->submit(healthy[i]);
        ASSERT_TRUE(failing.ok() && id.ok());
        ids.push_back(*id);
      }
      std::map<uint64_t, Event> failed;
      Outcomes outcomes;
      for (bool active = true; active;) {
        Result<bool> stepped = toy->step();
        ASSERT_TRUE(stepped.ok()) << stepped.status().toString();
        active = *stepped;
        while (std::optional<Event> event = toy->nextEvent()) {
          if (event->token >= 0)
            outcomes[event->request].tokens.push_back(event->token);
          outcomes[event->request].text += event->text;
          if (event->finish == FinishReason::Failed)
            failed[event->request] = std::move(*event);
        }
      }
      ASSERT_EQ(failed.size(), 3u);
      for (const auto &[id, event] : failed) {
        EXPECT_EQ(event.error.code(), "INGOT-E6024");
        EXPECT_NE(event.error.message().find("request " + std::to_string(id)), std::string::npos);
        EXPECT_EQ(event.token, -1);
      }
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(outcomes[ids[size_t(i)]].tokens, expected[i].tokens) << i;
        EXPECT_EQ(outcomes[ids[size_t(i)]].text, expected[i].text) << i;
      }
    }
  }
}

TEST(SessionTest, TheHostIsOneStepBehind) {
  ToySession toy = openToyAhead();
  ASSERT_TRUE(toy.session);
  Request request = makeRequest(0);
  request.sampling.maxTokens = 4;
  request.sampling.ignoreEos = true;
  auto id = toy->submit(request);
  ASSERT_TRUE(id.ok());
  ASSERT_TRUE(*toy->step());
  EXPECT_FALSE(toy->nextEvent());
  ASSERT_TRUE(*toy->step());
  EXPECT_TRUE(toy->nextEvent());
  EXPECT_EQ(toy->counters().steps, 2);
  // A text is scored, or the request cancelled, while its third token is under way.
  ASSERT_TRUE(toy->score(std::vector<int32_t>{1, 2, 3}).ok());
  EXPECT_TRUE(toy->nextEvent());
  ASSERT_TRUE(*toy->step());
  ASSERT_TRUE(toy->cancel(*id).ok());
  EXPECT_EQ(toy->nextEvent()->finish, FinishReason::Cancelled);
  EXPECT_FALSE(*toy->step());
  EXPECT_FALSE(toy->nextEvent());
  EXPECT_EQ(runOne(*toy.session, request).tokens.size(), 4u);
}

TEST(SessionTest, AStepOfManyIsOneStep) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  for (int i = 0; i < 8; ++i) {
    Request request;
    request.tokens = {i};
    request.sampling.maxTokens = 10;
    request.sampling.ignoreEos = true;
    ASSERT_TRUE(toy->submit(request).ok());
  }
  Outcomes outcomes;
  runToEnd(*toy.session, outcomes);
  EXPECT_EQ(toy->counters().steps, 10);
  EXPECT_EQ(toy->counters().generatedTokens, 80);
  EXPECT_EQ(toy->counters().promptTokens, 8);
}

TEST(SessionTest, PenaltiesMasksAndSeedsReachTheKernel) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request;
  request.tokens = {1, 2, 3};
  request.sampling.maxTokens = 30;
  request.sampling.ignoreEos = true;
  Outcome plain = runOne(*toy.session, request);
  request.sampling.allowed = {4, 9};
  for (int32_t token : runOne(*toy.session, request).tokens)
    EXPECT_TRUE(token == 4 || token == 9);
  request.sampling.allowed = {};
  request.sampling.presencePenalty = 100;
  Outcome penalised = runOne(*toy.session, request);
  std::vector<int32_t> sorted = penalised.tokens;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  for (int32_t token : request.tokens)
    EXPECT_FALSE(std::binary_search(sorted.begin(), sorted.end(), token)) << "in the prompt";
  request.sampling.presencePenalty = 0;
  request.sampling.bias = {{7, 1000.0f}};
  for (int32_t token : runOne(*toy.session, request).tokens)
    EXPECT_EQ(token, 7);
  request.sampling.bias = {};
  request.sampling.temperature = 1;
  Outcome first = runOne(*toy.session, request);
  EXPECT_EQ(runOne(*toy.session, request).tokens, first.tokens);
  request.sampling.seed = 99;
  EXPECT_NE(runOne(*toy.session, request).tokens, first.tokens);
  EXPECT_NE(plain.tokens, first.tokens);
}

TEST(SessionTest, EndsForTheRightReason) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request;
  request.tokens = {10, 20, 30};
  request.sampling.maxTokens = 20;
  request.sampling.ignoreEos = true;
  Outcome whole = runOne(*toy.session, request);
  EXPECT_EQ(whole.finish, FinishReason::Length);
  EXPECT_EQ(whole.tokens.size(), 20u);
  EXPECT_EQ(whole.text.size(), 20u);

  request.sampling.stopTokens = {whole.tokens[6]};
  Outcome stopped = runOne(*toy.session, request);
  EXPECT_EQ(stopped.finish, FinishReason::EndToken);
  size_t end = size_t(std::find(whole.tokens.begin(), whole.tokens.end(), whole.tokens[6]) -
                      whole.tokens.begin());
  EXPECT_EQ(stopped.tokens.size(), end + 1);
  EXPECT_EQ(stopped.text, whole.text.substr(0, end)) << "the end token has no text";

  request.sampling.stopTokens = {};
  std::string stop = whole.text.substr(8, 3);
  request.sampling.stopStrings = {stop};
  Outcome byText = runOne(*toy.session, request);
  EXPECT_EQ(byText.finish, FinishReason::StopString);
  EXPECT_EQ(byText.text, whole.text.substr(0, whole.text.find(stop)));

  request.sampling.stopStrings = {};
  request.sampling.maxTokens = 0;
  Outcome full = runOne(*toy.session, request);
  EXPECT_EQ(full.finish, FinishReason::Context);
  EXPECT_EQ(full.tokens.size(), 96u - 3 + 1);
}

TEST(SessionTest, TheModelsEndTokenEndsUnlessIgnored) {
  Request request;
  request.tokens = {10, 20, 30};
  request.sampling.maxTokens = 20;
  std::vector<int32_t> tokens;
  {
    ToySession toy = openToy();
    ASSERT_TRUE(toy.session);
    request.sampling.ignoreEos = true;
    tokens = runOne(*toy.session, request).tokens;
  }
  ToyOptions options;
  options.eos = {tokens[4]};
  ToySession toy = openToy(options);
  ASSERT_TRUE(toy.session);
  EXPECT_EQ(runOne(*toy.session, request).tokens, tokens);
  request.sampling.ignoreEos = false;
  EXPECT_EQ(runOne(*toy.session, request).finish, FinishReason::EndToken);
}

TEST(SessionTest, CancelFreesAtOnce) {
  ToySession toy = openToy({}, limits(32, 1, 1, 1));
  ASSERT_TRUE(toy.session);
  auto first = toy->submit(makeRequest(11)), second = toy->submit(makeRequest(12));
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(toy->step().ok());
  ASSERT_TRUE(toy->cancel(*first).ok());
  EXPECT_EQ(toy->cancel(*first).code(), "INGOT-E6011");
  Outcomes outcomes;
  runToEnd(*toy.session, outcomes);
  EXPECT_EQ(outcomes[*first].finish, FinishReason::Cancelled);
  EXPECT_NE(outcomes[*second].finish, FinishReason::Cancelled);
}

TEST(SessionTest, LogprobsComeBestFirst) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makeRequest(10);
  request.sampling = {};
  request.sampling.maxTokens = 5;
  request.sampling.logprobs = 4;
  ASSERT_TRUE(toy->submit(request).ok());
  int tokens = 0;
  for (bool active = true; active;) {
    active = *toy->step();
    while (auto event = toy->nextEvent()) {
      ++tokens;
      ASSERT_EQ(event->top.size(), 4u);
      EXPECT_EQ(event->top[0].token, event->token);
      EXPECT_EQ(event->top[0].logprob, event->logprob);
      for (size_t i = 1; i < event->top.size(); ++i)
        EXPECT_LE(event->top[i].logprob, event->top[i - 1].logprob);
    }
  }
  EXPECT_EQ(tokens, 5);
}

TEST(SessionTest, ScoresAreTheSameInAnyChunksAndSumToOne) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < 60; ++i)
    tokens.push_back(i * 13 % 64);
  std::vector<float> whole;
  for (int64_t chunk : {32, 6, 1}) {
    ToySession toy = openToy({}, limits(chunk, 2, chunk, 2));
    ASSERT_TRUE(toy.session);
    auto scores = toy->score(tokens);
    ASSERT_TRUE(scores.ok()) << scores.status().toString();
    ASSERT_EQ(scores->size(), tokens.size());
    EXPECT_EQ((*scores)[0], 0);
    if (whole.empty())
      whole = *scores;
    EXPECT_EQ(*scores, whole);
    double sum = 0;
    for (int32_t last = 0; last < toyVocabulary; ++last)
      sum += std::exp(double((*toy->score(std::vector<int32_t>{1, 2, last}))[2]));
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

TEST(SessionTest, LogitsAreReadInStepsOfAnySizes) {
  ToySession toy = openToy({}, limits(32, 2, 8, 2));
  ASSERT_TRUE(toy.session);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 40; ++i)
    tokens.push_back(i * 13 % 64);
  std::map<int64_t, std::vector<float>> every;
  auto read = [&](std::vector<int64_t> steps) {
    std::vector<int64_t> positions;
    Status status = toy->readLogits(tokens, steps, [&](int64_t position, auto logits) {
      positions.push_back(position);
      std::vector<float> row(logits.begin(), logits.end());
      EXPECT_EQ(every.emplace(position, row).first->second, row) << position;
    });
    EXPECT_TRUE(status.ok()) << status.toString();
    return positions;
  };
  std::vector<int64_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(read({8}), all);
  EXPECT_EQ(read({1, 7, 3}), all);
  // Steps of 32 and 8 tokens with 8 rows of logits each.
  std::vector<int64_t> last(16);
  std::iota(last.begin(), last.end(), 24);
  EXPECT_EQ(read({100}), last);
  std::vector<int32_t> none;
  EXPECT_EQ(toy->readLogits(none, all, [](int64_t, auto) {}).code(), "INGOT-E6003");
}

TEST(SessionTest, PreemptionAndReuseChangeNothing) {
  constexpr int requests = 64;
  // Some begin with the same tokens, and nobody says how long the answer may be.
  auto make = [](int index) {
    Request request = makeVaried(index);
    if (index % 2)
      request.tokens.insert(request.tokens.begin(), 35, 7);
    request.sampling.maxTokens = index % 4 ? 0 : request.sampling.maxTokens;
    return request;
  };
  std::vector<Outcome> alone;
  for (int i = 0; i < requests; ++i) {
    ToySession toy = openToy({}, limits(32, 1, 1, 1));
    ASSERT_TRUE(toy.session);
    alone.push_back(runOne(*toy.session, make(i)));
  }
  for (int64_t blocks : {6, 7, 11, 20})
    for (bool ahead : {false, true})
      for (int64_t window : {0, 96}) {
        SessionOptions options = limits(16, 8, 8, 1);
        options.memory.kvBlocks = blocks;
        ToyOptions kind;
        kind.window = window;
        ToySession toy = ahead ? openToyAhead(kind, options) : openToy(kind, options);
        ASSERT_TRUE(toy.session);
        Outcomes outcomes;
        std::map<uint64_t, int> index;
        for (int i = 0; i < requests; ++i) {
          Result<uint64_t> id = toy->submit(make(i));
          ASSERT_TRUE(id.ok()) << id.status().toString();
          index[*id] = i;
          if (i % 3 == 0) {
            ASSERT_TRUE(toy->step().ok());
            take(*toy.session, outcomes);
          }
        }
        runToEnd(*toy.session, outcomes);
        for (auto &[id, outcome] : outcomes) {
          const Outcome &expected = alone[size_t(index[id])];
          EXPECT_EQ(outcome.tokens, expected.tokens) << index[id];
          EXPECT_EQ(outcome.text, expected.text);
          EXPECT_EQ(outcome.logprobs, expected.logprobs);
          EXPECT_EQ(outcome.finish, expected.finish);
        }
        EXPECT_EQ(outcomes.size(), size_t(requests));
        EXPECT_GT(toy->counters().preemptions, blocks < 20 ? 0 : -1) << blocks;
        EXPECT_GT(toy->counters().prefixHits, 0);
        EXPECT_EQ(toy->gauges().kvBlocksUsed, 0);
      }
}

TEST(SessionTest, HitsAreCounted) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request;
  for (int32_t i = 0; i < 50; ++i)
    request.tokens.push_back(i);
  request.sampling.maxTokens = 4;
  EXPECT_EQ(runOne(*toy.session, request).cachedTokens, 0);
  EXPECT_EQ(toy->counters().prefixQueries, 50);
  EXPECT_EQ(toy->counters().prefixHits, 0);
  EXPECT_EQ(toy->counters().promptTokens, 50);
  EXPECT_EQ(runOne(*toy.session, request).cachedTokens, 48);
  EXPECT_EQ(toy->counters().prefixQueries, 100);
  EXPECT_EQ(toy->counters().prefixHits, 48);
  EXPECT_EQ(toy->counters().promptTokens, 52);
  for (auto change : {+[](Request &other) { other.cacheSalt = "salt"; },
                      +[](Request &other) { other.cachePrompt = false; }}) {
    Request other = request;
    change(other);
    EXPECT_EQ(runOne(*toy.session, other).cachedTokens, 0);
    EXPECT_EQ(toy->counters().prefixHits, 48);
  }
  // What a cancelled request has computed is of use to the next.
  request.tokens.front() = 9;
  Result<uint64_t> cancelled = toy->submit(request);
  ASSERT_TRUE(cancelled.ok());
  ASSERT_TRUE(toy->step().ok());
  ASSERT_TRUE(toy->cancel(*cancelled).ok());
  EXPECT_EQ(runOne(*toy.session, request).cachedTokens, 32);
  EXPECT_EQ(toy->counters().prefixHits, 48 + 32);
}

TEST(SessionTest, ChoicesAreAnswersOfTheirOwn) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makeRequest(3);
  std::vector<std::vector<int32_t>> alone;
  for (uint64_t choice = 0; choice < 3; ++choice) {
    Request one = request;
    one.sampling.seed += choice;
    one.cachePrompt = false;
    alone.push_back(runOne(*toy.session, one).tokens);
  }
  request.choices = 3;
  request.cacheSalt = "of its own";
  ASSERT_TRUE(toy->submit(request).ok());
  std::vector<std::vector<int32_t>> together(3);
  for (bool active = true; active;) {
    Result<bool> stepped = toy->step();
    ASSERT_TRUE(stepped.ok());
    active = *stepped;
    while (std::optional<Event> event = toy->nextEvent())
      together[size_t(event->choice)].push_back(event->token);
  }
  EXPECT_EQ(together, alone);
  // The first computes the prompt, the others one token of it.
  EXPECT_EQ(toy->counters().prefixHits, 2 * int64_t(request.tokens.size() - 1));
  request.choices = 129;
  EXPECT_EQ(toy->submit(request).status().code(), "INGOT-E6006");
}

TEST(SessionTest, LowerPrioritiesAreServedFirst) {
  ToySession toy = openToy({}, limits(32, 1, 1, 1));
  ASSERT_TRUE(toy.session);
  std::vector<uint64_t> ids;
  for (int32_t priority : {2, 1, 1, 0}) {
    Request request = makeRequest(3);
    request.priority = priority;
    Result<uint64_t> id = toy->submit(request);
    ASSERT_TRUE(id.ok());
    ids.push_back(*id);
  }
  std::vector<uint64_t> ended;
  for (bool active = true; active;) {
    Result<bool> stepped = toy->step();
    ASSERT_TRUE(stepped.ok());
    active = *stepped;
    while (std::optional<Event> event = toy->nextEvent())
      if (event->finish != FinishReason::None)
        ended.push_back(event->request);
  }
  EXPECT_EQ(ended, (std::vector{ids[3], ids[1], ids[2], ids[0]}));
}

TEST(SessionTest, AnOverdueRequestEnds) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Request request = makeRequest(9);
  Result<uint64_t> other = toy->submit(request);
  request.deadline = std::chrono::steady_clock::now();
  Result<uint64_t> overdue = toy->submit(request);
  ASSERT_TRUE(other.ok() && overdue.ok());
  Outcomes outcomes;
  runToEnd(*toy.session, outcomes);
  EXPECT_EQ(outcomes[*overdue].finish, FinishReason::Deadline);
  EXPECT_EQ(outcomes[*other].finish, FinishReason::Length);
}

TEST(SessionTest, AHeldRequestWaits) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  Outcome alone = runOne(*toy.session, makeRequest(9));
  Result<uint64_t> held = toy->submit(makeRequest(9)), other = toy->submit(makeRequest(4));
  ASSERT_TRUE(held.ok() && other.ok());
  ASSERT_TRUE(toy->step().ok());
  Outcomes outcomes;
  toy->hold(*held, true);
  runToEnd(*toy.session, outcomes);
  EXPECT_NE(outcomes[*other].finish, FinishReason::None);
  EXPECT_EQ(outcomes[*held].finish, FinishReason::None);
  EXPECT_EQ(toy->gauges().running, 1);
  toy->hold(*held, false);
  runToEnd(*toy.session, outcomes);
  EXPECT_EQ(outcomes[*held].tokens, alone.tokens);
  EXPECT_EQ(toy->gauges().kvBlocksUsed, 0);
}

TEST(SessionTest, RefusesWhatCannotRun) {
  ToySession toy = openToy();
  ASSERT_TRUE(toy.session);
  auto code = [&](const Request &request) {
    return std::string(toy->submit(request).status().code());
  };
  Request request;
  EXPECT_EQ(code(request), "INGOT-E6003");
  request.tokens = {64};
  EXPECT_EQ(code(request), "INGOT-E6007");
  request.tokens.assign(97, 1);
  EXPECT_EQ(code(request), "INGOT-E6004");
  request.tokens = {1};
  request.sampling.topP = 2;
  EXPECT_EQ(code(request), "INGOT-E6006");
  request.sampling = {};
  request.sampling.temperature = NAN;
  EXPECT_EQ(code(request), "INGOT-E6006");
  request.sampling = {};
  request.sampling.stopStrings = {""};
  EXPECT_EQ(code(request), "INGOT-E6006");
  EXPECT_EQ(toy->score({}).status().code(), "INGOT-E6003");
  ToyOptions options;
  options.tokenizer = false;
  ToySession mute = openToy(options);
  ASSERT_TRUE(mute.session);
  request = {};
  request.text = "abc";
  EXPECT_EQ(mute->submit(request).status().code(), "INGOT-E6008");
}

TEST(SessionTest, ASlidingWindowRunsPastItsBlocks) {
  ToyOptions options;
  options.window = 96; // the toy reads every position, so the window must hold them all
  ToySession sliding = openToy(options), global = openToy();
  ASSERT_TRUE(sliding.session && global.session);
  for (int i : {3, 9, 17})
    EXPECT_EQ(runOne(*sliding.session, makeRequest(i)).tokens,
              runOne(*global.session, makeRequest(i)).tokens);
}

TEST(SessionTest, AGrammarThatFailedIsMadeAnew) {
  ToySession toy = openToy({}, limits(7, 2, 3, 1));
  ASSERT_TRUE(toy.session);
  constexpr size_t vocabulary = 64;
  AnswerForms forms(*toy->tokenizer(), vocabulary);
  const AnswerForm form{AnswerForm::Kind::Regex, "[ab]*", {}};
  const auto first = *forms.masksOf(form);
  EXPECT_EQ(*forms.masksOf(form), first) << "it is kept";
  first->recognizer = guided::Recognizer(*grammarOf(form), {.bytes = 1});
  std::vector<uint32_t> words(vocabulary / 32);
  EXPECT_EQ(first->mask(first->recognizer.start(), words).code(), "INGOT-E6605");
  const auto second = *forms.masksOf(form);
  EXPECT_NE(second, first);
  EXPECT_TRUE(second->mask(second->recognizer.start(), words).ok());
  EXPECT_EQ(*forms.masksOf(form), second);
}

} // namespace
