// SPDX-License-Identifier: Apache-2.0
// verify: what it proves, and that damage and other engines are refused.
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

TEST(VerifyTest, SaysWhatItChecked) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("verify", {file.path()});
  EXPECT_EQ(result.status, 0) << result.errors;
  for (const char *text :
       {"1 target, 4 instructions", "2 digests", "1 library checked", "each of 4 launches",
        ": verified\n", "weights          1 digest over 256"})
    EXPECT_THAT(result.output, HasSubstr(text));
}

TEST(VerifyTest, SaysWhatItDidNotLookAt) {
  ToolResult result = runTool("verify", {toyFile().path(), "--skip-weights"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr(": verified, but for the weights\n"));
  EXPECT_THAT(result.output, HasSubstr("weights          not read: 1 digest over 256"));
}

TEST(VerifyTest, FindsDamagedWeights) {
  std::vector<uint8_t> engine = makeToyEngine();
  TemporaryFile sound(engine);
  nlohmann::json sections = runTool("inspect", {sound.path(), "--json"}).json()["sections"];
  for (const nlohmann::json &section : sections)
    if (section["kind"] == "Weights")
      engine[section["offset"].get<size_t>() + 5] ^= 1;
  TemporaryFile damaged(engine);
  EXPECT_EQ(runTool("verify", {damaged.path(), "--skip-weights"}).status, 0);
  ToolResult result = runTool("verify", {damaged.path()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E5018"));
}

TEST(VerifyTest, RequiredDigest) {
  TemporaryFile file = toyFile();
  std::string digest = runTool("inspect", {file.path(), "--json"}).json()["digest"];
  EXPECT_EQ(runTool("verify", {file.path(), "--require-digest", digest}).status, 0);
  std::string upper = digest;
  for (char &c : upper)
    c = char(std::toupper(c));
  EXPECT_EQ(runTool("verify", {file.path(), "--require-digest", upper}).status, 0);
  digest[0] = digest[0] == '0' ? '1' : '0';
  ToolResult other = runTool("verify", {file.path(), "--require-digest", digest});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, HasSubstr("INGOT-E5020"));
  EXPECT_EQ(runTool("verify", {file.path(), "--require-digest", "12"}).status, 2);
}
