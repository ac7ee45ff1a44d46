// SPDX-License-Identifier: Apache-2.0
// Bodies of chat requests as templates take them.
#include "runtime/chat/ConversationPrompt.h"
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
  const Result<ChatTemplate> compiled = ChatTemplate::compile("t", text);
  EXPECT_TRUE(compiled.ok()) << compiled.status().toString();
  RenderSettings settings;
  settings.now = fixedTime();
  const Result<RenderedPrompt> rendered =
      runtime::renderConversation(*read, *compiled, traitsOf(text), Json::object(), settings);
  return rendered.ok() ? rendered->text : rendered.status().toString();
}

const std::string plain =
    "{% for m in messages %}<{{ m.role }}>{{ m['content'] + '.' }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
const std::string withCalls =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}"
    "[{{ c.function.name }}{{ c.function.arguments|tojson }}]{% endfor %}{% endfor %}"
    "{% for t in tools %}{{ t.function.name }}{% endfor %}";

const std::string printsArguments =
    "{% for m in messages %}{{ m.content or '' }}{% for c in m.tool_calls %}{{ c.function.name }}"
    "{{ c.function.arguments }}{% endfor %}{% endfor %}";

Json user(const Json &content) { return {{"role", "user"}, {"content", content}}; }

Json call(const Json &arguments) {
  return {{"role", "assistant"},
          {"content", nullptr},
          {"tool_calls", {{{"id", "1"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}}}};
}

TEST(TemplateTraits, AreLearntByRendering) {
  const TemplateTraits text = traitsOf(plain);
  EXPECT_TRUE(text.user.text && text.knowsSystem);
  EXPECT_FALSE(text.user.parts || text.knowsTools || text.knowsToolCalls || text.knowsDeveloper);
  const TemplateTraits parts = traitsOf(
      "{% for m in messages %}{% for p in m.content %}{{ p.text + '' }}{% endfor %}{% endfor %}");
  EXPECT_TRUE(parts.user.parts);
  EXPECT_FALSE(parts.user.text);
  const TemplateTraits calls = traitsOf(withCalls);
  EXPECT_TRUE(calls.knowsTools && calls.knowsToolCalls && calls.wantsObjects && calls.takesAbsent);
  EXPECT_FALSE(calls.takesNull) << "it prints None";
  EXPECT_FALSE(traitsOf(printsArguments).wantsObjects);
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
  EXPECT_EQ(prompt(printsArguments, {{"messages", {call(Json::parse(text))}}}),
            R"(f{"a":[1,"x"]})");
  EXPECT_EQ(prompt(printsArguments, {{"messages", {call(text)}}}), std::string("f") + text);
  // Blank ones have no members, and what no object can be made of is an argument itself where the
  // template goes through members.
  const std::string members =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}"
      "{% for k, v in c.function.arguments.items() %}({{ k }}={{ v }}){% endfor %}{% endfor %}"
      "{% endfor %}";
  EXPECT_EQ(prompt(members, {{"messages", {call(text)}}}), "f(a=[1, 'x'])");
  EXPECT_EQ(prompt(members, {{"messages", {call("{\"a\": ")}}}), "f(arguments={\"a\": )");
  for (const Json &none : {Json(""), Json(" \n"), Json("null"), Json(), Json::object()}) {
    EXPECT_EQ(prompt(members, {{"messages", {call(none)}}}), "f");
    EXPECT_EQ(prompt(withCalls, {{"messages", {call(none)}}}), "<assistant>[f{}]");
    EXPECT_EQ(prompt(printsArguments, {{"messages", {call(none)}}}), "f{}");
  }
}

TEST(Conversation, ReasoningHasBothNames) {
  const std::string text =
      "{% for m in messages %}{{ m.reasoning }}|{{ m.reasoning_content }}{% endfor %}";
  for (const char *name : {"reasoning", "reasoning_content"})
    EXPECT_EQ(prompt(text, {{"messages", {{{"role", "assistant"}, {name, "why"}}}}}), "why|why");
  // As LFM2.5 has it, and as gpt-oss has it, which takes it beside content or beside tool calls.
  const std::string beside =
      "{{ m.thinking }}{{ m.content }}{% for c in m.tool_calls %}"
      "{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}";
  const std::string thinking = "{% for m in messages %}" + beside;
  const std::string refusing = "{% for m in messages %}"
                               "{% if m.thinking and m.content and m.tool_calls %}"
                               "{{ raise_exception('both') }}{% endif %}" +
                               beside;
  Json message = {{"role", "assistant"}, {"reasoning", "why"}, {"content", "x"}};
  EXPECT_EQ(prompt(thinking, {{"messages", {message}}}), "whyx");
  EXPECT_EQ(prompt(refusing, {{"messages", {message}}}), "whyx");
  message["tool_calls"] = call("{}")["tool_calls"];
  EXPECT_EQ(prompt(thinking, {{"messages", {message}}}), "whyxf{}");
  EXPECT_EQ(prompt(refusing, {{"messages", {message}}}), "xf{}");
}

TEST(Conversation, EffortIsToldInTheTemplatesWords) {
  const std::string question = "{{ messages[0].content }}";
  const std::string both = "{{ enable_thinking }} {{ reasoning_effort }}" + question;
  // As Qwen3.8 and Mistral have it.
  auto of = [&](const std::string &words, const std::string &shown) {
    return "{% if reasoning_effort is defined and reasoning_effort not in " + words +
           " %}{{ raise_exception('no') }}{% endif %}" + shown;
  };
  const std::string qwen = of("['low', 'medium', 'xhigh']", both);
  const std::string mistral = of("['none', 'high']", "{{ reasoning_effort }}" + question);
  for (const auto &[text, effort, wanted] : {std::tuple(both, "high", "True highq"),
                                             {both, "none", "False noneq"},
                                             {both, "", " q"},
                                             {qwen, "none", "False q"},
                                             {qwen, "minimal", "True lowq"},
                                             {qwen, "medium", "True mediumq"},
                                             {qwen, "high", "True xhighq"},
                                             {qwen, "max", "True xhighq"},
                                             {mistral, "none", "noneq"},
                                             {mistral, "minimal", "noneq"},
                                             {mistral, "low", "highq"},
                                             {mistral, "max", "highq"}})
    EXPECT_EQ(prompt(text, {{"messages", {user("q")}}, {"reasoning_effort", effort}}), wanted)
        << effort;
  // What is said of the template's own variables stays.
  EXPECT_EQ(prompt(both, {{"messages", {user("q")}},
                          {"chat_template_kwargs", {{"enable_thinking", false}}},
                          {"reasoning_effort", "high"}}),
            "False highq");
  for (const char *key : {"reasoning_effort", "chat_template_kwargs"}) {
    Json body = {{"messages", {user("q")}}, {"reasoning_effort", "much"}};
    if (key == std::string("chat_template_kwargs"))
      body = {{"messages", {user("q")}}, {key, {{"reasoning_effort", "high"}}}};
    EXPECT_EQ(prompt(qwen, body).substr(0, 11), "INGOT-E6065") << key;
  }
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
  const std::string text =
      "{% for t in tools %}{{ t.function.name }}{% endfor %}.{{ messages[0].content }}";
  EXPECT_EQ(prompt(text, {{"messages", {user("q")}}}), ".q");
  EXPECT_EQ(prompt("{{ tools }}{{ messages[0].content }}", {{"messages", {user("q")}}}), "Noneq");
}

TEST(Conversation, OtherFields) {
  EXPECT_EQ(prompt("{{ a }}{{ reasoning_effort }}{{ add_generation_prompt }}{{ documents[0].t }}"
                   "{{ messages[0].content }}",
                   {{"messages", {user("q")}},
                    {"chat_template_kwargs", {{"a", 1}}},
                    {"reasoning_effort", "low"},
                    {"documents", {{{"t", "d"}}}},
                    {"add_generation_prompt", false}}),
            "1lowFalsedq");
}

TEST(Conversation, TheLastMessageGoesOn) {
  const Json assistant = {{"role", "assistant"}, {"content", "I think "}};
  const Json body = {{"messages", {user("I think"), assistant}}, {"continue_final_message", true}};
  EXPECT_EQ(prompt("{% for m in messages %}<{{ m.content }}>{% endfor %}", body),
            "<I think><I think ");
  EXPECT_EQ(prompt("{% for m in messages %}<{{ m.content|trim }}>{% endfor %}", body),
            "<I think><I think");
  Json blank = body;
  blank["messages"][1]["content"] = " ";
  EXPECT_EQ(prompt(plain, blank), "<user>I think.<assistant> ");
  // What leaves nothing to go on with is answered from the template's own beginning.
  for (const Json &nothing : {Json(""), Json(), Json::array()}) {
    blank["messages"][1]["content"] = nothing;
    EXPECT_EQ(prompt(plain, blank), "<user>I think.<assistant>");
  }
  blank["messages"][1]["tool_calls"] = call("{}")["tool_calls"];
  EXPECT_EQ(prompt(withCalls, blank).substr(0, 11), "INGOT-E6073");
  EXPECT_EQ(prompt("{{ messages[0].content }}", body).substr(0, 11), "INGOT-E6073");
  // The end that the template gives the text is where the prompt ends.
  const auto goOn = [&](const std::string &text, const std::string &content) {
    return prompt("{{ messages[0].content }}<{{ messages[1].content" + text + " }}><|end|>",
                  {{"messages", {user("q"), {{"role", "assistant"}, {"content", content}}}},
                   {"continue_final_message", true}});
  };
  for (const char *words : {"<", "|", "end", ">", "q", "<|end|>", "one\n\ntwo\n", "Ça 😀"})
    EXPECT_EQ(goOn("", words), std::string("q<") + words);
  EXPECT_EQ(goOn("|trim", "one\ntwo \n"), "q<one\ntwo");
  EXPECT_EQ(goOn("|tojson", "a\"b\n"), "q<\"a\\\"b\\n");
  EXPECT_EQ(goOn(".split('</think>')[-1]", "so</think>yes"), "q<yes");
  EXPECT_EQ(goOn("|upper", "ß"), "q<SS");
  EXPECT_EQ(goOn(".split('</think>')[0]", "so</think>yes").substr(0, 11), "INGOT-E6073");
  EXPECT_EQ(goOn("|replace('e', '!')", "the").substr(0, 11), "INGOT-E6073");
  EXPECT_EQ(goOn("[2:]", "Hello").substr(0, 11), "INGOT-E6076") << "its beginning is lost";
  Json both = body;
  both["add_generation_prompt"] = true;
  EXPECT_EQ(prompt(plain, both).substr(0, 11), "INGOT-E6071");
}

Json calls(const std::vector<std::string> &names) {
  Json message = {{"role", "assistant"}, {"content", "C"}, {"tool_calls", Json::array()}};
  for (const std::string &name : names)
    message["tool_calls"].push_back(
        {{"id", "call_" + name}, {"function", {{"name", name}, {"arguments", "{}"}}}});
  return message;
}

Json result(const char *id, const char *content) {
  Json message = {{"role", "tool"}, {"content", content}};
  if (id)
    message["tool_call_id"] = std::string("call_") + id;
  return message;
}

TEST(Conversation, ResultsFollowTheirCalls) {
  const std::string text =
      "{% for m in messages %}<{{ m.name or m.role }}>{{ m.content }}{% for c in m.tool_calls %}"
      "[{{ c.function.name }}{{ c.function.arguments|tojson }}]{% endfor %}{% endfor %}";
  const auto said = [&](const std::vector<Json> &messages) {
    return prompt(text, {{"messages", messages}});
  };
  EXPECT_EQ(said({calls({"f", "g"}), result("g", "G"), result("f", "F")}),
            "<assistant>C[f{}][g{}]<f>F<g>G");
  EXPECT_EQ(said({calls({"f", "g"}), user("u"), result("g", "G"), result(nullptr, "F")}),
            "<assistant>C[f{}][g{}]<f>F<g>G<user>u")
      << "results without an id by their place, and before what else was said";
  EXPECT_EQ(said({calls({"f", "g"}), result("g", "G")}), "<assistant>C[g{}][f{}]<g>G")
      << "a call without a result must not get another's";
  EXPECT_EQ(said({calls({"f"}), result("x", "F")}), "<assistant>C[f{}]<f>F")
      << "there is nothing to choose from";
  EXPECT_EQ(said({result("x", "F")}), "<tool>F");
  for (const std::vector<Json> &wrong :
       {std::vector<Json>{calls({"f", "g"}), result("x", "F"), result("g", "G")},
        {calls({"f", "g"}), result("f", "F"), result("f", "G")}})
    EXPECT_NE(said(wrong).find("INGOT-E6071: messages["), std::string::npos) << said(wrong);
  // A template of single calls, which says no text beside them and wants ids of nine letters.
  const std::string single =
      "{% for m in messages %}{% if m.tool_calls %}{% if m.tool_calls|length > 1 or "
      "m.tool_calls[0].id|length != 9 %}{{ raise_exception('no') }}{% endif %}"
      "[{{ m.tool_calls[0].function.name }}{{ m.tool_calls[0].function.arguments|tojson }}]"
      "{% else %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}";
  EXPECT_EQ(prompt(single, {{"messages",
                             {user("u"), calls({"f", "g"}), result("g", "G"), result("f", "F")}}}),
            "<user>u<assistant>C[f{}]<tool>F[g{}]<tool>G");
}

TEST(Conversation, CallsAreTextWhereATemplatePrintsNone) {
  const std::string text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";
  const std::vector<Json> messages = {calls({"f", "g"}), result("g", "G"), result("f", "F")};
  const std::string arguments = R"({"a": [1, null], "b": "x\"y"})";
  EXPECT_EQ(prompt(text, {{"messages", {call(arguments), result(nullptr, "R")}}}),
            R"(<assistant>{"name": "f", "arguments": {"a":[1,null],"b":"x\"y"}}<tool>R)");
  EXPECT_EQ(prompt("{# List of tools: #}" + text, {{"messages", {call(arguments)}}}),
            R"(<assistant><|tool_call_start|>[f(a=[1, None], b="x\"y")]<|tool_call_end|>)");
  EXPECT_EQ(prompt("{# <tool_call> #}" + text, {{"messages", messages}}),
            "<assistant>C\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n"
            "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call><tool>F<tool>G");
  EXPECT_EQ(prompt("{# <|tool_call_argument_begin|> #}" + text, {{"messages", messages}}),
            "<assistant>C\n<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
            "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>functions.g:1"
            "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"
            "<tool>F<tool>G");
  // Its own markers are tokens, what anybody wrote is text.
  const Result<ChatTemplate> compiled = ChatTemplate::compile("t", "{# <tool_call> #}" + text);
  const Result<Conversation> read =
      Conversation::read({{"messages", {call("{\"a\": \"<tool_call>\"}")}}});
  const Result<RenderedPrompt> made = runtime::renderConversation(
      *read, *compiled, traitsOf("{# <tool_call> #}" + text), Json::object(), {});
  ASSERT_TRUE(made.ok()) << made.status().toString();
  const std::string_view own = "<assistant><tool_call>";
  ASSERT_EQ(made->input.size(), 2u) << "the role, and the call";
  EXPECT_EQ(made->input[1].begin, own.size());
  EXPECT_EQ(made->text.substr(made->input[1].end), "</tool_call>");
}

TEST(Conversation, InstructionsThatATemplateDrops) {
  const std::string first =
      "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
      "{% for m in messages %}{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}"
      "{% endfor %}";
  const auto instruct = [](const char *role, const char *content) {
    return Json{{"role", role}, {"content", content}};
  };
  const Json answer = instruct("assistant", "A");
  EXPECT_EQ(prompt(first, {{"messages",
                            {instruct("system", "S"), instruct("developer", "D"), user("u"), answer,
                             instruct("system", "L"), user("v")}}}),
            "S\nD<user>u<assistant>A<user>L\nv");
  EXPECT_EQ(prompt(first, {{"messages", {user("u"), answer, instruct("system", "L")}}}),
            "<user>u<assistant>A<user>L");
  // It prints them where a question is last.
  const std::string question =
      "{% for m in messages %}{% if m.role != 'system' %}{% if loop.last and m.role == 'user' and "
      "messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}<{{ m.role }}>"
      "{{ m.content }}{% endif %}{% endfor %}";
  EXPECT_EQ(prompt(question, {{"messages", {instruct("system", "S"), user("u")}}}), "S<user>u");
  EXPECT_EQ(prompt(question, {{"messages", {instruct("system", "S"), user("u"), answer}}}),
            "<user>S\nu<assistant>A");
}

TEST(Conversation, RepeatedRolesAreJoinedWhereTheyMustAlternate) {
  const std::string text =
      "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('alternate') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}";
  EXPECT_EQ(prompt(text, {{"messages", {user("a"), user("b")}}}), "<user>a\nb");
  EXPECT_EQ(prompt(plain, {{"messages", {user("a"), user("b")}}}), "<user>a.<user>b.<assistant>");
}

TEST(Conversation, WhatIsNotInThePromptIsRefused) {
  const std::string users =
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
  const auto refused = [&](const std::string &text, const Json &body, const std::string &what) {
    const std::string error = prompt(text, body);
    EXPECT_NE(error.find("INGOT-E6076: " + what + " is not in the prompt"), error.npos) << error;
  };
  refused(users, {{"messages", {user("u"), {{"role", "critic"}, {"content", "c"}}}}},
          "messages[1].content");
  refused(users, {{"messages", {user("u"), call("{}")}}}, "messages[1].content");
  refused(users, {{"messages", {user("u")}}, {"documents", {{{"text", "d"}}}}}, "documents[0]");
  refused("{{ messages[0].content[:3] }}", {{"messages", {user("word")}}}, "messages[0].content");
  // White space is no word, and what was thought may go.
  EXPECT_EQ(prompt("{{ messages[0].content|trim }}", {{"messages", {user(" word\n")}}}), "word");
  EXPECT_EQ(prompt("{% for m in messages %}{{ m.content.split('</think>')[-1] }}{% endfor %}",
                   {{"messages", {{{"role", "assistant"}, {"content", "so</think>yes"}}}}}),
            "yes");
  // A word that the template acts on is no loss.
  const std::string switches = "{{ messages[0].content.replace('/no_think', '') }}";
  EXPECT_EQ(prompt(switches, {{"messages", {user("Hi /no_think there")}}}), "Hi  there");
  refused("{{ messages[0].content.replace('no', '') }}", {{"messages", {user("no one")}}},
          "messages[0].content");
  EXPECT_EQ(prompt("{{ messages[0].content.split('</think>')[-1] }}",
                   {{"messages", {user("so</think>yes")}}})
                .substr(0, 11),
            "INGOT-E6076");
}

TEST(Conversation, MalformedFieldsAreNamed) {
  const std::pair<Json, const char *> cases[] = {
      {Json::array(), "the request must be"},
      {Json::object(), "messages must be"},
      {{{"messages", Json::array()}}, "messages must be"},
      {{{"messages", {1}}}, "messages[0] must be"},
      {{{"messages", {{{"content", "x"}}}}}, "messages[0] must be an object with a role"},
      {{{"messages", {user(1)}}}, "messages[0].content must be"},
      {{{"messages", {user({{{"type", "input_audio"}}})}}},
       "parts of type \"input_audio\" are not served"},
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
