// SPDX-License-Identifier: Apache-2.0
// Many requests in flight: each gets the tokens and log-probabilities, bit for bit, that it gets
// alone, whatever runs beside it, and a step costs the same number of launches however many run.
#include "tests/e2e/BuiltEngines.h"

#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

namespace ingot::e2e {
namespace {

constexpr size_t requestCount = 64;

/// One request of the mix and what it is to produce.
struct Traffic {
  std::vector<int32_t> prompt;
  int64_t maxTokens = 1;
  float temperature = 0;
  uint64_t seed = 0;
};

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  ingot_finish finish = INGOT_FINISH_NONE;

  bool operator==(const Answer &) const = default;
};

std::filesystem::path fablesEngine(const char *target = hostTarget) {
  return builtEngine({fablesModel(), "", target});
}

Engine open(const std::filesystem::path &path, int64_t threads, int64_t maxTokens = 0,
            int64_t maxSequences = 0) {
  Options options;
  options.threads = threads;
  options.max_batch_tokens = maxTokens;
  options.max_sequences = maxSequences;
  options.max_context = 512;
  return Engine(path, options);
}

/// Prompts of 1 to about 150 tokens from the held-out text; half of them sampled, half greedy.
std::vector<Traffic> mixedTraffic(Engine &engine, size_t count, int64_t longest) {
  std::vector<int32_t> tokens =
      engine.tokenize(readText(fablesModel().parent_path() / "heldout.txt").substr(0, 20000));
  std::vector<Traffic> mix;
  for (size_t i = 0; i < count; ++i) {
    Traffic one;
    size_t length = 1 + i * i % 149, begin = i * 37 % (tokens.size() - 150);
    one.prompt.assign(tokens.begin() + ptrdiff_t(begin),
                      tokens.begin() + ptrdiff_t(begin + length));
    one.maxTokens = 1 + int64_t(i * 7) % longest;
    one.temperature = i % 2 ? 0.9f : 0.0f;
    one.seed = 1000 + i;
    mix.push_back(std::move(one));
  }
  return mix;
}

uint64_t submit(Engine &engine, const Traffic &traffic) {
  Request request;
  request.tokens = traffic.prompt.data();
  request.token_count = traffic.prompt.size();
  request.sampling.temperature = traffic.temperature;
  request.sampling.seed = traffic.seed;
  request.sampling.max_tokens = traffic.maxTokens;
  request.sampling.logprobs = 0;
  return engine.submit(request);
}

/// Takes all events into the answers of the requests they belong to.
void collect(Engine &engine, std::map<uint64_t, Answer> &answers) {
  while (std::optional<Event> event = engine.nextEvent()) {
    Answer &answer = answers[event->request];
    answer.tokens.push_back(event->token);
    answer.logprobs.push_back(event->logprob);
    answer.finish = event->finish;
  }
}

std::vector<Answer> answersAlone(Engine &engine, const std::vector<Traffic> &mix) {
  std::vector<Answer> answers;
  for (const Traffic &traffic : mix) {
    std::map<uint64_t, Answer> collected;
    uint64_t id = submit(engine, traffic);
    while (engine.step())
      collect(engine, collected);
    collect(engine, collected);
    answers.push_back(collected[id]);
  }
  return answers;
}

/// Half of the requests at once, then one more every second step while others end.
std::vector<Answer> answersTogether(Engine &engine, const std::vector<Traffic> &mix) {
  std::vector<uint64_t> ids;
  std::map<uint64_t, Answer> collected;
  bool active = true;
  for (size_t step = 0; active || ids.size() < mix.size(); ++step) {
    size_t due = std::min(mix.size(), mix.size() / 2 + step / 2);
    while (ids.size() < due)
      ids.push_back(submit(engine, mix[ids.size()]));
    active = engine.step();
    collect(engine, collected);
  }
  std::vector<Answer> answers;
  for (uint64_t id : ids)
    answers.push_back(collected[id]);
  return answers;
}

void expectEqual(const std::vector<Answer> &actual, const std::vector<Answer> &wanted) {
  ASSERT_EQ(actual.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NE(wanted[i].finish, INGOT_FINISH_NONE) << i;
    EXPECT_EQ(actual[i].tokens, wanted[i].tokens) << "request " << i;
    EXPECT_TRUE(actual[i] == wanted[i]) << "log-probabilities of request " << i;
  }
}

TEST(ServingTest, SixtyFourTogetherEqualEachAlone) {
  std::filesystem::path path = fablesEngine();
  Engine single = open(path, 1);
  std::vector<Traffic> mix = mixedTraffic(single, requestCount, 24);
  std::vector<Answer> alone = answersAlone(single, mix);
  for (int64_t chunk : {16, 64, 512}) {
    SCOPED_TRACE("chunks of " + std::to_string(chunk));
    Engine engine = open(path, 1, chunk);
    expectEqual(answersTogether(engine, mix), alone);
  }
  SCOPED_TRACE("all threads");
  Engine threaded = open(path, 0);
  expectEqual(answersTogether(threaded, mix), alone);
}

TEST(ServingTest, AFewSlotsServeManyRequests) {
  std::filesystem::path path = fablesEngine();
  Engine single = open(path, 1);
  std::vector<Traffic> mix = mixedTraffic(single, 24, 12);
  Engine narrow = open(path, 1, 32, 5);
  EXPECT_EQ(narrow.memoryPlan().max_sequences, 5);
  expectEqual(answersTogether(narrow, mix), answersAlone(single, mix));
}

TEST(ServingTest, ReferenceTogetherEqualsEachAlone) {
  std::filesystem::path path = fablesEngine("reference");
  Engine single = open(path, 1);
  std::vector<Traffic> mix = mixedTraffic(single, 6, 6);
  for (Traffic &traffic : mix)
    traffic.prompt.resize(std::min<size_t>(traffic.prompt.size(), 20));
  Engine engine = open(path, 2, 8);
  expectEqual(answersTogether(engine, mix), answersAlone(single, mix));
}

/// Launches of a step in which `sequences` generate one token each.
int64_t launchesOfDecodeStep(const std::filesystem::path &path, size_t sequences) {
  Engine engine = open(path, 1);
  Traffic traffic;
  traffic.prompt = {1, 2, 3};
  traffic.maxTokens = 8;
  for (size_t i = 0; i < sequences; ++i)
    submit(engine, traffic);
  engine.step();
  int64_t before = engine.counters().launches;
  engine.step();
  size_t events = 0;
  while (engine.nextEvent())
    ++events;
  EXPECT_EQ(events, 2 * sequences);
  return engine.counters().launches - before;
}

TEST(ServingTest, AStepOfManyMakesTheLaunchesOfAStepOfOne) {
  std::filesystem::path path = fablesEngine();
  int64_t ofOne = launchesOfDecodeStep(path, 1);
  EXPECT_GT(ofOne, 0);
  EXPECT_EQ(launchesOfDecodeStep(path, requestCount), ofOne);
}

TEST(ServingTest, ASeedReproducesAndAnotherDiffers) {
  Engine engine = open(fablesEngine(), 1);
  Traffic traffic = mixedTraffic(engine, 2, 2)[1];
  traffic.maxTokens = 32;
  traffic.temperature = 1.5f;
  Traffic other = traffic;
  other.seed += 1;
  std::vector<Answer> answers = answersTogether(engine, {traffic, traffic, other, traffic});
  EXPECT_TRUE(answers[0] == answers[1]);
  EXPECT_TRUE(answers[0] == answers[3]);
  EXPECT_NE(answers[0].tokens, answers[2].tokens);
}

/// Greedy text after "Once upon a time", which begins ", a proud bear named Esme lived in".
std::pair<std::string, ingot_finish> greedyText(Engine &engine,
                                                const std::vector<const char *> &stops) {
  Request request = engine.request("Once upon a time");
  request.sampling = defaultSampling();
  request.sampling.max_tokens = 40;
  request.sampling.stop_strings = stops.data();
  request.sampling.stop_string_count = stops.size();
  engine.submit(request);
  std::pair<std::string, ingot_finish> result;
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent()) {
      result.first += event->text;
      result.second = event->finish;
    }
  }
  return result;
}

TEST(ServingTest, AStopStringEndsTheTextBeforeIt) {
  Engine engine = open(fablesEngine(), 1);
  auto [whole, lengthFinish] = greedyText(engine, {});
  EXPECT_EQ(lengthFinish, INGOT_FINISH_LENGTH);
  // From the middle of one word to the middle of the next but one, so that it spans tokens.
  std::string stop = whole.substr(9, 12);
  auto [cut, stopFinish] = greedyText(engine, {"never in a fable", stop.c_str()});
  EXPECT_EQ(stopFinish, INGOT_FINISH_STOP_STRING);
  EXPECT_EQ(cut, whole.substr(0, whole.find(stop)));
}

/// Whether `text` consists of whole, well-formed UTF-8 characters.
bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    size_t length = lead < 0x80       ? 1
                    : lead >> 5 == 6  ? 2
                    : lead >> 4 == 14 ? 3
                    : lead >> 3 == 30 ? 4
                                      : 0;
    if (length == 0 || i + length > text.size())
      return false;
    for (size_t j = 1; j < length; ++j)
      if (static_cast<unsigned char>(text[i + j]) >> 6 != 2)
        return false;
    i += length;
  }
  return true;
}

TEST(ServingTest, StreamedTextIsWholeCharacters) {
  Engine engine = open(fablesEngine(), 1);
  // The tokens of a fox and a robot are parts of characters; drawn at random they often break one.
  std::vector<int32_t> parts = engine.tokenize("🦊🤖é", false);
  ASSERT_GT(parts.size(), 4u);
  Request request = engine.request("Once");
  request.sampling = defaultSampling();
  request.sampling.temperature = 2;
  request.sampling.seed = 7;
  request.sampling.max_tokens = 120;
  request.sampling.allowed = parts.data();
  request.sampling.allowed_count = parts.size();
  engine.submit(request);
  std::vector<int32_t> tokens;
  std::string text;
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent()) {
      EXPECT_TRUE(isUtf8(event->text)) << event->text;
      text += event->text;
      tokens.push_back(event->token);
    }
  }
  EXPECT_EQ(tokens.size(), 120u);
  std::vector<int32_t> whole = engine.tokenize("Once", true);
  whole.insert(whole.end(), tokens.begin(), tokens.end());
  EXPECT_EQ("Once" + text, engine.detokenize(whole));
}

/// What the request of a prompt is told of it, beside others.
std::vector<PromptLogprob> promptLogprobs(Engine &engine, const std::vector<int32_t> &tokens) {
  Request request;
  request.tokens = tokens.data();
  request.token_count = tokens.size();
  request.sampling.max_tokens = 2;
  Request scored = request;
  scored.sampling.prompt_logprobs = 3;
  engine.submit(request);
  uint64_t id = engine.submit(scored);
  engine.submit(request);
  std::vector<PromptLogprob> logprobs;
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent(id))
      logprobs.insert(logprobs.end(), event->promptLogprobs.begin(), event->promptLogprobs.end());
  }
  return logprobs;
}

TEST(ServingTest, APromptIsScoredInAnyChunks) {
  std::filesystem::path path = fablesEngine();
  Engine engine = open(path, 1);
  std::vector<int32_t> tokens = mixedTraffic(engine, 13, 1).back().prompt;
  ASSERT_GT(tokens.size(), 100u);
  std::vector<float> scores = engine.score(tokens);
  std::vector<PromptLogprob> whole = promptLogprobs(engine, tokens);
  ASSERT_EQ(whole.size(), tokens.size());
  EXPECT_TRUE(whole[0].top.empty());
  for (size_t i = 1; i < tokens.size(); ++i) {
    EXPECT_EQ(whole[i].token, tokens[i]);
    EXPECT_NEAR(whole[i].logprob, scores[i], 1e-4) << i;
    ASSERT_EQ(whole[i].top.size(), 3u);
    EXPECT_GE(whole[i].top[0].logprob, whole[i].logprob);
  }
  Engine narrow = open(path, 1, 16);
  std::vector<PromptLogprob> chunked = promptLogprobs(narrow, tokens);
  ASSERT_EQ(chunked.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_EQ(chunked[i].logprob, whole[i].logprob) << i;
}

TEST(ServingTest, TheEndTokenEndsAnAnswer) {
  Engine engine = open(fablesEngine(), 1);
  std::string text = "<|endoftext|><|user|>\nTell me a fable about a fox who is "
                     "greedy.<|endoftext|><|assistant|>\n";
  Request request = engine.request(text);
  request.sampling = defaultSampling();
  request.add_special = false;
  request.parse_special = true;
  ingot_bias towardsEnd = {0, 1000.0f};
  request.sampling.bias = &towardsEnd;
  request.sampling.bias_count = 1;
  EXPECT_EQ(engine.generate(request), "");
}

/// The example model with windows of 40 positions in three of its five layers.
std::filesystem::path windowedModel() {
  static const std::filesystem::path folder = [] {
    std::filesystem::path made = testing::TempDir() + "ingot-windowed-" + std::to_string(getpid());
    std::filesystem::copy(fablesModel(), made, std::filesystem::copy_options::recursive);
    std::string config = readText(made / "config.json");
    auto replace = [&](std::string_view from, std::string_view to) {
      config.replace(config.find(from), from.size(), to);
    };
    replace("LlamaForCausalLM", "MistralForCausalLM");
    replace("\"model_type\": \"llama\"",
            R"("model_type": "mistral", "sliding_window": 40, "layer_types": ["sliding_attention",
             "sliding_attention", "full_attention", "sliding_attention", "full_attention"])");
    std::filesystem::remove(made / "config.json");
    std::ofstream(made / "config.json") << config;
    return made;
  }();
  return folder;
}

/// Blocks of a window go back, so that few hold many long sequences; nobody's tokens change by it,
/// also where a prefix is found whose first blocks are gone, or where sequences give way.
TEST(ServingTest, WindowsGiveTheirBlocksBack) {
  for (const char *target : {hostTarget, "reference"}) {
    SCOPED_TRACE(target);
    std::filesystem::path path = builtEngine({windowedModel(), "", target});
    Engine single = open(path, 1), whole = open(fablesEngine(target), 1);
    // Three of five layers keep 40 positions and those of a step, of 512.
    EXPECT_LT(open(path, 1, 16).memoryPlan().kv_bytes,
              open(fablesEngine(target), 1, 16).memoryPlan().kv_bytes * 3 / 5);
    bool isSlow = target != std::string_view(hostTarget);
    std::vector<Traffic> mix = mixedTraffic(single, isSlow ? 8 : requestCount, isSlow ? 4 : 60);
    std::vector<Answer> alone = answersAlone(single, mix);
    EXPECT_NE(alone.back().tokens, answersAlone(whole, {mix.back()}).front().tokens);
    for (int64_t chunk : {16, 64}) {
      SCOPED_TRACE("chunks of " + std::to_string(chunk));
      Options options;
      options.threads = 1;
      options.max_batch_tokens = chunk;
      options.max_context = 256;
      options.max_sequences = 12;
      options.kv_blocks = 20; // of 192: sequences give way
      Engine engine(path, options);
      expectEqual(answersTogether(engine, mix), alone);
      EXPECT_TRUE(isSlow || chunk > 16 || engine.counters().preemptions > 0);
    }
    // Again, behind what is left of their prompts.
    int64_t hits = single.counters().prefix_hits;
    expectEqual(answersAlone(single, mix), alone);
    EXPECT_GT(single.counters().prefix_hits, hits + 40);
  }
}

} // namespace
} // namespace ingot::e2e
