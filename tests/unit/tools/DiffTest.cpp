// SPDX-License-Identifier: Apache-2.0
// diff: equal, different, error; what people ask first; and differences under the right names.
#include "tests/unit/tools/ToolRun.h"

#include "runtime/tools/EngineOverview.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace ingot::test;
using namespace ingot::runtime;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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
  ToolResult text = runTool("diff", {before.path(), after.path(), "--section", "all"});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.output, HasSubstr("~ dims 'S': max 8 -> 4"));
  EXPECT_THAT(text.output, HasSubstr("- sections 'tokenizer'"));
}

TEST(DiffTest, SaysFirstWhatPeopleAsk) {
  TemporaryFile before = toyFile();
  ToyOptions toy;
  toy.maxSequences = 4;
  toy.tokenizer = false;
  TemporaryFile after = toyFile(toy);
  ToolResult brief = runTool("diff", {before.path(), after.path()});
  EXPECT_EQ(brief.status, 1);
  EXPECT_THAT(brief.output, HasSubstr("limits     sequences of a step 8 -> 4"));
  EXPECT_THAT(brief.output, HasSubstr("tokens -> none"));
  EXPECT_THAT(brief.output, HasSubstr("sections 1"));
  EXPECT_THAT(brief.output, Not(HasSubstr("dims 'S'")));
  EXPECT_LE(std::count(brief.output.begin(), brief.output.end(), '\n'), 10) << brief.output;
  ToolResult one = runTool("diff", {before.path(), after.path(), "--section", "sections"});
  EXPECT_THAT(one.output, HasSubstr("- sections 'tokenizer'"));
  EXPECT_THAT(one.output, Not(HasSubstr("dims 'S'")));
  EXPECT_EQ(runTool("diff", {before.path(), after.path(), "--section", "nothing"}).status, 2);
}

TEST(DiffTest, TellsRecipesInWords) {
  auto engine = [](const char *format, const char *recipe, const char *digest) {
    nlohmann::json weight = {{"name", "layers.0.q_proj.weight"},
                             {"dtype", "I4"},
                             {"format", format},
                             {"shape", {64, 64}}};
    nlohmann::json scales = {{"name", "layers.0.q_proj.scales"},
                             {"dtype", "F16"},
                             {"format", "f16"},
                             {"shape", {64, 2}}};
    nlohmann::json table = {
        {"name", "embed_tokens.weight"}, {"dtype", "I8"}, {"format", "int8"}, {"shape", {32, 64}}};
    nlohmann::json input = {{"name", "model.safetensors"}, {"bytes", 8 << 20}, {"digest", digest}};
    return nlohmann::json{{"name", "model"},
                          {"architecture", "Toy"},
                          {"weights", {weight, scales, table}},
                          {"serving",
                           {{"max_context", 64},
                            {"vocabulary", 32},
                            {"temperature", 0.5},
                            {"top_k", 0},
                            {"top_p", 1.0},
                            {"min_p", 0.0},
                            {"repetition_penalty", 1.0}}},
                          {"dims", nlohmann::json::array()},
                          {"sections", nlohmann::json::array()},
                          {"golden", nlohmann::json::array()},
                          {"chat_templates", nlohmann::json::array()},
                          {"targets", nlohmann::json::array()},
                          {"provenance",
                           {{"recipe", recipe},
                            {"compiler", "ingot"},
                            {"revision", ""},
                            {"toolchain", ""},
                            {"inputs", {input}},
                            {"options", nlohmann::json::array()}}}};
  };
  auto before = overviewOf(
      engine("int4 group=32", "activations: bf16\nkv_cache: bf16\n", std::string(64, 'a').c_str()));
  auto after = overviewOf(engine(
      "int8", "activations: {compute: int8-dynamic, store: bf16, group: 32}\nkv_cache: bf16\n",
      std::string(64, 'b').c_str()));
  std::vector<std::string> changes;
  for (const OverviewRow &row : changesOf(before, after))
    changes.push_back(row.title + ": " + row.text);
  EXPECT_THAT(changes,
              ElementsAre("weights: int4 in groups of 32; int8 by row: embed_tokens -> int8 by row",
                          "activations: bf16 -> int8-dynamic in groups of 32, results bf16",
                          "made from: model.safetensors differs"));
  EXPECT_TRUE(changesOf(before, before).empty());
}

TEST(DiffTest, TheOtherWayRoundItIsAdded) {
  ToyOptions toy;
  toy.tokenizer = false;
  TemporaryFile before = toyFile(toy), after = toyFile();
  EXPECT_THAT(runTool("diff", {before.path(), after.path(), "--section", "all"}).output,
              HasSubstr("+ sections 'tokenizer'"));
}

TEST(DiffTest, ErrorsAreNeitherEqualNorDifferent) {
  TemporaryFile file = toyFile();
  EXPECT_EQ(runTool("diff", {file.path(), file.path() + ".missing"}).status, 2);
  EXPECT_EQ(runTool("diff", {file.path()}).status, 2);
}
