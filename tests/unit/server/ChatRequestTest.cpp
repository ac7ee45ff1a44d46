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
OrError<ChatRequest> messages(const std::string &text) {
  return readMessagesRequest(parsed(text), {});
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
  for (std::string_view field : refusedChatFields()) {
    ApiError error = refused(chat("{" + some + ", \"" + std::string(field) + "\": 1}"));
    EXPECT_EQ(error.field, field);
    EXPECT_EQ(error.code, "INGOT-E7202");
  }
  for (std::string_view field : ignoredChatFields())
    accepted(chat("{" + some + ", \"" + std::string(field) + "\": {\"any\": [1]}}"));
  const std::pair<const char *, const char *> wrong[] = {
      {R"("response_format": {"type": "json_object"})", "response_format"},
      {R"("tool_choice": "required")", "tool_choice"},
      {R"("tool_choice": {"type": "function", "function": {"name": "f"}})", "tool_choice"},
      {R"("tools": [{"type": "function", "function": {"name": "f", "strict": true}}])",
       "tools[0].function.strict"},
      {R"("tools": [{"type": "web_search"}])", "tools[0].type"},
      {R"("top_logprobs": 3)", "top_logprobs"},
      {R"("unheard_of": 3)", "unheard_of"}};
  for (const auto &[text, field] : wrong)
    EXPECT_EQ(refused(chat("{" + some + ", " + text + "}")).field, field);
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

TEST(ChatRequestTest, WhatMessagesMayNotHave) {
  EXPECT_EQ(refused(messages(R"({"messages": [{"role": "user", "content": "a"}]})")).field,
            "max_tokens");
  const std::pair<const char *, const char *> wrong[] = {
      {R"({"role": "user", "content": [{"type": "image"}]})", "messages[0].content[0].type image"},
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
  for (std::string_view field : refusedResponsesFields())
    EXPECT_EQ(refused(responses("{\"input\": \"a\", \"" + std::string(field) + "\": true}")).field,
              field);
  EXPECT_EQ(refused(responses(R"({"input": [{"type": "item_reference", "id": "x"}]})")).field,
            "input[0].type item_reference");
}

TEST(ChatRequestTest, TheDocumentListsTheFields) {
  std::ifstream file(INGOT_SOURCE_DIR "/docs/conversations.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  for (const auto &list :
       {refusedChatFields(), ignoredChatFields(), refusedMessagesFields(), ignoredMessagesFields(),
        refusedResponsesFields(), ignoredResponsesFields()})
    for (std::string_view field : list)
      EXPECT_NE(text.find("`" + std::string(field) + "`"), text.npos) << field;
}

} // namespace
