// SPDX-License-Identifier: Apache-2.0
// The oracle of each family is its template: what it makes of an assistant's message, parsed at
// every split, gives the message back.
#include "runtime/chat/ChatTemplate.h"
#include "tests/unit/chat/ParsedAnswer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <optional>

using namespace ingot::runtime;
using namespace ingot::test;
using Json = nlohmann::ordered_json;

namespace {

const Json &tools() {
  static const Json all = Json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "description": "w", "parameters": {
      "type": "object", "required": ["city"], "additionalProperties": false, "properties": {
        "city": {"type": "string", "description": "c"},
        "days": {"type": "integer", "description": "d"},
        "wind": {"type": "number", "description": "d"},
        "on": {"type": "boolean", "description": "d"},
        "opts": {"type": "object", "description": "d", "properties": {},
                 "additionalProperties": {"type": "integer"}},
        "list": {"type": "array", "description": "d", "items": {"type": "string"}}}}}},
    {"type": "function", "function": {"name": "now", "description": "n", "parameters": {
      "type": "object", "required": [], "additionalProperties": false, "properties": {}}}}])");
  return all;
}

/// Arguments with what is hard to write: nested, Unicode, quotes, backslashes, line breaks, strings
/// that read as other types, the beginnings of markers, none at all.
const Json &argumentSets() {
  static const Json all = Json::parse(R"([
    {"city": "Zürich \"x\"\n", "days": 3, "opts": {"a": [1, "b", true], "b": {}}},
    {},
    {"city": "it's <tool_ca </param [/ARG </｜DS back\\slash 🦙 \t tab", "on": true, "wind": -1.5,
     "list": ["a", "b\"\n"]},
    {"city": "5"},
    {"city": "true", "on": false, "days": -7},
    {"city": "{\"a\": 1}", "list": []},
    {"city": ""},
    {"city": "null, 'q' \\n"},
    {"city": "x", "opts": {"k": {"z": ["ä", {"y": "q'\""}, [[]]]}}, "wind": 1e21}])");
  return all;
}

struct Message {
  std::string text, reasoning;
  std::vector<std::pair<std::string, Json>> calls;
};

std::vector<Message> messages() {
  std::vector<Message> all = {{"Hello.\n\nWorld `<thi` [x] {y} <|", "", {}},
                              {"Hello.", "Hm\n\n<thi </thin hm.", {}},
                              {"{\"a\": [1]}", "", {}}};
  for (const Json &arguments : argumentSets()) {
    const std::pair<std::string, Json> call = {arguments.empty() ? "now" : "get_weather",
                                               arguments};
    const std::pair<std::string, Json> other = {"now", Json::object()};
    all.push_back({"", "", {call}});
    all.push_back({"Sure, <too {\"a\".", "", {call}});
    all.push_back({"", "I think.\nYes.", {call}});
    all.push_back({"Sure.", "", {other, call}});
    all.push_back({"Sure.", "I think.", {call, other, call}});
  }
  return all;
}

/// Messages by chance; the same seed gives the same on every machine.
class RandomMessages {
public:
  Message next() {
    Message message = {below(2) ? "Text" + text(5) : "", below(2) ? "Thought" + text(5) : "", {}};
    for (size_t count = below(4); count > 0; --count)
      message.calls.push_back(call());
    if (message.text.empty() && message.calls.empty())
      message.text = "Hello.";
    return message;
  }

private:
  size_t below(size_t bound) { return generator() % bound; }

  /// Words, signs that notations give a meaning, and beginnings of markers, which are never whole
  /// since a word follows. White space stands at neither end.
  std::string text(size_t longest) {
    static constexpr std::string_view words[] = {"a",  "ü",    "🦙", "5",   "true", "null", "\\",
                                                 "\"", "'",    "{",  "}",   "[",    "]",    ", ",
                                                 ": ", "\n\n", "\t", "\\n", "=",    "```",  "%"};
    std::string all = "x";
    for (size_t count = below(longest + 1); count > 0; --count) {
      if (below(4)) {
        all += words[below(std::size(words))];
        continue;
      }
      const AnswerFamily &family = answerFamilies()[below(answerFamilies().size())];
      std::string_view marker = family.reasoningClose;
      if (family.hasTools()) {
        const CallForm &form = family.forms[below(family.forms.size())];
        const std::string_view all[] = {form.open, form.callOpen, form.tags.valueEnd,
                                        form.callClose, form.close};
        marker = all[below(std::size(all))];
      }
      size_t length = marker.empty() ? 0 : below(marker.size());
      while (length > 0 && (marker[length] & '\xC0') == '\x80') // within a character
        --length;
      all += std::string(marker.substr(0, length)) + "x";
    }
    return all + "x";
  }

  Json value(int depth) {
    Json all;
    switch (below(depth > 2 ? 5 : 7)) {
    case 0:
      return static_cast<int64_t>(below(2000)) - 1000;
    case 1:
      return static_cast<double>(below(2000)) / 8 - 100;
    case 2:
      return below(2) == 1;
    case 3:
    case 4:
      return text(4);
    case 5:
      all = Json::array();
      for (size_t count = below(3); count > 0; --count)
        all.push_back(value(depth + 1));
      return all;
    default:
      all = Json::object();
      for (size_t count = below(3); count > 0; --count)
        all["k" + std::to_string(below(9))] = value(depth + 1);
      return all;
    }
  }

  std::pair<std::string, Json> call() {
    Json arguments = {{"city", below(4) ? text(6) : ""}};
    if (below(2))
      arguments["opts"] = {{"z", value(0)}, {"y", value(1)}};
    if (below(2))
      arguments["list"] = {text(3), text(3)};
    if (below(2))
      arguments["wind"] = static_cast<double>(below(100)) / 4;
    return {"get_weather", arguments};
  }

  std::minstd_rand generator{12};
};

/// How many messages by chance each template gets.
size_t randomMessages = INGOT_RANDOM_MESSAGES;

/// Templates differ in whether they take arguments as an object or as text, and nothing as the
/// content beside calls.
Json asJson(const Message &message, bool textArguments, bool nullContent) {
  const bool isNull = nullContent && message.text.empty();
  Json json = {{"role", "assistant"}, {"content", isNull ? Json() : Json(message.text)}};
  for (size_t i = 0; i < message.calls.size(); ++i) {
    const auto &[name, arguments] = message.calls[i];
    json["tool_calls"].push_back(
        {{"type", "function"},
         {"id", "abcd1234" + std::to_string(i)},
         {"function",
          {{"name", name}, {"arguments", textArguments ? Json(arguments.dump()) : arguments}}}});
  }
  if (!message.reasoning.empty())
    for (const char *key : {"reasoning", "reasoning_content", "thinking"})
      json[key] = message.reasoning;
  return json;
}

/// A template of the shared data, and what is peculiar to it.
class Oracle {
public:
  explicit Oracle(const std::filesystem::path &file) : name(file.stem().string()) {
    std::ifstream stream(file);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    Result<ChatTemplate> compiled = ChatTemplate::compile(name, text);
    EXPECT_TRUE(compiled.ok()) << name;
    if (compiled.ok())
      chatTemplate = *compiled;
    families = chooseFamilies(text);
    prompt = render(Json::array(), true).value_or("");
  }

  /// Checks one message; false where the template does not write it.
  bool check(const Message &message) {
    const std::optional<std::string> rendered = render(message);
    if (!rendered || prompt.empty())
      return false;
    std::string promptTail;
    std::string answer = answerOf(*rendered, promptTail);
    if (answer.empty() || isOtherwise(message, answer))
      return false;
    Message expected = written(message, answer);
    if (expected.calls.empty() && !message.calls.empty())
      return false;
    Reading how{families.reasoning, families.tools, {}};
    how.settings.promptTail = promptTail;
    for (const Json &tool : tools())
      how.settings.tools.push_back(
          {tool["function"]["name"].get<std::string>(), tool["function"]["parameters"]});
    const ParsedAnswer streamed = parseAtEverySplit(how, answer, 2);
    how.settings.streamed = false;
    EXPECT_EQ(parse(how, answer), streamed) << name << ": " << answer;
    expectMessage(streamed, expected, answer);
    return true;
  }

  std::string name;
  AnswerFamilies families = {&noFamily(), &noFamily()};

private:
  /// Two templates end the turn between calls and text; one of these writes a last text as the rest
  /// of a thought. A third ends the calls after the second one, and goes on.
  bool isOtherwise(const Message &message, std::string_view answer) const {
    if (answer.find("<｜tool▁calls▁end｜><｜end▁of▁sentence｜>\n<｜tool▁call▁begin｜>") !=
        std::string::npos)
      return true;
    if (message.text.empty())
      return false;
    return name == "NVIDIA-Nemotron-Nano-v2" ||
           (name == "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B" && !message.calls.empty());
  }

  size_t sharedWithPrompt(const std::string &rendered) const {
    return static_cast<size_t>(std::ranges::mismatch(rendered, prompt).in1 - rendered.begin());
  }

  /// A conversation that ends with the message, in the first form that the template writes with
  /// its calls.
  std::optional<std::string> render(const Message &message) const {
    for (const bool nullContent : {false, true})
      for (const bool textArguments : {false, true}) {
        std::optional<std::string> rendered =
            render(Json::array({asJson(message, textArguments, nullContent)}), false);
        const bool isWhole =
            rendered && (message.calls.empty() ||
                         rendered->find(message.calls[0].first, sharedWithPrompt(*rendered)) !=
                             std::string::npos);
        if (isWhole)
          return rendered;
      }
    return std::nullopt;
  }

  std::optional<std::string> render(const Json &answers, bool prompts) const {
    Json conversation = Json::array({{{"role", "user"}, {"content", "Hi"}}});
    for (const Json &answer : answers)
      conversation.push_back(answer);
    Json variables = {
        {"messages", conversation},    {"tools", tools()},     {"add_generation_prompt", prompts},
        {"bos_token", "<BOS>"},        {"eos_token", "<EOS>"}, {"enable_thinking", true},
        {"functions", tools().dump()}, {"datetime", "now"}};
    if (name == "llama-cpp-deepseek-r1") // cannot write tools
      variables.erase("tools");
    if (name == "CohereForAI-c4ai-command-r-plus-tool_use") // cannot write lists
      variables["tools"][0]["function"]["parameters"]["properties"].erase("list");
    if (!chatTemplate)
      return std::nullopt;
    const Result<RenderedPrompt> rendered = chatTemplate->render(variables);
    if (!rendered.ok())
      return std::nullopt;
    return rendered->text;
  }

  /// What the model would have written of a rendered conversation, without the end of its turn.
  std::string answerOf(const std::string &rendered, std::string &promptTail) const {
    promptTail = prompt;
    std::string answer;
    constexpr std::string_view turn = "<|CHATBOT_TOKEN|>";
    if (name == "CohereForAI-c4ai-command-r-plus-tool_use") {
      // It ends each conversation with a turn of the system.
      const size_t begin = rendered.find(turn) + turn.size();
      answer = rendered.substr(begin, rendered.rfind("<|START_OF_TURN_TOKEN|>") - begin);
    } else if (rendered.starts_with(prompt)) {
      answer = rendered.substr(prompt.size());
    } else {
      // The prompt begins to think, or says that there is nothing to think, and the template does
      // not write that again: the answer then begins before that, or is read as thought before.
      const size_t shared = sharedWithPrompt(rendered);
      const std::string_view open = families.reasoning->reasoningOpen;
      const size_t begin =
          prompt.rfind(open.empty() ? std::string_view("\1") : open.substr(0, open.find('\n')));
      if (begin == std::string::npos || begin > shared)
        return {};
      answer = rendered.substr(begin);
      const std::string_view close = families.reasoning->reasoningClose;
      const bool continues = answer.starts_with(close) ||
                             (!answer.starts_with(open) && answer.find(close) != std::string::npos);
      if (!continues)
        promptTail.resize(begin);
    }
    return withoutEnd(std::move(answer));
  }

  static std::string withoutEnd(std::string answer) {
    static constexpr std::string_view ends[] = {"<|im_end|>",
                                                "<EOS>",
                                                "<|eot_id|>",
                                                "<|eom_id|>",
                                                "<|end_of_text|>",
                                                "<|return|>",
                                                "<turn|>",
                                                "<|end|>",
                                                "<|tool_response>",
                                                "[e~[",
                                                "<sep>",
                                                "<seed:eos>",
                                                "<end_of_turn>",
                                                "<SPECIAL_12>",
                                                "<|message_sep|>",
                                                "<|END_OF_TURN_TOKEN|>",
                                                "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
                                                "<｜end▁of▁sentence｜>",
                                                "<｜Assistant｜>",
                                                "<|START_THINKING|><|END_THINKING|>",
                                                "<|start_header_id|>assistant<|end_header_id|>"};
    for (bool again = true; again;) {
      answer.resize(answer.find_last_not_of('\n') + 1);
      again = false;
      for (const std::string_view end : ends)
        if (answer.ends_with(end)) {
          answer.resize(answer.size() - end.size());
          again = true;
        }
    }
    return answer;
  }

  /// What of a message its template writes at all: some leave out text beside calls, reasoning of
  /// past answers, or all calls but the first.
  Message written(const Message &message, const std::string &answer) const {
    Message left = message;
    const bool one = name.starts_with("GigaChat") || name.starts_with("openai-gpt-oss");
    const size_t called =
        static_cast<size_t>(std::ranges::count_if(message.calls, [&](const auto &call) {
          return answer.find(call.first) != std::string::npos;
        }));
    left.calls.resize(std::min(called, one ? size_t{1} : called));
    if (answer.find(message.text) == std::string::npos)
      left.text.clear();
    if (answer.find(message.reasoning) == std::string::npos)
      left.reasoning.clear();
    // gpt-oss's template writes the text beside a call as a thought.
    if (name.starts_with("openai-gpt-oss") && !left.calls.empty() && !left.text.empty())
      left.reasoning = std::exchange(left.text, {});
    return left;
  }

  void expectMessage(const ParsedAnswer &parsed, const Message &expected,
                     const std::string &answer) const {
    EXPECT_EQ(parsed.reasoning, expected.reasoning) << name << ": " << answer;
    // Some prompts end where a space belongs to the answer.
    const std::string_view text = parsed.text;
    EXPECT_EQ(text.substr(std::min(text.find_first_not_of(' '), text.size())), expected.text)
        << name << ": " << answer;
    ASSERT_EQ(parsed.calls.size(), expected.calls.size()) << name << ": " << answer;
    for (size_t i = 0; i < parsed.calls.size(); ++i) {
      const ParsedCall &call = parsed.calls[i];
      EXPECT_EQ(call.name, expected.calls[i].first);
      EXPECT_TRUE(call.whole);
      const nlohmann::json arguments = nlohmann::json::parse(call.arguments, nullptr, false);
      EXPECT_EQ(arguments, nlohmann::json(expected.calls[i].second)) << name << ": " << answer;
      if (answer.find("abcd1234") != std::string::npos) {
        EXPECT_EQ(call.id, "abcd1234" + std::to_string(i)) << name << ": " << answer;
      }
    }
  }

  std::optional<ChatTemplate> chatTemplate;
  std::string prompt;
};

} // namespace

TEST(AnswerOracle, TemplatesGiveTheirMessagesBack) {
  const std::filesystem::path folder =
      std::filesystem::path(INGOT_SHARED_DIR) / "data/chat-templates";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no shared test data";
  std::vector<std::string> silent;
  size_t checked = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jinja")
      continue;
    Oracle oracle(entry.path());
    size_t calls = 0;
    RandomMessages random;
    std::vector<Message> all = messages();
    std::generate_n(std::back_inserter(all), randomMessages, [&] { return random.next(); });
    for (const Message &message : all)
      if (oracle.check(message)) {
        ++checked;
        calls += !message.calls.empty();
      }
    if (calls == 0)
      silent.push_back(oracle.name);
  }
  // A check that found nothing to read would prove nothing: these alone write no calls.
  EXPECT_THAT(silent,
              testing::UnorderedElementsAre(
                  "HuggingFaceTB-SmolLM3-3B", "Kimi-K2-Instruct", "Kimi-K2-Thinking", "LFM2-8B-A1B",
                  "LFM2.5-Instruct", "google-gemma-2-2b-it", "ibm-granite-granite-3.3-2B-Instruct",
                  "llama-cpp-rwkv-world", "microsoft-Phi-3.5-mini-instruct"));
  EXPECT_GT(checked, 2000u);
}

/// `AnswerOracleTest [MESSAGES]`
int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1)
    randomMessages = std::stoul(argv[1]);
  return RUN_ALL_TESTS();
}
