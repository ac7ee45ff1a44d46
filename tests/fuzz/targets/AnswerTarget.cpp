// SPDX-License-Identifier: Apache-2.0
// What a model answers, read by each family in two different cuts. The first four bytes choose the
// families, the settings and the cuts; the rest is the answer.
#include "tests/fuzz/targets/Target.h"
#include "tests/unit/chat/ParsedAnswer.h"

using namespace ingot;
using namespace ingot::fuzz;
using namespace ingot::runtime;
using namespace ingot::test;

static std::string input(size_t family, std::string_view answer) {
  return std::string{static_cast<char>(family), static_cast<char>(family), '\3', 'x'} +
         std::string(answer);
}

std::vector<std::string> fuzz::seeds() {
  std::vector<std::string> inputs;
  const std::span<const AnswerFamily> families = answerFamilies();
  for (size_t i = 0; i < families.size(); ++i)
    for (const CallForm &form : families[i].forms) {
      // One call by the table: what stands where is all there is to know of a form.
      std::string call = std::string(form.callOpen);
      for (const HeadPart &part : form.head)
        if (part.kind != HeadPart::Kind::None)
          call += "f" + std::string(part.end);
      const ArgumentTags &tags = form.tags;
      switch (form.arguments) {
      case ArgumentForm::Json:
        call += R"({"a": "x\u00e9", "b": [1, null]})";
        break;
      case ArgumentForm::JsonCall:
        call += R"({"name": "f", "arguments": {"a": true}, "id": "1"})";
        break;
      case ArgumentForm::NamedJson:
        call += R"({"f": {"a": 1.5}})";
        break;
      case ArgumentForm::Tagged:
        for (const char *key : {"a", "i"})
          call += std::string(tags.key) + key + std::string(tags.ofJson) +
                  std::string(tags.keyEnd) + std::string(tags.value) + "\n5\n" +
                  std::string(tags.valueEnd);
        break;
      case ArgumentForm::PythonCall:
        call += "(a='x', b=[1, {'c': None}])";
        break;
      case ArgumentForm::Gemma:
        call += "{a:<|\"|>x<|\"|>,b:[1]}";
      }
      call += std::string(form.argumentsClose) + std::string(form.callClose);
      if (form.isList)
        call = "[" + call + ", " + call + "]";
      inputs.push_back(input(i, std::string(families[i].reasoningOpen) + "Hm\n" +
                                    std::string(families[i].reasoningClose) + "\nSure.\n" +
                                    std::string(form.open) + call + std::string(form.close) +
                                    "\n."));
    }
  return inputs;
}

std::vector<std::string> fuzz::words() {
  std::vector<std::string> all = {"\"name\"", "\"arguments\"", "\"id\"", "<think>", "\\u00e9",
                                  "\\ud83e",  "None",          "{\"",    "\":"};
  for (const AnswerFamily &family : answerFamilies()) {
    for (const std::string_view word : {family.reasoningOpen, family.reasoningClose})
      all.emplace_back(word);
    for (const std::string_view frame : family.frames)
      all.emplace_back(frame);
    for (const CallForm &form : family.forms)
      for (const std::string_view word :
           {form.open, form.callOpen, form.head[0].end, form.head[1].end, form.tags.key,
            form.tags.keyEnd, form.tags.value, form.tags.valueEnd, form.argumentsClose,
            form.callClose, form.close})
        all.emplace_back(word);
  }
  std::erase(all, "");
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Checks that arguments are an object of JSON, where the text is UTF-8, which JSON has to be.
static void checkCalls(const ParsedAnswer &answer) {
  for (const ParsedCall &call : answer.calls) {
    EXPECT_FALSE(call.name.empty());
    const nlohmann::json value = nlohmann::json::parse(call.arguments, nullptr, false);
    const bool isText =
        std::ranges::none_of(call.arguments, [](char byte) { return byte & '\x80'; });
    if (call.whole && isText) {
      EXPECT_TRUE(value.is_object()) << call.arguments;
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4)
    return 0;
  const std::span<const AnswerFamily> families = answerFamilies();
  Reading how;
  how.tools = &families[data[0] % families.size()];
  how.reasoning = &families[data[1] % families.size()];
  how.settings.streamed = data[2] & 1;
  how.settings.parallel = data[2] & 2;
  how.settings.calls = !(data[2] & 16);
  if (data[2] & 4)
    how.settings.promptTail = how.tools->promptPrefix;
  if (data[2] & 8)
    how.settings.promptTail = how.reasoning->reasoningOpen;
  how.settings.tools = {
      {"f",
       {{"properties", {{"a", {{"type", "string"}}}, {"i", {{"type", {"integer", "null"}}}}}}}}};
  const std::string_view answer(reinterpret_cast<const char *>(data) + 4, size - 4);
  std::vector<size_t> cuts;
  for (size_t at = 0; at < answer.size(); at += 1 + data[3] % 7)
    cuts.push_back(at);
  const ParsedAnswer whole = parse(how, answer);
  EXPECT_EQ(parse(how, answer, cuts), whole);
  checkCalls(whole);
  how.settings.streamed = !how.settings.streamed;
  const ParsedAnswer otherwise = parse(how, answer, cuts);
  checkCalls(otherwise);
  // What is no call is text, all of it.
  const bool hasFrames = !how.tools->frames[0].empty() || !how.reasoning->frames[0].empty();
  if (!hasFrames && !how.reasoning->hasReasoning()) {
    const ParsedAnswer &held = how.settings.streamed ? whole : otherwise;
    EXPECT_TRUE(!held.calls.empty() || held.text == answer);
  }
  return 0;
}
