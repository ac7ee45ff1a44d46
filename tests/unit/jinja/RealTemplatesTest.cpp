// SPDX-License-Identifier: Apache-2.0
// Conversations as clients send them, through real chat templates: what was said is in the prompt,
// once and in order, or the request is refused by name. What a prompt must have is told here by
// plain words that stand nowhere else.
#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/ConversationPrompt.h"
#include "tests/unit/jinja/Rendering.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace ingot::test {
namespace {

using runtime::Conversation;
using runtime::TemplateUse;

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
    use.compiled = &*compiled;
    use.traits = runtime::traitsOf(*compiled, tokens);
    use.thoughtsEnd = runtime::chooseFamilies(compiled->source()).reasoning->reasoningClose;
  }

  Result<RenderedPrompt> render(Json body) const {
    if (use.traits.knowsTools)
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
    return renderConversation(*read, use, tokens, settings);
  }
  Result<RenderedPrompt> answer(const std::vector<Json> &messages) const {
    return render(Json{{"messages", messages}});
  }

  std::string name;
  Result<ChatTemplate> compiled;
  TemplateUse use;

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

/// Which templates refuse a conversation, by the code of the error.
struct Refusals {
  std::map<std::string, std::string> byCode;

  void add(const RealTemplate &each, const runtime::Status &status) {
    std::string &names = byCode[std::string(status.code())];
    names += (names.empty() ? "" : " ") + each.name;
    if (getenv("SHOW"))
      printf("  %s: %s\n", each.name.c_str(), status.toString().c_str());
  }
};

/// Renders a conversation with each template and expects `words` in order.
Refusals expectSaid(const std::vector<Json> &messages, const std::vector<std::string> &words) {
  Refusals refusals;
  for (const auto &each : realTemplates()) {
    SCOPED_TRACE(each->name);
    const Result<RenderedPrompt> prompt = each->answer(messages);
    if (prompt.ok())
      expectInOrder(prompt->text, words);
    else
      refusals.add(*each, prompt.status());
  }
  return refusals;
}

using Names = std::map<std::string, std::string>;

TEST(RealTemplates, Prefills) {
  SKIP_WITHOUT_TEMPLATES;
  const std::string texts[] = {
      "<",         "|", "e",        "end",          " ",        "\n",     "Sure: ",  "<|im_end|>",
      "assistant", "",  "Ça va 😀", "one\n\ntwo\n", "{\"a\": ", "user\n", "Question"};
  Refusals refusals;
  for (const auto &each : realTemplates()) {
    auto goOn = [&](const std::string &text) {
      return each->render(
          Json{{"messages", {message("user", "Question"), message("assistant", text)}},
               {"continue_final_message", true}});
    };
    const std::string plain = "Plainly";
    const Result<RenderedPrompt> known = goOn(plain);
    if (!known.ok()) {
      refusals.add(*each, known.status());
      continue;
    }
    ASSERT_TRUE(known->text.ends_with(plain)) << each->name << known->text;
    const std::string head = known->text.substr(0, known->text.size() - plain.size());
    const Result<RenderedPrompt> asked = each->answer({message("user", "Question")});
    ASSERT_TRUE(asked.ok()) << asked.status().toString();
    for (const std::string &text : texts) {
      SCOPED_TRACE(each->name + ": " + text);
      const Result<RenderedPrompt> prompt = goOn(text);
      ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
      std::string trimmed = text;
      while (!trimmed.empty() && isspace(trimmed.back()))
        trimmed.pop_back();
      if (trimmed.empty())
        EXPECT_TRUE(prompt->text == head + text || prompt->text == asked->text) << prompt->text;
      else
        EXPECT_TRUE(prompt->text == head + text || prompt->text == head + trimmed)
            << prompt->text << "\n---\n"
            << head;
      EXPECT_LE(prompt->answerBegin, head.size());
    }
  }
  EXPECT_EQ(refusals.byCode, Names());
}

TEST(RealTemplates, ResultsOutOfOrder) {
  SKIP_WITHOUT_TEMPLATES;
  const std::vector<Json> messages = {message("user", "QuestionA"),
                                      calls({call("call_first12345", R"({"key": "ArgA"})"),
                                             call("call_second1234", R"({"key": "ArgB"})")}),
                                      result("call_second1234", "ResB"),
                                      result("call_first12345", "ResA"),
                                      message("assistant", "AnswerA"),
                                      message("user", "QuestionB")};
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{"QuestionA", "ArgA", "ArgB", "AnswerA", "QuestionB"},
        {"QuestionA", "ArgA", "ResA", "ResB", "AnswerA"},
        {"ArgB", "ResB"}})
    EXPECT_EQ(expectSaid(messages, words).byCode, Names());
}

TEST(RealTemplates, TextBesideCalls) {
  SKIP_WITHOUT_TEMPLATES;
  EXPECT_EQ(expectSaid({message("user", "QuestionA"),
                        calls({call("call_first12345", R"({"key": "ArgA"})")}, "TextA"),
                        result("call_first12345", "ResA"), message("assistant", "AnswerA"),
                        message("user", "QuestionB")},
                       {"QuestionA", "TextA", "ArgA", "ResA", "AnswerA", "QuestionB"})
                .byCode,
            Names());
  EXPECT_EQ(expectSaid({message("system", "SystemA"), message("user", "QuestionA"),
                        calls({call("call_first12345", R"({"key": "ArgA"})")}, "TextA"),
                        result("call_first12345", "ResA")},
                       {"SystemA", "QuestionA", "TextA", "ArgA", "ResA"})
                .byCode,
            Names());
}

TEST(RealTemplates, PartsInEveryRole) {
  SKIP_WITHOUT_TEMPLATES;
  EXPECT_EQ(expectSaid({message("system", parts("SystemA", "SystemB")),
                        message("user", parts("UserA", "UserB")),
                        message("assistant", parts("AnswerA", "AnswerB")), message("user", "Last")},
                       {"UserA", "UserB", "AnswerA", "AnswerB", "Last"})
                .byCode,
            Names());
  EXPECT_EQ(expectSaid({message("system", parts("SystemA", "SystemB")), message("user", "Last")},
                       {"SystemA", "SystemB"})
                .byCode,
            Names());
  EXPECT_EQ(expectSaid({message("user", "QuestionA"),
                        calls({call("call_first12345", R"({"key": "ArgA"})")}),
                        result("call_first12345", parts("ResA", "ResB"))},
                       {"QuestionA", "ArgA", "ResA", "ResB"})
                .byCode,
            Names());
}

TEST(RealTemplates, MoreInstructions) {
  SKIP_WITHOUT_TEMPLATES;
  for (const char *first : {"system", "developer"})
    for (const char *second : {"system", "developer"}) {
      EXPECT_EQ(expectSaid({message(first, "SystemA"), message(second, "SystemB"),
                            message("user", "User")},
                           {"SystemA", "SystemB"})
                    .byCode,
                Names());
      EXPECT_EQ(expectSaid({message(first, "SystemA"), message("user", "UserA"),
                            message("assistant", "AnswerA"), message(second, "SystemB"),
                            message("user", "UserB")},
                           {"SystemA"})
                    .byCode,
                Names());
      EXPECT_EQ(expectSaid({message(first, "SystemA"), message("user", "UserA"),
                            message("assistant", "AnswerA"), message(second, "SystemB"),
                            message("user", "UserB")},
                           {"UserA", "AnswerA", "UserB"})
                    .byCode,
                Names());
      EXPECT_EQ(expectSaid({message("user", "UserA"), message("assistant", "AnswerA"),
                            message("user", "UserB"), message(second, "SystemB")},
                           {"SystemB"})
                    .byCode,
                Names());
    }
}

TEST(RealTemplates, RepeatedRoles) {
  SKIP_WITHOUT_TEMPLATES;
  EXPECT_EQ(expectSaid({message("user", "UserA"), message("user", "UserB"),
                        message("assistant", "AnswerA"), message("assistant", "AnswerB"),
                        message("user", "UserC")},
                       {"UserA", "UserB", "AnswerA", "AnswerB", "UserC"})
                .byCode,
            Names());
}

TEST(RealTemplates, ArgumentsThatAreNone) {
  SKIP_WITHOUT_TEMPLATES;
  for (const auto &each : realTemplates()) {
    auto prompt = [&](const Json &arguments) {
      const Result<RenderedPrompt> made =
          each->answer({message("user", "UserA"), calls({call("call_first12345", arguments)}),
                        result("call_first12345", "ResA")});
      return made.ok() ? made->text : std::string(made.status().code());
    };
    for (const char *none : {"", " \n", "null", "{}"})
      EXPECT_EQ(prompt(none), prompt(Json::object())) << each->name << prompt(none);
    EXPECT_EQ(prompt(nullptr), prompt(Json::object())) << each->name;
    const std::string cut = prompt("{\"key\": ");
    if (!cut.starts_with("INGOT-"))
      EXPECT_NE(cut.find("key"), cut.npos) << each->name;
    else if (getenv("SHOW"))
      printf("%s %s\n", each->name.c_str(), cut.c_str());
  }
}

} // namespace
} // namespace ingot::test
