// SPDX-License-Identifier: Apache-2.0
// Engines in f32 against what other programs computed in f64: prompt ids, first logits, greedy
// tokens. Tokens are compared up to the first whose margin over the second best is below
// `safeMargin`: beyond that, rounding in f32 may rightly choose otherwise.
#include "tests/e2e/BuiltEngines.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ingot::e2e {
namespace {

using nlohmann::json;

constexpr double safeMargin = 1e-3;
/// Largest difference of a log-probability; the recorded logits have seven digits.
constexpr double logitTolerance = 3e-4;
constexpr int alternatives = 16;

struct Case {
  std::string text;
  bool isChat = false; ///< the text spells out its prefix
  std::vector<int32_t> promptIds;
  std::vector<int32_t> greedyIds;
  std::vector<double> margins; ///< one for each greedy id
  std::vector<std::pair<int32_t, double>> firstLogits;
  double firstLogSumExp = 0;
};

/// The cases of one model of golden_greedy_fp64.json, which records only the least margin.
std::vector<Case> sharedCases(const char *model) {
  std::vector<Case> cases;
  json golden = json::parse(readText(sharedData("golden_greedy_fp64.json")));
  for (const json &entry : golden.at(model)) {
    Case one;
    one.text = entry.at("prompt");
    entry.at("prompt_ids").get_to(one.promptIds);
    entry.at("greedy_ids").get_to(one.greedyIds);
    one.margins.assign(one.greedyIds.size(), entry.at("min_top2_margin"));
    for (const json &pair : entry.at("first_step_top16"))
      one.firstLogits.emplace_back(pair.at(0), pair.at(1));
    one.firstLogSumExp = entry.at("first_step_logsumexp");
    cases.push_back(std::move(one));
  }
  return cases;
}

json fablesGolden() { return json::parse(readText(fablesModel().parent_path() / "golden.json")); }

std::vector<Case> fablesCases() {
  std::vector<Case> cases;
  json golden = fablesGolden();
  for (const json &entry : golden.at("generations")) {
    Case one;
    one.text = entry.at("text");
    one.isChat = entry.contains("messages");
    entry.at("ids").get_to(one.promptIds);
    entry.at("greedy_ids").get_to(one.greedyIds);
    entry.at("greedy_margins").get_to(one.margins);
    const json &first = entry.at("first_step_top16");
    for (size_t i = 0; i < first.at("ids").size(); ++i)
      one.firstLogits.emplace_back(first.at("ids")[i], first.at("logits")[i]);
    one.firstLogSumExp = first.at("logsumexp");
    cases.push_back(std::move(one));
  }
  return cases;
}

/// How many tokens at the front have a safe margin.
size_t safeTokens(const Case &wanted) {
  size_t count = 0;
  while (count < wanted.margins.size() && wanted.margins[count] >= safeMargin)
    ++count;
  return count;
}

struct Generated {
  std::vector<int32_t> tokens;
  std::vector<ingot_logprob> first; ///< alternatives of the first token
};

Generated generate(Engine &engine, const Case &wanted, size_t count) {
  Request request;
  request.tokens = wanted.promptIds.data();
  request.token_count = wanted.promptIds.size();
  request.sampling.max_tokens = int64_t(count);
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = alternatives;
  engine.submit(request);
  Generated result;
  for (bool active = true; active;) {
    active = engine.step();
    while (std::optional<Event> event = engine.nextEvent()) {
      if (result.tokens.empty())
        result.first = event->top;
      result.tokens.push_back(event->token);
    }
  }
  return result;
}

void checkFirstLogits(const Case &wanted, const std::vector<ingot_logprob> &actual) {
  ASSERT_EQ(actual.size(), wanted.firstLogits.size());
  for (auto [token, logit] : wanted.firstLogits) {
    auto found =
        std::find_if(actual.begin(), actual.end(),
                     [token = token](const ingot_logprob &one) { return one.token == token; });
    // Only the last place may be taken by another of nearly the same logit.
    if (found == actual.end())
      EXPECT_NEAR(logit, wanted.firstLogits.back().second, logitTolerance) << "token " << token;
    else
      EXPECT_NEAR(found->logprob, logit - wanted.firstLogSumExp, logitTolerance)
          << "token " << token;
  }
}

/// A model, the target it runs on, and how much is compared there.
struct Subject {
  const char *name;
  const char *model; ///< folder or file in the test data; null: the example model
  const char *cases; ///< key in golden_greedy_fp64.json
  const char *target;
  size_t maxTokens; ///< of one continuation; `reference` is slow by intent
  size_t maxPrompt; ///< longer prompts are left out
};

void PrintTo(const Subject &subject, std::ostream *stream) { *stream << subject.name; }

class GoldenTest : public testing::TestWithParam<Subject> {};

TEST_P(GoldenTest, ContinuationsEqualThoseComputedInF64) {
  const Subject &subject = GetParam();
  if (subject.model)
    INGOT_NEED_SHARED_DATA();
  Options options;
  options.threads = 1;
  options.max_sequences = 1;
  Engine engine(builtEngine({subject.model ? sharedData(subject.model) : fablesModel(),
                             std::string(f32Recipe), subject.target}),
                options);
  size_t compared = 0;
  for (const Case &wanted : subject.model ? sharedCases(subject.cases) : fablesCases()) {
    SCOPED_TRACE(wanted.text.substr(0, 60));
    EXPECT_EQ(engine.tokenize(wanted.text, !wanted.isChat, true), wanted.promptIds);
    if (wanted.promptIds.size() > subject.maxPrompt)
      continue;
    size_t count = std::min(safeTokens(wanted), subject.maxTokens);
    Generated generated = generate(engine, wanted, std::max<size_t>(count, 1));
    checkFirstLogits(wanted, generated.first);
    generated.tokens.resize(std::min(count, generated.tokens.size()));
    EXPECT_EQ(generated.tokens, std::vector<int32_t>(wanted.greedyIds.begin(),
                                                     wanted.greedyIds.begin() + ptrdiff_t(count)));
    compared += count;
  }
  // The figures hold far more safe tokens than this; fewer would mean that nothing was compared.
  EXPECT_GE(compared, 3 * std::min<size_t>(subject.maxTokens, 100));
}

constexpr size_t all = SIZE_MAX;
constexpr Subject subjects[] = {
    {"FablesHost", nullptr, nullptr, hostTarget, all, all},
    {"FablesV3", nullptr, nullptr, "x86-64-v3", all, all},
    {"FablesReference", nullptr, nullptr, "reference", 24, 100},
    {"TinyStoriesHost", "TinyStories-656K", "TinyStories-656K", hostTarget, all, all},
    {"TinyStoriesV3", "TinyStories-656K", "TinyStories-656K", "x86-64-v3", all, all},
    {"TinyStoriesReference", "TinyStories-656K", "TinyStories-656K", "reference", all, all},
    {"Stories260KHost", "stories260K-hf", "stories260K", hostTarget, all, all},
    {"Stories260KV3", "stories260K-hf", "stories260K", "x86-64-v3", all, all},
    {"Stories260KReference", "stories260K-hf", "stories260K", "reference", all, all},
    {"TinyStoriesGgufHost", "gguf/TinyStories-656K.f32.gguf", "TinyStories-656K", hostTarget, all,
     all},
    {"TinyStoriesGgufReference", "gguf/TinyStories-656K.f32.gguf", "TinyStories-656K", "reference",
     all, all},
    // Every weight of this model is a bf16 and a f16 number: these files hold it without a loss.
    {"TinyStoriesGgufF16", "gguf/TinyStories-656K.F16.gguf", "TinyStories-656K", hostTarget, all,
     all},
    {"TinyStoriesGgufF16Reference", "gguf/TinyStories-656K.F16.gguf", "TinyStories-656K",
     "reference", all, all},
    {"TinyStoriesGgufBF16", "gguf/TinyStories-656K.BF16.gguf", "TinyStories-656K", hostTarget, all,
     all},
    {"TinyStoriesGgufBF16Reference", "gguf/TinyStories-656K.BF16.gguf", "TinyStories-656K",
     "reference", all, all},
    // The file states a context of 128 positions.
    {"Stories260KGgufHost", "gguf/stories260K.f32.gguf", "stories260K", hostTarget, 100, all},
    {"Stories260KGgufReference", "gguf/stories260K.f32.gguf", "stories260K", "reference", 100, all},
};
INSTANTIATE_TEST_SUITE_P(Models, GoldenTest, testing::ValuesIn(subjects),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(GoldenTokenizer, FablesTextsBecomeTheSameIdsAndBack) {
  Options options;
  options.threads = 1;
  options.max_sequences = 1;
  Engine engine(builtEngine({fablesModel(), std::string(f32Recipe), hostTarget}), options);
  json golden = fablesGolden();
  for (const json &entry : golden.at("encode")) {
    std::string text = entry.at("text");
    std::vector<int32_t> ids = entry.at("ids");
    EXPECT_EQ(engine.tokenize(text, false, true), ids) << text;
    EXPECT_EQ(engine.detokenize(ids, false), entry.at("decoded").get<std::string>());
  }
  for (const json &entry : golden.at("decode"))
    EXPECT_EQ(engine.detokenize(entry.at("ids").get<std::vector<int32_t>>(), false),
              entry.at("decoded").get<std::string>());
}

} // namespace
} // namespace ingot::e2e
