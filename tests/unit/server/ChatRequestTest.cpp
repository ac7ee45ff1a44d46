// SPDX-License-Identifier: Apache-2.0
// Bodies of chat completions, messages and responses, and the conversations that they are.
#include "runtime/server/ChatRequest.h"
#include "runtime/server/MessagesRequest.h"
#include "runtime/server/ResponsesRequest.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace ingot::runtime;

namespace {

Json parsed(const std::string &text) {
  OrError<Json> body = parseBody(text);
  if (const ApiError *error = std::get_if<ApiError>(&body)) {
    ADD_FAILURE() << error->message;
    return Json::object();
  }
  return std::get<Json>(body);
}

OrError<ChatRequest> chat(const std::string &text) { return readChatRequest(parsed(text), {}); }
/// Its tokens are the bytes of its messages.
OrError<MessagesRequest> edited(const std::string &text) {
  return readMessagesRequest(parsed(text), {}, [](const ChatRequest &chat) -> OrError<int64_t> {
    return int64_t(textOf(chat.conversation["messages"]).size());
  });
}
OrError<ChatRequest> messages(const std::string &text) {
  OrError<MessagesRequest> read = edited(text);
  if (const ApiError *error = std::get_if<ApiError>(&read))
    return *error;
  return std::get<MessagesRequest>(read).chat;
}
OrError<ResponsesRequest> responses(const std::string &text) {
  return readResponsesRequest(parsed(text), {});
}

template <class T> T accepted(OrError<T> read) {
  if (const ApiError *error = std::get_if<ApiError>(&read)) {
    ADD_FAILURE() << error->code << ' ' << error->message;
    return {};
  }
  return std::get<T>(std::move(read));
}

template <class T> ApiError refused(const OrError<T> &read) {
  const ApiError *error = std::get_if<ApiError>(&read);
  EXPECT_TRUE(error) << "it was read";
  return error ? *error : ApiError();
}

TEST(ChatRequestTest, EveryField) {
  ChatRequest request = accepted(chat(R"({
    "model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
    "max_completion_tokens": 5, "n": 2, "temperature": 0.5, "stop": "x", "seed": 4,
    "stream": true, "stream_options": {"include_usage": true}, "logprobs": true, "top_logprobs": 3,
    "parallel_tool_calls": false, "include_reasoning": false, "add_generation_prompt": true,
    "continue_final_message": false, "chat_template_kwargs": {"enable_thinking": false},
    "reasoning_effort": "low", "documents": [], "response_format": {"type": "text"},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "tool_choice": "auto", "user": "somebody", "functions": null, "modalities": ["text"]})"));
  EXPECT_EQ(request.each.sampling.maxTokens, 5);
  EXPECT_EQ(request.each.sampling.logprobs, 3);
  EXPECT_EQ(request.each.choices, 2);
  EXPECT_FALSE(request.each.addSpecial || request.parallelCalls || request.includeReasoning);
  ASSERT_EQ(request.tools.size(), 1u);
  EXPECT_EQ(request.tools[0].name, "f");
  for (const char *name : {"messages", "tools", "chat_template_kwargs", "reasoning_effort",
                           "add_generation_prompt", "continue_final_message", "documents"})
    EXPECT_TRUE(request.conversation.contains(name)) << name;
}

TEST(ChatRequestTest, WithoutALimitAnAnswerMayFillTheContext) {
  EXPECT_EQ(accepted(chat(R"({"messages": [{"role": "user"}]})")).each.sampling.maxTokens, 0);
}

TEST(ChatRequestTest, WhatIsNotServedIsNamed) {
  const std::string some = R"("messages": [{"role": "user", "content": "a"}])";
  const std::pair<const char *, const char *> wrong[] = {
      {R"("response_format": {"type": "json_schema"})", "response_format"},
      {R"("response_format": {"type": "structural_tag"})", "response_format"},
      {R"("response_format": {"type": "json_object"}, "regex": "a")", "regex"},
      {R"("structured_outputs": {"json": {}, "choice": ["a"]})", "structured_outputs"},
      {R"("structured_outputs": {"grammar": 3})", "structured_outputs"},
      {R"("structured_outputs": {"grammar": "start: A", "regex": "a"})", "structured_outputs"},
      {R"("grammar": {"type": "gbnf"})", "grammar"},
      {R"("grammar": "root ::= \"a\"", "json_schema": {})", "json_schema"},
      {R"("tool_choice": "required")", "tool_choice"},
      {R"("tool_choice": {"type": "function", "function": {"name": "f"}})", "tool_choice"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": "yes"}}])",
       "tools[0].function.strict"},
      {R"("tools": [{"type": "web_search"}])", "tools[0].type"},
      {R"("top_logprobs": 3)", "top_logprobs"},
      {R"("thinking": {"type": "perhaps"})", "thinking"},
      {R"("thinking": {"type": "enabled", "budget_tokens": -1})", "thinking"},
      {R"("thinking": {"type": "enabled", "budget_tokens": "many"})", "thinking"},
      {R"("thinking_token_budget": 1.5)", "thinking_token_budget"},
      {R"("thinking_budget_tokens": -2)", "thinking_budget_tokens"},
      {R"("reasoning": {"max_tokens": "5"})", "reasoning"},
      {R"("reasoning": {"summary": "auto"})", "reasoning"},
      {R"("unheard_of": 3)", "unheard_of"}};
  for (const auto &[text, field] : wrong)
    EXPECT_EQ(refused(chat("{" + some + ", " + text + "}")).field, field);
}

TEST(ChatRequestTest, FormsOfTheAnswer) {
  using Kind = AnswerForm::Kind;
  const std::string some = R"("messages": [{"role": "user", "content": "a"}])";
  const std::string schema = R"({"type":"object","minimum":0.1})";
  const std::pair<std::string, AnswerForm> forms[] = {
      {R"("response_format": {"type": "text"})", {}},
      {R"("response_format": {"type": "json_object"})", {Kind::JsonObject, "", {}}},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true,
          "schema": )" +
           schema + "}}",
       {Kind::JsonSchema, schema, {}}},
      {R"("structured_outputs": {"json": )" + schema + "}", {Kind::JsonSchema, schema, {}}},
      {R"("structured_outputs": {"regex": "a+", "json": null})", {Kind::Regex, "a+", {}}},
      {R"("structured_outputs": {"choice": ["a", "b"]})", {Kind::Choice, "", {"a", "b"}}},
      {R"("structured_outputs": {"json_object": true})", {Kind::JsonObject, "", {}}},
      {R"("json_schema": )" + schema, {Kind::JsonSchema, schema, {}}},
      {R"("structured_outputs": {"grammar": "root ::= a"})", {Kind::Gbnf, "root ::= a", {}}},
      {R"("structured_outputs": {"grammar": "start: A"})", {Kind::Lark, "start: A", {}}},
      {R"("grammar": "root ::= a")", {Kind::Gbnf, "root ::= a", {}}},
      {R"("grammar": "start: A")", {Kind::Lark, "start: A", {}}},
      {R"("grammar": "", "regex": "a")", {Kind::Regex, "a", {}}},
      {R"("regex": "a+")", {Kind::Regex, "a+", {}}}};
  for (const auto &[text, form] : forms)
    EXPECT_EQ(accepted(chat("{" + some + ", " + text + "}")).each.form, form) << text;
  const AnswerForm expected = {Kind::JsonSchema, schema, {}};
  const std::string format = R"({"type": "json_schema", "name": "n", "schema": )" + schema + "}";
  EXPECT_EQ(
      accepted(responses(R"({"input": "a", "text": {"format": )" + format + "}}")).chat.each.form,
      expected);
  EXPECT_EQ(accepted(messages(R"({"max_tokens": 1, "output_config": {"format": )" + format + "}, " +
                              some + "}"))
                .each.form,
            expected);
}

TEST(ChatRequestTest, WhatMessagesMustNotHave) {
  EXPECT_EQ(refused(chat(R"({"messages": []})")).field, "messages");
  EXPECT_EQ(
      refused(chat(R"({"messages": [{"role": "assistant", "function_call": {"name": "f"}}]})"))
          .field,
      "messages[0].function_call");
  // What a model wrote wrongly may come back.
  accepted(chat(R"({"messages": [{"role": "assistant", "content": null, "audio": null,
    "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": "}}]}]})"));
}

TEST(ChatRequestTest, MessagesOfTheOtherForm) {
  ChatRequest request = accepted(messages(R"({
    "model": "m", "max_tokens": 9, "stop_sequences": ["x"], "thinking": {"type": "disabled"},
    "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=1; cch=4f2;"},
               {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
    "messages": [
      {"role": "user", "content": "hi"},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": ""},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "42"}]},
        {"type": "text", "text": "and?"}]}]})"));
  EXPECT_EQ(request.conversation["messages"], Json::parse(R"([
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [
      {"id": "t1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]},
    {"role": "tool", "tool_call_id": "t1", "content": "42"},
    {"role": "user", "content": "and?"}])"));
  EXPECT_EQ(request.conversation["chat_template_kwargs"]["enable_thinking"], false);
  EXPECT_EQ(request.conversation["tools"][0]["function"]["parameters"]["type"], "object");
  EXPECT_EQ(request.each.sampling.stopStrings, std::vector<std::string>{"x"});
  EXPECT_FALSE(request.parallelCalls);
  EXPECT_FALSE(request.conversation.contains("continue_final_message"));
  EXPECT_TRUE(accepted(messages(R"({"max_tokens": 1, "messages": [
    {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"))
                  .conversation["continue_final_message"]);
}

/// A picture in the form of chats.
Json pictureOf(const char *url) { return {{"type", "image_url"}, {"image_url", {{"url", url}}}}; }

TEST(ChatRequestTest, PicturesOfMessages) {
  ChatRequest request = accepted(messages(R"({"max_tokens": 1, "messages": [{"role": "user",
    "content": [
      {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "seen"},
        {"type": "image", "source":
          {"type": "base64", "media_type": "image/png", "data": "QQ=="}}]},
      {"type": "image", "source":
        {"type": "base64", "media_type": "image/webp", "data": "Qg=="}}
    ]}]})"));
  Json read = request.conversation["messages"];
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0]["role"], "tool");
  EXPECT_EQ(read[0]["content"], Json::array({{{"type", "text"}, {"text", "seen"}},
                                             pictureOf("data:image/png;base64,QQ==")}));
  EXPECT_EQ(read[1]["content"], Json::array({pictureOf("data:image/webp;base64,Qg==")}));
}

TEST(ChatRequestTest, PicturesOfResponses) {
  ChatRequest request = accepted(responses(R"({"input": [
    {"role": "user", "content": [{"type": "input_text", "text": "a"},
      {"type": "input_image", "image_url": "data:,", "detail": "low"}]},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": [
      {"type": "input_image", "image_url": "data:,"}]}]})"))
                            .chat;
  Json read = request.conversation["messages"];
  ASSERT_EQ(read.size(), 3u);
  Json picture = {{"type", "input_image"}, {"image_url", "data:,"}};
  EXPECT_EQ(read[2]["content"], Json::array({picture}));
  picture["detail"] = "low";
  EXPECT_EQ(read[0]["content"], Json::array({{{"type", "text"}, {"text", "a"}}, picture}));
  for (const auto &[part, field] :
       {std::pair(R"({"type": "input_image", "file_id": "f"})", "input[0].content[0].file_id"),
        {R"({"type": "input_image"})", "input[0].content[0].image_url"},
        {R"({"type": "input_file"})", "input[0].content[0].type input_file"}})
    EXPECT_EQ(refused(responses(R"({"input": [{"role": "user", "content": [)" + std::string(part) +
                                "]}]}"))
                  .field,
              field);
}

TEST(ChatRequestTest, WhatMessagesMayNotHave) {
  EXPECT_EQ(refused(messages(R"({"messages": [{"role": "user", "content": "a"}]})")).field,
            "max_tokens");
  const std::pair<const char *, const char *> wrong[] = {
      {R"({"role": "user", "content": [{"type": "image"}]})", "messages[0].content[0].source"},
      {R"({"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]})",
       "messages[0].content[0].source.type url"},
      {R"({"role": "user", "content": [{"type": "image", "source": {"type": "base64",
          "media_type": "text/plain", "data": "QQ=="}}]})",
       "messages[0].content[0].source"},
      {R"({"role": "assistant", "content": [{"type": "image"}]})",
       "messages[0].content[0].type image"},
      {R"({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
          "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]})",
       "messages[0].content[0].content[0].source.type file"},
      {R"({"role": "user", "content": [{"type": "tool_use"}]})",
       "messages[0].content[0].type tool_use"},
      {R"({"role": "robot", "content": "a"})", "messages[0]"},
      {R"({"role": "user"})", "messages[0].content"}};
  for (const auto &[message, field] : wrong)
    EXPECT_EQ(
        refused(messages(std::string(R"({"max_tokens": 1, "messages": [)") + message + "]}")).field,
        field);
}

TEST(ChatRequestTest, ResponsesAreConversations) {
  ResponsesRequest request = accepted(responses(R"({
    "model": "m", "instructions": "Be brief.", "max_output_tokens": 7, "store": false,
    "reasoning": {"effort": "high"}, "include": ["reasoning.encrypted_content"],
    "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": false}],
    "input": [
      {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
      {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
      {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "I look."}]},
      {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1}"},
      {"type": "function_call_output", "call_id": "c1", "output": "42"}]})"));
  EXPECT_EQ(request.chat.conversation["messages"], Json::parse(R"([
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [
      {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "42"}])"));
  EXPECT_EQ(request.chat.conversation["reasoning_effort"], "high");
  EXPECT_EQ(request.chat.each.sampling.maxTokens, 7);
  EXPECT_EQ(request.told["instructions"], "Be brief.");
  EXPECT_EQ(accepted(responses(R"({"input": "hi"})")).chat.conversation["messages"][0]["content"],
            "hi");
  EXPECT_EQ(refused(responses(R"({"input": [{"type": "item_reference", "id": "x"}]})")).field,
            "input[0].type item_reference");
}

TEST(ChatRequestTest, LimitsOfThoughts) {
  constexpr uint64_t none = guided::AnswerMarkers::unlimited;
  auto most = [](const std::string &fields, bool templateKnowsEffort = false) {
    return mostThought(
        accepted(chat(R"({"messages": [{"role": "user", "content": "a"}])" + fields + "}")),
        templateKnowsEffort);
  };
  const std::pair<const char *, uint64_t> given[] = {
      {"", none},
      {R"(, "thinking": {"type": "enabled", "budget_tokens": 16})", 16},
      {R"(, "thinking": {"type": "enabled", "budget_tokens": 0})", 0},
      {R"(, "thinking": {"type": "enabled"})", none},
      {R"(, "thinking": {"type": "adaptive"})", none},
      {R"(, "thinking_token_budget": 7)", 7},
      {R"(, "thinking_token_budget": -1)", none},
      {R"(, "thinking_budget_tokens": 8, "reasoning_effort": "low")", 8},
      {R"(, "reasoning": {"max_tokens": 9, "exclude": true})", 9},
      {R"(, "reasoning_effort": "none")", 0},
      {R"(, "reasoning_effort": "minimal")", 256},
      {R"(, "reasoning": {"effort": "low"})", 1024},
      {R"(, "reasoning_effort": "medium")", 4096},
      {R"(, "reasoning_effort": "high")", 16384},
      {R"(, "reasoning_effort": "xhigh")", none},
      {R"(, "reasoning_effort": "extreme")", none}};
  for (const auto &[fields, limit] : given)
    EXPECT_EQ(most(fields), limit) << fields;
  EXPECT_EQ(most(R"(, "reasoning_effort": "low")", true), none) << "the template's matter";
  EXPECT_EQ(most(R"(, "reasoning_effort": "low", "thinking_token_budget": 3)", true), 3u);
  EXPECT_EQ(mostThought(accepted(messages(R"({"max_tokens": 9, "messages": [
    {"role": "user", "content": "a"}], "thinking": {"type": "enabled", "budget_tokens": 16}})")),
                        false),
            16u);
  EXPECT_EQ(
      mostThought(accepted(responses(R"({"input": "a", "reasoning": {"effort": "low"}})")).chat,
                  false),
      1024u);
}

TEST(ChatRequestTest, WhatClientsTellTheTemplate) {
  auto kwargs = [](const std::string &fields) {
    return accepted(chat("{" + fields + R"(, "messages": [{"role": "user", "content": "a"}]})"))
        .conversation["chat_template_kwargs"];
  };
  EXPECT_EQ(kwargs(R"("thinking": {"type": "disabled"})"), (Json{{"enable_thinking", false}}));
  EXPECT_EQ(kwargs(R"("enable_thinking": true, "verbosity": "low")"),
            (Json{{"enable_thinking", true}, {"verbosity", "low"}}));
  // What is said to the template itself wins, wherever it stands.
  for (const char *fields :
       {R"("enable_thinking": true, "chat_template_kwargs": {"enable_thinking": false})",
        R"("chat_template_kwargs": {"enable_thinking": false}, "enable_thinking": true)"})
    EXPECT_EQ(kwargs(fields)["enable_thinking"], false);
  ChatRequest request = accepted(chat(R"({"messages": [{"role": "user", "content": "a"}],
    "usage": {"include": true}, "stream": true, "modalities": [], "response_format": {},
    "reasoning": {"effort": "low", "exclude": true, "enabled": true}, "stream_options": {}})"));
  EXPECT_TRUE(request.includeUsage);
  EXPECT_FALSE(request.includeReasoning);
  EXPECT_EQ(request.conversation["reasoning_effort"], "low");
  EXPECT_EQ(accepted(responses(R"({"input": "a", "text": {"verbosity": "low"}})"))
                .chat.conversation["chat_template_kwargs"]["verbosity"],
            "low");
  EXPECT_EQ(accepted(messages(R"({"max_tokens": 0, "output_config": {"effort": "high"},
                                  "messages": [{"role": "user", "content": "a"}]})"))
                .conversation["reasoning_effort"],
            "high");
  EXPECT_EQ(refused(messages(R"({"max_tokens": 1, "messages": [{"role": "user", "content": "a"}],
              "output_config": {"format": {"type": "json_schema"}}})"))
                .field,
            "output_config.format");
}

TEST(ChatRequestTest, ToolsOfResponses) {
  ResponsesRequest request = accepted(responses(R"({"input": [
      {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "a\"b"},
      {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
      {"type": "function_call", "call_id": "c2", "namespace": "files", "name": "list",
       "arguments": "{}"},
      {"type": "function_call_output", "call_id": "c2", "output": [
        {"type": "input_text", "text": "x"}]}],
    "tools": [{"type": "web_search", "external_web_access": false},
      {"type": "custom", "name": "patch", "description": "d",
       "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
      {"type": "namespace", "name": "files", "description": "n", "tools": [
        {"type": "function", "name": "list", "parameters": {"type": "object"}}]}]})"));
  ASSERT_EQ(request.chat.tools.size(), 2u);
  EXPECT_EQ(request.chat.tools[0].name, "patch");
  EXPECT_EQ(request.chat.tools[1].name, "files__list");
  EXPECT_TRUE(request.offered["patch"].isCustom);
  EXPECT_EQ(request.offered["files__list"].space, "files");
  EXPECT_EQ(request.told["tools"].size(), 2u) << "the server searches nothing";
  const Json &said = request.chat.conversation["messages"];
  EXPECT_EQ(said[0]["tool_calls"][0]["function"]["arguments"], R"({"input":"a\"b"})");
  EXPECT_EQ(said[2]["tool_calls"][0]["function"]["name"], "files__list");
  EXPECT_EQ(said[3]["content"], "x");
  const Json told = request.chat.conversation["tools"][0]["function"];
  EXPECT_NE(told["description"].get<std::string>().find("start: x"), std::string::npos);
  EXPECT_EQ(inputOfArguments(argumentsOfInput("a\"b\n")), "a\"b\n");
  EXPECT_EQ(inputOfArguments("no JSON"), "no JSON");
  for (const auto &[tools, field] :
       {std::pair{R"([{"type": "code_interpreter"}])", "tools[0].type code_interpreter"},
        {R"([{"type": "namespace", "name": "n", "tools": [{"type": "mcp"}]}])",
         "tools[0].tools[0].type mcp"},
        {R"([{"type": "custom"}])", "tools[0].name"}})
    EXPECT_EQ(refused(responses(std::string(R"({"input": "a", "tools": )") + tools + "}")).field,
              field);
}

/// A history of three turns: two calls each in the first two, and thoughts in all.
const std::string history = R"({"max_tokens": 1, "messages": [
  {"role": "user", "content": "one"},
  {"role": "assistant", "content": [{"type": "thinking", "thinking": "t1", "signature": ""},
    {"type": "tool_use", "id": "a", "name": "read", "input": {"at": "a"}}]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "gave a"}]},
  {"role": "assistant", "content": [{"type": "thinking", "thinking": "t2", "signature": ""},
    {"type": "tool_use", "id": "b", "name": "write", "input": {"at": "b"}}]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "gave b"},
    {"type": "text", "text": "two"}]},
  {"role": "assistant", "content": [{"type": "thinking", "thinking": "t3", "signature": ""},
    {"type": "tool_use", "id": "c", "name": "read", "input": {"at": "c"}}]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "gave c"}]},
  {"role": "assistant", "content": [{"type": "thinking", "thinking": "t4", "signature": ""}]},
  {"role": "user", "content": "three"}], "context_management": {"edits": )";

TEST(ChatRequestTest, HistoryIsCleared) {
  auto request = [](const std::string &edits) { return accepted(edited(history + edits + "}}")); };
  auto said = [](const MessagesRequest &edited) {
    return textOf(edited.chat.conversation["messages"]);
  };
  auto lacks = [](const std::string &text, std::vector<std::string> words) {
    return std::all_of(words.begin(), words.end(),
                       [&](const std::string &word) { return text.find(word) == text.npos; });
  };
  std::string whole = said(request("[]"));
  EXPECT_EQ(request("[]").appliedEdits, Json::array());

  // Thoughts of a turn go together; the message they were all of stays one.
  MessagesRequest thoughtless = request(R"([{"type": "clear_thinking_20251015"}])");
  std::string text = said(thoughtless);
  EXPECT_TRUE(lacks(text, {"t1", "t2"})) << text;
  EXPECT_FALSE(lacks(text, {"t3"}) || lacks(text, {"t4"})) << text;
  EXPECT_EQ(thoughtless.appliedEdits,
            (Json::array({{{"type", "clear_thinking_20251015"},
                           {"cleared_thinking_turns", 1},
                           {"cleared_input_tokens", whole.size() - text.size()}}})));
  for (const char *all :
       {R"("all")", R"({"type": "all"})", R"({"type": "thinking_turns", "value": 2})"})
    EXPECT_EQ(
        said(request(std::string(R"([{"type": "clear_thinking_20251015", "keep": )") + all + "}]")),
        whole);

  const std::string uses =
      R"({"type": "clear_tool_uses_20250919", "trigger": {"type": "tool_uses", )";
  MessagesRequest cleared =
      request("[" + uses + R"("value": 2}, "keep": {"type": "tool_uses", "value": 1}}])");
  text = said(cleared);
  EXPECT_TRUE(lacks(text, {"gave a", "gave b"}));
  EXPECT_FALSE(lacks(text, {"gave c"}) || lacks(text, {R"("at":"a")"}));
  EXPECT_EQ(cleared.appliedEdits[0]["cleared_tool_uses"], 2);
  text = said(request("[" + uses + R"("value": 0}, "keep": {"type": "tool_uses", "value": 0},
    "exclude_tools": ["write"], "clear_tool_inputs": true}])"));
  EXPECT_TRUE(lacks(text, {"gave a", "gave c", R"("at":"a")", R"("at":"c")"})) << text;
  EXPECT_FALSE(lacks(text, {"gave b"}) || lacks(text, {R"("at":"b")"})) << text;
  text = said(request("[" + uses + R"("value": 0}, "keep": {"type": "tool_uses", "value": 0},
    "clear_tool_inputs": ["write"]}])"));
  EXPECT_TRUE(lacks(text, {"gave a", "gave b", "gave c", R"("at":"b")"})) << text;
  EXPECT_FALSE(lacks(text, {R"("at":"a")"})) << text;
  // By default the last three stay, and nothing is cleared below 100,000 tokens.
  for (const std::string &edits :
       {"[" + uses + R"("value": 3}, "keep": {"type": "tool_uses", "value": 0}}])",
        "[" + uses + R"("value": 0}}])",
        std::string(
            R"([{"type": "clear_tool_uses_20250919", "keep": {"type": "tool_uses", "value": 0}}])"),
        "[" + uses + R"("value": 0}, "keep": {"type": "tool_uses", "value": 0},
          "clear_at_least": {"type": "input_tokens", "value": 100000}}])"}) {
    EXPECT_EQ(said(request(edits)), whole) << edits;
    EXPECT_EQ(request(edits).appliedEdits, Json::array());
  }
  EXPECT_EQ(request(R"([{"type": "clear_thinking_20251015"},
    {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 10},
     "keep": {"type": "tool_uses", "value": 2}}])")
                .appliedEdits.size(),
            2u);

  for (const auto &[edits, field] :
       {std::pair{R"([{"type": "compact_20260112"}])", "edits[0].type compact_20260112"},
        {R"([{"type": "clear_thinking_20251015", "keep": 1}])", "edits[0].keep"},
        {R"([{"type": "clear_tool_uses_20250919", "keep": "all"}])", "edits[0].keep"},
        {R"([{"type": "clear_tool_uses_20250919", "other": 1}])", "edits[0].other"},
        {R"([1])", "edits[0]"},
        {R"(1)", "edits"}})
    EXPECT_EQ(refused(edited(history + edits + "}}")).field,
              std::string("context_management.") + field);
}

} // namespace
