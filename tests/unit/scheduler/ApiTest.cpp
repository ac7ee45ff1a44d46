// SPDX-License-Identifier: Apache-2.0
// The C interface and its C++ wrapper, as a user calls them.
#include "ingot/ingot.hpp"

#include "tests/unit/engine/ToyEngine.h"

#include <cfenv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <span>
#include <thread>

using namespace ingot::test;

namespace {

class ApiTest : public testing::Test {
protected:
  void SetUp() override {
    path = (std::filesystem::path(testing::TempDir()) / "api-toy.ingot").string();
    std::vector<uint8_t> file = makeToyEngine();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  }
  void TearDown() override { std::filesystem::remove(path); }

  static std::string codeOf(ingot_error *error) {
    std::string code = ingot_error_code(error);
    ingot_error_free(error);
    return code;
  }

  std::string path;
};

TEST_F(ApiTest, GeneratesText) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc");
  request.sampling.max_tokens = 12;
  request.sampling.ignore_eos = true;
  std::string streamed;
  std::string text = engine.generate(request, [&](std::string_view piece) { streamed += piece; });
  EXPECT_EQ(text.size(), 12u);
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(engine.generate(request), text);
  std::vector<int32_t> tokens = engine.tokenize(text);
  EXPECT_EQ(tokens.size(), 12u);
  EXPECT_EQ(engine.detokenize(tokens), text);
  EXPECT_EQ(engine.score(tokens).size(), 12u);
}

TEST_F(ApiTest, AppliesChatTemplates) {
  const std::string body = R"({"messages": [{"role": "user", "content": "abc"}]})";
  EXPECT_EQ(codeOf(ingot_apply_chat_template(ingot::Engine(path).get(), body.data(), body.size(),
                                             nullptr, nullptr, 0, nullptr)),
            "INGOT-E6017");
  const auto codeOfPrompt = [](const ingot::Engine &engine, const std::string &request) {
    try {
      return engine.applyChatTemplate(request);
    } catch (const ingot::Error &error) {
      return error.code();
    }
  };
  EXPECT_EQ(codeOfPrompt(ingot::Engine(path), body), "INGOT-E6074") << "it has no template";
  ToyOptions options;
  options.chatTemplate = "{% for m in messages %}{{ m.role ~ m.content }}.{% endfor %}"
                         "{{ strftime_now('%Y') if dated }}";
  std::vector<uint8_t> file = makeToyEngine(options);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  const ingot::Engine engine(path);
  EXPECT_EQ(engine.applyChatTemplate(body), "userabc.");
  EXPECT_EQ(engine.tokenizeChat(body), engine.tokenize("userabc."));
  const std::string dated = R"({"messages": [{"role": "user", "content": "abc"}], "now": )";
  EXPECT_EQ(
      engine.applyChatTemplate(dated + R"("2001-02-03", "chat_template_kwargs": {"dated": true}})"),
      "userabc.2001");
  EXPECT_EQ(codeOfPrompt(engine, dated + "2001}"), "INGOT-E6075");
  size_t bytes = 0;
  char text[5] = "....";
  ingot::check(ingot_apply_chat_template(engine.get(), body.data(), body.size(), "default", text, 3,
                                         &bytes));
  EXPECT_EQ(std::string(text), "use.") << "as much as there is room for";
  EXPECT_EQ(bytes, 8u);
  EXPECT_EQ(codeOfPrompt(engine, "{"), "INGOT-E6071");
  EXPECT_EQ(codeOfPrompt(engine, "[]"), "INGOT-E6071");
}

TEST_F(ApiTest, ReadsAnswersOfTurns) {
  ToyOptions options;
  options.chatTemplate = "{% for m in messages %}{{ m.role ~ m.content }}.{% endfor %}"
                         "{% if tools %}{{ tools | tojson }}<tool_call>{\"name\": \"{% endif %}"
                         "{{ '<think>' if enable_thinking }}</think>";
  std::vector<uint8_t> file = makeToyEngine(options);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  ingot::Engine engine(path);
  const std::string body = R"({"messages": [{"role": "user", "content": "abc"}])";
  const std::string tools = R"(, "tools": [{"type": "function", "function": {"name": "add",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}])";
  const ingot::Turn turn(engine.get(), body + tools + "}");
  EXPECT_EQ(turn.tokens(), engine.tokenizeChat(body + tools + "}"));

  const std::string call = R"(<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>)";
  auto told = [](const std::vector<ingot::Part> &parts) {
    std::string text;
    for (const ingot::Part &part : parts)
      text += "TRCAE"[part.kind] + std::to_string(part.call) + part.text + (part.whole ? "!" : "") +
              (part.id.empty() ? "" : "#") + ';';
    return text;
  };
  EXPECT_EQ(told(ingot::Answer(turn, false).take("so " + call, true)),
            "T-1so;C0add!#;A0{\"a\": 1}!;E0!;");
  ingot::Answer streamed(turn);
  EXPECT_EQ(told(streamed.take("so <tool", false)), "T-1so;");
  EXPECT_EQ(told(streamed.take(R"(_call>{"name": "add", "arguments": {"a")", true)),
            "C0add#;A0{\"a\";E0;")
      << "the answer was cut";
  EXPECT_TRUE(streamed.isCut());
  EXPECT_THROW(streamed.take("x", false), ingot::Error) << "it has ended";
  for (const char *none : {"}", ", \"tool_choice\": \"none\"}"}) {
    const ingot::Turn plain(engine.get(), body + (none[0] == ',' ? tools : "") + none);
    EXPECT_EQ(told(ingot::Answer(plain).take(call, true)), "T-1" + call + ';');
  }
  EXPECT_THROW(ingot::Turn(engine.get(), body + R"(, "tools": [{"type": "function"}]})"),
               ingot::Error);

  const ingot::Turn shorter(engine.get(), body + "}");
  ingot::Request request;
  request.turn = shorter.get();
  request.sampling.max_tokens = 8;
  request.sampling.ignore_eos = true;
  ingot::Request same;
  const std::vector<int32_t> tokens = shorter.tokens();
  same.tokens = tokens.data();
  same.token_count = tokens.size();
  same.sampling = request.sampling;
  EXPECT_EQ(engine.generate(request), engine.generate(same));
  request.tokens = tokens.data();
  request.token_count = tokens.size();
  EXPECT_THROW(engine.generate(request), ingot::Error) << "two prompts";
}

TEST_F(ApiTest, AHostsRoundingAndFlushingChangeNothing) {
  auto numbers = [&] {
    ingot::Engine engine(path);
    std::vector<float> scores = engine.score(engine.tokenize("abcabcbbcacb"));
    ingot::Loop loop(std::move(engine));
    ingot::Request request = loop.request("abc");
    request.sampling.max_tokens = 12;
    request.sampling.ignore_eos = true;
    request.sampling.temperature = 1;
    request.sampling.seed = 7;
    request.sampling.logprobs = 0;
    loop.submit(request, [&](const ingot::Event &event) {
      scores.push_back(event.logprob);
      return INGOT_DEMAND_MORE;
    });
    EXPECT_TRUE(loop.waitIdle(60));
    return scores;
  };
  const std::vector<float> usual = numbers();
  std::fesetround(FE_TOWARDZERO);
  const std::vector<float> others = numbers();
  EXPECT_EQ(std::fegetround(), FE_TOWARDZERO) << "it is the host's";
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(others, usual);
}

TEST_F(ApiTest, ChecksChatTemplates) {
  EXPECT_FALSE(ingot::chatTemplateError("t", "{{ messages }}"));
  const std::optional<ingot::Error> error = ingot::chatTemplateError("t", "a\n{% include 'b' %}");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), "INGOT-E6061");
  EXPECT_NE(std::string(error->what()).find("t:2:"), std::string::npos) << error->what();
}

TEST_F(ApiTest, TellsFactsAndPlans) {
  ingot::Engine engine(path);
  EXPECT_STREQ(engine.info().name, "toy");
  EXPECT_STREQ(engine.info().target, "toy");
  EXPECT_EQ(engine.info().vocabulary, 64);
  EXPECT_TRUE(engine.info().has_tokenizer);
  ASSERT_EQ(engine.info().eos_count, 1u);
  EXPECT_EQ(engine.info().eos[0], 63);
  ingot::Options options;
  options.threads = 1;
  options.max_sequences = 2;
  options.max_batch_tokens = 7;
  ingot_memory_plan plan = {};
  plan.size = sizeof plan;
  ingot::check(ingot_plan(path.c_str(), &options, &plan));
  EXPECT_EQ(plan.max_sequences, 2);
  EXPECT_EQ(plan.max_batch_tokens, 7);
  EXPECT_EQ(plan.kv_blocks, 12);
  EXPECT_EQ(plan.total_bytes, plan.weight_bytes + plan.arena_bytes + plan.state_bytes +
                                  plan.scratch_bytes + plan.kv_bytes);
  ingot_memory_plan allocated = ingot::Engine(path, options).memoryPlan();
  EXPECT_EQ(allocated.total_bytes, plan.total_bytes);
}

TEST_F(ApiTest, CallbackCancels) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc");
  request.sampling.max_tokens = 50;
  request.sampling.ignore_eos = true;
  struct Seen {
    int tokens = 0;
    ingot_finish finish = INGOT_FINISH_NONE;
  } seen;
  ingot::check(ingot_generate(
      engine.get(), &request,
      [](void *user, const ingot_event *event) {
        Seen &seen = *static_cast<Seen *>(user);
        seen.tokens += event->token >= 0;
        seen.finish = event->finish;
        return seen.tokens < 3;
      },
      &seen, sizeof(ingot_event)));
  EXPECT_EQ(seen.tokens, 3);
  EXPECT_EQ(seen.finish, INGOT_FINISH_CANCELLED);
}

/// Takes all events and counts those of one request that end it.
static size_t endsOf(ingot::Engine &engine, uint64_t id, size_t *tokens = nullptr) {
  size_t ends = 0;
  while (auto event = engine.nextEvent()) {
    if (tokens)
      *tokens += event->request == id && event->token >= 0;
    ends += event->request == id && event->finish == INGOT_FINISH_LENGTH;
  }
  return ends;
}

TEST_F(ApiTest, GeneratingTakesNoEventsOfOthers) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc");
  request.sampling.max_tokens = 5;
  request.sampling.ignore_eos = true;
  for (bool inC : {false, true}) {
    uint64_t other = engine.submit(request);
    if (inC)
      ingot::check(ingot_generate(
          engine.get(), &request, [](void *, const ingot_event *) { return true; }, nullptr,
          sizeof(ingot_event)));
    else
      engine.generate(request);
    size_t tokens = 0;
    EXPECT_EQ(endsOf(engine, other, &tokens), 1u);
    EXPECT_EQ(tokens, 5u);
  }
}

TEST_F(ApiTest, ACallbackThatThrowsEndsItsRequestOnly) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc");
  request.sampling.max_tokens = 5;
  request.sampling.ignore_eos = true;
  for (bool inC : {false, true}) {
    uint64_t other = engine.submit(request);
    if (inC)
      EXPECT_THROW((void)ingot_generate(
                       engine.get(), &request,
                       [](void *, const ingot_event *) -> bool { throw std::runtime_error("no"); },
                       nullptr, sizeof(ingot_event)),
                   std::runtime_error);
    else
      EXPECT_THROW(
          engine.generate(request, [](std::string_view) { throw std::runtime_error("no"); }),
          std::runtime_error);
    while (engine.step()) {
    }
    size_t others = 0;
    while (auto event = engine.nextEvent()) {
      EXPECT_EQ(event->request, other) << "the other one was cancelled, and its events forgotten";
      others += event->token >= 0;
    }
    EXPECT_EQ(others, 5u);
  }
}

TEST_F(ApiTest, AFailedRequestSaysWhy) {
  ToyOptions poisoned;
  poisoned.hiddenKernel = "toy_hidden_poisoned";
  std::vector<uint8_t> file = makeToyEngine(poisoned);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  ingot::Engine engine(path);
  int32_t tokens[] = {60};
  ingot::Request request = engine.request("");
  request.tokens = tokens;
  request.token_count = 1;
  uint64_t id = engine.submit(request);
  EXPECT_FALSE(engine.step());
  std::optional<ingot::Event> event = engine.nextEvent(id);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->finish, INGOT_FINISH_FAILED);
  EXPECT_EQ(event->errorCode, "INGOT-E6024");
  EXPECT_NE(event->errorMessage.find("request " + std::to_string(id)), std::string::npos);
  EXPECT_THROW(engine.generate(request), ingot::Error);
  ingot_finish seen = INGOT_FINISH_NONE;
  EXPECT_EQ(codeOf(ingot_generate(
                engine.get(), &request,
                [](void *user, const ingot_event *event) {
                  *static_cast<ingot_finish *>(user) = event->finish;
                  return true;
                },
                &seen, sizeof(ingot_event))),
            "INGOT-E6024");
  EXPECT_EQ(seen, INGOT_FINISH_FAILED);
}

TEST_F(ApiTest, TextIsUtf8AndSeedsAreRandom) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc"), other = engine.request("abc");
  EXPECT_NE(request.sampling.seed, other.sampling.seed);
  EXPECT_LT(request.sampling.seed, uint64_t(1) << 53);
  const char *half = "a\xE2\x82";
  request.sampling.stop_strings = &half;
  request.sampling.stop_string_count = 1;
  uint64_t id = 0;
  EXPECT_EQ(codeOf(ingot_submit(engine.get(), &request, &id)), "INGOT-E6006");
  other.text = half;
  EXPECT_EQ(codeOf(ingot_submit(engine.get(), &other, &id)), "INGOT-E6401");
}

TEST_F(ApiTest, ManyRequestsInFlight) {
  ingot::Engine engine(path);
  std::vector<uint64_t> ids;
  for (const char *prompt : {"abc", "xyz", "hello", "q"}) {
    ingot::Request request = engine.request(prompt);
    request.sampling.max_tokens = 5;
    request.sampling.ignore_eos = true;
    ids.push_back(engine.submit(request));
  }
  size_t finished = 0, tokens = 0;
  while (engine.step()) {
  }
  while (auto event = engine.nextEvent()) {
    tokens += event->token >= 0;
    finished += event->finish == INGOT_FINISH_LENGTH;
  }
  EXPECT_EQ(finished, ids.size());
  EXPECT_EQ(tokens, 5 * ids.size());
  EXPECT_EQ(engine.counters().generated_tokens, 20);
  EXPECT_EQ(engine.counters().prompt_tokens, 3 + 3 + 5 + 1);
  EXPECT_GT(engine.counters().launches, engine.counters().steps);
}

TEST_F(ApiTest, AnswersOfOneRequestAreTold) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc");
  request.choices = 3;
  request.priority = -2;
  request.cache_salt = "tenant";
  request.sampling.max_tokens = 4;
  request.sampling.ignore_eos = true;
  request.sampling.prompt_logprobs = 2;
  struct Seen {
    std::vector<size_t> tokens = {0, 0, 0};
    int ends = 0, scores = 0;
  } seen;
  ingot::check(ingot_generate(
      engine.get(), &request,
      [](void *user, const ingot_event *event) {
        Seen &seen = *static_cast<Seen *>(user);
        seen.tokens[size_t(event->choice)] += event->token >= 0;
        seen.ends += event->finish == INGOT_FINISH_LENGTH;
        if (event->prompt_logprob_count == 3) {
          ++seen.scores;
          EXPECT_EQ(event->token, -1);
          EXPECT_EQ(event->prompt_logprobs[0].top_count, 0u);
          for (int i : {1, 2}) {
            EXPECT_EQ(event->prompt_logprobs[i].token, i);
            EXPECT_EQ(event->prompt_logprobs[i].top_count, 2u);
            EXPECT_GE(event->prompt_logprobs[i].top[0].logprob,
                      event->prompt_logprobs[i].top[1].logprob);
          }
        }
        return true;
      },
      &seen, sizeof(ingot_event)));
  EXPECT_EQ(seen.tokens, (std::vector<size_t>{4, 4, 4}));
  EXPECT_EQ(seen.ends, 3);
  EXPECT_EQ(seen.scores, 1);
  EXPECT_THROW(engine.generate(request), ingot::Error);
  // A callback that wants no more ends all of them.
  int after = 0;
  ingot::check(ingot_generate(
      engine.get(), &request,
      [](void *user, const ingot_event *event) {
        *static_cast<int *>(user) += event->finish == INGOT_FINISH_CANCELLED;
        return false;
      },
      &after, sizeof(ingot_event)));
  EXPECT_EQ(after, 3);
  EXPECT_FALSE(engine.nextEvent());
}

TEST_F(ApiTest, SamplingParametersReachTheSession) {
  ingot::Engine engine(path);
  ingot::Request request = engine.request("abc");
  request.sampling.max_tokens = 12;
  request.sampling.ignore_eos = true;
  std::string whole = engine.generate(request);
  ingot::Request changed = request;
  std::string stop = whole.substr(4, 1);
  const char *text = stop.c_str();
  changed.sampling.stop_strings = &text;
  changed.sampling.stop_string_count = 1;
  changed.sampling.include_stop = true;
  EXPECT_EQ(engine.generate(changed), whole.substr(0, whole.find(stop) + 1));
  changed.sampling.min_tokens = 12;
  EXPECT_EQ(engine.generate(changed), whole);
  changed = request;
  changed.sampling.bad_words = &text;
  changed.sampling.bad_word_count = 1;
  EXPECT_EQ(engine.generate(changed).find(stop), std::string::npos);
  changed = request;
  int32_t token = engine.tokenize(stop)[0];
  ingot_tokens bad = {&token, 1};
  changed.sampling.bad_sequences = &bad;
  changed.sampling.bad_sequence_count = 1;
  EXPECT_EQ(engine.generate(changed).find(stop), std::string::npos);
  changed = request;
  int32_t allowed[] = {4, 9};
  changed.sampling.allowed = allowed;
  changed.sampling.allowed_count = 2;
  changed.sampling.no_repeat_ngram_size = 3;
  EXPECT_THROW(engine.generate(changed), ingot::Error) << "8 pairs do not fill 12 places";
}

TEST_F(ApiTest, RequestsAreRefusedByTheFieldThatIsWrong) {
  ingot::Engine engine(path);
  uint64_t id = 0;
  auto code = [&](auto change) {
    ingot::Request request = engine.request("abc");
    change(request);
    return codeOf(ingot_submit(engine.get(), &request, &id));
  };
  std::string salt(1025, 's');
  EXPECT_EQ(code([](ingot::Request &request) { request.adapter = "poet"; }), "INGOT-E6051");
  EXPECT_EQ(code([&](ingot::Request &request) { request.cache_salt = salt.c_str(); }),
            "INGOT-E6052");
  for (double deadline : {-1.0, double(NAN), double(INFINITY), 2e9})
    EXPECT_EQ(code([=](ingot::Request &request) { request.deadline = deadline; }), "INGOT-E6053");
  EXPECT_EQ(code([](ingot::Request &request) { request.choices = 0; }), "INGOT-E6006");
  EXPECT_EQ(code([](ingot::Request &request) { request.sampling.stop_string_count = 1; }),
            "INGOT-E6017");
  EXPECT_EQ(code([](ingot::Request &request) { request.deadline = 1e-9; }), "");
  while (engine.step()) {
  }
  EXPECT_EQ(engine.nextEvent(id)->finish, INGOT_FINISH_DEADLINE);
}

TEST_F(ApiTest, AnswersHaveTheFormThatIsAskedFor) {
  ingot::Engine engine(path);
  ingot::Request plain = engine.request("abc");
  plain.sampling.temperature = 1.5f;
  plain.sampling.max_tokens = 20;
  ingot::Request request = plain;
  request.regex = "[x-z]{3}b?";
  const std::string matched = engine.generate(request);
  EXPECT_TRUE(std::regex_match(matched, std::regex("[x-z]{3}b?"))) << matched;
  request = plain;
  uint64_t id = 0;
  request.regex = nullptr;
  request.json_schema = "{\"type\": 5}";
  EXPECT_EQ(codeOf(ingot_submit(engine.get(), &request, &id)), "INGOT-E6611");
  request = plain;
  request.grammar = "root ::= \"(\" root \")\" | [x-z]";
  const std::string nested = engine.generate(request);
  EXPECT_TRUE(std::regex_match(nested, std::regex("\\(*[x-z]?\\)*"))) << nested;
  request.grammar = "start: A";
  EXPECT_EQ(codeOf(ingot_submit(engine.get(), &request, &id)), "INGOT-E6621");
  request = plain;
  const char *const texts[] = {"cab", "bac"};
  request.choice_texts = texts;
  request.choice_text_count = 2;
  const std::string chosen = engine.generate(request);
  EXPECT_TRUE(chosen == "cab" || chosen == "bac") << chosen;
  request.regex = "(a)\\1";
  EXPECT_EQ(codeOf(ingot_submit(engine.get(), &request, &id)), "INGOT-E6006");
  request.choice_text_count = 0;
  EXPECT_EQ(codeOf(ingot_submit(engine.get(), &request, &id)), "INGOT-E6602");
}

TEST_F(ApiTest, TapsAreReadByName) {
  ingot::Engine engine(path);
  ASSERT_EQ(ingot_tap_count(engine.get()), 2u);
  EXPECT_STREQ(ingot_tap_name(engine.get(), 0), "hidden");
  EXPECT_EQ(ingot_tap_name(engine.get(), 2), nullptr);
  int32_t tokens[] = {1, 2, 3};
  size_t values = 0;
  float output[2];
  ingot::check(ingot_read_tap(engine.get(), tokens, 3, "hidden", output, 2, &values));
  EXPECT_EQ(values, 3u);
  EXPECT_NE(output[0], output[1]);
}

TEST_F(ApiTest, ALoopServesManyThreads) {
  std::vector<std::string> alone;
  for (int i = 0; i < 24; ++i) {
    ingot::Engine engine(path);
    std::string prompt(size_t(1 + i % 7), char('a' + i));
    alone.push_back(engine.generate(engine.request(prompt)));
  }
  ingot::Loop loop{ingot::Engine(path)};
  std::vector<std::string> texts(alone.size());
  std::vector<std::thread> threads;
  for (size_t first = 0; first < 4; ++first)
    threads.emplace_back([&, first] {
      for (size_t i = first; i < texts.size(); i += 4) {
        std::string prompt(1 + i % 7, char('a' + i));
        ingot::Request request = loop.request(prompt);
        loop.submit(request, [&text = texts[i]](ingot::Event event) {
          text += event.text;
          return INGOT_DEMAND_MORE;
        });
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  ASSERT_TRUE(loop.waitIdle(60));
  EXPECT_EQ(texts, alone);
  EXPECT_EQ(loop.statistics().running, 0);
  EXPECT_EQ(loop.statistics().kv_blocks_used, 0);
  EXPECT_GT(loop.statistics().generated_tokens, 0);
  loop.drain();
  EXPECT_TRUE(loop.statistics().draining);
  std::string refused;
  try {
    loop.submit(loop.request("a"), [](ingot::Event) { return INGOT_DEMAND_MORE; });
  } catch (const ingot::Error &error) {
    refused = error.code();
  }
  EXPECT_EQ(refused, "INGOT-E6031");
}

TEST_F(ApiTest, EventsWaitInTheLoopsQueue) {
  ingot::Loop loop{ingot::Engine(path)};
  ingot::Request request = loop.request("abc");
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = 40;
  request.choices = 2;
  uint64_t id = 0;
  ingot::check(ingot_loop_submit(loop.get(), &request, nullptr, nullptr, sizeof(ingot_event), &id));
  int tokens = 0, ends = 0;
  for (bool taken = true; ends < 2;) {
    ingot_event event = {};
    event.size = sizeof event;
    ingot::check(ingot_loop_next_event(loop.get(), 60, &event, &taken));
    ASSERT_TRUE(taken);
    EXPECT_EQ(event.request, id);
    tokens += event.token >= 0;
    ends += event.finish != INGOT_FINISH_NONE;
  }
  EXPECT_EQ(tokens, 80);
  bool taken = true;
  ingot_event event = {};
  event.size = sizeof event;
  ingot::check(ingot_loop_next_event(loop.get(), 0, &event, &taken));
  EXPECT_FALSE(taken);
  EXPECT_EQ(codeOf(ingot_loop_next_event(loop.get(), -1, &event, &taken)), "INGOT-E6053");
}

/// Texts of a batch stay where they are while it is read.
TEST_F(ApiTest, EventsAreTakenManyAtATime) {
  ingot::Loop loop{ingot::Engine(path)};
  ingot::Request request = loop.request("abc");
  request.sampling.ignore_eos = true;
  request.sampling.max_tokens = 40;
  request.choices = 4;
  request.sampling.temperature = 1;
  request.sampling.seed = 7;
  auto texts = [&](size_t capacity) {
    std::map<int32_t, std::string> found;
    uint64_t id = 0;
    ingot::check(
        ingot_loop_submit(loop.get(), &request, nullptr, nullptr, sizeof(ingot_event), &id));
    std::vector<ingot_event> events(capacity);
    size_t most = 0;
    for (int ends = 0; ends < request.choices;) {
      size_t count = 0;
      ingot::check(ingot_loop_next_events(loop.get(), 60, events.data(), sizeof(ingot_event),
                                          capacity, &count));
      EXPECT_GE(count, 1u);
      most = std::max(most, count);
      for (const ingot_event &event : std::span(events).first(count)) {
        EXPECT_EQ(event.size, sizeof(ingot_event));
        EXPECT_EQ(event.request, id);
        found[event.choice].append(event.text, event.text_bytes);
        ends += event.finish != INGOT_FINISH_NONE;
      }
    }
    EXPECT_LE(most, capacity);
    return found;
  };
  EXPECT_EQ(texts(64), texts(1));
  ingot_event event;
  size_t count = 1;
  ingot::check(ingot_loop_next_events(loop.get(), 0, &event, sizeof event, 1, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(codeOf(ingot_loop_next_events(loop.get(), 0, &event, sizeof event, 0, &count)),
            "INGOT-E6017");
  EXPECT_EQ(codeOf(ingot_loop_next_events(loop.get(), 0, &event, 7, 1, &count)), "INGOT-E6050");
  EXPECT_EQ(codeOf(ingot_loop_next_events(loop.get(), 0, nullptr, sizeof event, 1, &count)),
            "INGOT-E6017");
  EXPECT_EQ(codeOf(ingot_loop_next_events(loop.get(), 0, &event, sizeof event, 1, nullptr)),
            "INGOT-E6017");
}

TEST_F(ApiTest, ALoopOwnsItsEngine) {
  ingot_engine *engine = nullptr;
  ingot::check(ingot_open(path.c_str(), nullptr, &engine));
  ingot_loop *loop = nullptr;
  ingot::check(ingot_loop_start(engine, nullptr, &loop));
  bool active = false;
  EXPECT_EQ(codeOf(ingot_step(engine, &active)), "INGOT-E6017");
  EXPECT_EQ(codeOf(ingot_loop_start(engine, nullptr, &loop)), "INGOT-E6017");
  size_t count = 0;
  ingot::check(ingot_tokenize(engine, "abc", 3, false, false, nullptr, 0, &count));
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(codeOf(ingot_loop_cancel(nullptr, 1)), "INGOT-E6017");
  ingot_loop_close(loop); // and the engine
  ingot_loop_close(nullptr);
}

TEST_F(ApiTest, MisuseIsAnErrorNotACrash) {
  ingot_engine *engine = nullptr;
  EXPECT_EQ(codeOf(ingot_open(nullptr, nullptr, &engine)), "INGOT-E6017");
  EXPECT_EQ(codeOf(ingot_open("/nowhere", nullptr, &engine)), "INGOT-E7101");
  EXPECT_EQ(engine, nullptr);
  EXPECT_EQ(codeOf(ingot_step(nullptr, nullptr)), "INGOT-E6017");
  EXPECT_EQ(codeOf(ingot_next_event(nullptr, nullptr, nullptr)), "INGOT-E6017");
  ingot_close(nullptr);
  ingot::Engine opened(path);
  EXPECT_EQ(codeOf(ingot_submit(opened.get(), nullptr, nullptr)), "INGOT-E6017");
  ingot_request request = {};
  uint64_t id = 0;
  EXPECT_EQ(codeOf(ingot_submit(opened.get(), &request, &id)), "INGOT-E6050");
  EXPECT_EQ(codeOf(ingot_cancel(opened.get(), 5)), "INGOT-E6011");
  try {
    ingot::Engine missing("/nowhere");
    ADD_FAILURE();
  } catch (const ingot::Error &error) {
    EXPECT_EQ(error.code(), "INGOT-E7101");
  }
}

} // namespace
