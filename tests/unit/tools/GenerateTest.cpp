// SPDX-License-Identifier: Apache-2.0
// generate: what a request does to others, to the numbers of the command line, and to rates.
#include "runtime/tools/Speedometer.h"
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace ingot::test;
using ingot::runtime::SessionCounters;
using ingot::runtime::Speedometer;
using testing::HasSubstr;

namespace {

/// The lines of standard output by their id.
std::map<std::string, nlohmann::json> answersOf(const ToolResult &result) {
  std::map<std::string, nlohmann::json> answers;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
    EXPECT_TRUE(answer.is_object()) << line;
    answers[answer["id"].dump()] = answer;
  }
  return answers;
}

} // namespace

TEST(GenerateTest, ARequestThatFailsIsNamedAndOthersGoOn) {
  ToyOptions toy;
  toy.hiddenKernel = "toy_hidden_poisoned";
  TemporaryFile engine = toyFile(toy);
  TemporaryFile prompts(
      std::string(R"({"id": "bad", "prompt_ids": [60], "max_tokens": 5})") + "\n" +
      R"({"id": "well", "prompt_ids": [10], "max_tokens": 3, "allowed_tokens": [4]})");
  ToolResult result = runTool("generate", {engine.path(), "--prompts", prompts.path()});
  EXPECT_EQ(result.status, 1);
  auto answers = answersOf(result);
  EXPECT_EQ(answers["\"bad\""]["finish"], "failed");
  EXPECT_THAT(answers["\"bad\""]["error"].get<std::string>(), HasSubstr("INGOT-E6024: request 1:"));
  EXPECT_EQ(answers["\"well\""]["finish"], "length");
  EXPECT_EQ(answers["\"well\""]["tokens"], (std::vector<int>{4, 4, 4}));
  EXPECT_FALSE(answers["\"well\""].contains("error"));
  result = runTool("generate", {engine.path(), "--prompt-ids", "60"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6024"));
}

TEST(GenerateTest, TextFromOutsideIsUtf8) {
  TemporaryFile engine = toyFile();
  for (const char *half : {"\xC3", "a\xE2\x82", "\xFF"}) {
    ToolResult result = runTool("generate", {engine.path(), "-p", "abc", "--stop", half});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E6006"));
    EXPECT_THAT(result.errors, HasSubstr("UTF-8"));
    result = runTool("generate", {engine.path(), "-p", half});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E6401"));
  }
}

TEST(GenerateTest, ALineMayNotBeNestedDeeply) {
  TemporaryFile engine = toyFile();
  auto nested = [](size_t levels) {
    return "{\"prompt\": \"abc\", \"max_tokens\": 2, \"id\": " + std::string(levels, '[') +
           std::string(levels, ']') + "}\n";
  };
  TemporaryFile prompts(nested(1'000'000) + nested(20));
  ToolResult result = runTool("generate", {engine.path(), "--prompts", prompts.path()});
  EXPECT_EQ(result.status, 1);
  auto answers = answersOf(result);
  EXPECT_EQ(answers.size(), 2u);
  EXPECT_THAT(answers["1"]["error"].get<std::string>(), HasSubstr("INGOT-E6018: line 1:"));
  EXPECT_EQ(answers[std::string(20, '[') + std::string(20, ']')]["finish"], "length");
}

TEST(GenerateTest, WhatIsNoFileOfLinesIsAnError) {
  TemporaryFile engine = toyFile();
  for (const std::string &path : {testing::TempDir(), std::string("/nowhere/prompts")}) {
    ToolResult result = runTool("generate", {engine.path(), "--prompts", path});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E7101: " + path));
  }
}

TEST(GenerateTest, ManyMoreLinesThanSequences) {
  TemporaryFile engine = toyFile();
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += R"({"prompt": "abc", "max_tokens": 3, "temperature": 0})"
             "\n\n";
  lines.pop_back();
  lines.pop_back(); // the last line has no end
  TemporaryFile prompts(lines);
  ToolResult result = runTool("generate", {engine.path(), "--prompts", prompts.path()});
  EXPECT_EQ(result.status, 0) << result.errors;
  auto answers = answersOf(result);
  EXPECT_EQ(answers.size(), 200u);
  for (const auto &[id, answer] : answers)
    EXPECT_EQ(answer["tokens"], answers["1"]["tokens"]);
}

TEST(GenerateTest, SeedsAreRandomUnlessGivenAndTold) {
  TemporaryFile engine = toyFile();
  std::string line = R"({"prompt": "abc", "max_tokens": 12, "ignore_eos": true, "temperature": 9})"
                     "\n";
  TemporaryFile prompts(line + line);
  ToolResult result = runTool("generate", {engine.path(), "--prompts", prompts.path()});
  auto answers = answersOf(result);
  EXPECT_NE(answers["1"]["seed"], answers["2"]["seed"]);
  EXPECT_NE(answers["1"]["tokens"], answers["2"]["tokens"]);
  std::string seed = answers["1"]["seed"].dump();
  result = runTool("generate", {engine.path(), "--prompts", prompts.path(), "--seed", seed});
  auto again = answersOf(result);
  for (const char *id : {"1", "2"}) {
    EXPECT_EQ(again[id]["tokens"], answers["1"]["tokens"]);
    EXPECT_FALSE(again[id].contains("seed")) << "nobody asks for what is known";
  }
  std::vector<std::string> one = {engine.path(), "-p",     "abc", "-n",          "12",
                                  "--ids",       "--temp", "9",   "--ignore-eos"};
  result = runTool("generate", one);
  ASSERT_THAT(result.errors, HasSubstr("seed: "));
  std::string told = result.errors.substr(6, result.errors.find('\n') - 6);
  one.insert(one.end(), {"--seed", told});
  ToolResult same = runTool("generate", one);
  EXPECT_EQ(same.output, result.output);
  EXPECT_THAT(same.errors, testing::Not(HasSubstr("seed: ")));
}

TEST(GenerateTest, MaxTokensBoundsTheAnswerNotTheStep) {
  TemporaryFile engine = toyFile();
  for (const char *option : {"-n", "--max-tokens"}) {
    ToolResult result =
        runTool("generate", {engine.path(), "-p", "abcdefg", "--ids", "--ignore-eos", option, "5",
                             "--max-batch-tokens", "2"});
    EXPECT_EQ(result.status, 0) << result.errors;
    std::istringstream words(result.output);
    EXPECT_EQ(std::distance(std::istream_iterator<int>(words), std::istream_iterator<int>()), 5);
  }
}

TEST(GenerateTest, WhatMayNotComeDoesNot) {
  TemporaryFile engine = toyFile();
  std::string common = R"("prompt": "abc", "max_tokens": 12, "ignore_eos": true, "temperature": 0)";
  TemporaryFile prompts(
      "{" + common + "}\n{" + common + R"(, "bad_words": ["ab", [7], [7, 8]],)" +
      R"("allowed_tokens": [0, 1, 7, 8], "id": "bad"})" + "\n{" + common +
      R"(, "allowed_tokens": [0, 1, 2, 3], "no_repeat_ngram_size": 2, "id": "runs"})" + "\n{" +
      common + R"(, "bad_words": [7]})" + "\n{" + common +
      R"(, "stop_tokens": [1], "allowed_tokens": [0, 1], "min_tokens": 5,)" +
      R"("include_stop": true, "id": "late"})");
  auto answers = answersOf(runTool("generate", {engine.path(), "--prompts", prompts.path()}));
  EXPECT_EQ(answers["1"]["tokens"].size(), 12u);
  std::string bad = answers["\"bad\""]["text"];
  EXPECT_EQ(bad.size(), 12u);
  EXPECT_EQ(bad.find("ab"), std::string::npos);
  EXPECT_EQ(bad.find('h'), std::string::npos);
  std::string runs = "abc" + answers["\"runs\""]["text"].get<std::string>();
  for (size_t i = 0; i + 2 < runs.size(); ++i)
    EXPECT_EQ(runs.find(runs.substr(i, 2), i + 1), std::string::npos) << runs;
  EXPECT_THAT(answers["4"]["error"].get<std::string>(), HasSubstr("'bad_words'"));
  std::string late = answers["\"late\""]["text"];
  EXPECT_EQ(late.substr(0, 5), "aaaaa");
  EXPECT_TRUE(late.back() == 'b' || late.size() == 12u) << late;
  ToolResult result = runTool("generate", {engine.path(), "-p", "abc", "-n", "12", "--ignore-eos",
                                           "--temp", "0", "--bad-word", "b", "--bad-word", "c"});
  EXPECT_EQ(result.output.find_first_of("bc"), std::string::npos) << result.output;
}

TEST(GenerateTest, LogprobsOfThePromptComeBeforeTheAnswers) {
  TemporaryFile engine = toyFile();
  TemporaryFile prompts(R"({"prompt": "abcd", "max_tokens": 2, "prompt_logprobs": 2})");
  auto answers = answersOf(runTool("generate", {engine.path(), "--prompts", prompts.path()}));
  nlohmann::json logprobs = answers["1"]["prompt_logprobs"];
  ASSERT_EQ(logprobs.size(), 4u);
  EXPECT_TRUE(logprobs[0].is_null());
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(logprobs[size_t(i)]["token"], i);
    EXPECT_EQ(logprobs[size_t(i)]["top"].size(), 2u);
  }
  ToolResult result = runTool("generate", {engine.path(), "-p", "abcd", "-n", "2", "--ignore-eos",
                                           "--prompt-logprobs", "0", "--logprobs", "0"});
  std::istringstream lines(result.errors);
  std::vector<int> tokens;
  for (std::string line; std::getline(lines, line);)
    if (int token; std::istringstream(line) >> token)
      tokens.push_back(token);
  ASSERT_EQ(tokens.size(), 6u) << result.errors;
  tokens.resize(4);
  EXPECT_EQ(tokens, (std::vector<int>{0, 1, 2, 3}));
}

TEST(GenerateTest, NumbersAreRefusedWhereTheyWouldBecomeOthers) {
  const std::vector<std::vector<std::string>> wrong = {{"--memory", "-5"},
                                                       {"--memory", "99999999999999999999"},
                                                       {"--memory", "-1GiB"},
                                                       {"--seed", "-1"},
                                                       {"--seed", "18446744073709551616"},
                                                       {"-n", "99999999999999999999"},
                                                       {"--temp", "nan"},
                                                       {"--top-p", "inf"},
                                                       {"--max-batch-tokens", "0"},
                                                       {"--threads", "-2"},
                                                       {"--greedy", "--temp", "1"}};
  for (std::vector<std::string> words : wrong) {
    std::string option = words[0];
    words.insert(words.begin(), {"nowhere.ingot", "-p", "abc"});
    ToolResult result = runTool("generate", words);
    EXPECT_EQ(result.status, 2) << option;
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E2103")) << option;
    EXPECT_LT(result.errors.size(), 200u) << result.errors;
  }
  for (const char *command : {"plan", "bench"}) {
    ToolResult result = runTool(command, {"nowhere.ingot", "--memory", "-5"});
    EXPECT_EQ(result.status, 2) << command;
  }
}

TEST(GenerateTest, RatesShareTheSecondsOfMixedSteps) {
  Speedometer speed;
  SessionCounters at[5];
  at[1] = {1, 30, 1, 0};   // a prompt and its first token
  at[2] = {2, 60, 12, 10}; // 30 of another prompt beside 10 tokens drawn before, and a first one
  at[3] = at[2];           // started only
  at[4] = {4, 60, 22, 20};
  speed.add(3, at[0], at[1]);
  speed.add(4, at[1], at[2]);
  speed.add(0.5, at[2], at[3]);
  speed.add(1.5, at[3], at[4]);
  EXPECT_DOUBLE_EQ(speed.promptRate(), 60 / (3.0 + 3.0));
  EXPECT_DOUBLE_EQ(speed.generationRate(), 20 / (1.0 + 2.0));
}
