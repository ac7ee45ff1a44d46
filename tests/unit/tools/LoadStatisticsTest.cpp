// SPDX-License-Identifier: Apache-2.0
// Percentiles, rates and goodput of records whose figures can be seen.
#include "runtime/tools/load/LoadStatistics.h"
#include "runtime/tools/load/LoadPlot.h"
#include "runtime/tools/load/LoadReport.h"

#include <gmock/gmock.h>

using namespace ingot::runtime;
using testing::HasSubstr;

namespace {

/// Answered: due at `due`, first token after `first` seconds, then `tokens` - 1 more, `step` apart.
LoadRecord answered(double due, double first, int64_t tokens, double step) {
  LoadRecord record;
  record.due = record.sent = due;
  for (int64_t i = 0; i < tokens; ++i)
    record.arrived(due + first + step * double(i));
  record.end = record.last;
  record.promptTokens = 10;
  record.outputTokens = tokens;
  return record;
}

LoadRecord failed(const char *kind) {
  LoadRecord record;
  record.promptTokens = 10;
  record.failure = {kind, Status::error("INGOT-E7251", "no")};
  return record;
}

TEST(LoadStatisticsTest, PercentilesAreLinearBetweenNeighbours) {
  std::vector<double> values = {1, 2, 3, 4, 5};
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 0.5), 3);
  EXPECT_DOUBLE_EQ(percentile(values, 0.9), 4.6);
  EXPECT_EQ(percentile(values, 1), 5);
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile(std::vector<double>{7}, 0.99), 7);

  Distribution found = Distribution::of({4, 1, 3, 2});
  EXPECT_EQ(found.count, 4u);
  EXPECT_DOUBLE_EQ(found.mean, 2.5);
  EXPECT_DOUBLE_EQ(found.p50, 2.5);
  EXPECT_DOUBLE_EQ(found.most, 4);
  EXPECT_EQ(Distribution::of({}).count, 0u);
}

TEST(LoadStatisticsTest, LatenciesCountFromWhenARequestWasDue) {
  LoadRecord late = answered(1, 0.5, 3, 0.25);
  late.sent = 1.4;
  LoadSummary summary = summarize(std::vector<LoadRecord>{late}, 4, {});
  EXPECT_DOUBLE_EQ(summary.firstToken.mean, 0.5);
  EXPECT_DOUBLE_EQ(summary.endToEnd.mean, 1.0);
  EXPECT_DOUBLE_EQ(summary.delay.mean, 0.4);
  EXPECT_DOUBLE_EQ(summary.perToken.mean, 0.25);
  EXPECT_EQ(summary.betweenTokens.count, 2u);
  EXPECT_DOUBLE_EQ(summary.perSecond(double(summary.outputTokens)), 0.75);
}

TEST(LoadStatisticsTest, TokensThatCameTogetherAreCountedByUsage) {
  LoadRecord record = answered(0, 1, 3, 0.5); // 3 arrivals, which held 5 tokens
  record.outputTokens = 5;
  EXPECT_DOUBLE_EQ(record.timePerOutputToken(), 0.25);
  EXPECT_DOUBLE_EQ(summarize(std::vector<LoadRecord>{record}, 1, {}).betweenTokens.mean, 0.5);
}

TEST(LoadStatisticsTest, FailedAndCancelledRequestsHaveNoLatencies) {
  LoadRecord cancelled = answered(0, 9, 2, 9);
  cancelled.cancelled = true;
  std::vector<LoadRecord> records = {answered(0, 1, 2, 1), cancelled, failed("HTTP 429"),
                                     failed("HTTP 429"), failed("timeout")};
  LoadSummary summary = summarize(records, 10, {});
  EXPECT_EQ(summary.requests, 5u);
  EXPECT_EQ(summary.answered, 1u);
  EXPECT_EQ(summary.cancelled, 1u);
  EXPECT_EQ(summary.failed, 3u);
  EXPECT_EQ(summary.firstToken.count, 1u);
  EXPECT_EQ(summary.outputTokens, 4); // those of the cancelled one were made
  EXPECT_EQ(summary.failures["HTTP 429"].count, 2u);
  EXPECT_EQ(summary.failures["timeout"].example, "INGOT-E7251: no");
}

TEST(LoadStatisticsTest, GoodputCountsWhatKeepsAllLimits) {
  std::optional<ServiceLimits> limits = ServiceLimits::parse("ttft:500,itl:50,e2e:2000");
  ASSERT_TRUE(limits);
  EXPECT_TRUE(limits->hold(answered(0, 0.5, 11, 0.04)));
  EXPECT_FALSE(limits->hold(answered(0, 0.6, 11, 0.04)));
  EXPECT_FALSE(limits->hold(answered(0, 0.5, 11, 0.06)));
  EXPECT_FALSE(limits->hold(answered(0, 0.5, 100, 0.04)));
  EXPECT_FALSE(limits->hold(failed("timeout")));
  EXPECT_FALSE(limits->hold(LoadRecord())); // an answer without tokens
  EXPECT_TRUE(ServiceLimits::parse("ttft:500")->hold(answered(0, 0.5, 1, 9)));
  EXPECT_FALSE(ServiceLimits().any());
}

TEST(LoadStatisticsTest, LimitsAreReadInFull) {
  for (const char *words :
       {"", "ttft", "ttft:", "ttft:x", "ttft:1x", "ttft:-1", "ttft:0", "ttft:inf", "ttft:nan",
        "other:1", "ttft:1,", ",ttft:1", "ttft:1,,e2e:2", "ttft:1,ttft:2"})
    EXPECT_FALSE(ServiceLimits::parse(words)) << words;
}

TEST(LoadReportTest, JsonHasEveryRequestAndTheSubjectFirst) {
  LoadRecord bad = failed("HTTP 500");
  bad.text = "\xFF"; // a server may send anything
  std::vector<LoadRecord> records = {answered(0, 1, 2, 1), bad};
  nlohmann::ordered_json json =
      jsonOfLoad({{"command", "serve"}}, summarize(records, 2, {}), records);
  EXPECT_EQ(json.begin().key(), "command");
  EXPECT_EQ(json["requests"]["failed"], 1);
  EXPECT_EQ(json["latencies"]["time_to_first_token"]["p99"], 1.0);
  ASSERT_EQ(json["records"].size(), 2u);
  EXPECT_EQ(json["records"][0]["inter_token_latencies"].size(), 1u);
  EXPECT_EQ(json["records"][1]["failure"], "HTTP 500");
  EXPECT_FALSE(json["records"][1].contains("time_to_first_token"));
}

TEST(LoadPlotTest, ShowsEverySeriesAndEscapesItsTitle) {
  std::vector<LoadRecord> records;
  for (int i = 0; i < 50; ++i)
    records.push_back(answered(i, 0.1 + 0.01 * i, 5, 0.02));
  std::string plot = plotOfLoad(records, "a <b> & \"c\"\n");
  EXPECT_THAT(plot, HasSubstr("a &lt;b&gt; &amp; \"c\"?"));
  for (const char *name : {"time to first token", "inter-token latency", "end to end"})
    EXPECT_THAT(plot, HasSubstr(name));
  size_t curves = 0, dots = 0;
  for (size_t at = 0; (at = plot.find("<polyline", at)) != plot.npos; ++at)
    ++curves;
  for (size_t at = 0; (at = plot.find("<circle", at)) != plot.npos; ++at)
    ++dots;
  EXPECT_EQ(curves, 3u);
  EXPECT_EQ(dots, 100u); // two of each request
  EXPECT_EQ(plot.find("nan"), plot.npos);
  EXPECT_THAT(plotOfLoad({}, "nothing"), HasSubstr("</svg>"));
  EXPECT_EQ(plotOfLoad({}, "nothing").find("nan"), std::string::npos);
}

} // namespace
