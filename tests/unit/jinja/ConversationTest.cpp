// SPDX-License-Identifier: Apache-2.0
// Bodies of chat requests as templates take them.
#include "runtime/chat/Conversation.h"
#include "tests/unit/jinja/Rendering.h"

namespace ingot::test {
namespace {

using runtime::Conversation;
using runtime::TemplateTraits;

TemplateTraits traitsOf(const std::string &text) {
  const Result<ChatTemplate> compiled = ChatTemplate::compile("t", text);
  EXPECT_TRUE(compiled.ok()) << compiled.status().toString();
  return compiled.ok() ? runtime::traitsOf(*compiled, Json::object()) : TemplateTraits();
}

/// The prompt that `text` makes of a request's body, or the error.
std::string prompt(const std::string &text, const Json &body) {
  const Result<Conversation> read = Conversation::read(body);
  if (!read.ok())
    return read.status().toString();
  const Result<Json> variables = read->variablesFor(traitsOf(text));
  if (!variables.ok())
    return variables.status().toString();
  Result<RenderedPrompt> rendered = tryRender(text, *variables);
  if (!rendered.ok())
    return rendered.status().toString();
  const runtime::Status cut = read->cutBehindFinalMessage(*rendered);
  return cut.ok() ? rendered->text : cut.toString();
}

const std::string plain =
    "{% for m in messages %}<{{ m.role }}>{{ m['content'] + '.' }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
const std::string withCalls =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}"
    "[{{ c.function.name }}{{ c.function.arguments|tojson }}]{% endfor %}{% endfor %}"
    "{% for t in tools %}{{ t.function.name }}{% endfor %}";

Json user(const Json &content) { return {{"role", "user"}, {"content", content}}; }

Json call(const Json &arguments) {
  return {{"role", "assistant"},
          {"content", nullptr},
          {"tool_calls", {{{"id", "1"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}}}};
}

TEST(TemplateTraits, AreLearntByRendering) {
  const TemplateTraits text = traitsOf(plain);
  EXPECT_TRUE(text.takesText && text.knowsSystem);
  EXPECT_FALSE(text.takesParts || text.knowsTools || text.knowsToolCalls || text.knowsDeveloper);
  const TemplateTraits parts = traitsOf(
      "{% for m in messages %}{% for p in m.content %}{{ p.text + '' }}{% endfor %}{% endfor %}");
  EXPECT_TRUE(parts.takesParts);
  EXPECT_FALSE(parts.takesText);
  const TemplateTraits calls = traitsOf(withCalls);
  EXPECT_TRUE(calls.knowsTools && calls.knowsToolCalls && calls.wantsObjects && calls.takesAbsent);
  EXPECT_FALSE(calls.takesNull) << "it prints None";
  EXPECT_FALSE(traitsOf("{% for m in messages %}{% for c in m.tool_calls %}{{ "
                        "c.function.arguments }}{% endfor %}{% endfor %}")
                   .wantsObjects);
  EXPECT_FALSE(
      traitsOf("{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') "
               "}}{% endif %}{{ m.content }}{% endfor %}")
          .knowsSystem);
}

TEST(Conversation, ContentIsNormalized) {
  EXPECT_EQ(prompt(plain, {{"messages", {user("Hi")}}}), "<user>Hi.<assistant>");
  EXPECT_EQ(prompt(plain, {{"messages", {user(nullptr), {{"role", "user"}}}}}),
            "<user>.<user>.<assistant>");
  const Json parts = {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}};
  EXPECT_EQ(prompt(plain, {{"messages", {user(parts)}}}), "<user>a\nb.<assistant>");
  const std::string wantsParts =
      "{% for m in messages %}{% for p in m.content %}({{ p.text + '' }}){% endfor %}{% endfor %}";
  EXPECT_EQ(prompt(wantsParts, {{"messages", {user(parts), user("c")}}}), "(a)(b)(c)");
}

TEST(Conversation, RolesThatATemplateDoesNotKnow) {
  const Json developer = {{"role", "developer"}, {"content", "Be brief"}};
  EXPECT_EQ(prompt(plain, {{"messages", {developer, user("Hi")}}}),
            "<system>Be brief.<user>Hi.<assistant>");
  EXPECT_EQ(prompt("{# developer #}" + plain, {{"messages", {developer}}}),
            "<developer>Be brief.<assistant>");
  const std::string noSystem =
      "{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('no') "
      "}}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}";
  EXPECT_EQ(prompt(noSystem, {{"messages", {developer, user("Hi")}}}), "<user>Be brief\nHi");
  EXPECT_EQ(prompt(noSystem, {{"messages", {developer}}}), "<user>Be brief");
  EXPECT_EQ(
      prompt(noSystem, {{"messages", {developer, {{"role", "assistant"}, {"content", "A"}}}}}),
      "<user>Be brief<assistant>A");
}

TEST(Conversation, ArgumentsOfCalls) {
  const char *text = R"({"a": [1, "x"]})";
  for (const Json &arguments : {Json(text), Json::parse(text)})
    EXPECT_EQ(prompt(withCalls, {{"messages", {user("q"), call(arguments)}}}),
              "<user>q<assistant>[f{\"a\": [1, \"x\"]}]");
  EXPECT_EQ(prompt(withCalls, {{"messages", {call("{\"a\": ")}}}), "<assistant>[f\"{\\\"a\\\": \"]")
      << "what is no JSON stays as it is";
  EXPECT_EQ(prompt(withCalls, {{"messages", {call("[1]")}}}), "<assistant>[f\"[1]\"]");
  const std::string wantsText = "{% for m in messages %}{% for c in m.tool_calls %}{{ "
                                "c.function.arguments }}{% endfor %}{% endfor %}";
  EXPECT_EQ(prompt(wantsText, {{"messages", {call(Json::parse(text))}}}), R"({"a":[1,"x"]})");
  EXPECT_EQ(prompt(wantsText, {{"messages", {call(text)}}}), text);
}

TEST(Conversation, ReasoningHasBothNames) {
  const std::string text =
      "{% for m in messages %}{{ m.reasoning }}|{{ m.reasoning_content }}{% endfor %}";
  for (const char *name : {"reasoning", "reasoning_content"})
    EXPECT_EQ(prompt(text, {{"messages", {{{"role", "assistant"}, {name, "why"}}}}}), "why|why");
  // As gpt-oss has it, which takes it beside content or beside tool calls.
  const std::string thinking = "{% for m in messages %}{{ m.thinking }}{% endfor %}";
  Json message = {{"role", "assistant"}, {"reasoning", "why"}, {"content", "x"}};
  EXPECT_EQ(prompt(thinking, {{"messages", {message}}}), "why");
  message["tool_calls"] = call("{}")["tool_calls"];
  EXPECT_EQ(prompt(thinking, {{"messages", {message}}}), "");
}

TEST(Conversation, ToolsNeedATemplateWithTools) {
  const Json tools = {{{"type", "function"}, {"function", {{"name", "f"}, {"description", "d"}}}}};
  EXPECT_EQ(prompt(withCalls, {{"messages", {user("q")}}, {"tools", tools}}), "<user>qf");
  EXPECT_EQ(prompt(plain, {{"messages", {user("q")}}, {"tools", tools}}).substr(0, 11),
            "INGOT-E6072");
  EXPECT_EQ(prompt(plain, {{"messages", {user("q")}}, {"tools", Json::array()}}),
            "<user>q.<assistant>");
}

TEST(Conversation, NoToolsAreAnEmptyListWhereNullIsAnError) {
  const std::string text = "{% for t in tools %}{{ t.function.name }}{% endfor %}.";
  EXPECT_EQ(prompt(text, {{"messages", {user("q")}}}), ".");
  EXPECT_EQ(prompt("{{ tools }}", {{"messages", {user("q")}}}), "None");
}

TEST(Conversation, OtherFields) {
  EXPECT_EQ(prompt("{{ a }}{{ reasoning_effort }}{{ add_generation_prompt }}{{ documents[0].t }}",
                   {{"messages", {user("q")}},
                    {"chat_template_kwargs", {{"a", 1}}},
                    {"reasoning_effort", "low"},
                    {"documents", {{{"t", "d"}}}},
                    {"add_generation_prompt", false}}),
            "1lowFalsed");
}

TEST(Conversation, TheLastMessageGoesOn) {
  const Json assistant = {{"role", "assistant"}, {"content", "I think "}};
  const Json body = {{"messages", {user("I think"), assistant}}, {"continue_final_message", true}};
  EXPECT_EQ(prompt("{% for m in messages %}<{{ m.content }}>{% endfor %}", body),
            "<I think><I think ");
  EXPECT_EQ(prompt("{% for m in messages %}<{{ m.content|trim }}>{% endfor %}", body),
            "<I think><I think");
  Json empty = body;
  empty["messages"][1]["content"] = " ";
  EXPECT_EQ(prompt(plain, empty).substr(0, 11), "INGOT-E6073");
  EXPECT_EQ(prompt("{{ messages[0].role }}", body).substr(0, 11), "INGOT-E6073");
  Json both = body;
  both["add_generation_prompt"] = true;
  EXPECT_EQ(prompt(plain, both).substr(0, 11), "INGOT-E6071");
}

TEST(Conversation, MalformedFieldsAreNamed) {
  const std::pair<Json, const char *> cases[] = {
      {Json::array(), "the request must be"},
      {Json::object(), "messages must be"},
      {{{"messages", Json::array()}}, "messages must be"},
      {{{"messages", {1}}}, "messages[0] must be"},
      {{{"messages", {{{"content", "x"}}}}}, "messages[0] must be an object with a role"},
      {{{"messages", {user(1)}}}, "messages[0].content must be"},
      {{{"messages", {user({{{"type", "image_url"}}})}}},
       "parts of type \"image_url\" are not served"},
      {{{"messages", {user({{{"type", "text"}}})}}},
       "messages[0].content[0].text must be a string"},
      {{{"messages", {{{"role", "assistant"}, {"tool_calls", 1}}}}},
       "messages[0].tool_calls must be"},
      {{{"messages", {user("q")}}, {"tools", "x"}}, "tools must be a list"},
      {{{"messages", {user("q")}}, {"chat_template_kwargs", 1}}, "chat_template_kwargs must be"},
      {{{"messages", {user("q")}}, {"continue_final_message", 1}},
       "continue_final_message must be"},
  };
  for (const auto &[body, part] : cases) {
    const std::string error = prompt(plain, body);
    EXPECT_EQ(error.substr(0, 11), "INGOT-E6071") << body << error;
    EXPECT_NE(error.find(part), error.npos) << error;
  }
}

} // namespace
} // namespace ingot::test
