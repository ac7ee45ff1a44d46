// SPDX-License-Identifier: Apache-2.0
// eval: each windowing against a plain computation from the log-probabilities of its windows.
#include "tests/unit/tools/ToolRun.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <numeric>

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

/// Log-probabilities of the tokens behind each of `tokens`.
std::vector<std::vector<double>> distributions(ToySession &session,
                                               const std::vector<int32_t> &tokens) {
  std::vector<std::vector<double>> rows;
  const int64_t most = 32; // of a step, as the tool takes them
  EXPECT_TRUE(session
                  ->readLogits(tokens, {&most, 1},
                               [&](int64_t, std::span<const float> logits) {
                                 double sum = 0;
                                 for (float logit : logits)
                                   sum += std::exp(double(logit));
                                 rows.emplace_back();
                                 for (float logit : logits)
                                   rows.back().push_back(double(logit) - std::log(sum));
                               })
                  .ok());
  return rows;
}

/// Such a file as llama.cpp's formula makes it.
std::string logitsFile(ToySession &session, const std::string &text, uint32_t window) {
  const std::vector<int32_t> tokens = *session->tokenizer()->encode(text, true, false);
  const auto windows = uint32_t(tokens.size() / window);
  uint32_t vocabulary = 0;
  std::string rows;
  auto put = [](std::string &out, auto value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
  };
  for (uint32_t i = 0; i < windows; ++i) {
    const auto found =
        distributions(session, {tokens.begin() + i * window, tokens.begin() + (i + 1) * window});
    vocabulary = uint32_t(found[0].size());
    for (uint32_t position = window / 2; position < window - 1; ++position) {
      const std::vector<double> &row = found[position];
      const auto [least, most] = std::minmax_element(row.begin(), row.end());
      const double lowest = std::max(*least, *most - 16), scale = (*most - lowest) / 65535;
      put(rows, float(scale));
      put(rows, float(lowest));
      for (double value : row)
        put(rows, uint16_t(value > lowest ? std::lround((value - lowest) / scale) : 0));
      if (vocabulary % 2 != 0)
        put(rows, uint16_t(0));
    }
  }
  std::string file = "_logits_";
  for (uint32_t number : {window, vocabulary, windows})
    put(file, number);
  for (uint32_t i = 0; i < windows * window; ++i)
    put(file, tokens[i]);
  return file + rows;
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

TEST(EvalTest, AgainstAnotherEngine) {
  ToyOptions shifted;
  shifted.hiddenKernel = "toy_hidden_echo";
  TemporaryFile engine = toyFile(), other = toyFile(shifted), file(text);
  auto compared = [&](const TemporaryFile &base) {
    return runTool("eval", {engine.path(), "--text", file.path(), "--window", "10", "--against",
                            base.path(), "--json"})
        .json()["divergence"];
  };
  const nlohmann::json same = compared(engine), far = compared(other);
  EXPECT_NEAR(same["mean"].get<double>(), 0, 1e-6);
  EXPECT_EQ(same["same_top"], 1);
  EXPECT_EQ(same["same_top5"], 1);

  ToySession ours = openToy(), theirs = openToy(shifted);
  const std::vector<int32_t> tokens = *ours->tokenizer()->encode(text, true, false);
  std::vector<double> values;
  double loss = 0, agreed = 0;
  for (size_t start = 0; start < tokens.size(); start += window) {
    const std::vector<int32_t> part(tokens.begin() + long(start),
                                    tokens.begin() + long(std::min(start + window, tokens.size())));
    const auto own = distributions(ours, part), base = distributions(theirs, part);
    for (size_t i = 0; i + 1 < part.size(); ++i) {
      double sum = 0;
      for (size_t token = 0; token < base[i].size(); ++token)
        sum += std::exp(base[i][token]) * (base[i][token] - own[i][token]);
      values.push_back(sum);
      loss -= base[i][size_t(part[i + 1])];
      agreed += std::max_element(base[i].begin(), base[i].end()) - base[i].begin() ==
                std::max_element(own[i].begin(), own[i].end()) - own[i].begin();
    }
  }
  const auto count = double(values.size());
  std::sort(values.begin(), values.end());
  EXPECT_GT(values.back(), 0.01) << "the engines are to differ";
  EXPECT_NEAR(far["mean"].get<double>(), std::accumulate(values.begin(), values.end(), 0.0) / count,
              1e-5);
  EXPECT_NEAR(far["largest"].get<double>(), values.back(), 1e-5);
  EXPECT_NEAR(far["p99"].get<double>(), values[size_t(std::ceil(0.99 * count)) - 1], 1e-5);
  EXPECT_NEAR(far["same_top"].get<double>(), agreed / count, 1e-9);
  EXPECT_NEAR(far["base_perplexity"].get<double>(), std::exp(loss / count), 1e-4);
}

TEST(EvalTest, AgainstStoredDistributions) {
  TemporaryFile engine = toyFile();
  ToySession session = openToy();
  const std::string good = logitsFile(session, text, 10);
  TemporaryFile stored(good), file(text);
  const nlohmann::json result =
      runTool("eval", {engine.path(), "--kl-divergence-base", stored.path(), "--json"}).json();
  EXPECT_EQ(result["scored_tokens"], 20);
  EXPECT_NEAR(result["divergence"]["mean"].get<double>(), 0, 1e-5);
  EXPECT_EQ(result["divergence"]["same_top"], 1);
  EXPECT_NEAR(result["divergence"]["base_perplexity"].get<double>(),
              result["perplexity"].get<double>(), 1e-2);

  auto refusal = [&](const std::string &bytes) {
    TemporaryFile damaged(bytes);
    return runTool("eval", {engine.path(), "--kl-divergence-base", damaged.path()}).errors;
  };
  for (size_t size = 0; size < good.size(); size += size < 64 ? 1 : 97)
    EXPECT_THAT(refusal(good.substr(0, size)), HasSubstr("INGOT-E6028")) << size;
  EXPECT_THAT(refusal(good + "x"), HasSubstr("INGOT-E6028"));
  for (size_t place : {0, 8, 11, 12, 15, 16, 19, 20, 23}) {
    std::string changed = good;
    changed[place] = char(0xff);
    EXPECT_THAT(refusal(changed), HasSubstr("INGOT-E602")) << place;
  }
  std::string infinite = good;
  const size_t row = 20 + 4 * 50;
  std::memcpy(infinite.data() + row, "\0\0\x80\x7f", 4);
  EXPECT_THAT(refusal(infinite), HasSubstr("no number"));

  EXPECT_THAT(runTool("eval", {engine.path()}).errors, HasSubstr("INGOT-E6029"));
  EXPECT_EQ(
      runTool("eval", {engine.path(), "--text", file.path(), "--kl-divergence-base", stored.path()})
          .status,
      2);
}
