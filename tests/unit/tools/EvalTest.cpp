// SPDX-License-Identifier: Apache-2.0
// eval: each windowing against a plain computation from the log-probabilities of its windows.
#include "tests/unit/tools/ToolRun.h"

#include <cmath>
#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

namespace {

constexpr size_t window = 10;
const std::string text = "the quick brown fox jumps over the lazy dog 0123456789.";

/// exp of the mean negative log-probability of tokens [first, window) of each window.
double expected(size_t first, bool keepPartial, int32_t bos, size_t &scored) {
  ToySession session = openToy();
  std::vector<int32_t> tokens = *session->tokenizer()->encode(text, true, false);
  double sum = 0;
  scored = 0;
  for (size_t start = 0; start < tokens.size(); start += window) {
    std::vector<int32_t> part(tokens.begin() + long(start),
                              tokens.begin() + long(std::min(start + window, tokens.size())));
    if (part.size() < window && !keepPartial)
      continue;
    if (bos >= 0)
      part[0] = bos;
    std::vector<float> scores = *session->score(part);
    for (size_t i = first; i < part.size(); ++i, ++scored)
      sum -= double(scores[i]);
  }
  return std::exp(sum / double(scored));
}

} // namespace

TEST(EvalTest, PlainWindows) {
  TemporaryFile engine = toyFile(), file(text);
  nlohmann::json result =
      runTool("eval", {engine.path(), "--text", file.path(), "--window", "10", "--json"}).json();
  size_t scored = 0;
  EXPECT_NEAR(result["perplexity"].get<double>(), expected(1, true, -1, scored), 1e-9);
  EXPECT_EQ(result["scored_tokens"], scored);
  EXPECT_EQ(result["tokens"], text.size());
  EXPECT_EQ(result["windows"], 6);
}

TEST(EvalTest, SecondHalfWithBosFirst) {
  ToyOptions toy;
  toy.bos = 62;
  TemporaryFile engine = toyFile(toy), file(text);
  nlohmann::json result =
      runTool("eval", {engine.path(), "--text", file.path(), "--window", "10", "--scoring",
                       "second-half", "--bos-each-window", "--json"})
          .json();
  size_t scored = 0;
  EXPECT_NEAR(result["perplexity"].get<double>(), expected(6, false, 62, scored), 1e-9);
  EXPECT_EQ(result["scored_tokens"], 5 * 4); // tokens 6 to 9 of 5 whole windows
  EXPECT_EQ(scored, 20u);
}

TEST(EvalTest, FewerTokens) {
  TemporaryFile engine = toyFile(), file(text);
  nlohmann::json result = runTool("eval", {engine.path(), "--text", file.path(), "--window", "10",
                                           "--max-tokens", "20", "--json"})
                              .json();
  EXPECT_EQ(result["scored_tokens"], 18);
}

TEST(EvalTest, Refusals) {
  TemporaryFile engine = toyFile(), file(text), shortText(std::string("a"));
  auto errorOf = [&](const std::vector<std::string> &extra, const std::string &path) {
    std::vector<std::string> arguments = {engine.path(), "--text", path};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    ToolResult result = runTool("eval", arguments);
    EXPECT_EQ(result.status, 1);
    return result.errors;
  };
  EXPECT_THAT(errorOf({"--window", "10", "--bos-each-window"}, file.path()),
              HasSubstr("INGOT-E6021"));
  EXPECT_THAT(errorOf({"--window", "97"}, file.path()), HasSubstr("INGOT-E6004"));
  EXPECT_THAT(errorOf({"--window", "10"}, shortText.path()), HasSubstr("INGOT-E6019"));
  EXPECT_THAT(errorOf({"--window", "90", "--scoring", "second-half"}, file.path()),
              HasSubstr("INGOT-E6019"));
  EXPECT_THAT(errorOf({"--window", "10"}, file.path() + ".missing"), HasSubstr("INGOT-E7101"));
  EXPECT_EQ(runTool("eval", {engine.path(), "--text", file.path(), "--scoring", "none"}).status, 2);
}

TEST(EvalTest, WhatIsNoNumberIsAnError) {
  ToyOptions toy;
  toy.hiddenKernel = "toy_hidden_poisoned"; // by token 60, which is spelled Y
  TemporaryFile engine = toyFile(toy), file("abcdefghijklYmnop"), two(text);
  ToolResult result = runTool("eval", {engine.path(), "--text", file.path(), "--window", "10"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6025: token 13 of the text"));
  // The second half of two tokens is empty.
  result = runTool(
      "eval", {engine.path(), "--text", two.path(), "--window", "2", "--scoring", "second-half"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6019"));
}
