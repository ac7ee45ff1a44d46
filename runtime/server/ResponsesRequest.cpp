// SPDX-License-Identifier: Apache-2.0
// Items of the input become messages of a chat; calls and thoughts join the assistant's next words.
#include "runtime/server/ResponsesRequest.h"

namespace ingot::runtime {
namespace {

constexpr std::string_view refused[] = {"background",
                                        "context_management",
                                        "conversation",
                                        "echo",
                                        "previous_response_id",
                                        "prompt",
                                        "stop",
                                        "store",
                                        "moderation"};
constexpr std::string_view ignored[] = {
    "max_tool_calls", "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier",
    "service_tier",   "user"};

struct Reading {
  ResponsesRequest request;
  Json input, tools, choice;
  std::string instructions;
};

template <Json Reading::*member> bool keep(const Json &value, Reading &into) {
  into.*member = value;
  return true;
}

bool readModel(const Json &value, Reading &into) { return take(value, into.request.chat.model); }
bool readStream(const Json &value, Reading &into) { return take(value, into.request.chat.stream); }
bool readInstructions(const Json &value, Reading &into) { return take(value, into.instructions); }
bool readMaxTokens(const Json &value, Reading &into) {
  return take(value, into.request.chat.each.sampling.maxTokens, 1, int64_t(1) << 40);
}
bool readParallel(const Json &value, Reading &into) {
  return take(value, into.request.chat.parallelCalls);
}
bool readTopLogprobs(const Json &value, Reading &into) {
  return take(value, into.request.chat.topLogprobs, 0, 20);
}
bool readStreamOptions(const Json &value, Reading &) { return value.is_object(); }

/// What else a response may have; encrypted reasoning is for servers that keep it to themselves.
bool readInclude(const Json &value, Reading &into) {
  std::vector<std::string> names;
  if (!take(value, names))
    return false;
  for (const std::string &name : names) {
    if (name == "message.output_text.logprobs")
      into.request.chat.logprobs = true;
    else if (name != "reasoning.encrypted_content")
      return false;
  }
  return true;
}

bool readReasoning(const Json &value, Reading &into) {
  if (!value.is_object())
    return false;
  Json effort = value.value("effort", Json());
  if (effort.is_string())
    into.request.chat.conversation["reasoning_effort"] = effort;
  return effort.is_string() || effort.is_null();
}

/// Only the format that asks for nothing.
bool readText(const Json &value, Reading &) {
  if (!value.is_object())
    return false;
  Json format = value.value("format", Json());
  return format.is_null() || (format.is_object() && format.value("type", Json()) == "text");
}

bool readTruncation(const Json &value, Reading &) { return value == "disabled"; }

bool readKwargs(const Json &value, Reading &into) {
  into.request.chat.conversation["chat_template_kwargs"] = value;
  return value.is_object();
}

const BodyFields<Reading> &ownFields() {
  static const BodyFields<Reading> fields = {
      {"model", {readModel, "a string"}},
      {"input", {keep<&Reading::input>, "a text or a list of items"}},
      {"instructions", {readInstructions, "a text"}},
      {"max_output_tokens", {readMaxTokens, "an integer of at least 1"}},
      {"stream", {readStream, "true or false"}},
      {"stream_options", {readStreamOptions, "an object"}},
      {"include",
       {readInclude, "a list of message.output_text.logprobs and reasoning.encrypted_content"}},
      {"top_logprobs", {readTopLogprobs, "an integer from 0 to 20"}},
      {"parallel_tool_calls", {readParallel, "true or false"}},
      {"reasoning", {readReasoning, "an object whose effort is a string"}},
      {"text", {readText, "{\"format\": {\"type\": \"text\"}}: others are not served"}},
      {"truncation", {readTruncation, "\"disabled\""}},
      {"chat_template_kwargs", {readKwargs, "an object"}},
      {"tools", {keep<&Reading::tools>, "a list of tools"}},
      {"tool_choice", {keep<&Reading::choice>, "\"auto\" or \"none\""}},
  };
  return fields;
}

/// Text of a string or of parts of the given types.
std::optional<ApiError> readText(const Json &content, const std::string &where, std::string &text) {
  if (take(content, text))
    return std::nullopt;
  if (!content.is_array())
    return fieldError(where, "a string or a list of parts");
  for (size_t i = 0; i < content.size(); ++i) {
    std::string field = where + '[' + std::to_string(i) + ']', part;
    if (!content[i].is_object())
      return fieldError(field, "an object with a type");
    std::string type = wordOf(content[i], "type");
    if (type != "input_text" && type != "output_text" && type != "text" &&
        type != "reasoning_text" && type != "summary_text" && type != "refusal")
      return unservedField(field + ".type " + type, true);
    const char *member = type == "refusal" ? "refusal" : "text";
    if (!take(content[i].value(member, Json()), part))
      return fieldError(field + '.' + member, "a string");
    text += (text.empty() || part.empty() ? "" : "\n") + part;
  }
  return std::nullopt;
}

/// Messages from items, of which several may make one of the assistant.
class ItemReader {
public:
  explicit ItemReader(Json &messages) : messages(messages) {}

  std::optional<ApiError> read(const Json &item, const std::string &where) {
    if (!item.is_object())
      return fieldError(where, "an object");
    std::string type = wordOf(item, "type");
    if (type == "function_call")
      return readCall(item, where);
    if (type == "function_call_output")
      return readResult(item, where);
    if (type == "reasoning")
      return readReasoning(item, where);
    if (type.empty() || type == "message")
      return readMessage(item, where);
    return unservedField(where + ".type " + type, true);
  }

private:
  /// The assistant's message that goes on here.
  Json &own() {
    if (messages.empty() || messages.back()["role"] != "assistant")
      messages.push_back({{"role", "assistant"}, {"content", ""}});
    return messages.back();
  }

  std::optional<ApiError> readMessage(const Json &item, const std::string &where) {
    std::string role = wordOf(item, "role"), text;
    if (role != "user" && role != "assistant" && role != "system" && role != "developer")
      return fieldError(where + ".role", "user, assistant, system or developer");
    if (std::optional<ApiError> error =
            readText(item.value("content", Json()), where + ".content", text))
      return error;
    bool follows = role == "assistant" && !messages.empty() &&
                   messages.back()["role"] == "assistant" && messages.back()["content"] == "" &&
                   !messages.back().contains("tool_calls");
    if (follows)
      messages.back()["content"] = text;
    else
      messages.push_back({{"role", role}, {"content", text}});
    return std::nullopt;
  }

  std::optional<ApiError> readCall(const Json &item, const std::string &where) {
    std::string id = wordOf(item, "call_id"), name = wordOf(item, "name");
    if (id.empty() || name.empty() || !item.value("arguments", Json()).is_string())
      return fieldError(where, "a call with a call_id, a name and arguments, which are texts");
    own()["tool_calls"].push_back(
        {{"id", id},
         {"type", "function"},
         {"function", {{"name", name}, {"arguments", item["arguments"]}}}});
    return std::nullopt;
  }

  std::optional<ApiError> readResult(const Json &item, const std::string &where) {
    std::string id = wordOf(item, "call_id"), text;
    if (id.empty())
      return fieldError(where + ".call_id", "a string");
    if (std::optional<ApiError> error =
            readText(item.value("output", Json()), where + ".output", text))
      return error;
    messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", text}});
    return std::nullopt;
  }

  std::optional<ApiError> readReasoning(const Json &item, const std::string &where) {
    std::string text;
    for (const char *name : {"content", "summary"})
      if (Json parts = item.value(name, Json()); !parts.is_null() && text.empty())
        if (std::optional<ApiError> error = readText(parts, where + '.' + name, text))
          return error;
    if (text.empty())
      return std::nullopt;
    // What is thought comes before what is said.
    messages.push_back({{"role", "assistant"}, {"content", ""}, {"reasoning_content", text}});
    return std::nullopt;
  }

  Json &messages;
};

std::optional<ApiError> takeInput(const Json &input, Json &messages) {
  std::string text;
  if (take(input, text)) {
    messages.push_back({{"role", "user"}, {"content", text}});
    return std::nullopt;
  }
  if (!input.is_array() || input.empty())
    return fieldError("input", "a text or a list of at least one item");
  ItemReader reader(messages);
  for (size_t i = 0; i < input.size(); ++i)
    if (std::optional<ApiError> error = reader.read(input[i], "input[" + std::to_string(i) + ']'))
      return error;
  return std::nullopt;
}

/// Tools have their members in an object of their own where chats have them.
std::optional<ApiError> takeFlatTools(const Json &tools, ChatRequest &chat) {
  if (tools.is_null())
    return std::nullopt;
  if (!tools.is_array())
    return fieldError("tools", "a list of tools");
  Json list = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    if (!tools[i].is_object())
      return fieldError("tools[" + std::to_string(i) + ']', "an object");
    std::string type = wordOf(tools[i], "type");
    if (type != "function")
      return unservedField("tools[" + std::to_string(i) + "].type " + type, true);
    Json function = tools[i];
    function.erase("type");
    list.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return takeTools(list, chat);
}

} // namespace

OrError<ResponsesRequest> readResponsesRequest(const Json &body,
                                               const SamplingParameters &defaults) {
  Reading reading;
  ChatRequest &chat = reading.request.chat = newChatRequest(defaults);
  Json messages = Json::array();
  std::optional<ApiError> error =
      readFields(body, ownFields(), {refused, ignored}, reading, chat.each);
  if (!error && !reading.instructions.empty())
    messages.push_back({{"role", "system"}, {"content", reading.instructions}});
  if (!error)
    error = takeInput(reading.input, messages);
  if (!error)
    error = takeFlatTools(reading.tools, chat);
  if (!error)
    error = takeToolChoice(reading.choice, chat);
  if (error)
    return std::move(*error);
  for (const char *name :
       {"instructions", "max_output_tokens", "metadata", "parallel_tool_calls", "reasoning",
        "temperature", "text", "tool_choice", "tools", "top_p", "user"})
    if (body.contains(name))
      reading.request.told[name] = body[name];
  chat.conversation["messages"] = std::move(messages);
  settle(chat);
  return std::move(reading.request);
}

std::vector<std::string_view> refusedResponsesFields() {
  return {std::begin(refused), std::end(refused)};
}
std::vector<std::string_view> ignoredResponsesFields() {
  return {std::begin(ignored), std::end(ignored)};
}

} // namespace ingot::runtime
