// SPDX-License-Identifier: Apache-2.0
// template prints what a conversation becomes, and nothing else.
#include "tests/unit/tools/ToolRun.h"

#include <gmock/gmock.h>

using namespace ingot::test;
using testing::HasSubstr;

namespace {

const std::string question = R"([{"role": "user", "content": "a"}])";

ToyOptions withTemplate() {
  ToyOptions options;
  options.chatTemplate = "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}"
                         "{{ add_generation_prompt }}{{ x|tojson if x is defined }}";
  return options;
}

} // namespace

TEST(TemplateTest, PrintsThePrompt) {
  TemporaryFile engine = toyFile(withTemplate());
  TemporaryFile messages(question);
  ToolResult result = runTool("template", {engine.path(), "--messages", messages.path()});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "user:aTrue");
  result = runTool("template", {engine.path(), "--messages", messages.path(), "--set",
                                "add_generation_prompt=false", "--set", R"(x={"a": [1]})"});
  EXPECT_EQ(result.output, "user:aFalse{\"a\": [1]}") << result.errors;
}

TEST(TemplateTest, TakesAnotherTemplateAndAnotherTime) {
  TemporaryFile engine = toyFile();
  TemporaryFile messages(question);
  TemporaryFile other(
      std::string("{{ strftime_now('%A %H:%M') }} {{ x }} {{ messages[0].content }}"));
  std::vector<std::string> arguments = {
      engine.path(), "--messages", messages.path(),           "--template",
      other.path(),  "--set",      "now=2024-02-29 01:02:03", "--set",
      "x=not JSON"};
  EXPECT_EQ(runTool("template", arguments).output, "Thursday 01:02 not JSON a");
}

TEST(TemplateTest, SaysWhatIsWrong) {
  TemporaryFile engine = toyFile(withTemplate());
  TemporaryFile messages(question), text(std::string("{"));
  const std::pair<std::vector<std::string>, const char *> cases[] = {
      {{toyFile().path(), "--messages", messages.path()}, "INGOT-E7101"}, // gone by now
      {{engine.path(), "--messages", text.path()}, "INGOT-E6071"},
      {{engine.path(), "--messages", messages.path(), "--name", "other"}, "INGOT-E6074"},
      {{engine.path(), "--messages", messages.path(), "--set", "now=2023-02-29"}, "INGOT-E6075"},
      {{engine.path(), "--messages", messages.path(), "--set", "=1"}, "INGOT-E6075"},
      {{engine.path(), "--messages", messages.path(), "--template", text.path()}, "INGOT-E6076"},
  };
  for (const auto &[arguments, code] : cases) {
    ToolResult result = runTool("template", arguments);
    EXPECT_EQ(result.status, 1) << code;
    EXPECT_THAT(result.errors, HasSubstr(code));
  }
}
