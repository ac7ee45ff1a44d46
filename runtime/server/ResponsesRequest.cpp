// SPDX-License-Identifier: Apache-2.0
// Items of the input become messages of a chat; calls and thoughts join the assistant's next words.
#include "runtime/server/ResponsesRequest.h"

#include "runtime/server/FormFields.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

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

/// Of what no response here has: reasoning that the server keeps to itself, and what tools gave
/// that it ran itself.
constexpr std::string_view absent[] = {
    "code_interpreter_call.outputs", "computer_call_output.output.image_url",
    "file_search_call.results",      "message.input_image.image_url",
    "reasoning.encrypted_content",   "web_search_call.action.sources",
    "web_search_call.results"};

/// What else a response may have.
bool readInclude(const Json &value, Reading &into) {
  std::vector<std::string> names;
  if (!take(value, names))
    return false;
  for (const std::string &name : names) {
    if (name == "message.output_text.logprobs")
      into.request.chat.logprobs = true;
    else if (std::find(std::begin(absent), std::end(absent), name) == std::end(absent))
      return false;
  }
  return true;
}

bool readReasoning(const Json &value, Reading &into) {
  if (!value.is_object())
    return false;
  Json effort = value.value("effort", Json());
  if (effort.is_string() && effort != "")
    into.request.chat.conversation["reasoning_effort"] = effort;
  return effort.is_string() || effort.is_null();
}

/// The form of the answer; how wordy it is to be is told to the template.
bool readText(const Json &value, Reading &into) {
  if (!value.is_object())
    return false;
  if (std::string verbosity = wordOf(value, "verbosity"); !verbosity.empty())
    into.request.chat.variables["verbosity"] = verbosity;
  Json format = value.value("format", Json());
  return format.is_null() || readFlatFormat(format, into.request.chat.each);
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
      {"include", {readInclude, "a list of message.output_text.logprobs and others of OpenAI's"}},
      {"top_logprobs", {readTopLogprobs, "an integer from 0 to 20"}},
      {"parallel_tool_calls", {readParallel, "true or false"}},
      {"reasoning", {readReasoning, "an object whose effort is a string"}},
      {"text",
       {readText,
        "an object whose format is of the type text, json_object, or json_schema with its schema"}},
      {"truncation", {readTruncation, "\"disabled\""}},
      {"chat_template_kwargs", {readKwargs, "an object"}},
      {"tools", {keep<&Reading::tools>, "a list of tools"}},
      {"tool_choice", {keep<&Reading::choice>, "a word or an object"}},
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
      return unservedError(field + ".type " + type, true);
    const char *member = type == "refusal" ? "refusal" : "text";
    if (!take(content[i].value(member, Json()), part))
      return fieldError(field + '.' + member, "a string");
    text += (text.empty() || part.empty() ? "" : "\n") + part;
  }
  return std::nullopt;
}

/// Text, or with pictures a list of parts as chats have them.
std::optional<ApiError> readContent(const Json &content, const std::string &where, Json &into) {
  auto isImage = [](const Json &part) { return wordOf(part, "type") == "input_image"; };
  if (!content.is_array() || std::none_of(content.begin(), content.end(), isImage)) {
    std::string text;
    std::optional<ApiError> error = readText(content, where, text);
    into = std::move(text);
    return error;
  }
  into = Json::array();
  for (size_t i = 0; i < content.size(); ++i) {
    if (isImage(content[i])) {
      if (!content[i].value("image_url", Json()).is_string())
        return content[i].contains("file_id")
                   ? unservedError(where + '[' + std::to_string(i) + "].file_id", true)
                   : fieldError(where + '[' + std::to_string(i) + "].image_url",
                                "the data: URL of a picture");
      into.push_back(content[i]);
      continue;
    }
    std::string text;
    if (std::optional<ApiError> error = readText(Json::array({content[i]}), where, text))
      return error;
    into.push_back({{"type", "text"}, {"text", std::move(text)}});
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
    if (type == "custom_tool_call")
      return readCustomCall(item, where);
    if (type == "function_call_output" || type == "custom_tool_call_output")
      return readResult(item, where);
    if (type == "reasoning")
      return readReasoning(item, where);
    if (type.empty() || type == "message")
      return readMessage(item, where);
    return unservedError(where + ".type " + type, true);
  }

private:
  /// The assistant's message that goes on here.
  Json &own() {
    if (messages.empty() || messages.back()["role"] != "assistant")
      messages.push_back({{"role", "assistant"}, {"content", ""}});
    return messages.back();
  }

  std::optional<ApiError> readMessage(const Json &item, const std::string &where) {
    std::string role = wordOf(item, "role");
    Json content;
    if (role != "user" && role != "assistant" && role != "system" && role != "developer")
      return fieldError(where + ".role", "user, assistant, system or developer");
    if (std::optional<ApiError> error =
            readContent(item.value("content", Json()), where + ".content", content))
      return error;
    bool follows = role == "assistant" && !messages.empty() &&
                   messages.back()["role"] == "assistant" && messages.back()["content"] == "" &&
                   !messages.back().contains("tool_calls");
    if (follows)
      messages.back()["content"] = std::move(content);
    else
      messages.push_back({{"role", role}, {"content", std::move(content)}});
    return std::nullopt;
  }

  std::optional<ApiError> readCall(const Json &item, const std::string &where) {
    std::string id = wordOf(item, "call_id"), name = wordOf(item, "name");
    if (id.empty() || name.empty() || !item.value("arguments", Json()).is_string())
      return fieldError(where, "a call with a call_id, a name and arguments, which are texts");
    if (std::string space = wordOf(item, "namespace"); !space.empty())
      name = nameInSpace(space, name);
    addCall(id, name, item["arguments"]);
    return std::nullopt;
  }

  std::optional<ApiError> readCustomCall(const Json &item, const std::string &where) {
    std::string id = wordOf(item, "call_id"), name = wordOf(item, "name"), input;
    if (id.empty() || name.empty() || !take(item.value("input", Json()), input))
      return fieldError(where, "a call with a call_id, a name and an input, which are texts");
    addCall(id, name, argumentsOfInput(input));
    return std::nullopt;
  }

  void addCall(const std::string &id, const std::string &name, const Json &arguments) {
    own()["tool_calls"].push_back({{"id", id},
                                   {"type", "function"},
                                   {"function", {{"name", name}, {"arguments", arguments}}}});
  }

  std::optional<ApiError> readResult(const Json &item, const std::string &where) {
    std::string id = wordOf(item, "call_id");
    Json content;
    if (id.empty())
      return fieldError(where + ".call_id", "a string");
    if (std::optional<ApiError> error =
            readContent(item.value("output", Json()), where + ".output", content))
      return error;
    messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}});
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

} // namespace

OrError<ResponsesRequest> readResponsesRequest(const Json &body,
                                               const SamplingParameters &defaults) {
  Reading reading;
  ChatRequest &chat = reading.request.chat = newChatRequest(defaults);
  Json messages = Json::array();
  std::optional<ApiError> error =
      readFields(body, ownFields(), Form::Responses, reading, chat.each);
  if (!error && !reading.instructions.empty())
    messages.push_back({{"role", "system"}, {"content", reading.instructions}});
  if (!error)
    error = takeInput(reading.input, messages);
  if (!error)
    error = takeResponsesTools(reading.tools, chat, reading.request.offered,
                               reading.request.told["tools"]);
  if (!error)
    error = takeToolChoice(reading.choice, chat);
  if (error)
    return std::move(*error);
  for (const char *name : {"instructions", "max_output_tokens", "metadata", "parallel_tool_calls",
                           "reasoning", "temperature", "text", "tool_choice", "top_p", "user"})
    if (body.contains(name))
      reading.request.told[name] = body[name];
  chat.conversation["messages"] = std::move(messages);
  settle(chat);
  return std::move(reading.request);
}

} // namespace ingot::runtime
