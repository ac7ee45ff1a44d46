// SPDX-License-Identifier: Apache-2.0
// The table at the end of a run: everything that matters, in 60 lines.
#include "tests/gpu/RunTable.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace ingot::record;
using nlohmann::json;
using testing::HasSubstr;

namespace {

std::string printed(const std::function<void(FILE *)> &print) {
  char *text = nullptr;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  print(stream);
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

json kernel(const std::string &site, double seconds) {
  return {{"kernel", "MatmulTensor_3"},
          {"symbol", "MatmulTensor_1"},
          {"site", site},
          {"launches", 10},
          {"seconds", seconds},
          {"bytes", 1e6},
          {"operations", 2e9},
          {"floor_seconds", 1e-5},
          {"predicted_seconds", 2e-5},
          {"predicted_error", "+-30 %"}};
}

json step(const std::string &engine, int tokens, std::vector<json> kernels) {
  return {{"engine", "/x/bench-" + engine + ".ingot"},
          {"step", {{"tokens", tokens}, {"step_seconds", 4e-3}, {"kernels", std::move(kernels)}}}};
}

json resultOf(std::vector<json> results, std::vector<json> more = {}) {
  std::vector<json> attempts = {
      {{"name", "all"}, {"outcome", "passed"}, {"results", std::move(results)}}};
  attempts.insert(attempts.end(), more.begin(), more.end());
  return {{"gpu", "a GPU"}, {"driver", "580"}, {"date", "today"}, {"attempts", attempts}};
}

} // namespace

TEST(RunTable, ShowsStepsKernelsAndTheirPeers) {
  json result = resultOf(
      {step("m-w4a16", 10, {kernel("matmul layers.0.mlp.down_proj", 5e-5)}),
       {{"engine", "bench-m-w4a16.ingot"},
        {"step", {{"tokens", 64}, {"context", 1024}, {"skipped", "too large"}}}},
       {{"engine", "bench-m-w4a16.ingot"},
        {"serving", {{"batch", 10}, {"generated_tokens_per_second", 1234.4}}}},
       {{"peer", "cuBLAS bf16"},
        {"model", "m"},
        {"name", "down_proj"},
        {"m", 10},
        {"seconds", 4e-5},
        {"kind", "matmul"}},
       {{"peer", "slow"}, {"model", "m"}, {"name", "down_proj"}, {"m", 10}, {"seconds", 9e-5}},
       {{"peer", "other rows"},
        {"model", "m"},
        {"name", "down_proj"},
        {"m", 32},
        {"seconds", 1e-5}}});
  std::string text = printed([&](FILE *stream) { printRunTable(stream, result); });
  EXPECT_THAT(text, HasSubstr("ms a step (predicted +-30 %, roofline)"));
  EXPECT_THAT(text, HasSubstr("4.00 (0.2, 0.1)"));
  EXPECT_THAT(text, HasSubstr("does not fit"));
  EXPECT_THAT(text, HasSubstr("1234 (x10)"));
  EXPECT_THAT(text, HasSubstr("cuBLAS bf16 40.0"));
  EXPECT_THAT(text, HasSubstr("down")) << text;
}

TEST(RunTable, FitsOnAScreenAndNamesFailures) {
  std::vector<json> results, failed;
  for (int engine = 0; engine < 20; ++engine)
    for (int tokens : {1, 10, 64})
      results.push_back(step("m" + std::to_string(engine), tokens,
                             std::vector<json>(9, kernel("matmul x.down_proj", 1e-5))));
  for (int i = 0; i < 500; ++i)
    results.push_back({{"launch", i},
                       {"case", "c" + std::to_string(i)},
                       {"kernel", "K"},
                       {"verdict", i % 2 ? "failed" : "bit-equal"},
                       {"error", "it differs"}});
  for (int i = 0; i < 30; ++i)
    failed.push_back({{"name", "attempt " + std::to_string(i)},
                      {"outcome", "hung"},
                      {"reason", std::string(1000, 'x')}});
  std::string text =
      printed([&](FILE *stream) { printRunTable(stream, resultOf(results, failed)); });
  EXPECT_LE(std::ranges::count(text, '\n'), 60) << text;
  EXPECT_THAT(text, HasSubstr("hung attempt 0"));
  EXPECT_THAT(text, HasSubstr("and 20 more"));
  EXPECT_THAT(text, HasSubstr("250 bit-equal, 0 within tolerance, 250 failed"));
  EXPECT_THAT(text, HasSubstr("failed c1 (K): it differs"));
}

TEST(RunTable, TakesWhateverAResultHolds) {
  for (const char *text :
       {"{}", R"({"attempts": [1, null, {"results": [3, {"step": 7}, {"graph": 1}]}]})",
        R"({"attempts": [{"results": [{"step": {"kernels": [{}, 2]}}, {"launch": "x"}]}]})"})
    EXPECT_NE(printed([&](FILE *stream) { printRunTable(stream, json::parse(text)); }), "");
}

TEST(RunTable, NamesTheCostliestKernelsOnce) {
  json big = kernel("matmul x.down_proj", 5e-5), small = kernel("matmul x.o_proj", 1e-6);
  small["symbol"] = "MatmulTensor_9";
  std::string text = printed([&](FILE *stream) {
    printCostliest(stream, resultOf({step("m", 10, {small, big}), step("m", 1, {big})}), 4);
  });
  EXPECT_EQ(text, "bench-m.ingot MatmulTensor_1 10\nbench-m.ingot MatmulTensor_9 10\n");
}
