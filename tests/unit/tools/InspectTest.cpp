// SPDX-License-Identifier: Apache-2.0
// inspect says what the metadata says, whole or by section.
#include "tests/unit/tools/ToolRun.h"

#include "runtime/tools/EngineSummary.h"
#include "runtime/tools/Table.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace ingot::test;
using namespace ingot::runtime;
using testing::HasSubstr;
using testing::Not;

TEST(InspectTest, JsonHoldsEverythingWithNamesInPlaceOfIndices) {
  TemporaryFile file = toyFile();
  nlohmann::json engine = runTool("inspect", {file.path(), "--json"}).json();
  ASSERT_TRUE(engine.is_object());
  EXPECT_EQ(engine["name"], "toy");
  EXPECT_EQ(engine["digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(engine["dims"][0],
            (nlohmann::json{{"name", "T"}, {"source", "Step"}, {"min", 1}, {"max", 32}}));
  EXPECT_EQ(engine["weights"][0]["section"], "weights");
  EXPECT_EQ(engine["weights"][0]["bytes"], toyVocabulary * 4);
  nlohmann::json target = engine["targets"][0];
  EXPECT_EQ(target["kv_groups"][0]["bytes_per_token"], 4);
  EXPECT_EQ(target["kernels"].size(), 4u);
  nlohmann::json first = target["programs"][0]["instructions"][0];
  EXPECT_EQ(first["kind"], "Launch");
  EXPECT_EQ(first["variants"][0]["kernel"], "toy_append");
  EXPECT_EQ(first["variants"][0]["ranges"][0]["dim"], "T");
  bool found = false;
  for (const nlohmann::json &buffer : target["buffers"])
    if (buffer["name"] == "sequence_offsets") {
      EXPECT_EQ(buffer["bytes"], "(S + 1) * 4");
      found = true;
    }
  EXPECT_TRUE(found);
}

TEST(InspectTest, JsonIsTheSameEachTime) {
  TemporaryFile file = toyFile();
  EXPECT_EQ(runTool("inspect", {file.path(), "--json"}).output,
            runTool("inspect", {file.path(), "--json"}).output);
}

TEST(InspectTest, SectionsSelectTablesAndKeys) {
  TemporaryFile file = toyFile();
  ToolResult tables = runTool("inspect", {file.path(), "--section", "weights"});
  EXPECT_EQ(tables.status, 0);
  EXPECT_THAT(tables.output, HasSubstr("table"));
  EXPECT_THAT(tables.output, HasSubstr("total"));
  EXPECT_THAT(tables.output, Not(HasSubstr("toy_append")));
  nlohmann::json json = runTool("inspect", {file.path(), "--section", "kernels", "--json"}).json();
  EXPECT_EQ(json.size(), 1u);
  EXPECT_EQ(json["targets"][0].size(), 3u); // name, kernels, libraries
}

TEST(InspectTest, ASummaryIsAScreen) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("inspect", {file.path()});
  for (const char *text :
       {"model ", "parameters", "weights ", "limits ", "target toy", "chat template ",
        "golden tokens ", "built by ", "digest ", "more by --section: targets, sections, "})
    EXPECT_THAT(result.output, HasSubstr(text));
  EXPECT_LE(std::count(result.output.begin(), result.output.end(), '\n'), 24) << result.output;
  EXPECT_THAT(result.output, Not(HasSubstr("toy_append")));
}

TEST(InspectTest, EverySectionPrints) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("inspect", {file.path(), "--section", "all"});
  EXPECT_EQ(result.status, 0) << result.errors;
  for (const char *text : {"sections", "dims", "program step over (T, S, L, B)", "toy_logits",
                           "weights", "tier", "provenance", "serving", "fusions", "coverage"})
    EXPECT_THAT(result.output, HasSubstr(text));
}

TEST(InspectTest, UnknownSectionIsAWrongCommandLine) {
  TemporaryFile file = toyFile();
  ToolResult result = runTool("inspect", {file.path(), "--section", "nothing"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("INGOT-E2103"));
}

TEST(TableTest, AlignsAndDisarms) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "library"), "1 library");
  EXPECT_EQ(counted(2000, "library"), "2,000 libraries");
  EXPECT_EQ(inBytes(1536), "1,536 bytes (1.5 KiB)");
  EXPECT_EQ(roundly(1023), "1,023 bytes");
  EXPECT_EQ(roundly(uint64_t{11} << 30), "11.0 GiB");
  EXPECT_EQ(perPosition(64, 16), "4");
  EXPECT_EQ(perPosition(72, 16), "4.5");
  EXPECT_EQ(printable("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(shortened("h\xc3\xa9llo", 2), "h...");
  Table table({"name", ">n"});
  table.add({"\xc3\xa9", "1"});
  table.addTotal({"total", "10"});
  testing::internal::CaptureStdout();
  table.print(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "  name    n\n"
                                                    "  -----  --\n"
                                                    "  \xc3\xa9       1\n"
                                                    "  -----  --\n"
                                                    "  total  10\n");
}
