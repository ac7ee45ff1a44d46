// SPDX-License-Identifier: Apache-2.0
// Conversation: the body of a chat request as the variables of a chat template.
#include "runtime/chat/Conversation.h"
#include "runtime/jinja/Search.h"

#include "runtime/serving/Unicode.h"

#include <algorithm>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

Status wrongField(const std::string &field, const std::string &must) {
  return Status::error("INGOT-E6071", field + " must be " + must, "change the request");
}

bool isPart(const Json &part) {
  return part.is_object() && part.contains("type") && part["type"].is_string() &&
         part.contains("text") && part["text"].is_string();
}

Status checkContent(const std::string &where, const Json &content) {
  if (content.is_null() || content.is_string())
    return Status::success();
  if (!content.is_array())
    return wrongField(where, "a string or a list of parts");
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part = where + "[" + std::to_string(i) + "]";
    if (!content[i].is_object() || !content[i].contains("type") || !content[i]["type"].is_string())
      return wrongField(part, "an object with a type");
    const std::string &type = content[i]["type"].get_ref<const std::string &>();
    if (type != "text")
      return wrongField(part + ".type", "\"text\": parts of type \"" + type + "\" are not served");
    if (!isPart(content[i]))
      return wrongField(part + ".text", "a string");
  }
  return Status::success();
}

Status checkMessage(const std::string &where, const Json &message) {
  if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
    return wrongField(where, "an object with a role");
  if (message.contains("content"))
    if (Status status = checkContent(where + ".content", message["content"]); !status.ok())
      return status;
  if (!message.contains("tool_calls") || message["tool_calls"].is_null())
    return Status::success();
  if (!message["tool_calls"].is_array())
    return wrongField(where + ".tool_calls", "a list");
  for (const Json &call : message["tool_calls"])
    if (!call.is_object())
      return wrongField(where + ".tool_calls", "a list of objects");
  return Status::success();
}

Status takeBool(const Json &body, const char *name, bool &out) {
  if (!body.contains(name) || body[name].is_null())
    return Status::success();
  if (!body[name].is_boolean())
    return wrongField(name, "true or false");
  out = body[name].get<bool>();
  return Status::success();
}

Status takeList(const Json &body, const char *name, Json &out) {
  out = body.contains(name) ? body[name] : Json();
  if (!out.is_null() && !out.is_array())
    return wrongField(name, "a list");
  if (out.is_array() && out.empty()) // as if it were not there
    out = nullptr;
  return Status::success();
}

/// The text of a message's content: of all its parts, a line each.
std::string textOf(const Json &content) {
  if (content.is_string())
    return content.get<std::string>();
  std::string text;
  if (content.is_array())
    for (size_t i = 0; i < content.size(); ++i)
      text += (i > 0 ? "\n" : "") + content[i]["text"].get<std::string>();
  return text;
}

bool hasText(const Json &message, const char *name) {
  return message.contains(name) && message[name].is_string();
}

/// What is nested is copied and freed by recursion.
constexpr int deepest = 64;

/// JSON of at most that many levels; discarded where it is none.
Json parseBounded(std::string_view text, bool &isDeep) {
  isDeep = false;
  return Json::parse(
      text.begin(), text.end(),
      [&](int depth, Json::parse_event_t, Json &) { return !(isDeep |= depth > deepest); }, false);
}

/// `arguments` as the template takes them; as they are where they are no JSON object.
void normalizeArguments(Json &arguments, bool asObjects) {
  if (!asObjects) {
    if (arguments.is_object())
      arguments = arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  if (!arguments.is_string())
    return;
  bool isDeep = false;
  Json object = parseBounded(arguments.get_ref<const std::string &>(), isDeep);
  if (!isDeep && object.is_object())
    arguments = std::move(object);
}

void normalizeCalls(Json &message, const TemplateTraits &traits) {
  if (!message.contains("tool_calls"))
    return;
  if (message["tool_calls"].is_null() || message["tool_calls"].empty()) {
    message.erase("tool_calls");
    return;
  }
  for (Json &call : message["tool_calls"]) {
    if (!call.contains("type") && call.contains("function"))
      call["type"] = "function";
    Json *function = call.contains("function") ? &call["function"] : &call;
    if (function->is_object() && function->contains("arguments"))
      normalizeArguments((*function)["arguments"], traits.wantsObjects);
  }
}

void normalizeContent(Json &message, const TemplateTraits &traits) {
  const bool isAbsent = !message.contains("content");
  if (isAbsent || message["content"].is_null()) {
    const bool stays =
        message.contains("tool_calls") && (isAbsent ? traits.takesAbsent : traits.takesNull);
    if (!stays)
      message["content"] = "";
  }
  if (!message.contains("content") || message["content"].is_null())
    return;
  Json &content = message["content"];
  if (content.is_array() && !traits.takesParts)
    content = textOf(content);
  else if (content.is_string() && !traits.takesText)
    content = Json::array({{{"type", "text"}, {"text", content}}});
}

void normalizeReasoning(Json &message, const TemplateTraits &traits) {
  const char *known = hasText(message, "reasoning_content") ? "reasoning_content"
                      : hasText(message, "reasoning")       ? "reasoning"
                                                            : nullptr;
  if (!known)
    return;
  const Json text = message[known];
  message["reasoning"] = text;
  message["reasoning_content"] = text;
  // gpt-oss takes thinking or content beside tool calls, not both.
  const bool hasContent = message.contains("content") && !textOf(message["content"]).empty();
  if (traits.knowsThinking && !(hasContent && message.contains("tool_calls")))
    message["thinking"] = text;
}

/// Puts the text of system messages before that of the user's message behind them.
Json withoutSystem(const Json &messages) {
  Json kept = Json::array();
  std::string pending;
  auto asUser = [&](const std::string &text) {
    kept.push_back({{"role", "user"}, {"content", text}});
  };
  for (const Json &message : messages) {
    const Json content = message.contains("content") ? message["content"] : Json();
    if (message["role"] == "system") {
      pending += (pending.empty() ? "" : "\n") + textOf(content);
      continue;
    }
    if (pending.empty()) {
      kept.push_back(message);
    } else if (message["role"] == "user") {
      Json merged = message;
      merged["content"] = pending + "\n" + textOf(content);
      kept.push_back(std::move(merged));
    } else {
      asUser(pending);
      kept.push_back(message);
    }
    pending.clear();
  }
  if (!pending.empty())
    asUser(pending);
  return kept;
}

std::string_view stripped(std::string_view text) {
  text.remove_prefix(skipWhitespace(text));
  return text.substr(0, trimWhitespace(text));
}

} // namespace

Result<Json> Conversation::parse(std::string_view body) {
  bool isDeep = false;
  Json parsed = parseBounded(body, isDeep);
  if (isDeep)
    return wrongField("the request", "of at most " + std::to_string(deepest) + " levels");
  if (parsed.is_discarded())
    return wrongField("the request", "JSON");
  return parsed;
}

Result<Conversation> Conversation::read(const Json &body) {
  Conversation made;
  if (!body.is_object())
    return wrongField("the request", "a JSON object");
  if (!body.contains("messages") || !body["messages"].is_array() || body["messages"].empty())
    return wrongField("messages", "a list of at least one message");
  made.messages = body["messages"];
  for (size_t i = 0; i < made.messages.size(); ++i)
    if (Status status = checkMessage("messages[" + std::to_string(i) + "]", made.messages[i]);
        !status.ok())
      return status;
  for (const auto &[name, list] : {std::pair("tools", &made.tools), {"documents", &made.documents}})
    if (Status status = takeList(body, name, *list); !status.ok())
      return status;
  made.variables = Json::object();
  if (body.contains("chat_template_kwargs") && !body["chat_template_kwargs"].is_null()) {
    if (!body["chat_template_kwargs"].is_object())
      return wrongField("chat_template_kwargs", "an object");
    made.variables = body["chat_template_kwargs"];
  }
  if (body.contains("reasoning_effort") && !body["reasoning_effort"].is_null()) {
    if (!body["reasoning_effort"].is_string())
      return wrongField("reasoning_effort", "a string");
    made.variables["reasoning_effort"] = body["reasoning_effort"];
  }
  if (Status status = takeBool(body, "continue_final_message", made.continueFinalMessage);
      !status.ok())
    return status;
  made.addGenerationPrompt = !made.continueFinalMessage;
  if (Status status = takeBool(body, "add_generation_prompt", made.addGenerationPrompt);
      !status.ok())
    return status;
  if (made.addGenerationPrompt && made.continueFinalMessage)
    return wrongField("add_generation_prompt", "false where continue_final_message is true");
  return made;
}

Result<Json> Conversation::variablesFor(const TemplateTraits &traits) const {
  if (!tools.is_null() && !traits.knowsTools)
    return Status::error("INGOT-E6072",
                         "tools are given, and the chat template has no place for them",
                         "leave `tools` out, or take a model or a template with tools");
  Json normalized = messages;
  if (!traits.knowsDeveloper)
    for (Json &message : normalized)
      if (message["role"] == "developer")
        message["role"] = "system";
  if (!traits.knowsSystem)
    normalized = withoutSystem(normalized);
  for (Json &message : normalized) {
    normalizeCalls(message, traits);
    normalizeContent(message, traits);
    normalizeReasoning(message, traits);
  }
  Json all = variables;
  all["messages"] = std::move(normalized);
  all["tools"] = tools.is_null() && traits.needsToolList ? Json::array() : tools;
  all["documents"] = documents;
  all["add_generation_prompt"] = addGenerationPrompt;
  return all;
}

Status Conversation::cutBehindFinalMessage(RenderedPrompt &prompt) const {
  if (!continueFinalMessage)
    return Status::success();
  const Json &last = messages.back();
  const std::string text = last.contains("content") ? textOf(last["content"]) : std::string();
  const std::string_view words = stripped(text);
  const size_t place = words.empty() ? std::string::npos : jinja::findLast(prompt.text, words);
  if (place == std::string::npos)
    return Status::error("INGOT-E6073",
                         words.empty() ? "the last message, which is to go on, has no text"
                                       : "the last message, which is to go on, is not in the "
                                         "prompt that the chat template makes",
                         "leave continue_final_message out");
  // Space at its end stays where the template keeps it.
  const std::string_view kept = std::string_view(text).substr(skipWhitespace(text));
  const bool keepsSpace = prompt.text.compare(place, kept.size(), kept) == 0;
  const auto end = uint32_t(place + (keepsSpace ? kept.size() : words.size()));
  prompt.text.resize(end);
  std::erase_if(prompt.input, [&](const Span &span) { return span.begin >= end; });
  if (!prompt.input.empty())
    prompt.input.back().end = std::min(prompt.input.back().end, end);
  return Status::success();
}

} // namespace ingot::runtime
