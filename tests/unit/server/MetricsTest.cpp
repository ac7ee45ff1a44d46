// SPDX-License-Identifier: Apache-2.0
// Prometheus text: every name that others scrape, and exact values.
#include "runtime/server/Metrics.h"
#include "tests/unit/server/ToyModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace ingot::runtime;
using namespace ingot::test;
using testing::HasSubstr;

namespace {

TEST(MetricsTest, Histograms) {
  Histogram histogram({1, 2.5});
  for (double value : {0.5, 1.0, 2.0, 7.0})
    histogram.observe(value);
  std::string text;
  histogram.write(text, "h", "a=\"b\"");
  EXPECT_EQ(text, "h_bucket{a=\"b\",le=\"1\"} 2\nh_bucket{a=\"b\",le=\"2.5\"} 3\n"
                  "h_bucket{a=\"b\",le=\"+Inf\"} 4\nh_sum{a=\"b\"} 10.5\nh_count{a=\"b\"} 4\n");
}

TEST(MetricsTest, NamesThatOthersScrape) {
  ToyModel toy = openToyModel();
  Metrics metrics;
  metrics.firstToken(0.03, 0.002, 7);
  metrics.nextToken(0.01);
  metrics.ended("stop", 0.04);
  metrics.response(200);
  metrics.connections(1);
  std::string text = metrics.text(toy.model->loop.get(), "a\"b");
  std::string labels = "{model_name=\"a\\\"b\",engine=\"0\"";
  for (std::string prefix : {"vllm:", "ingot_"}) {
    for (const char *line :
         {"num_requests_running%} 0", "num_requests_waiting%} 0", "kv_cache_usage_perc%} 0",
          "prefix_cache_queries%} 0", "prefix_cache_hits%} 0", "prefix_cache_queries_total%} 0",
          "prefix_cache_hits_total%} 0", "num_preemptions_total%} 0", "prompt_tokens_total%} 7",
          "generation_tokens_total%} 2", "request_success_total%,finished_reason=\"stop\"} 1",
          "request_success_total%,finished_reason=\"length\"} 0",
          "time_to_first_token_seconds_count%} 1", "time_to_first_token_seconds_sum%} 0.03",
          "time_to_first_token_seconds_bucket%,le=\"0.04\"} 1",
          "inter_token_latency_seconds_count%} 1", "e2e_request_latency_seconds_sum%} 0.04",
          "request_queue_time_seconds_bucket%,le=\"0.001\"} 0"}) {
      std::string expected = "\n" + prefix + line + "\n";
      expected.replace(expected.find('%'), 1, labels);
      EXPECT_THAT(text, HasSubstr(expected));
    }
    EXPECT_THAT(text, HasSubstr(prefix + "cache_config_info" + labels +
                                ",block_size=\"16\",num_gpu_blocks=\""));
  }
  EXPECT_THAT(text, HasSubstr("ingot_http_responses_total" + labels + ",code=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ingot_http_connections" + labels + "} 1\n"));
}

/// The exposition format: a metric's type comes once, before its samples.
TEST(MetricsTest, TheFormatIsRight) {
  Metrics metrics;
  std::istringstream lines(metrics.text(nullptr, "m"));
  std::set<std::string> typed;
  std::string line, current;
  while (std::getline(lines, line)) {
    if (line.starts_with("# HELP "))
      continue;
    if (line.starts_with("# TYPE ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(typed.insert(current).second) << line;
      continue;
    }
    EXPECT_TRUE(line.starts_with(current)) << line;
    EXPECT_THAT(line, testing::MatchesRegex(
                          "[a-z0-9_:]+\\{[a-z_]+=\"[^\"]*\"(,[a-z_]+=\"[^\"]*\")*\\} [0-9.e+-]+"));
  }
  EXPECT_GT(typed.size(), 10u);
}

} // namespace
