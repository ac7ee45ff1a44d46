// SPDX-License-Identifier: Apache-2.0
// tune: refusals; what it measures is tested with engines that have candidates (tests/e2e).
#include "tests/unit/tools/ToolRun.h"

#include <filesystem>
#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

TEST(TuneTest, RefusesAnEngineWithoutCandidatesAndWritesNothing) {
  TemporaryFile file = toyFile();
  std::string output = file.path() + ".lock";
  ToolResult result = runTool("tune", {file.path(), "-o", output, "-r", "1"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6023"));
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(TuneTest, RefusesRowsOutsideTheEngine) {
  TemporaryFile file = toyFile();
  ToolResult result =
      runTool("tune", {file.path(), "-o", file.path() + ".lock", "--tokens", "1,33"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E6022"));
}
