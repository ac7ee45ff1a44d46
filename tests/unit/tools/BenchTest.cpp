// SPDX-License-Identifier: Apache-2.0
// bench: figures for every asked combination; what cannot run is refused. No speed is tested.
#include "tests/unit/tools/ToolRun.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

TEST(BenchTest, MeasuresEveryBatchAtEveryNumberOfThreads) {
  TemporaryFile file = toyFile();
  ToolResult result =
      runTool("bench", {file.path(), "-p", "40", "-n", "3", "--batch", "1,4", "--threads", "1,2",
                        "-r", "2", "--probe", "1MiB", "--json"});
  ASSERT_EQ(result.status, 0) << result.errors;
  nlohmann::json rows = result.json()["results"];
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["threads"], i < 2 ? 1 : 2);
    EXPECT_EQ(rows[i]["batch"], i % 2 ? 4 : 1);
    for (const char *key : {"prompt_tokens_per_second", "generated_tokens_per_second",
                            "decode_bytes_per_second", "dram_bytes_per_second", "load_seconds"})
      EXPECT_GT(rows[i][key].get<double>(), 0) << key;
  }
}

TEST(BenchTest, PromptsOrGenerationAlone) {
  TemporaryFile file = toyFile();
  nlohmann::json row =
      runTool("bench", {file.path(), "-p", "0", "-n", "2", "-r", "1", "--probe", "0", "--json"})
          .json()["results"][0];
  EXPECT_EQ(row["prompt_tokens_per_second"], 0.0);
  EXPECT_EQ(row["dram_bytes_per_second"], 0.0);
  EXPECT_GT(row["generated_tokens_per_second"].get<double>(), 0);
}

TEST(BenchTest, RefusesABatchThatCannotRunAtOnce) {
  TemporaryFile file = toyFile();
  for (const std::vector<std::string> &extra : {std::vector<std::string>{"--batch", "9"},
                                                {"-p", "97"},
                                                {"--batch", "8", "--memory", "98500"}}) {
    std::vector<std::string> arguments = {file.path(), "-p", "90",        "-n", "2",
                                          "--probe",   "0",  "--threads", "1"};
    if (extra[0] == "-p")
      arguments[2] = extra[1];
    else
      arguments.insert(arguments.end(), extra.begin(), extra.end());
    ToolResult result = runTool("bench", arguments);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E6022"));
  }
}

TEST(BenchTest, TimesEveryKernelOfAStepAlone) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("bench", {file.path(), "--kernels", "--tokens", "1,8,32", "--context",
                                        "40", "-r", "2", "--probe", "1MiB", "--json"});
  ASSERT_EQ(result.status, 0) << result.errors;
  nlohmann::json results = result.json()["results"];
  ASSERT_EQ(results.size(), 3u);
  for (const nlohmann::json &shape : results) {
    // Up to the engine's 8 sequences every token is another sequence's.
    EXPECT_EQ(shape["sequences"], shape["tokens"] == 32 ? 1 : shape["tokens"].get<int>());
    EXPECT_EQ(shape["context"], 40);
    EXPECT_GT(shape["memory_bytes_per_second"].get<double>(), 0);
    EXPECT_GT(shape["step_seconds"].get<double>(), 0);
    double sum = 0;
    ASSERT_FALSE(shape["kernels"].empty());
    for (const nlohmann::json &row : shape["kernels"]) {
      EXPECT_GT(row["seconds"].get<double>(), 0);
      EXPECT_GT(row["bytes"].get<double>(), 0);
      sum += row["seconds"].get<double>() * row["launches"].get<double>();
    }
    EXPECT_NEAR(sum, shape["sum_seconds"].get<double>(), 1e-12);
  }
}

TEST(BenchTest, RefusesKernelStepsOutsideTheEngine) {
  TemporaryFile file = toyFile();
  for (const std::vector<std::string> &extra :
       {std::vector<std::string>{"--tokens", "33"}, {"--context", "97"}}) {
    std::vector<std::string> arguments = {file.path(), "--kernels", "--probe", "0"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    ToolResult result = runTool("bench", arguments);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.errors, HasSubstr("INGOT-E6022"));
  }
  EXPECT_EQ(runTool("bench", {file.path(), "--tokens", "1"}).status, 2);
}

TEST(BenchTest, OneLoadMeasuresKernelsAndServing) {
  TemporaryFile file = toyFile(), lines("");
  ToolResult result = runTool("bench", {file.path(), "--kernels", "--tokens", "1,33,3", "--context",
                                        "40", "-p", "0", "-n", "2", "--batch", "2,1", "-r", "1",
                                        "--probe", "0", "--lines", lines.path()});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("33 tokens: not measured: INGOT-E6022"));
  std::ifstream read(lines.path());
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(read, line);)
    found.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(found.size(), 5u);
  for (const nlohmann::json &line : found)
    EXPECT_EQ(line["engine"], file.path());
  EXPECT_GT(found[0]["step"]["step_seconds"].get<double>(), 0);
  EXPECT_THAT(found[1]["step"]["skipped"].get<std::string>(), HasSubstr("INGOT-E6022"));
  EXPECT_EQ(found[2]["step"]["tokens"], 3);
  EXPECT_EQ(found[3]["serving"]["batch"], 2);
  EXPECT_GT(found[4]["serving"]["generated_tokens_per_second"].get<double>(), 0);

  result = runTool("bench", {file.path(), "-p", "4", "-n", "0", "-r", "1", "--probe", "0",
                             "--lines", "/nowhere/lines"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E7103"));
}
