// SPDX-License-Identifier: Apache-2.0
// diff: equal, different, error; and differences under the right names.
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

namespace {

/// The change of that place and field, or null.
nlohmann::json findChange(const nlohmann::json &diff, const std::string &what,
                          const std::string &field) {
  for (const nlohmann::json &change : diff["changes"])
    if (change["what"] == what && change["field"] == field)
      return change;
  return nullptr;
}

} // namespace

TEST(DiffTest, EqualEngines) {
  TemporaryFile one = toyFile(), other = toyFile();
  ToolResult result = runTool("diff", {one.path(), other.path()});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, HasSubstr("equal"));
  EXPECT_EQ(runTool("diff", {one.path(), other.path(), "--json"}).json()["equal"], true);
}

TEST(DiffTest, NamesWhatDiffers) {
  TemporaryFile before = toyFile();
  ToyOptions toy;
  toy.maxSequences = 4;
  toy.appendVariants = {{1, 16, 1, 32}, {17, 32, 1, 32}};
  toy.tokenizer = false;
  TemporaryFile after = toyFile(toy);
  ToolResult result = runTool("diff", {before.path(), after.path(), "--json"});
  EXPECT_EQ(result.status, 1);
  nlohmann::json diff = result.json();
  nlohmann::json dim = findChange(diff, "dims 'S'", "max");
  ASSERT_TRUE(dim.is_object()) << diff.dump(1);
  EXPECT_EQ(dim["before"], 8);
  EXPECT_EQ(dim["after"], 4);
  nlohmann::json section = findChange(diff, "sections 'tokenizer'", "");
  ASSERT_TRUE(section.is_object()) << diff.dump(1);
  EXPECT_EQ(section["category"], "sections");
  EXPECT_TRUE(section["after"].is_null());
  nlohmann::json launch =
      findChange(diff, "targets 'toy' / programs 'step' / instructions 'append'", "variants");
  ASSERT_TRUE(launch.is_object()) << diff.dump(1);
  EXPECT_EQ(launch["category"], "programs");
  ToolResult text = runTool("diff", {before.path(), after.path()});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.output, HasSubstr("~ dims 'S': max 8 -> 4"));
  EXPECT_THAT(text.output, HasSubstr("- sections 'tokenizer'"));
}

TEST(DiffTest, TheOtherWayRoundItIsAdded) {
  ToyOptions toy;
  toy.tokenizer = false;
  TemporaryFile before = toyFile(toy), after = toyFile();
  EXPECT_THAT(runTool("diff", {before.path(), after.path()}).output,
              HasSubstr("+ sections 'tokenizer'"));
}

TEST(DiffTest, ErrorsAreNeitherEqualNorDifferent) {
  TemporaryFile file = toyFile();
  EXPECT_EQ(runTool("diff", {file.path(), file.path() + ".missing"}).status, 2);
  EXPECT_EQ(runTool("diff", {file.path()}).status, 2);
}
