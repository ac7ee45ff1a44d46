// SPDX-License-Identifier: Apache-2.0
// Files of loads, and the requests that are made from them.
#include "runtime/tools/load/Workload.h"
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>
#include <set>

using namespace ingot::runtime;
using ingot::test::TemporaryFile;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

std::vector<LoadRequest> all(const WorkloadOptions &options) {
  Result<Workload> workload = Workload::create(options);
  EXPECT_TRUE(workload.ok()) << workload.status().toString();
  std::vector<LoadRequest> requests;
  while (std::optional<LoadRequest> request = workload->next())
    requests.push_back(std::move(*request));
  return requests;
}

TEST(TraceFileTest, ReadsTimesAndLengths) {
  Result<std::vector<TraceRow>> rows =
      parseTrace("\xEF\xBB\xBF" + header +
                     "2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16T18:17:04.0319600Z,3180,8\n"
                     "2024-03-01 00:00:00.5+00:00,0,16777216",
                 "t.csv");
  ASSERT_TRUE(rows.ok()) << rows.status().toString();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].seconds, 0);
  EXPECT_EQ((*rows)[0].promptTokens, 4808);
  EXPECT_EQ((*rows)[0].outputTokens, 10);
  EXPECT_NEAR((*rows)[1].seconds, 0.052, 1e-12);
  // From 16 November 2023, 18:17:03.97996 to 1 March 2024, which has the 29th of February before.
  EXPECT_NEAR((*rows)[2].seconds, 106 * 86400 - (18 * 3600 + 17 * 60 + 3.97996) + 0.5, 1e-6);
  EXPECT_EQ((*rows)[2].outputTokens, 16777216);
}

TEST(TraceFileTest, RefusesAnyOtherLineByItsNumber) {
  const std::string good = "2023-11-16 18:17:03.9,4808,10\n";
  for (const std::string &line :
       {std::string(""), std::string("2023-11-16 18:17:03.9,4808"), good.substr(0, 20),
        std::string("2023-11-16 18:17:03.9,4808,10,1"), std::string("2023-11-16 18:17:03.9,-1,10"),
        std::string("2023-11-16 18:17:03.9,4808,16777217"), std::string("2023-13-16 18:17:04,1,1"),
        std::string("2023-02-29 18:17:04,1,1"), std::string("2023-11-16 24:17:04,1,1"),
        std::string("2023-11-16 18:60:04,1,1"), std::string("2023-11-16 18:17:04.,1,1"),
        std::string("2023-11-16 18:17:03.8,1,1"), std::string("2023-11-16 18:17:04,1,99999999999"),
        std::string("23-11-16 18:17:04,1,1"), std::string("2023-11-16 18:17:04,1 ,1"),
        std::string("2023-11-16 18:17:04,0x1,1"), std::string("\xFF\x00\x1B", 3)}) {
    Result<std::vector<TraceRow>> rows = parseTrace(header + good + line + "\n", "t.csv");
    ASSERT_FALSE(rows.ok()) << line;
    EXPECT_EQ(rows.status().code(), "INGOT-E7241");
    EXPECT_THAT(std::string(rows.status().message()), StartsWith("t.csv:3: "));
  }
  for (const std::string &text : {std::string(), header, std::string("a,b,c\n") + good, good})
    EXPECT_EQ(parseTrace(text, "t.csv").status().code(), "INGOT-E7241") << text;
  EXPECT_EQ(readTrace("/nowhere/t.csv").status().code(), "INGOT-E7101");
}

TEST(ShareGptFileTest, TakesFirstQuestionsAndLengthsOfAnswers) {
  Result<std::vector<ShareGptConversation>> found = parseShareGpt(
      R"([{"id": "1", "conversations": [{"from": "human", "value": "Why?"},
                                        {"from": "gpt", "value": "Because.", "score": [{"a": 2}]},
                                        {"from": "human", "value": "Really?"}]},
          {"conversations": [{"value": "Who?", "from": "user"}, {"value": "You", "from": "x"}]},
          {"conversations": [{"from": "gpt", "value": "no question"},
                             {"from": "human", "value": "x"}]},
          {"conversations": [{"from": "human", "value": "no answer"}]},
          {"conversations": [{"from": "human", "value": ""}, {"from": "gpt", "value": "x"}]},
          {"conversations": []}, {}, {"items": [{"from": "human", "value": "elsewhere"},
                                                {"from": "gpt", "value": "x"}]}])",
      "s.json");
  ASSERT_TRUE(found.ok()) << found.status().toString();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].prompt, "Why?");
  EXPECT_EQ((*found)[0].replyBytes, 8);
  EXPECT_EQ((*found)[1].prompt, "Who?");
  EXPECT_EQ((*found)[1].replyBytes, 3);
}

TEST(ShareGptFileTest, RefusesOtherFiles) {
  for (const std::string &text :
       {std::string(), std::string("{}"), std::string("[]"), std::string("3"), std::string("[3]"),
        std::string("[[]]"), std::string(R"([{"conversations": [)"),
        std::string(R"([{"conversations": 3}])"), std::string("[{}]x"),
        "[" + std::string(1000, '['), std::string(R"([{"conversations": [[["human"]]]}])"),
        std::string("[\"\xFF\"]")}) {
    Result<std::vector<ShareGptConversation>> found = parseShareGpt(text, "s.json");
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.status().code(), "INGOT-E7242") << text;
  }
  EXPECT_EQ(readShareGpt("/nowhere/s.json").status().code(), "INGOT-E7101");
}

TEST(WorkloadTest, WordsOfOptions) {
  EXPECT_EQ(LengthRange::parse("128")->most, 128);
  EXPECT_EQ(LengthRange::parse("64..512")->least, 64);
  EXPECT_EQ(LengthRange::parse("64..512")->most, 512);
  for (const char *word : {"", "0", "-1", "x", "1..", "..1", "5..4", "1...2", "1..2..3", "1x",
                           "16777217", "99999999999999999999"})
    EXPECT_FALSE(LengthRange::parse(word)) << word;
  EXPECT_EQ(SharedPrefix::parse("1500:4")->groups, 4);
  EXPECT_EQ(SharedPrefix::parse("1500")->groups, 1);
  for (const char *word : {"", "0", "1500:", "1500:0", ":4", "1500:4:1"})
    EXPECT_FALSE(SharedPrefix::parse(word)) << word;
}

TEST(WorkloadTest, EqualSeedsMakeEqualRequests) {
  WorkloadOptions options;
  options.requests = 50;
  options.rate = 10;
  options.prompt = {1, 40};
  options.output = {1, 30};
  options.cancelShare = 0.3;
  options.prefix = {20, 3};
  options.prefixShare = 0.5;
  std::vector<LoadRequest> first = all(options), again = all(options);
  options.seed = 1;
  std::vector<LoadRequest> other = all(options);
  ASSERT_EQ(first.size(), 50u);
  size_t differing = 0, cancelled = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].due, again[i].due);
    EXPECT_EQ(first[i].tokens, again[i].tokens);
    EXPECT_EQ(first[i].outputTokens, again[i].outputTokens);
    EXPECT_EQ(first[i].cancelAfter, again[i].cancelAfter);
    differing += first[i].tokens != other[i].tokens;
    cancelled += first[i].cancelAfter.has_value();
    if (first[i].cancelAfter)
      EXPECT_LT(*first[i].cancelAfter, first[i].outputTokens);
    for (int32_t token : first[i].tokens)
      EXPECT_TRUE(token >= 125 && token < 750) << token;
  }
  EXPECT_EQ(differing, 50u);
  EXPECT_GT(cancelled, 5u);
  EXPECT_LT(cancelled, 25u);
}

TEST(WorkloadTest, ArrivalsAreAPoissonProcess) {
  WorkloadOptions options;
  options.requests = 20001;
  options.rate = 50;
  options.prompt = options.output = {1, 1};
  std::vector<LoadRequest> requests = all(options);
  EXPECT_EQ(requests[0].due, 0);
  double sum = 0, squares = 0, beyond = 0;
  for (size_t i = 1; i < requests.size(); ++i) {
    double gap = requests[i].due - requests[i - 1].due;
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    beyond += gap > 0.02;
  }
  // Of exponential gaps mean and deviation are equal, and a share of 1/e exceeds the mean. The
  // numbers are of the seed, so the bounds cannot fail by chance.
  double mean = sum / 20000;
  EXPECT_NEAR(mean, 0.02, 0.0005);
  EXPECT_NEAR(std::sqrt(squares / 20000 - mean * mean), 0.02, 0.001);
  EXPECT_NEAR(beyond / 20000, std::exp(-1), 0.01);
}

TEST(WorkloadTest, WithoutARateAllAreDueAtOnce) {
  WorkloadOptions options;
  options.requests = 3;
  for (std::optional<double> rate :
       {std::optional<double>(), std::optional(std::numeric_limits<double>::infinity())}) {
    options.rate = rate;
    for (const LoadRequest &request : all(options))
      EXPECT_EQ(request.due, 0);
  }
}

TEST(WorkloadTest, ATraceGivesTimesAndLengths) {
  TemporaryFile file(header + "2023-11-16 18:17:00,4000,10\n2023-11-16 18:17:01,100,600\n"
                              "2023-11-16 18:17:03,0,0\n");
  WorkloadOptions options;
  options.trace = file.path();
  options.timeScale = 0.5;
  options.lengthScale = 0.1;
  options.maxContext = 100;
  std::vector<LoadRequest> requests = all(options);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].due, 0);
  EXPECT_EQ(requests[1].due, 0.5);
  EXPECT_EQ(requests[2].due, 1.5);
  EXPECT_EQ(requests[0].tokens.size(), 99u); // 400 and 1, cut
  EXPECT_EQ(requests[0].outputTokens, 1);
  EXPECT_EQ(requests[1].tokens.size(), 10u);
  EXPECT_EQ(requests[1].outputTokens, 60);
  EXPECT_EQ(requests[2].tokens.size(), 1u); // nothing is no prompt
  options.requests = 2;
  EXPECT_EQ(all(options).size(), 2u);
  options.rate = 1;
  EXPECT_NE(all(options)[1].due, 0.5);
}

TEST(WorkloadTest, SharedPrefixesStandBeforeTheirShareOfPrompts) {
  WorkloadOptions options;
  options.requests = 100;
  options.prompt = {5, 5};
  options.prefix = {20, 4};
  options.prefixShare = 0.7;
  std::set<std::vector<int32_t>> prefixes, rests;
  size_t with = 0;
  for (const LoadRequest &request : all(options)) {
    bool prefixed = request.tokens.size() == 25;
    EXPECT_TRUE(prefixed || request.tokens.size() == 5);
    with += prefixed;
    if (prefixed)
      prefixes.insert({request.tokens.begin(), request.tokens.begin() + 20});
    rests.insert({request.tokens.end() - 5, request.tokens.end()});
  }
  EXPECT_EQ(prefixes.size(), 4u);
  EXPECT_EQ(rests.size(), 100u);
  EXPECT_GT(with, 55u);
  EXPECT_LT(with, 85u);
  options.maxContext = 21;
  EXPECT_EQ(Workload::create(options).status().code(), "INGOT-E7244");
}

TEST(WorkloadTest, WordsForServersThatTakeNoIds) {
  WorkloadOptions options;
  options.requests = 2;
  options.words = true;
  options.prompt = {7, 7};
  options.prefix = {3, 1};
  std::vector<LoadRequest> requests = all(options);
  EXPECT_TRUE(requests[0].tokens.empty());
  EXPECT_EQ(std::count(requests[0].text.begin(), requests[0].text.end(), ' '), 9);
  EXPECT_NE(requests[0].text, requests[1].text);
}

TEST(WorkloadTest, ConversationsComeInAnOrderOfTheSeedAndAgain) {
  std::string list;
  for (int i = 0; i < 9; ++i)
    list += (i ? "," : "[") + std::string(R"({"conversations":[{"from":"human","value":"q)") +
            std::to_string(i) + R"("},{"from":"gpt","value":")" +
            std::string(size_t(i == 8 ? 4000 : 40), 'a') + R"("}]})";
  TemporaryFile file(list + "]");
  WorkloadOptions options;
  options.shareGpt = file.path();
  options.requests = 16;
  options.maxContext = 100; // leaves out the long answer
  std::vector<LoadRequest> requests = all(options);
  std::set<std::string> first, second;
  for (size_t i = 0; i < 16; ++i) {
    (i < 8 ? first : second).insert(requests[i].text);
    EXPECT_EQ(requests[i].outputTokens, 11);
    EXPECT_EQ(requests[i].text, requests[i % 8].text);
  }
  EXPECT_EQ(first.size(), 8u);
  EXPECT_EQ(first.count("q8"), 0u);
  options.maxContext = 5;
  EXPECT_EQ(Workload::create(options).status().code(), "INGOT-E7244");
}

} // namespace
