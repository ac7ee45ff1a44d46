// SPDX-License-Identifier: Apache-2.0
// Pictures in conversations: which parts are one, where they stand, and where there is no place.
#include "runtime/chat/ConversationPrompt.h"
#include "tests/unit/jinja/Rendering.h"

#include <gmock/gmock.h>

namespace ingot::test {
namespace {

using runtime::Conversation;
using runtime::Span;
using runtime::TemplateTraits;
using testing::ElementsAre;
using testing::HasSubstr;

/// Prints texts and lists of parts of all roles, and pictures of users alone.
const std::string seeing =
    "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for p in m.content %}{% if p.type == 'image' and m.role == 'user' %}[P]"
    "{% elif p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}";
/// The same, and takes no messages of one role behind each other.
const std::string alternating =
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles') }}{% endif %}{% endfor %}" +
    seeing;
const std::string lists =
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}";
const std::string plain = "{% for m in messages %}{{ m['content'] + '.' }}{% endfor %}";

ChatTemplate compiled(const std::string &text) {
  Result<ChatTemplate> made = ChatTemplate::compile("t", text);
  EXPECT_TRUE(made.ok()) << made.status().toString();
  return *std::move(made);
}

Result<RenderedPrompt> rendered(const std::string &text, const Json &messages) {
  const Result<Conversation> read = Conversation::read({{"messages", messages}});
  if (!read.ok())
    return read.status();
  const ChatTemplate made = compiled(text);
  return runtime::renderConversation(*read, made, runtime::traitsOf(made, Json::object()),
                                     Json::object(), {});
}

std::string failure(const std::string &text, const Json &messages) {
  const Result<RenderedPrompt> prompt = rendered(text, messages);
  return prompt.ok() ? "none" : prompt.status().toString();
}

Json text(const std::string &words) { return {{"type", "text"}, {"text", words}}; }
Json picture(const std::string &url) {
  return {{"type", "image_url"}, {"image_url", {{"url", url}}}};
}
Json say(const char *role, const Json &content) { return {{"role", role}, {"content", content}}; }

/// The parts of a prompt that are somebody's words.
std::vector<std::string> words(const RenderedPrompt &prompt) {
  std::vector<std::string> parts;
  for (const Span &span : prompt.input)
    parts.push_back(prompt.text.substr(span.begin, span.end - span.begin));
  return parts;
}

TEST(Pictures, TemplatesShowWhetherTheyTakeAny) {
  const TemplateTraits traits = runtime::traitsOf(compiled(seeing), Json::object());
  EXPECT_TRUE(traits.user.images);
  EXPECT_FALSE(traits.system.images || traits.assistant.images || traits.tool.images);
  for (const std::string &blind : {lists, plain})
    EXPECT_FALSE(runtime::traitsOf(compiled(blind), Json::object()).user.images) << blind;
}

TEST(Pictures, StandInTheOrderOfTheirParts) {
  const Result<RenderedPrompt> prompt = rendered(
      seeing, Json::array({say("user", Json::array({picture("a"), text("one"), picture("b")})),
                           say("assistant", "two"), say("user", Json::array({picture("c")}))}));
  ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
  EXPECT_EQ(prompt->text, "<user>[P]one[P]<assistant>two<user>[P]");
  EXPECT_THAT(prompt->images, ElementsAre("a", "b", "c"));
}

TEST(Pictures, HaveTheFormsThatClientsWrite) {
  const Json forms[] = {picture("u"),
                        {{"type", "image_url"}, {"image_url", "u"}},
                        {{"type", "image_url"}, {"image_url", {{"url", "u"}, {"detail", "high"}}}},
                        {{"type", "input_image"}, {"image_url", "u"}, {"detail", "auto"}},
                        {{"type", "image"}, {"image", "u"}},
                        {{"type", "image"}, {"url", "u"}}};
  for (const Json &form : forms) {
    const Result<RenderedPrompt> prompt =
        rendered(seeing, Json::array({say("user", Json::array({form}))}));
    ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
    EXPECT_THAT(prompt->images, ElementsAre("u")) << form;
    EXPECT_EQ(prompt->text, "<user>[P]") << form;
  }
}

TEST(Pictures, MalformedOnesAreNamed) {
  const std::pair<Json, const char *> cases[] = {
      {{{"type", "image_url"}}, "content[0].image_url must be the data: URL"},
      {{{"type", "image_url"}, {"image_url", {{"url", 1}}}}, "content[0].image_url must be"},
      {{{"type", "image_url"}, {"image_url", ""}}, "content[0].image_url must be"},
      {{{"type", "image_url"}, {"image_url", {{"url", "u"}, {"detail", "all"}}}},
       "content[0].detail must be"},
      {{{"type", "input_image"}, {"image_url", "u"}, {"detail", 1}}, "content[0].detail must be"},
      {{{"type", "input_image"}, {"file_id", "f"}}, "content[0].file_id must be left out"},
      {{{"type", "image"}}, "content[0].image must be the data: URL"},
      {{{"type", "video_url"}, {"video_url", "u"}}, "parts of type \"video_url\" are not served"}};
  for (const auto &[part, error] : cases) {
    const std::string found = failure(seeing, Json::array({say("user", Json::array({part}))}));
    EXPECT_THAT(found, HasSubstr("INGOT-E6071")) << part;
    EXPECT_THAT(found, HasSubstr(error)) << part;
  }
}

TEST(Pictures, AreRefusedWhereATemplateHasNoPlace) {
  const Json pictured = Json::array({text("a"), picture("u")});
  for (const std::string &blind : {lists, plain})
    EXPECT_THAT(failure(blind, Json::array({say("user", pictured)})),
                HasSubstr("INGOT-E6077: messages[0].content has pictures"));
  EXPECT_THAT(failure(seeing, Json::array({say("system", pictured), say("user", "a")})),
              HasSubstr("messages[0].content has pictures, and the chat template has no place for "
                        "them in messages of the role system"));
  EXPECT_THAT(failure(seeing, Json::array({say("user", "a"), say("assistant", pictured)})),
              HasSubstr("INGOT-E6077: messages[1].content"));
  EXPECT_THAT(failure(seeing, Json::array({say("user", "a"), say("tool", pictured)})),
              HasSubstr("INGOT-E6077: messages[1].content"));
  Json caller = say("assistant", pictured);
  caller["tool_calls"] = {{{"function", {{"name", "f"}, {"arguments", "{}"}}}}};
  EXPECT_THAT(failure(seeing, Json::array({say("user", "a"), caller})), HasSubstr("beside calls"));
  EXPECT_EQ(failure(seeing, Json::array({say("user", pictured)})), "none");
}

TEST(Pictures, StayWhereMessagesAreJoined) {
  const Result<RenderedPrompt> prompt = rendered(
      alternating,
      Json::array({say("user", "one"), say("user", Json::array({picture("a"), text("two")})),
                   say("user", "three"), say("user", Json::array({picture("b")}))}));
  ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
  EXPECT_EQ(prompt->text, "<user>one\n[P]two\nthree\n[P]");
  EXPECT_THAT(prompt->images, ElementsAre("a", "b"));
}

TEST(Pictures, AreNoTextToGoOnWith) {
  Json body = {{"messages", {say("user", Json::array({picture("a")}))}},
               {"continue_final_message", true}};
  const Result<Conversation> read = Conversation::read(body);
  ASSERT_TRUE(read.ok());
  const ChatTemplate made = compiled(seeing);
  const Result<RenderedPrompt> prompt = runtime::renderConversation(
      *read, made, runtime::traitsOf(made, Json::object()), Json::object(), {});
  ASSERT_FALSE(prompt.ok());
  EXPECT_EQ(prompt.status().code(), "INGOT-E6073");
}

TEST(Pictures, WordsOfAUserMakeNoPlace) {
  const Result<RenderedPrompt> prompt = rendered(
      seeing, Json::array({say("user", Json::array({text("[P]"), picture("a"), text("[P]!")}))}));
  ASSERT_TRUE(prompt.ok()) << prompt.status().toString();
  EXPECT_EQ(prompt->text, "<user>[P][P][P]!");
  EXPECT_THAT(words(*prompt), ElementsAre("user", "[P]", "[P]!"));
}

} // namespace
} // namespace ingot::test
