// SPDX-License-Identifier: Apache-2.0
// Conversations as clients send them, through real chat templates: what was said is in the prompt,
// once and in order. What a prompt must have is told here by plain words that stand nowhere else.
#include "runtime/chat/ConversationPrompt.h"
#include "tests/unit/jinja/Rendering.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace ingot::test {
namespace {

using runtime::Conversation;

std::filesystem::path templateFolder() {
  return std::filesystem::path(INGOT_SHARED_DIR) / "data/chat-templates";
}

Json message(const char *role, const Json &content) {
  return {{"role", role}, {"content", content}};
}

Json parts(const std::string &first, const std::string &second) {
  return {{{"type", "text"}, {"text", first}}, {{"type", "text"}, {"text", second}}};
}

Json call(const char *id, const Json &arguments) {
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", "lookup"}, {"arguments", arguments}}}};
}

Json calls(const std::vector<Json> &all, const Json &content = nullptr) {
  Json made = message("assistant", content);
  made["tool_calls"] = all;
  return made;
}

Json result(const char *id, const Json &content) {
  Json made = message("tool", content);
  if (id)
    made["tool_call_id"] = id;
  return made;
}

class RealTemplate {
public:
  explicit RealTemplate(const std::filesystem::path &path)
      : name(path.stem().string()), compiled(compile(path)) {
    // FireFunction's tools and date are variables of their own.
    tokens = {
        {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"functions", "[]"}, {"datetime", "now"}};
    traits = runtime::traitsOf(*compiled, tokens);
  }

  Result<RenderedPrompt> render(Json body) const {
    if (traits.knowsTools && name != "llama-cpp-deepseek-r1") // its tools do not render in Jinja2
      body["tools"] = {{{"type", "function"},
                        {"function",
                         {{"name", "lookup"},
                          {"description", "looks up"},
                          {"parameters",
                           {{"type", "object"},
                            {"properties", {{"key", {{"type", "string"}, {"description", "k"}}}}},
                            {"required", {"key"}}}}}}}};
    const Result<Conversation> read = Conversation::read(body);
    if (!read.ok())
      return read.status();
    RenderSettings settings;
    settings.now = fixedTime();
    return renderConversation(*read, *compiled, traits, tokens, settings);
  }
  Result<RenderedPrompt> answer(const std::vector<Json> &messages) const {
    return render({{"messages", messages}});
  }

  std::string name;
  Result<ChatTemplate> compiled;
  runtime::TemplateTraits traits;

private:
  static Result<ChatTemplate> compile(const std::filesystem::path &path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return ChatTemplate::compile(path.stem().string(), text.str());
  }

  Json tokens;
};

/// All templates, compiled once.
const std::vector<std::unique_ptr<RealTemplate>> &realTemplates() {
  static const auto all = [] {
    std::map<std::string, std::unique_ptr<RealTemplate>> byName;
    for (const auto &entry : std::filesystem::directory_iterator(templateFolder()))
      if (entry.path().extension() == ".jinja")
        byName[entry.path().stem()] = std::make_unique<RealTemplate>(entry.path());
    std::vector<std::unique_ptr<RealTemplate>> sorted;
    for (auto &[name, made] : byName)
      sorted.push_back(std::move(made));
    return sorted;
  }();
  return all;
}

#define SKIP_WITHOUT_TEMPLATES                                                                     \
  if (!std::filesystem::exists(templateFolder()))                                                  \
  GTEST_SKIP() << "no chat templates at " << templateFolder()

/// Where a word stands in the prompt, which it must do once.
size_t placeOf(const std::string &prompt, const std::string &word) {
  const size_t place = prompt.find(word);
  EXPECT_NE(place, prompt.npos) << word << " is lost in\n" << prompt;
  EXPECT_EQ(prompt.find(word, place + 1), prompt.npos) << word << " is there twice in\n" << prompt;
  return place;
}

/// Expects each of `words` once, in order.
void expectInOrder(const std::string &prompt, const std::vector<std::string> &words) {
  size_t before = 0;
  for (const std::string &word : words) {
    const size_t place = placeOf(prompt, word);
    EXPECT_GE(place, before) << word << " is too early in\n" << prompt;
    before = place;
  }
}

/// Each of these, and nothing more than the order of words in each.
struct Said {
  std::vector<Json> messages;
  std::vector<std::vector<std::string>> orders;
};

void expectAllSaid(const Said &said) {
  for (const auto &each : realTemplates()) {
    SCOPED_TRACE(each->name);
    const Result<RenderedPrompt> prompt = each->answer(said.messages);
    ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
    for (const std::vector<std::string> &words : said.orders)
      expectInOrder(prompt->text, words);
  }
}

TEST(RealTemplates, ThoseThatSpeakOfPicturesTakeThem) {
  SKIP_WITHOUT_TEMPLATES;
  size_t seeing = 0;
  const Json pictured = {{{"type", "text"}, {"text", "Alpha"}},
                         {{"type", "image_url"}, {"image_url", {{"url", "data:x"}}}},
                         {{"type", "text"}, {"text", "Omega"}}};
  for (const auto &each : realTemplates()) {
    const Result<RenderedPrompt> prompt = each->answer({message("user", pictured)});
    const bool speaks = each->compiled->source().find("image") != std::string_view::npos;
    seeing += speaks;
    EXPECT_EQ(prompt.ok(), speaks) << each->name << ": " << prompt.status().toString();
    if (!prompt.ok()) {
      EXPECT_EQ(prompt.status().code(), "INGOT-E6077") << each->name;
      continue;
    }
    EXPECT_EQ(prompt->images, std::vector<std::string>{"data:x"}) << each->name;
    expectInOrder(prompt->text, {"Alpha", "Omega"});
  }
  EXPECT_GT(seeing, 10u);
}

TEST(RealTemplates, EachAreThere) {
  SKIP_WITHOUT_TEMPLATES;
  EXPECT_EQ(realTemplates().size(), 56u);
}

TEST(RealTemplates, Prefills) {
  SKIP_WITHOUT_TEMPLATES;
  const std::string texts[] = {
      "<",         "|", "e",        "end",          " ",        "\n",     "Sure: ",  "<|im_end|>",
      "assistant", "",  "Ça va 😀", "one\n\ntwo\n", "{\"a\": ", "user\n", "Question"};
  for (const auto &each : realTemplates()) {
    auto goOn = [&](const std::string &text) {
      return each->render({{"messages", {message("user", "Question"), message("assistant", text)}},
                           {"continue_final_message", true}});
    };
    const std::string plain = "Plainly";
    const Result<RenderedPrompt> known = goOn(plain);
    ASSERT_TRUE(known.ok()) << known.status().toString();
    ASSERT_TRUE(known->text.ends_with(plain)) << each->name << known->text;
    const std::string head = known->text.substr(0, known->text.size() - plain.size());
    const Result<RenderedPrompt> asked = each->answer({message("user", "Question")});
    ASSERT_TRUE(asked.ok()) << asked.status().toString();
    for (const std::string &text : texts) {
      SCOPED_TRACE(each->name + ": " + text);
      const Result<RenderedPrompt> prompt = goOn(text);
      ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
      // Some templates trim; what is blank then is answered from the template's beginning.
      std::string trimmed = text;
      while (!trimmed.empty() && isspace(trimmed.back()))
        trimmed.pop_back();
      const std::string other = trimmed.empty() ? asked->text : head + trimmed;
      EXPECT_TRUE(prompt->text == head + text || prompt->text == other) << prompt->text;
      EXPECT_LE(prompt->answerBegin, head.size());
    }
  }
}

const char *const first = "call_first12345", *const second = "call_second1234";

TEST(RealTemplates, ResultsOutOfOrder) {
  SKIP_WITHOUT_TEMPLATES;
  const Json both = calls({call(first, R"({"key": "ArgA"})"), call(second, R"({"key": "ArgB"})")});
  expectAllSaid({{message("user", "QuestionA"), both, result(second, "ResB"), result(first, "ResA"),
                  message("assistant", "AnswerA"), message("user", "QuestionB")},
                 {{"QuestionA", "ArgA", "ArgB", "AnswerA", "QuestionB"},
                  {"ArgA", "ResA", "ResB", "AnswerA"},
                  {"ArgB", "ResB"}}});
  expectAllSaid(
      {{message("user", "QuestionA"), both, result(nullptr, "ResA"), result(nullptr, "ResB")},
       {{"QuestionA", "ArgA", "ResA", "ResB"}, {"ArgB", "ResB"}}});
  // A call without a result is no other's.
  expectAllSaid({{message("user", "QuestionA"), both, result(second, "ResB")},
                 {{"QuestionA", "ArgB", "ResB"}, {"ArgB", "ArgA"}}});
}

TEST(RealTemplates, TextBesideCalls) {
  SKIP_WITHOUT_TEMPLATES;
  const Json spoken = calls({call(first, R"({"key": "ArgA"})")}, "TextA");
  // Some say the text behind the calls.
  expectAllSaid(
      {{message("user", "QuestionA"), spoken, result(first, "ResA"),
        message("assistant", "AnswerA"), message("user", "QuestionB")},
       {{"QuestionA", "ArgA", "ResA", "AnswerA", "QuestionB"}, {"QuestionA", "TextA", "AnswerA"}}});
  expectAllSaid(
      {{message("system", "SystemA"), message("user", "QuestionA"), spoken, result(first, "ResA")},
       {{"SystemA", "QuestionA", "ArgA", "ResA"}, {"QuestionA", "TextA"}}});
}

TEST(RealTemplates, PartsInEveryRole) {
  SKIP_WITHOUT_TEMPLATES;
  expectAllSaid(
      {{message("system", parts("SystemA", "SystemB")), message("user", parts("UserA", "UserB")),
        message("assistant", parts("AnswerA", "AnswerB")), message("user", "Last")},
       {{"SystemA", "SystemB"}, {"UserA", "UserB", "AnswerA", "AnswerB", "Last"}}});
  expectAllSaid({{message("user", "QuestionA"), calls({call(first, R"({"key": "ArgA"})")}),
                  result(first, parts("ResA", "ResB"))},
                 {{"QuestionA", "ArgA", "ResA", "ResB"}}});
}

TEST(RealTemplates, MoreInstructions) {
  SKIP_WITHOUT_TEMPLATES;
  for (const char *role : {"system", "developer"})
    for (const char *other : {"system", "developer"}) {
      expectAllSaid(
          {{message(role, "SystemA"), message(other, "SystemB"), message("user", "UserA")},
           {{"SystemA", "SystemB"}, {"UserA"}}});
      expectAllSaid(
          {{message(role, "SystemA"), message("user", "UserA"), message("assistant", "AnswerA"),
            message(other, "SystemB"), message("user", "UserB"), message("assistant", "AnswerB"),
            message(other, "SystemC")},
           {{"SystemA"}, {"SystemB", "SystemC"}, {"UserA", "AnswerA", "UserB", "AnswerB"}}});
    }
}

TEST(RealTemplates, RepeatedRoles) {
  SKIP_WITHOUT_TEMPLATES;
  expectAllSaid(
      {{message("user", "UserA"), message("user", "UserB"), message("assistant", "AnswerA"),
        message("assistant", "AnswerB"), message("user", "UserC")},
       {{"UserA", "UserB", "AnswerA", "AnswerB", "UserC"}}});
}

TEST(RealTemplates, ArgumentsThatAreNoObject) {
  SKIP_WITHOUT_TEMPLATES;
  for (const auto &each : realTemplates()) {
    SCOPED_TRACE(each->name);
    auto prompt = [&](const Json &arguments) {
      const Result<RenderedPrompt> made = each->answer(
          {message("user", "UserA"), calls({call(first, arguments)}), result(first, "ResA")});
      EXPECT_TRUE(made.ok()) << made.status().toString();
      return made.ok() ? made->text : "";
    };
    for (const Json &none : {Json(""), Json(" \n"), Json("null"), Json("{}"), Json()})
      EXPECT_EQ(prompt(none), prompt(Json::object()));
    // An answer that was cut.
    expectInOrder(prompt("{\"CutArg\": "), {"UserA", "CutArg", "ResA"});
  }
}

} // namespace
} // namespace ingot::test
