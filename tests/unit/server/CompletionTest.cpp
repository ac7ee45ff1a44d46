// SPDX-License-Identifier: Apache-2.0
// Completions of the toy engine: whole, as a stream, and in spite of their client.
#include "runtime/server/AnswerStream.h"
#include "runtime/server/CompletionWriter.h"
#include "tests/unit/server/RecordedExchange.h"
#include "tests/unit/server/ToyModel.h"

#include <gmock/gmock.h>
#include <map>

using namespace ingot::runtime;
using namespace ingot::test;
using namespace std::chrono_literals;

namespace {

class CompletionTest : public testing::Test {
protected:
  explicit CompletionTest(const LoopOptions &options = {}, int64_t sequences = 0)
      : toy(openToyModel({}, options, sequences)) {}

  std::shared_ptr<RecordedExchange> ask(const Json &fields = Json::object()) {
    auto exchange = std::make_shared<RecordedExchange>(HttpRequest{});
    start(exchange, fields, 0);
    return exchange;
  }
  /// A stream without end whose client takes nothing, after its first part.
  std::shared_ptr<RecordedExchange> askStuck(int choices = 1) {
    auto exchange = std::make_shared<RecordedExchange>(HttpRequest{});
    exchange->stick(1 << 20);
    start(exchange, {{"max_tokens", 90}, {"ignore_eos", true}, {"stream", true}, {"n", choices}},
          0);
    exchange->waitForParts(1); // The other answers begin behind the first one's prompt.
    return exchange;
  }
  void start(std::shared_ptr<RecordedExchange> exchange, const Json &fields, int64_t seconds) {
    Json body = {{"prompt", "abc"}, {"temperature", 0}};
    body.update(fields);
    OrError<CompletionRequest> request =
        readCompletionRequest(body, toy.model->loop->defaultSampling());
    if (ApiError *error = std::get_if<ApiError>(&request))
      ADD_FAILURE() << error->message;
    auto &read = std::get<CompletionRequest>(request);
    OrError<std::vector<Request>> prepared =
        prepareAll(*toy.model->loop, read.requests(), exchange->record.start, seconds);
    if (ApiError *error = std::get_if<ApiError>(&prepared))
      return exchange->refuse(*error);
    auto writer = std::make_unique<CompletionWriter>(*toy.model, read, exchange->record.id);
    std::make_shared<AnswerStream>(exchange, *toy.model->loop, metrics, std::move(writer),
                                   read.stream)
        ->start(std::move(std::get<std::vector<Request>>(prepared)));
  }
  bool idle() { return toy.model->loop->waitIdle(std::chrono::steady_clock::now() + 60s); }

  Metrics metrics; // before the model, whose loop uses it
  ToyModel toy;
};

TEST_F(CompletionTest, AWholeResponse) {
  Json answer = ask({{"max_tokens", 5}, {"ignore_eos", true}})->json();
  EXPECT_EQ(answer["id"], "cmpl-test");
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["model"], "toy");
  ASSERT_EQ(answer["choices"].size(), 1u);
  EXPECT_EQ(answer["choices"][0]["index"], 0);
  EXPECT_EQ(answer["choices"][0]["text"].get<std::string>().size(), 5u);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(answer["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(answer["usage"], Json({{"prompt_tokens", 3},
                                   {"completion_tokens", 5},
                                   {"total_tokens", 8},
                                   {"prompt_tokens_details", {{"cached_tokens", 0}}}}));
}

TEST_F(CompletionTest, TokensThatTheCacheHadAreCounted) {
  auto cachedOf = [&](Json fields) {
    fields["max_tokens"] = 2;
    Json usage = ask(fields)->json()["usage"];
    EXPECT_EQ(usage["prompt_tokens"], 40);
    return usage["prompt_tokens_details"]["cached_tokens"];
  };
  std::string prompt(40, 'b');
  // Choices find the prompt that the first of them has computed, which is no work of others.
  EXPECT_EQ(cachedOf({{"prompt", prompt}, {"n", 3}}), 0);
  EXPECT_EQ(cachedOf({{"prompt", prompt}, {"n", 3}}), 32);
  EXPECT_EQ(cachedOf({{"prompt", prompt}, {"cache_salt", "of its own"}}), 0);
}

TEST_F(CompletionTest, AStreamHasTheSameText) {
  for (bool usage : {false, true}) {
    Json fields = {
        {"max_tokens", 20}, {"n", 3}, {"temperature", 1}, {"seed", 3}, {"prompt", {"abc", "zy"}}};
    Json whole = ask(fields)->json();
    fields["stream"] = true;
    fields["stream_options"] = {{"include_usage", usage}};
    std::vector<std::string> texts(6);
    std::vector<Json> finish(6);
    auto events = ask(fields)->events();
    ASSERT_FALSE(events.empty());
    if (usage) {
      EXPECT_EQ(events.back()["choices"], Json::array());
      EXPECT_EQ(events.back()["usage"], whole["usage"]);
      events.pop_back();
    }
    for (const Json &event : events) {
      EXPECT_EQ(event.contains("usage"), usage);
      EXPECT_EQ(event["object"], "text_completion");
      const Json &choice = event["choices"].at(0);
      size_t index = choice["index"].get<size_t>();
      EXPECT_TRUE(finish.at(index).is_null()) << "after the end";
      texts[index] += choice["text"].get<std::string>();
      finish[index] = choice["finish_reason"];
    }
    ASSERT_EQ(whole["choices"].size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(whole["choices"][i]["text"], texts[i]) << i;
      EXPECT_EQ(whole["choices"][i]["finish_reason"], finish[i]);
    }
    EXPECT_NE(texts[0], texts[1]) << "answers have seeds of their own";
  }
}

TEST_F(CompletionTest, LogProbabilities) {
  Json choice =
      ask({{"max_tokens", 6}, {"ignore_eos", true}, {"logprobs", 2}})->json()["choices"][0];
  const Json &lists = choice["logprobs"];
  std::string text;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(lists["text_offset"].at(i), text.size());
    text += lists["tokens"].at(i).get<std::string>();
    const Json &top = lists["top_logprobs"].at(i);
    EXPECT_GE(top.size(), 2u);
    EXPECT_EQ(top[lists["tokens"][i].get<std::string>()], lists["token_logprobs"].at(i));
  }
  EXPECT_EQ(choice["text"], text);
  Json ids = ask({{"max_tokens", 1}, {"logprobs", 0}, {"return_tokens_as_token_ids", true}})
                 ->json()["choices"][0]["logprobs"]["tokens"];
  EXPECT_TRUE(ids[0].get<std::string>().starts_with("token_id:"));
}

TEST_F(CompletionTest, LogProbabilitiesOfThePrompt) {
  Json body = {{"max_tokens", 3}, {"ignore_eos", true}, {"echo", true}, {"logprobs", 1},
               {"n", 2},          {"temperature", 1},   {"seed", 3},    {"prompt_logprobs", 2}};
  Json choices = ask(body)->json()["choices"];
  for (const Json &choice : choices) {
    const Json &lists = choice["logprobs"];
    ASSERT_EQ(lists["tokens"].size(), 6u);
    std::string text;
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(lists["text_offset"].at(i), text.size());
      text += lists["tokens"].at(i).get<std::string>();
      EXPECT_EQ(lists["token_logprobs"].at(i).is_null(), i == 0);
      EXPECT_EQ(lists["top_logprobs"].at(i).is_null(), i == 0);
    }
    EXPECT_EQ(choice["text"], text);
    const Json &scored = choice["prompt_logprobs"];
    ASSERT_EQ(scored.size(), 3u);
    EXPECT_TRUE(scored[0].is_null());
    // The prompt is "abc": token 1 is "b".
    EXPECT_EQ(scored[1]["1"]["logprob"], lists["token_logprobs"][1]);
    EXPECT_EQ(scored[1]["1"]["decoded_token"], "b");
    EXPECT_GE(scored[1].size(), 2u);
  }
  // A stream tells them once for each answer.
  body["stream"] = true;
  std::map<int, int> told;
  for (const Json &chunk : ask(body)->events())
    for (const Json &choice : chunk["choices"])
      told[choice["index"]] += !choice["prompt_logprobs"].is_null();
  EXPECT_EQ(told, (std::map<int, int>{{0, 1}, {1, 1}}));
}

TEST_F(CompletionTest, OffsetsCountWhatAStopStringHoldsBack) {
  Json body = {{"max_tokens", 6}, {"ignore_eos", true}, {"logprobs", 0}};
  std::string whole = ask(body)->json()["choices"][0]["text"];
  auto offsets = [&](const std::string &stop) {
    body["stop"] = stop;
    return ask(body)->json()["choices"][0]["logprobs"]["text_offset"];
  };
  EXPECT_EQ(offsets(whole.substr(2, 2) + "#"), Json({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(offsets(whole.substr(4, 2)), Json({0, 1, 2, 3, 4, 4})) << "it is cut off";
}

TEST_F(CompletionTest, APromptAloneIsScored) {
  Json body = {
      {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}, {"n", 2}, {"prompt", {"abc", "z"}}};
  Json answer = ask(body)->json();
  Json longer = body;
  longer["max_tokens"] = 1;
  Json scored = ask(longer)->json()["choices"];
  ASSERT_EQ(answer["choices"].size(), 4u);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
  for (size_t i = 0; i < 4; ++i) {
    const Json &choice = answer["choices"][i];
    size_t tokens = i < 2 ? 3 : 1;
    EXPECT_EQ(choice["text"], i < 2 ? "abc" : "z");
    EXPECT_EQ(choice["finish_reason"], "length");
    ASSERT_EQ(choice["logprobs"]["tokens"].size(), tokens);
    for (size_t j = 0; j < tokens; ++j)
      EXPECT_EQ(choice["logprobs"]["token_logprobs"][j],
                scored[i]["logprobs"]["token_logprobs"][j]);
  }
  body["stream"] = true;
  std::map<int, std::string> texts;
  for (const Json &chunk : ask(body)->events())
    for (const Json &choice : chunk["choices"])
      texts[choice["index"]] += choice["text"].get<std::string>();
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, "abc"}, {1, "abc"}, {2, "z"}, {3, "z"}}));
  EXPECT_TRUE(idle());
}

TEST_F(CompletionTest, ExclusionsThatLeaveNothing) {
  // Before anything is computed, and after a token.
  for (const char *word : {"g", "gg"}) {
    auto exchange = ask({{"allowed_token_ids", {5, 6}}, {"bad_words", {"f", word}}});
    EXPECT_EQ(exchange->wait().status, 400) << word;
    EXPECT_EQ(exchange->json()["error"]["ingot_code"], "INGOT-E6034");
    EXPECT_EQ(exchange->json()["error"]["type"], "invalid_request_error");
    EXPECT_EQ(exchange->record.error, "INGOT-E6034");
  }
  EXPECT_EQ(
      ask({{"allowed_token_ids", {5, 6}}, {"bad_words", {"f", "gg"}}, {"n", 3}})->wait().status,
      400);
  // Of several prompts the others go on: nothing may come twice, and the second has had "z".
  Json body = {{"prompt", {"abc", "z"}},
               {"allowed_token_ids", {25, 24}},
               {"no_repeat_ngram_size", 1},
               {"max_tokens", 2}};
  Json choices = ask(body)->json()["choices"];
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0]["text"].get<std::string>().size(), 2u);
  EXPECT_EQ(choices[0]["finish_reason"], "length");
  EXPECT_FALSE(choices[0].contains("error"));
  EXPECT_EQ(choices[1]["text"], "y");
  EXPECT_EQ(choices[1]["finish_reason"], "error");
  EXPECT_EQ(choices[1]["error"]["ingot_code"], "INGOT-E6034");
  body["stream"] = true;
  std::map<int, std::string> ends;
  for (const Json &chunk : ask(body)->events())
    for (const Json &choice : chunk["choices"])
      if (!choice["finish_reason"].is_null())
        ends[choice["index"]] = choice["finish_reason"];
  EXPECT_EQ(ends, (std::map<int, std::string>{{0, "length"}, {1, "error"}}));
  // A bias excludes nothing.
  Json all = Json::object();
  for (int i = 0; i < 64; ++i)
    all[std::to_string(i)] = -100;
  EXPECT_EQ(ask({{"logit_bias", all}})->wait().status, 200);
  EXPECT_TRUE(idle());
}

TEST(PrefixTest, IsNoPartOfTheEcho) {
  ToyOptions options;
  options.bos = 61;
  options.prefixed = true;
  options.bytePieces = {{0, "<0xC3>"}, {1, "<0xBC>"}};
  ToyModel toy = openToyModel(options);
  Metrics metrics;
  auto exchange = std::make_shared<RecordedExchange>(HttpRequest{});
  auto read =
      std::get<CompletionRequest>(readCompletionRequest({{"prompt", "cd"},
                                                         {"echo", true},
                                                         {"logprobs", 0},
                                                         {"max_tokens", 5},
                                                         {"temperature", 0},
                                                         {"allowed_token_ids", {0, 1}},
                                                         {"no_repeat_ngram_size", 2}},
                                                        toy.model->loop->defaultSampling()));
  auto prepared = prepareAll(*toy.model->loop, read.requests(), exchange->record.start, 0);
  auto writer = std::make_unique<CompletionWriter>(*toy.model, read, "x");
  std::make_shared<AnswerStream>(exchange, *toy.model->loop, metrics, std::move(writer), false)
      ->start(std::move(std::get<std::vector<Request>>(prepared)));
  const Json choice = exchange->json()["choices"][0], lists = choice["logprobs"];
  EXPECT_TRUE(choice["text"].get<std::string>().starts_with("cd"));
  std::vector<int> offsets = lists["text_offset"];
  ASSERT_EQ(offsets.size(), 8u) << choice;
  EXPECT_EQ((std::vector<int>(offsets.begin(), offsets.begin() + 4)),
            (std::vector<int>{0, 0, 1, 2}));
  // Two bytes are a character, and one that is part of none is another.
  std::string first = "token_id:0";
  bool whole = false;
  for (size_t i = 4; i < 8; ++i) {
    whole = !whole && lists["tokens"][i - 1] == first && lists["tokens"][i] == "token_id:1";
    EXPECT_EQ(offsets[i] - offsets[i - 1], whole ? 0 : 1) << choice;
  }
}

TEST_F(CompletionTest, StopEchoAndBestOf) {
  std::string whole = ask({{"max_tokens", 8}, {"ignore_eos", true}})->json()["choices"][0]["text"];
  Json stopped = ask({{"max_tokens", 8}, {"ignore_eos", true}, {"stop", whole.substr(4, 2)}})
                     ->json()["choices"][0];
  EXPECT_EQ(stopped["finish_reason"], "stop");
  EXPECT_EQ(stopped["text"], whole.substr(0, whole.find(whole.substr(4, 2))));
  EXPECT_EQ(
      ask({{"max_tokens", 8}, {"ignore_eos", true}, {"echo", true}})->json()["choices"][0]["text"],
      "abc" + whole);
  EXPECT_EQ(ask({{"max_tokens", 8}, {"ignore_eos", true}, {"echo", true}, {"prompt", {0, 1, 2}}})
                ->json()["choices"][0]["text"],
            "abc" + whole);
  // The best of four is one of the four.
  Json four = {{"max_tokens", 8}, {"n", 4}, {"temperature", 1}, {"seed", 1}};
  std::vector<std::string> texts;
  Json answers = ask(four)->json();
  for (const Json &choice : answers["choices"])
    texts.push_back(choice["text"]);
  Json best = four;
  best["n"] = 1;
  best["best_of"] = 4;
  Json answer = ask(best)->json();
  ASSERT_EQ(answer["choices"].size(), 1u);
  EXPECT_THAT(texts, testing::Contains(answer["choices"][0]["text"].get<std::string>()));
  EXPECT_EQ(answer["choices"][0]["logprobs"], nullptr);
  EXPECT_GT(answer["usage"]["completion_tokens"], 8);
}

TEST_F(CompletionTest, ErrorsBeforeTheStart) {
  auto exchange = ask({{"prompt", ""}, {"stream", true}});
  EXPECT_EQ(exchange->wait().status, 400);
  EXPECT_EQ(exchange->json()["error"]["ingot_code"], "INGOT-E6003");
  EXPECT_EQ(ask({{"prompt", {{1}, {500}}}})->json()["error"]["ingot_code"], "INGOT-E6007");
  EXPECT_EQ(ask({{"top_p", 2}})->json()["error"]["param"], "top_p");
  Json many = ask({{"prompt", Json(std::vector<std::string>(1024, "a"))}, {"n", 128}})->json();
  EXPECT_EQ(many["error"]["param"], "n");
  EXPECT_TRUE(idle());
}

class SmallQueueTest : public CompletionTest {
protected:
  SmallQueueTest() : CompletionTest({.queueLimit = 2}, 1) {}
};

TEST_F(SmallQueueTest, AFullQueueRefusesAllOfARequest) {
  auto running = askStuck();
  auto refused = ask({{"prompt", {"a", "b", "c"}}});
  EXPECT_EQ(refused->wait().status, 429);
  EXPECT_EQ(refused->json()["error"]["type"], "rate_limit_error");
  running->leave();
  EXPECT_TRUE(idle());
  EXPECT_EQ(ask()->wait().status, 200);
}

TEST_F(CompletionTest, AClientThatLeavesEndsItsRequests) {
  auto exchange = askStuck(3);
  exchange->leave();
  EXPECT_TRUE(idle());
  EXPECT_NE(metrics.text(nullptr, "m").find("finished_reason=\"abort\"} 3\n"), std::string::npos);
}

TEST_F(CompletionTest, AClientThatReadsSlowlyGetsAll) {
  std::string whole = ask({{"max_tokens", 90}, {"ignore_eos", true}})->json()["choices"][0]["text"];
  auto exchange = askStuck();
  int held = exchange->countParts();
  EXPECT_EQ(ask()->wait().status, 200) << "others go on";
  EXPECT_EQ(exchange->countParts(), held);
  exchange->drain();
  exchange->waitForParts(held + 1);
  exchange->stick(0);
  exchange->drain();
  std::string text;
  for (const Json &event : exchange->events())
    text += event["choices"][0]["text"].get<std::string>();
  EXPECT_EQ(text, whole);
}

TEST_F(CompletionTest, ADeadlineIsAnError) {
  auto exchange = std::make_shared<RecordedExchange>(HttpRequest{});
  exchange->stick(1 << 20);
  exchange->record.start -= 999ms;
  start(exchange, {{"max_tokens", 90}, {"ignore_eos", true}, {"stream", true}}, 1);
  EXPECT_THAT(exchange->wait().body, testing::HasSubstr("INGOT-E7215"));
  EXPECT_TRUE(idle());
}

} // namespace
