// SPDX-License-Identifier: Apache-2.0
// bench throughput, latency and serve: loads on a toy engine, and what is refused. No speed is
// tested.
#include "tests/unit/tools/ToolRun.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace ingot::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

/// Runs `bench COMMAND ENGINE ARGUMENTS... --json FILE`; the JSON.
json load(const char *command, const std::vector<std::string> &arguments, int status = 0) {
  TemporaryFile engine = toyFile(), output("");
  std::vector<std::string> words = {command, engine.path(), "--threads", "1"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--json", output.path()});
  ToolResult result = runTool("bench", words);
  EXPECT_EQ(result.status, status) << result.errors;
  std::ifstream file(output.path());
  return json::parse(file, nullptr, false);
}

TEST(BenchLoadTest, ThroughputMakesAllRequestsAtOnce) {
  json found = load("throughput", {"--requests", "20", "--prompt-tokens", "4..8", "--output-tokens",
                                   "5", "--ignore-eos"});
  EXPECT_EQ(found["command"], "throughput");
  EXPECT_EQ(found["requests"]["answered"], 20);
  EXPECT_EQ(found["output_tokens"], 100);
  EXPECT_GT(found["per_second"]["output_tokens"].get<double>(), 0);
  ASSERT_EQ(found["records"].size(), 20u);
  for (const json &record : found["records"]) {
    EXPECT_EQ(record["due"], 0.0);
    EXPECT_EQ(record["inter_token_latencies"].size(), 4u);
    EXPECT_EQ(record["finish"], "length");
    EXPECT_GE(record["prompt_tokens"].get<int>(), 4);
    EXPECT_LE(record["prompt_tokens"].get<int>(), 8);
  }
}

TEST(BenchLoadTest, LatencyMakesOneRequestAfterTheOther) {
  json found = load("latency", {"--requests", "5", "--output-tokens", "3", "--prompt-tokens", "4"});
  ASSERT_EQ(found["records"].size(), 5u);
  for (size_t i = 1; i < 5; ++i)
    EXPECT_GE(found["records"][i]["due"].get<double>(),
              found["records"][i - 1]["end"].get<double>());
}

TEST(BenchLoadTest, ArrivalsOfATraceAreWaitedFor) {
  TemporaryFile trace("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:00.00,40,3\n"
                      "2023-11-16 18:17:00.05,9000,2\n");
  json found = load("latency", {"--trace", trace.path(), "--ignore-eos", "--warm-ups", "0"});
  ASSERT_EQ(found["records"].size(), 2u);
  EXPECT_GE(found["records"][1]["sent"].get<double>(), 0.05);
  EXPECT_NEAR(found["records"][1]["due"].get<double>(), 0.05, 1e-9);
  EXPECT_EQ(found["records"][0]["output_tokens"], 3);
  EXPECT_EQ(found["records"][1]["prompt_tokens"], 94); // cut to the context of 96
}

TEST(BenchLoadTest, EqualSeedsGiveEqualTexts) {
  std::vector<std::string> options = {"--requests",      "6",    "--output-tokens", "9",
                                      "--prompt-tokens", "3..9", "--seed",          "4",
                                      "--concurrency",   "2"};
  json one = load("throughput", options), other = load("latency", options);
  auto texts = [](const json &found) {
    std::map<int64_t, std::string> texts;
    for (const json &record : found["records"])
      texts[record["number"].get<int64_t>()] = record["text"].get<std::string>();
    return texts;
  };
  EXPECT_EQ(texts(one), texts(other));
  EXPECT_EQ(texts(one).size(), 6u);
}

TEST(BenchLoadTest, ComparesTextsWithThoseOfAnEarlierLoad) {
  TemporaryFile engine = toyFile(), alone("");
  auto run = [&](const std::vector<std::string> &arguments) {
    std::vector<std::string> words = {"throughput",  engine.path(), "--threads",       "1",
                                      "--requests",  "9",           "--prompt-tokens", "3..9",
                                      "--ignore-eos"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return runTool("bench", words);
  };
  ASSERT_EQ(run({"--concurrency", "1", "--json", alone.path()}).status, 0);
  EXPECT_EQ(run({"--compare", alone.path()}).status, 0);
  EXPECT_EQ(run({"--compare", alone.path(), "--cancel-share", "0.7"}).status, 0);
  ToolResult other = run({"--compare", alone.path(), "--seed", "1"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, HasSubstr("INGOT-E7248: the answer to request 0 differs from byte"));
  other = run({"--compare", alone.path(), "--output-tokens", "40"});
  EXPECT_THAT(other.errors, HasSubstr("INGOT-E7248"));
  for (const char *text :
       {"", "[]", R"({"records":3})", R"({"records":[3]})",
        R"({"records":[{"number":-1,"text":"a"}]})", R"({"records":[{"number":0,"text":1}]})"}) {
    TemporaryFile file{std::string(text)};
    EXPECT_THAT(run({"--compare", file.path()}).errors, HasSubstr("INGOT-E7247")) << text;
  }
  TemporaryFile none(R"({"records":[]})");
  EXPECT_THAT(run({"--compare", none.path()}).errors, HasSubstr("INGOT-E7248"));
}

TEST(BenchLoadTest, CancelledRequestsAreNoFailures) {
  json found = load("throughput", {"--requests", "12", "--cancel-share", "1", "--output-tokens",
                                   "20", "--prompt-tokens", "4", "--ignore-eos"});
  EXPECT_EQ(found["requests"]["cancelled"], 12);
  EXPECT_EQ(found["requests"]["failed"], 0);
  for (const json &record : found["records"])
    EXPECT_LT(record["output_tokens"].get<int>(), 20);
}

TEST(BenchLoadTest, RefusedRequestsFailTheCommandUnlessAllowed) {
  // Text of 200 characters in a context of 96, by the toy's tokenizer.
  TemporaryFile chats(R"([{"conversations":[{"from":"human","value":")" + std::string(200, 'a') +
                      R"("},{"from":"gpt","value":"aaaa"}]}])");
  std::vector<std::string> options = {"--sharegpt", chats.path(), "--requests", "3"};
  json found = load("throughput", options, 1);
  EXPECT_EQ(found["requests"]["failed"], 3);
  EXPECT_THAT(found["failures"]["refused"]["first"].get<std::string>(), HasSubstr("INGOT-E6004"));
  options.push_back("--allow-failures");
  load("throughput", options, 0);
}

TEST(BenchLoadTest, DrawsAPicture) {
  TemporaryFile engine = toyFile(), picture("");
  ToolResult result =
      runTool("bench", {"latency", engine.path(), "--threads", "1", "--requests", "3",
                        "--prompt-tokens", "4", "--svg", picture.path(), "--slo", "ttft:60000"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("3 of 3 within the limits"));
  EXPECT_THAT(result.output, HasSubstr("time to first token"));
  std::ifstream file(picture.path());
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("<polyline"));
}

TEST(BenchLoadTest, WordsThatMeanNothingAreRefused) {
  for (const std::vector<std::string> &words :
       std::vector<std::vector<std::string>>{{"--rate", "0"},
                                             {"--rate", "x"},
                                             {"--rate", "1", "--concurrency", "1"},
                                             {"--concurrency", "0"},
                                             {"--prompt-tokens", "5..4"},
                                             {"--shared-prefix", "0"},
                                             {"--shared-prefix-share", "0.5"},
                                             {"--slo", "ttft"},
                                             {"--cancel-share", "1.5"},
                                             {"--time-scale", "2"},
                                             {"--trace", "a", "--sharegpt", "b"},
                                             {"--url", "x", "more"}}) {
    std::vector<std::string> all = {"serve"};
    all.insert(all.end(), words.begin(), words.end());
    ToolResult result = runTool("bench", all);
    EXPECT_EQ(result.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E2103"));
  }
}

TEST(BenchLoadTest, ServeNeedsAServer) {
  // Nobody may listen on port 1 without being asked.
  ToolResult result = runTool("bench", {"serve", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E7243"));
  EXPECT_THAT(runTool("bench", {"serve", "--url", "https://127.0.0.1"}).errors,
              HasSubstr("INGOT-E7240"));
  TemporaryFile key("a key\n");
  EXPECT_THAT(runTool("bench", {"serve", "--api-key-file", key.path()}).errors,
              HasSubstr("INGOT-E7246"));
  result = runTool("bench", {"serve", "--url", "http://127.0.0.1:1", "--model", "m", "--vocabulary",
                             "100", "--requests", "2", "--warm-ups", "0", "--max-context", "200"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("no connection"));
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E7245: 2 of 2 requests failed"));
}

TEST(BenchLoadTest, HelpNamesTheCommands) {
  ToolResult result = runTool("bench", {"--help"});
  for (const char *name : {"bench serve", "bench throughput", "bench latency"})
    EXPECT_THAT(result.output, HasSubstr(name));
  EXPECT_THAT(runTool("bench", {"serve", "--help"}).output, HasSubstr("--shared-prefix"));
}

} // namespace
