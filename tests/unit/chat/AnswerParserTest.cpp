// SPDX-License-Identifier: Apache-2.0
// Answers as models of each family write them, at every split.
#include "tests/unit/chat/ParsedAnswer.h"

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

const nlohmann::ordered_json weather = nlohmann::ordered_json::parse(R"({
  "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
  "opts": {"type": "object"}, "on": {"type": ["boolean", "null"]}}})");

Reading reading(std::string_view tools, std::string_view reasoning = "none",
                std::string promptTail = {}) {
  Reading how;
  how.tools = toolFamily(tools);
  how.reasoning = reasoningFamily(reasoning);
  EXPECT_TRUE(how.tools && how.reasoning);
  how.settings.tools = {{"get_weather", weather}, {"now", {}}};
  how.settings.promptTail = std::move(promptTail);
  return how;
}

/// `answer` streamed and whole, at every split; both give the same.
ParsedAnswer read(Reading how, std::string_view answer) {
  const ParsedAnswer streamed = parseAtEverySplit(how, answer);
  how.settings.streamed = false;
  EXPECT_EQ(parseAtEverySplit(how, answer), streamed);
  return streamed;
}

/// `{"city": "Zürich", "days": 3}` as one call of get_weather.
ParsedAnswer oneCall(std::string text = {}, std::string id = {}, std::string reasoning = {}) {
  return {std::move(text),
          std::move(reasoning),
          {{"get_weather", std::move(id), R"({"city": "Zürich", "days": 3})"}}};
}

} // namespace

TEST(AnswerParser, NoFamilyLeavesText) {
  const std::string answer =
      "<think>\nHm\n</think>\n\n<tool_call>\n{\"name\": \"f\"}\n</tool_call> ";
  EXPECT_EQ(read(reading("none"), answer), (ParsedAnswer{answer, {}, {}}));
}

TEST(AnswerParser, WithoutToolsCallsAreText) {
  Reading how = reading("functionary_v32", "none", "\n\n>>>");
  how.settings.calls = false;
  EXPECT_EQ(read(how, "all\nHi. "), (ParsedAnswer{"Hi. ", {}, {}}));
  EXPECT_EQ(read(how, "all\nHi.>>>now\n{}"), (ParsedAnswer{"Hi.>>>now\n{}", {}, {}}));
  how = reading("llama3");
  how.settings.calls = false;
  EXPECT_EQ(read(how, "{\"name\": \"now\", \"parameters\": {}}\n").text,
            "{\"name\": \"now\", \"parameters\": {}}\n");
}

TEST(AnswerParser, TextIsGivenAsEarlyAsItCanBe) {
  const Reading how = reading("hermes", "think");
  AnswerParser parser(*how.reasoning, *how.tools, how.settings);
  const auto fed = [&](std::string_view piece) {
    std::vector<AnswerEvent> events;
    parser.feed(piece, events);
    std::string text;
    for (const AnswerEvent &event : events)
      text += (event.kind == AnswerEvent::Kind::CallBegin ? "begin " : "") + event.text;
    return text;
  };
  EXPECT_EQ(fed("Hi <tool"), "Hi");
  EXPECT_EQ(fed("s> a"), " <tools> a");
  EXPECT_EQ(fed("\n<tool_call>\n{\"name\": \"f\", \"arguments\": "), "");
  EXPECT_EQ(fed("{\"a\""), "begin f{\"a\"");
  EXPECT_EQ(fed(": \"x\xC3"), ": \"x");
  EXPECT_EQ(fed("\xA9y"), "\xC3\xA9y");
  EXPECT_EQ(fed("\"}}\n</tool_call>"), "\"}");
  EXPECT_EQ(fed("\n."), "\n.");
}

TEST(AnswerParser, Hermes) {
  const Reading how = reading("hermes");
  EXPECT_EQ(read(how, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": "
                      "\"Zürich\", \"days\": 3}}\n</tool_call>"),
            oneCall());
  // The members may stand in any order, and arguments may be missing, null or a string.
  EXPECT_EQ(read(how, "Sure.\n\n<tool_call>{\"parameters\": {\"a\": \"</tool_call>\"}, \"x\": "
                      "[1], \"id\": \"7\", \"name\": \"f\"}</tool_call>\n<tool_call>{\"name\":"
                      "\"g\"}</tool_call><tool_call>{\"name\": \"h\", \"arguments\": null}"
                      "</tool_call>\n<tool_call>{\"name\": \"i\", \"arguments\": \"{\\\"a\\\": "
                      "1}\"}\n</tool_call>\nDone.\n"),
            (ParsedAnswer{"Sure.\nDone.\n",
                          {},
                          {{"f", "7", "{\"a\": \"</tool_call>\"}"},
                           {"g", {}, "{}"},
                           {"h", {}, "{}"},
                           {"i", {}, "{\"a\": 1}"}}}));
}

TEST(AnswerParser, OneCallWhereSeveralAreNotAllowed) {
  Reading how = reading("hermes");
  how.settings.parallel = false;
  EXPECT_EQ(read(how, "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n<tool_call>{"
                      "\"name\": \"g\", \"arguments\": {}}</tool_call>"),
            (ParsedAnswer{{}, {}, {{"f", {}, "{}"}}}));
}

TEST(AnswerParser, Llama3) {
  const Reading how = reading("llama3");
  const std::string call =
      R"({"name": "get_weather", "parameters": {"city": "Zürich", "days": 3}})";
  EXPECT_EQ(read(how, call), oneCall());
  EXPECT_EQ(read(how, "<|python_tag|>" + call), oneCall());
  EXPECT_EQ(read(how, call + "; {\"type\": \"function\", \"name\": \"now\", \"parameters\": {}}"),
            (ParsedAnswer{{}, {}, {oneCall().calls[0], {"now", {}, "{}"}}}));
  // Other JSON is text, and so is a call that does not come first.
  for (const char *text :
       {"{\"temperature\": {\"name\": 5}}", "{\"name\": \"f\", \"other\": {}}", "{}", "{ x }", "{"})
    EXPECT_EQ(read(how, text), (ParsedAnswer{text, {}, {}}));
  EXPECT_EQ(read(how, "Call: " + call).text, "Call: " + call);
}

TEST(AnswerParser, Python) {
  const ParsedAnswer both = {{}, {}, {oneCall().calls[0], {"now", {}, "{}"}}};
  EXPECT_EQ(read(reading("pythonic"), "[get_weather(city='Zürich', days=3), now()]"), both);
  EXPECT_EQ(read(reading("lfm2"), "<|tool_call_start|>[get_weather(city=\"Zürich\", days=3), "
                                  "now()]<|tool_call_end|>\n"),
            both);
  EXPECT_EQ(read(reading("pythonic"), "[1] is a source.").text, "[1] is a source.");
}

TEST(AnswerParser, Qwen3Xml) {
  const Reading how = reading("qwen3_xml", "think", "<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(read(how, "I think.\n</think>\n\nSure.\n\n<tool_call>\n<function=get_weather>\n"
                      "<parameter=city>\nZürich\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
                      "</function>\n</tool_call>"),
            oneCall("Sure.", {}, "I think."));
  // A value without a schema is JSON where it reads as JSON.
  EXPECT_EQ(read(how, "</think><tool_call><function=f><parameter=a>1</parameter><parameter=b>x "
                      "</param</parameter></function><function=get_weather>\n<parameter=on>\n"
                      "None\n</parameter>\n<parameter=city>\n\n5\n\n</parameter></function>"
                      "</tool_call>"),
            (ParsedAnswer{{},
                          {},
                          {{"f", {}, "{\"a\": 1, \"b\": \"x </param\"}"},
                           {"get_weather", {}, "{\"on\": null, \"city\": \"\\n5\\n\"}"}}}));
}

TEST(AnswerParser, Qwen3XmlWithoutOuterMarkers) {
  EXPECT_EQ(read(reading("qwen3_xml"),
                 "Sure.\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n"
                 "<parameter=days>\n3\n</parameter>\n</function>\n"),
            oneCall("Sure."));
  EXPECT_EQ(read(reading("qwen3_xml"), "Write <function=f> so.").text, "Write <function=f> so.");
}

TEST(AnswerParser, Qwen3XmlEndsThoughtsThatStayOpen) {
  const Reading how = reading("qwen3_xml", "think", "<|im_start|>assistant\n<think>\n");
  const std::string call = "<tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n"
                           "</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n"
                           "</tool_call>";
  EXPECT_EQ(read(how, call), oneCall());
  EXPECT_EQ(read(how, "I think.\n\n" + call + "\n"), oneCall({}, {}, "I think."));
  // What models talk of while they think.
  for (const std::string thought :
       {"Is <tool_call> right?", "So <function=now></function> is it.", "<tool_call>\nnow\n."})
    EXPECT_EQ(read(how, thought + "\n</think>\n\nYes."), (ParsedAnswer{"Yes.", thought, {}}));
  // Thinking is off: the prompt closes what it opens.
  EXPECT_EQ(read(reading("qwen3_xml", "think", "<think>\n\n</think>\n\n"), "Sure.\n\n" + call),
            oneCall("Sure."));
}

TEST(AnswerParser, Lfm2) {
  const Reading how = reading("lfm2", "think");
  const std::string open = "<|tool_call_start|>[", close = "]<|tool_call_end|>";
  EXPECT_EQ(read(how, "<think>\nHm " + open + "now()" + close + "\n</think>\nSure." + open +
                          "get_weather(city='Zürich', days=3)" + close),
            oneCall("Sure.", {}, "Hm " + open + "now()" + close));
  // As its templates print earlier calls: objects as JSON, lists as Python, strings as they are.
  for (const auto &[arguments, wanted] :
       {std::pair("opts={\"a\": true, \"b\": null, \"c\": [false]}, city='a\nb \"q\"'",
                  "{\"opts\": {\"a\": true, \"b\": null, \"c\": [false]}, "
                  "\"city\": \"a\\nb \\\"q\\\"\"}"),
        {"list=['a', {'b': None}, True], on=False", "{\"list\": [\"a\", {\"b\": null}, true], "
                                                    "\"on\": false}"}})
    EXPECT_EQ(read(how, open + "get_weather(" + arguments + ")" + close).calls,
              (std::vector<ParsedCall>{{"get_weather", {}, wanted}}));
  EXPECT_EQ(
      read(how, open + "Calendar.create(title=\"x\"), now()" + close).calls,
      (std::vector<ParsedCall>{{"Calendar.create", {}, "{\"title\": \"x\"}"}, {"now", {}, "{}"}}));
}

TEST(AnswerParser, Gemma4) {
  const Reading how = reading("gemma4", "gemma4", "<|turn>model\n");
  const std::string quote = "<|\"|>";
  EXPECT_EQ(
      read(how, "<|tool_call>call:get_weather{city:" + quote + "a {b}, [c]: \"d\"\n" + quote +
                    ",opts:{list:[1,-2.5e3,null," + quote + quote +
                    "],on:true,o:{}}}"
                    "<tool_call|><|tool_call>call:now{}<tool_call|>")
          .calls,
      (std::vector<ParsedCall>{{"get_weather",
                                {},
                                "{\"city\": \"a {b}, [c]: \\\"d\\\"\\n\", \"opts\": {\"list\": "
                                "[1, -2.5e3, null, \"\"], \"on\": true, \"o\": {}}}"},
                               {"now", {}, "{}"}}));
  // Thoughts that have nothing in them, and markers of none.
  for (const char *answer :
       {"<|channel>thought\n<channel|>Hello.", "<|channel>thought<channel|>Hello.",
        "<channel|>Hello.", "Hello.<channel|>", "Hello.<|channel>thought\n<channel|><channel|>"})
    EXPECT_EQ(read(how, answer), (ParsedAnswer{"Hello.", {}, {}})) << answer;
  EXPECT_EQ(read(how, "<|channel>thought\nHm\n<|tool_call>call:get_weather{city:" + quote +
                          "Zürich" + quote + ",days:3}<tool_call|>"),
            oneCall({}, {}, "Hm"));
  EXPECT_EQ(read(reading("gemma4"), "<|channel>thought\nHm<channel|>Hi").text,
            "<|channel>thought\nHm<channel|>Hi");
}

TEST(AnswerParser, Mistral) {
  const Reading how = reading("mistral", "mistral");
  EXPECT_EQ(read(how, "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": "
                      "\"Zürich\", \"days\": 3}, \"id\": \"abcdefghi\"}]"),
            oneCall({}, "abcdefghi"));
  EXPECT_EQ(read(how, "[THINK]Hm\n[/THINK]Sure.[TOOL_CALLS]get_weather[CALL_ID]abcdefghi[ARGS]{"
                      "\"city\": \"Zürich\", \"days\": 3}"),
            oneCall("Sure.", "abcdefghi", "Hm"));
  EXPECT_EQ(read(how, "[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]now[ARGS]{}").calls.size(), 2u);
}

TEST(AnswerParser, DeepSeek) {
  EXPECT_EQ(read(reading("deepseek_v3", "think", "<｜Assistant｜><think>\n"),
                 "Hm</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>"
                 "get_weather\n```json\n{\"city\": \"Zürich\", \"days\": 3}\n```<｜tool▁call▁end｜>"
                 "<｜tool▁calls▁end｜>"),
            oneCall({}, {}, "Hm"));
  EXPECT_EQ(
      read(reading("deepseek_v31"),
           "Sure.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": "
           "\"Zürich\", \"days\": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
      oneCall("Sure."));
  for (const std::string section : {"function_calls>", "tool_calls>"})
    EXPECT_EQ(
        read(reading("deepseek_v32"),
             "\n\n<｜DSML｜" + section +
                 "\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" "
                 "string=\"true\">Zürich</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" "
                 "string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜" +
                 section),
        oneCall());
}

TEST(AnswerParser, Harmony) {
  const Reading how = reading("harmony", "harmony", "<|end|><|start|>assistant");
  const std::string call = "<|message|>{\"city\": \"Zürich\", \"days\": 3}";
  EXPECT_EQ(read(how, "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>"
                      "commentary to=functions.get_weather <|constrain|>json" +
                          call + "<|call|>"),
            oneCall({}, {}, "Hm."));
  EXPECT_EQ(read(how, " to=functions.get_weather<|channel|>commentary json" + call), oneCall());
  EXPECT_EQ(read(how, "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant to="
                      "functions.get_weather<|channel|>commentary json" +
                          call + "<|call|>"),
            oneCall("I look."));
  EXPECT_EQ(read(how, "<|channel|>final<|message|>Hello."), (ParsedAnswer{"Hello.", {}, {}}));
  EXPECT_EQ(read(how, ""), ParsedAnswer{});
  EXPECT_EQ(read(how, "Hello"), (ParsedAnswer{"Hello", {}, {}}));
  EXPECT_EQ(read(reading("harmony", "harmony", "<|channel|>analysis<|message|>"), "Hm.<|end|>"),
            (ParsedAnswer{{}, "Hm.", {}}));
}

TEST(AnswerParser, FamiliesWithMarkersOfTheirOwn) {
  EXPECT_EQ(
      read(reading("glm", "think"),
           "\n<think>Hm</think>\nSure.\n<tool_call>get_weather\n<arg_key>city</arg_key>\n"
           "<arg_value>Zürich</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n"
           "</tool_call>"),
      oneCall("Sure.", {}, "Hm"));
  EXPECT_EQ(read(reading("kimi_k2"),
                 "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call"
                 "_argument_begin|>{\"city\": \"Zürich\", \"days\": 3}<|tool_call_end|><|tool_calls"
                 "_section_end|>"),
            oneCall({}, "functions.get_weather:0"));
  EXPECT_EQ(read(reading("minimax_m2", "think", "ai\n<think>\n"),
                 "</think>\n\n<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name="
                 "\"city\">Zürich</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n"
                 "</minimax:tool_call>"),
            oneCall());
  EXPECT_EQ(read(reading("gemma4", "gemma4"),
                 "<|channel>thought\nHm\n<channel|><|tool_call>call:get_weather{city:<|\"|>Zürich"
                 "<|\"|>,days:3}<tool_call|>"),
            oneCall({}, {}, "Hm"));
  EXPECT_EQ(read(reading("granite3", "granite3"),
                 "<think>Hm</think>\n<response>Hi <b>\n</response>\n<|tool_call|>[{\"name\": "
                 "\"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}]"),
            oneCall("Hi <b>", {}, "Hm"));
  EXPECT_EQ(read(reading("functionary_v32", "none", "\n\n>>>"),
                 "all\nSure.>>>get_weather\n{\"city\": \"Zürich\", \"days\": 3}"),
            oneCall("Sure."));
  EXPECT_EQ(read(reading("functionary_v32", "none", "\n\n>>>"), "x y"),
            (ParsedAnswer{"x y", {}, {}}));
  EXPECT_EQ(read(reading("apertus", "apertus"),
                 "<|inner_prefix|>Hm<|inner_suffix|>Sure.<|tools_prefix|>[{\"get_weather\": {"
                 "\"city\": \"Zürich\", \"days\": 3}}]<|tools_suffix|>"),
            oneCall("Sure.", {}, "Hm"));
  EXPECT_EQ(read(reading("cohere", "cohere"),
                 "<|START_THINKING|>Hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": "
                 "\"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", "
                 "\"days\": 3}}\n]<|END_ACTION|>"),
            oneCall({}, "0", "Hm"));
  EXPECT_EQ(
      read(reading("apriel", "apriel", "<|begin_assistant|>\nHere are my reasoning steps:\n"),
           "Hm\n[BEGIN FINAL RESPONSE]\nSure.\n<tool_calls>[{\"name\": \"get_weather\", "
           "\"arguments\": {\"city\": \"Zürich\", \"days\": 3}, \"id\": \"i\"}]</tool_calls>"),
      oneCall("Sure.", "i", "Hm"));
  EXPECT_EQ(read(reading("hunyuan", "hunyuan"),
                 "<think>\nHm\n</think>\n<answer>\nSure.\n<tool_calls>[{\"name\": \"get_weather\", "
                 "\"arguments\": {\"city\": \"Zürich\", \"days\": 3}}]</tool_calls></answer>"),
            oneCall("Sure.", {}, "Hm"));
  EXPECT_EQ(
      read(reading("solar_open", "solar_open"),
           "<|think|>Hm<|end|><|begin|>assistant<|content|>Sure.<|end|><|begin|>assistant"
           "<|tool_calls|><|tool_call:begin|>i7<|tool_call:name|>get_weather<|tool_call:args|>"
           "{\"city\": \"Zürich\", \"days\": 3}<|tool_call:end|><|calls|>"),
      oneCall("Sure.", "i7", "Hm"));
}

TEST(AnswerParser, TheRemainingFamiliesWithJson) {
  const std::string call = R"({"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}})";
  const std::pair<const char *, std::string> cases[] = {
      {"nemotron", "<TOOLCALL>[" + call + "]</TOOLCALL>"},
      {"phi4_mini", "<|tool_call|>[" + call + "]<|/tool_call|>"},
      {"phi4_mini", "functools[" + call + "]"},
      {"longcat", "<longcat_tool_call>" + call + "</longcat_tool_call>"},
      {"firefunction", " functools[" + call + "]"},
      {"command_r", "\nAction:\n```json\n[\n" + call + "\n]```\n"},
      {"gigachat31", "<|function_call|>" + call},
      {"gigachat3", "<|message_sep|>\n\nfunction call<|role_sep|>\n" + call},
      {"functionary_v31", "<function=get_weather>{\"city\": \"Zürich\", \"days\": 3}</function>"},
      {"seed_oss", "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Zürich</parameter>\n"
                   "<parameter=days>3</parameter>\n</function>\n</seed:tool_call>"}};
  for (const auto &[family, answer] : cases)
    EXPECT_EQ(read(reading(family), answer), oneCall()) << family;
}

TEST(AnswerParser, ThePromptTellsWhetherReasoningIsOpen) {
  const auto text = [](std::string promptTail, std::string_view answer) {
    return read(reading("none", "think", std::move(promptTail)), answer);
  };
  EXPECT_EQ(text("assistant\n<think>\n", "Hm.\n</think>\n\nHi\n"),
            (ParsedAnswer{"Hi\n", "Hm.", {}}));
  EXPECT_EQ(text("assistant\n", "<think>\n\nHm.\n\nYes\n</think>\n\n  Hi"),
            (ParsedAnswer{"  Hi", "Hm.\n\nYes", {}}));
  EXPECT_EQ(text("<think>\n\n</think>\n\n", "Hi <think> and </think>"),
            (ParsedAnswer{"Hi <think> and </think>", {}, {}}));
  EXPECT_EQ(text("<think>", "Hm.\n"), (ParsedAnswer{{}, "Hm.\n", {}}));
  // The answer has begun with words of its own.
  EXPECT_EQ(text("<think>\nSo", " far\n</think>\n\nHi"), (ParsedAnswer{"Hi", " far", {}}));
  EXPECT_EQ(text("<think>\nSo\n</think>\n\nHi", " there"), (ParsedAnswer{" there", {}, {}}));
  Reading words = reading("functionary_v32", "none", "say >>>");
  EXPECT_EQ(read(words, "now\n{}").calls.size(), 1u);
  words.settings.promptEndsInWords = true;
  EXPECT_EQ(read(words, "now\n{}"), (ParsedAnswer{"now\n{}", {}, {}}));
  EXPECT_EQ(text("", "<think>\n\n</think>\n\nHi"), (ParsedAnswer{"Hi", {}, {}}));
  EXPECT_EQ(text("", "\n\nHi"), (ParsedAnswer{"\n\nHi", {}, {}}));
  EXPECT_EQ(text("", " \n"), (ParsedAnswer{" \n", {}, {}}));
}

TEST(AnswerParser, TextsAndThoughtsApartStandOnLinesOfTheirOwn) {
  const std::string call = "<tool_call>{\"name\": \"now\"}</tool_call>";
  const std::vector<ParsedCall> one = {{"now", {}, "{}"}};
  EXPECT_EQ(read(reading("hermes"), "A" + call + "B"), (ParsedAnswer{"A\nB", {}, one}));
  EXPECT_EQ(read(reading("hermes"), "A\n\n" + call + "\n\nB"), (ParsedAnswer{"A\n\nB", {}, one}));
  EXPECT_EQ(read(reading("hermes"), call + "\n\nB"), (ParsedAnswer{"B", {}, one}));
  EXPECT_EQ(read(reading("none", "mistral"), "[THINK]X[/THINK]A[THINK]Y[/THINK]B"),
            (ParsedAnswer{"A\nB", "X\nY", {}}));
  EXPECT_EQ(read(reading("harmony", "harmony"),
                 "<|channel|>commentary<|message|>A<|end|><|start|>assistant<|channel|>final"
                 "<|message|>B"),
            (ParsedAnswer{"A\nB", {}, {}}));
}

TEST(AnswerParser, CallsEndReasoningWhereTheirMarkersAreTokens) {
  EXPECT_EQ(read(reading("kimi_k2", "think"),
                 "<think>Hm\n<|tool_calls_section_begin|><|tool_call_begin|>functions.now:0<|tool_"
                 "call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"),
            (ParsedAnswer{{}, "Hm", {{"now", "functions.now:0", "{}"}}}));
  EXPECT_EQ(read(reading("glm", "think", "<think>"), "Hm.\n<tool_call>? No.</think>Hi"),
            (ParsedAnswer{"Hi", "Hm.\n<tool_call>? No.", {}}));
  const std::string thought = "A <tool_call>{\"name\": \"f\"}</tool_call> is written so.";
  EXPECT_EQ(read(reading("hermes", "think"), "<think>" + thought + "</think>"),
            (ParsedAnswer{{}, thought, {}}));
}

TEST(AnswerParser, CallsOfUnknownFunctionsAreCalls) {
  EXPECT_EQ(read(reading("hermes"), "<tool_call>{\"name\": \"x\", \"arguments\": {}}</tool_call>"),
            (ParsedAnswer{{}, {}, {{"x", {}, "{}"}}}));
}
