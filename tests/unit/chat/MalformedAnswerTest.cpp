// SPDX-License-Identifier: Apache-2.0
// Calls that are cut or malformed come back as text, and nothing of them is lost.
#include "tests/unit/chat/ParsedAnswer.h"

#include <algorithm>

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

Reading reading(std::string_view tools, bool streamed) {
  Reading how;
  how.tools = toolFamily(tools);
  EXPECT_NE(how.tools, nullptr);
  how.settings.streamed = streamed;
  return how;
}

struct Sample {
  const char *family;
  std::string answer;
};

/// A call in each way to write one, with a string that needs escapes.
std::vector<Sample> samples() {
  const std::string call = R"({"name": "get", "arguments": {"a": "x\"y", "n": 12, "l": [1, {}]}})";
  const std::string arguments = R"({"a": "x\"y", "n": 12, "l": [1, {}]})";
  return {
      {"hermes", "<tool_call>\n" + call + "\n</tool_call>"},
      {"mistral", "[TOOL_CALLS][" + call + "]"},
      {"mistral", "[TOOL_CALLS]get[CALL_ID]123456789[ARGS]" + arguments},
      {"llama3", call},
      {"pythonic", "[get(a='x\"y', n=12, l=[1, {}])]"},
      {"lfm2", "<|tool_call_start|>[get(a='x\"y', n=12, l=[1, {}])]<|tool_call_end|>"},
      {"qwen3_xml", "<tool_call>\n<function=get>\n<parameter=a>\nx\"y\n</parameter>\n"
                    "<parameter=n>\n12\n</parameter>\n</function>\n</tool_call>"},
      {"glm", "<tool_call>get\n<arg_key>a</arg_key>\n<arg_value>x\"y</arg_value>\n</tool_call>"},
      {"deepseek_v3",
       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get\n```json\n" +
           arguments + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_"
                  "argument_begin|>" +
                      arguments + "<|tool_call_end|><|tool_calls_section_end|>"},
      {"harmony", "<|channel|>commentary to=functions.get <|constrain|>json<|message|>" +
                      arguments + "<|call|>"},
      {"gemma4", "<|tool_call>call:get{a:<|\"|>x\"y<|\"|>,l:[1,{}],n:12}<tool_call|>"},
      {"apertus", "<|tools_prefix|>[{\"get\": " + arguments + "}]<|tools_suffix|>"},
      {"solar_open", "<|tool_calls|><|tool_call:begin|>i<|tool_call:name|>get<|tool_call:args|>" +
                         arguments + "<|tool_call:end|><|calls|>"}};
}

/// What of a whole call is left when its answer ends early: all of it as text, or the call.
void expectCut(const Sample &sample, size_t length) {
  const std::string cut = sample.answer.substr(0, length);
  const ParsedAnswer whole = parse(reading(sample.family, false), cut);
  if (whole.calls.empty()) {
    EXPECT_EQ(whole.text, cut) << sample.family;
  } else {
    EXPECT_EQ(whole.text, "") << sample.family << ": " << cut;
    EXPECT_TRUE(whole.calls[0].whole);
    EXPECT_TRUE(nlohmann::json::accept(whole.calls[0].arguments)) << whole;
  }
  // Streamed, the call may have begun; it is whole in the same cases.
  const ParsedAnswer streamed = parse(reading(sample.family, true), cut);
  if (!whole.calls.empty()) {
    EXPECT_EQ(streamed, whole);
  } else if (streamed.calls.empty()) {
    EXPECT_EQ(streamed.text, cut) << sample.family;
  } else {
    EXPECT_FALSE(streamed.calls[0].whole) << sample.family << ": " << cut;
    EXPECT_EQ(streamed.text, "") << sample.family << ": " << cut;
  }
}

} // namespace

TEST(MalformedAnswer, CutAnywhere) {
  for (const Sample &sample : samples()) {
    const ParsedAnswer full = parseAtEverySplit(reading(sample.family, true), sample.answer);
    ASSERT_EQ(full.calls.size(), 1u) << sample.family << ": " << full;
    EXPECT_EQ(full.text, "");
    EXPECT_EQ(full.calls[0].name, "get");
    for (size_t length = 1; length < sample.answer.size(); ++length)
      expectCut(sample, length);
  }
}

TEST(MalformedAnswer, AByteThatIsWrong) {
  for (const Sample &sample : samples())
    for (size_t at = 0; at < sample.answer.size(); ++at)
      for (const char wrong : {'}', ']', '<', '"', 'x', '\n', '\0'}) {
        std::string answer = sample.answer;
        answer[at] = wrong;
        answer = "Before. " + answer + " After.";
        const ParsedAnswer whole = parse(reading(sample.family, false), answer);
        // Without a call everything is there, but for the white space that a call would end.
        if (whole.calls.empty()) {
          EXPECT_EQ(whole.text, answer) << sample.family;
        }
        for (const ParsedCall &call : whole.calls)
          EXPECT_TRUE(call.whole && nlohmann::json::accept(call.arguments)) << whole;
        const ParsedAnswer streamed = parse(reading(sample.family, true), answer);
        EXPECT_TRUE(streamed.text.starts_with("Before.")) << sample.family;
        if (whole.calls.empty() && streamed.calls.empty()) {
          EXPECT_EQ(streamed, whole);
        }
      }
}

TEST(MalformedAnswer, KnownMistakes) {
  const char *answers[] = {
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}\n</tool_call>",
      "<tool_call>\n{'name': 'f', 'arguments': {}}\n</tool_call>",
      "<tool_call>\n{\"name\": \"f\", \"arguments\": [1]}\n</tool_call>",
      "<tool_call>\n{\"name\": 5, \"arguments\": {}}\n</tool_call>",
      "<tool_call>\n{\"name\": \"\", \"arguments\": {}}\n</tool_call>",
      "<tool_call>\n{\"arguments\": {}}\n</tool_call>",
      "<tool_call>\n{\"name\": \"f\", \"arguments\": \"x\"}\n</tool_call>",
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {}, \"arguments\": {}}\n</tool_call>",
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}}\n</tool_call>",
      "<tool_call>\nf(1)\n</tool_call>",
      "<tool_call></tool_call>",
      "a <tool_call> b",
      "Sure.\n<tool_call>"};
  for (const char *answer : answers)
    EXPECT_EQ(parseAtEverySplit(reading("hermes", false), answer), (ParsedAnswer{answer, {}, {}}));
}

TEST(MalformedAnswer, WhatWasStreamedStaysAndTheRestIsText) {
  const auto read = [](std::string_view answer) {
    return parseAtEverySplit(reading("hermes", true), answer);
  };
  EXPECT_EQ(read("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 12x}}</tool_call>."),
            (ParsedAnswer{"x}}</tool_call>.", {}, {{"f", {}, "{\"a\": 12", false}}}));
  EXPECT_EQ(read("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b"),
            (ParsedAnswer{{}, {}, {{"f", {}, "{\"a\": \"b", false}}}));
  EXPECT_EQ(read("<tool_call>{\"name\": \"f\", \"arguments\": {}\n</tool_call>"),
            (ParsedAnswer{"\n</tool_call>", {}, {{"f", {}, "{}", false}}}));
}

TEST(MalformedAnswer, ACallAfterAMalformedOneIsFound) {
  const ParsedAnswer found = parseAtEverySplit(
      reading("hermes", false),
      "<tool_call>\n{\"name\": <tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(found, (ParsedAnswer{"<tool_call>\n{\"name\": ", {}, {{"f", {}, "{}"}}}));
}

TEST(MalformedAnswer, TheFirstOfAListStays) {
  EXPECT_EQ(parseAtEverySplit(reading("mistral", false),
                              "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}}, {\"name\": 5}]"),
            (ParsedAnswer{", {\"name\": 5}]", {}, {{"f", {}, "{}"}}}));
}

TEST(MalformedAnswer, HostileTextTakesLinearTime) {
  // Beginnings of calls that never end, for each family. A reader that read them again and again
  // would not come to an end.
  for (const AnswerFamily &family : answerFamilies()) {
    if (!family.hasTools())
      continue;
    for (const CallForm &form : family.forms) {
      std::string answer;
      const std::string opening =
          std::string(form.open.empty() ? std::string_view(&form.bare, 1) : form.open);
      const std::string head = std::string(form.callOpen) + "f" + std::string(form.head[0].end) +
                               std::string(form.tags.key);
      for (const std::string &unit : {opening, opening + head, opening + "[{\"a", std::string(" "),
                                      opening + "{\"name\": \"f\", \"arguments\": {\"a\": \"\\"}) {
        answer = opening;
        while (answer.size() < 1 << 15)
          answer += unit;
        const ParsedAnswer read = parse(reading(family.name, false), answer);
        if (read.calls.empty()) {
          EXPECT_TRUE(read.text == answer) << family.name << ": " << unit;
        }
        for (const ParsedCall &call : read.calls)
          EXPECT_LE(call.arguments.size(), 2 * answer.size()) << family.name << ": " << unit;
      }
    }
  }
}
