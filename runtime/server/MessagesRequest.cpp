// SPDX-License-Identifier: Apache-2.0
// Blocks of content become messages of a chat: results of tools before what the user says, thoughts
// and calls beside what the assistant said.
#include "runtime/server/MessagesRequest.h"

#include "runtime/server/FormFields.h"

#include "runtime/server/ContextEdits.h"

#include <algorithm>

namespace ingot::runtime {
namespace {

/// A client's first block of the system prompt may count its requests. With it no two prompts would
/// have a beginning in common, and it tells the model nothing.
constexpr std::string_view counter = "x-anthropic-billing-header:";

struct Reading {
  ChatRequest chat;
  bool limited = false; ///< max_tokens is given
  Json system, messages, tools, choice, edits, output;
};

/// 0: the prompt is computed, so that the next request finds it in the cache.
bool readMaxTokens(const Json &value, Reading &into) {
  into.limited = take(value, into.chat.each.sampling.maxTokens, 0, int64_t(1) << 40);
  into.chat.each.promptOnly = into.chat.each.sampling.maxTokens == 0;
  return into.limited;
}
bool readStops(const Json &value, Reading &into) {
  return take(value, into.chat.each.sampling.stopStrings);
}
bool readModel(const Json &value, Reading &into) { return take(value, into.chat.model); }
bool readStream(const Json &value, Reading &into) { return take(value, into.chat.stream); }
bool readKwargs(const Json &value, Reading &into) {
  into.chat.conversation["chat_template_kwargs"] = value;
  return value.is_object();
}
bool readThought(const Json &value, Reading &into) { return readThinking(value, into.chat); }

template <Json Reading::*member> bool keep(const Json &value, Reading &into) {
  into.*member = value;
  return true;
}

const BodyFields<Reading> &ownFields() {
  static const BodyFields<Reading> fields = {
      {"model", {readModel, "a string"}},
      {"messages", {keep<&Reading::messages>, "a list"}},
      {"system", {keep<&Reading::system>, "a text"}},
      {"max_tokens", {readMaxTokens, "an integer of at least 0"}},
      {"stop_sequences", {readStops, "a list of strings"}},
      {"stream", {readStream, "true or false"}},
      {"thinking", {readThought, mustBeThinking}},
      {"chat_template_kwargs", {readKwargs, "an object"}},
      {"tools", {keep<&Reading::tools>, "a list of tools"}},
      {"tool_choice", {keep<&Reading::choice>, "an object with a type"}},
      {"context_management", {keep<&Reading::edits>, "an object"}},
      {"output_config", {keep<&Reading::output>, "an object"}},
  };
  return fields;
}

/// A picture as a part of a chat's message.
OrError<Json> readPicture(const Json &block, const std::string &where) {
  const Json source = block.value("source", Json());
  const std::string type = wordOf(source, "type"), media = wordOf(source, "media_type");
  if (type != "base64" && !type.empty())
    return unservedError(where + ".source.type " + type, true, ": pictures are not fetched");
  if (type.empty() || !media.starts_with("image/") || !source.value("data", Json()).is_string())
    return fieldError(where + ".source", "an object of the type base64 with a media_type, as "
                                         "image/png, and data");
  std::string url = "data:" + media + ";base64,";
  url += source["data"].get_ref<const std::string &>();
  return Json{{"type", "image_url"}, {"image_url", {{"url", std::move(url)}}}};
}

/// Text of a string or of blocks; `error` is set where there is something else.
std::string textOfBlocks(const Json &content, const std::string &where,
                         std::optional<ApiError> &error) {
  std::string text;
  if (take(content, text) || content.is_null())
    return text;
  if (!content.is_array()) {
    error = fieldError(where, "a string or a list of blocks");
    return text;
  }
  for (size_t i = 0; i < content.size(); ++i) {
    std::string field = where + '[' + std::to_string(i) + ']', part;
    if (wordOf(content[i], "type") != "text")
      error = unservedError(field + ".type " + wordOf(content[i], "type"), true);
    else if (!take(content[i].value("text", Json()), part))
      error = fieldError(field + ".text", "a string");
    text += (text.empty() || part.empty() ? "" : "\n") + part;
  }
  return text;
}

/// What a tool gave: text, or with pictures a list of parts.
Json resultOf(const Json &content, const std::string &where, std::optional<ApiError> &error) {
  auto isImage = [](const Json &block) { return wordOf(block, "type") == "image"; };
  if (!content.is_array() || std::none_of(content.begin(), content.end(), isImage))
    return textOfBlocks(content, where, error);
  Json parts = Json::array();
  for (size_t i = 0; i < content.size() && !error; ++i) {
    std::string field = where + '[' + std::to_string(i) + ']';
    if (isImage(content[i])) {
      OrError<Json> picture = readPicture(content[i], field);
      if (ApiError *refused = std::get_if<ApiError>(&picture))
        error = std::move(*refused);
      else
        parts.push_back(std::move(std::get<Json>(picture)));
      continue;
    }
    std::string text = textOfBlocks(Json::array({content[i]}), where, error);
    parts.push_back({{"type", "text"}, {"text", std::move(text)}});
  }
  return parts;
}

/// The messages that one message becomes.
class MessageReader {
public:
  MessageReader(const std::string &role, Json &messages) : role(role), messages(messages) {}

  std::optional<ApiError> read(const Json &content, const std::string &where) {
    std::string text;
    if (take(content, text)) {
      messages.push_back({{"role", role}, {"content", text}});
      return std::nullopt;
    }
    if (!content.is_array())
      return fieldError(where, "a string or a list of blocks");
    for (size_t i = 0; i < content.size(); ++i)
      if (std::optional<ApiError> error =
              readBlock(content[i], where + '[' + std::to_string(i) + ']'))
        return error;
    finish();
    return std::nullopt;
  }

private:
  std::optional<ApiError> readBlock(const Json &block, const std::string &where) {
    std::string type = wordOf(block, "type"), text;
    bool assistant = role == "assistant";
    if (type == "text") {
      if (!take(block.value("text", Json()), text))
        return fieldError(where + ".text", "a string");
      own["content"].push_back({{"type", "text"}, {"text", text}});
    } else if (type == "image" && role == "user") {
      OrError<Json> picture = readPicture(block, where);
      if (ApiError *error = std::get_if<ApiError>(&picture))
        return std::move(*error);
      own["content"].push_back(std::move(std::get<Json>(picture)));
    } else if (type == "thinking" && assistant) {
      if (!take(block.value("thinking", Json()), text))
        return fieldError(where + ".thinking", "a string");
      reasoning += text;
    } else if (type == "tool_use" && assistant) {
      return readCall(block, where);
    } else if (type == "tool_result" && !assistant) {
      return readResult(block, where);
    } else if (type != "redacted_thinking" || !assistant) {
      return unservedError(where + ".type " + type, true);
    }
    return std::nullopt;
  }

  std::optional<ApiError> readCall(const Json &block, const std::string &where) {
    std::string id, name;
    if (!take(block.value("id", Json()), id) || !take(block.value("name", Json()), name) ||
        !block.value("input", Json()).is_object())
      return fieldError(where, "a call with an id, a name and an input, which is an object");
    own["tool_calls"].push_back({{"id", id},
                                 {"type", "function"},
                                 {"function", {{"name", name}, {"arguments", block["input"]}}}});
    return std::nullopt;
  }

  std::optional<ApiError> readResult(const Json &block, const std::string &where) {
    std::string id;
    if (!take(block.value("tool_use_id", Json()), id))
      return fieldError(where + ".tool_use_id", "a string");
    std::optional<ApiError> error;
    Json content = resultOf(block.value("content", Json()), where + ".content", error);
    messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", std::move(content)}});
    return error;
  }

  void finish() {
    if (!reasoning.empty())
      own["reasoning_content"] = reasoning;
    if (own.is_null())
      return;
    Json message = {{"role", role}, {"content", own.value("content", Json(""))}};
    // One text is a string to every template.
    if (message["content"].is_array() && message["content"].size() == 1 &&
        message["content"][0].contains("text"))
      message["content"] = Json(message["content"][0]["text"]);
    for (const char *name : {"reasoning_content", "tool_calls"})
      if (own.contains(name))
        message[name] = own[name];
    messages.push_back(std::move(message));
  }

  const std::string &role;
  Json &messages;
  Json own; ///< content, tool_calls, reasoning_content; null: there is none
  std::string reasoning;
};

std::optional<ApiError> takeSystem(Json system, Json &messages) {
  if (system.is_null())
    return std::nullopt;
  std::string first;
  if (system.is_array() && !system.empty() && system[0].is_object() &&
      take(system[0].value("text", Json()), first) && first.starts_with(counter))
    system.erase(0);
  std::optional<ApiError> error;
  std::string text = textOfBlocks(system, "system", error);
  if (!text.empty())
    messages.push_back({{"role", "system"}, {"content", text}});
  return error;
}

std::optional<ApiError> takeMessages(const Json &given, Json &messages) {
  if (!given.is_array() || given.empty())
    return fieldError("messages", "a list of at least one message");
  for (size_t i = 0; i < given.size(); ++i) {
    std::string where = "messages[" + std::to_string(i) + ']', role;
    bool well = given[i].is_object() && take(given[i].value("role", Json()), role) &&
                (role == "user" || role == "assistant" || role == "system");
    if (!well)
      return fieldError(where, "an object whose role is user or assistant");
    MessageReader reader(role, messages);
    if (std::optional<ApiError> error =
            reader.read(given[i].value("content", Json()), where + ".content"))
      return error;
  }
  return std::nullopt;
}

std::optional<ApiError> takeMessagesTools(const Json &tools, ChatRequest &chat) {
  if (tools.is_null())
    return std::nullopt;
  if (!tools.is_array())
    return fieldError("tools", "a list of tools");
  Json list = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json &tool = tools[i];
    std::string where = "tools[" + std::to_string(i) + ']', type = wordOf(tool, "type");
    if (!tool.is_object() || !tool.value("name", Json()).is_string())
      return fieldError(where, "an object with a name");
    if (!type.empty() && type != "custom")
      return unservedError(where + ".type " + type, true);
    Json function = {{"name", tool["name"]}};
    if (tool.contains("description"))
      function["description"] = tool["description"];
    function["parameters"] = tool.value("input_schema", Json::object());
    if (tool.contains("strict"))
      function["strict"] = tool["strict"];
    list.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return takeTools(list, chat);
}

std::optional<ApiError> takeChoice(const Json &choice, ChatRequest &chat) {
  if (choice.is_null())
    return std::nullopt;
  std::string type = wordOf(choice, "type"), name = wordOf(choice, "name");
  chat.parallelCalls = isNeutral(choice.value("disable_parallel_tool_use", Json()));
  if (type == "any")
    return requireCall({}, chat);
  if (type == "tool" && !name.empty())
    return requireCall(std::move(name), chat);
  if (type == "none")
    chat.tools.clear();
  else if (type != "auto")
    return fieldError("tool_choice.type", "\"auto\", \"any\", \"none\", or \"tool\" with a name");
  return std::nullopt;
}

} // namespace

/// How much effort the answer is worth is told to the template; and its form.
static std::optional<ApiError> takeOutput(const Json &output, ChatRequest &chat) {
  if (!output.is_object() && !output.is_null())
    return fieldError("output_config", "an object");
  for (const auto &[name, value] : output.items()) {
    if (name == "effort" && value.is_string())
      chat.conversation["reasoning_effort"] = value;
    else if (name == "format" && readFlatFormat(value, chat.each))
      continue;
    else if (!isNeutral(value))
      return name == "effort" ? fieldError("output_config.effort", "a string")
                              : unservedError("output_config." + name, true);
  }
  return std::nullopt;
}

/// The conversation of a body whose fields have been read.
static OrError<ChatRequest> conversationOf(const Reading &reading) {
  ChatRequest chat = reading.chat;
  Json messages = Json::array();
  std::optional<ApiError> error = takeOutput(reading.output, chat);
  if (!error)
    error = takeSystem(reading.system, messages);
  if (!error)
    error = takeMessages(reading.messages, messages);
  if (!error)
    error = takeMessagesTools(reading.tools, chat);
  if (!error)
    error = takeChoice(reading.choice, chat);
  if (error)
    return std::move(*error);
  // An answer that the client has begun is gone on with.
  if (!messages.empty() && messages.back()["role"] == "assistant")
    chat.conversation["continue_final_message"] = true;
  chat.conversation["messages"] = std::move(messages);
  settle(chat);
  return chat;
}

OrError<MessagesRequest> readMessagesRequest(const Json &body, const SamplingParameters &defaults,
                                             const PromptCounter &count, bool counted) {
  Reading reading;
  reading.chat = newChatRequest(defaults);
  if (std::optional<ApiError> error =
          readFields(body, ownFields(), Form::Messages, reading, reading.chat.each))
    return std::move(*error);
  if (!counted && !reading.limited)
    return fieldError("max_tokens", "given");
  OrError<std::vector<ContextEdit>> edits = readContextEdits(reading.edits);
  if (ApiError *error = std::get_if<ApiError>(&edits))
    return std::move(*error);
  MessagesRequest request;
  if (!reading.edits.is_null()) {
    auto countMessages = [&](const Json &messages) -> OrError<int64_t> {
      Reading edited = reading;
      edited.messages = messages;
      OrError<ChatRequest> chat = conversationOf(edited);
      if (ApiError *error = std::get_if<ApiError>(&chat))
        return std::move(*error);
      return count(std::get<ChatRequest>(chat));
    };
    OrError<Json> applied = applyContextEdits(std::get<std::vector<ContextEdit>>(edits),
                                              reading.messages, countMessages);
    if (ApiError *error = std::get_if<ApiError>(&applied))
      return std::move(*error);
    request.appliedEdits = std::move(std::get<Json>(applied));
  }
  OrError<ChatRequest> chat = conversationOf(reading);
  if (ApiError *error = std::get_if<ApiError>(&chat))
    return std::move(*error);
  request.chat = std::move(std::get<ChatRequest>(chat));
  return request;
}

} // namespace ingot::runtime
