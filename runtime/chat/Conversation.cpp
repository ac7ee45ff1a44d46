// SPDX-License-Identifier: Apache-2.0
// Conversation: the body of a chat request as the variables of a chat template.
#include "runtime/chat/Conversation.h"

#include "runtime/chat/CallText.h"
#include "runtime/chat/Effort.h"
#include "runtime/chat/Instructions.h"
#include "runtime/chat/ToolTurns.h"

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

/// Where a picture comes from, in any of the forms that clients write: OpenAI's chats and
/// responses, and that of templates.
std::string *pictureSource(Json &part, const std::string &type) {
  for (const char *name : {"image_url", "image", "url"}) {
    if (!part.contains(name) || (type == "image_url" && name != std::string_view("image_url")))
      continue;
    Json *source = &part[name];
    if (source->is_object() && source->contains("url"))
      source = &(*source)["url"];
    return source->is_string() ? &source->get_ref<std::string &>() : nullptr;
  }
  return nullptr;
}

/// How closely a picture is to be looked at: its size alone decides that here.
bool isDetail(const Json &detail) {
  return detail.is_null() || detail == "auto" || detail == "low" || detail == "high";
}

Status takePicture(const std::string &where, Json &part, std::vector<std::string> &images) {
  const std::string type = part["type"];
  std::string *source = pictureSource(part, type);
  if (!source || source->empty())
    return part.contains("file_id")
               ? wrongField(where + ".file_id", "left out: the picture itself is needed, as a "
                                                "data: URL")
               : wrongField(where + (type == "image" ? ".image" : ".image_url"),
                            "the data: URL of a picture");
  const Json &url = part.contains("image_url") ? part["image_url"] : part;
  for (const Json *holder : {&url, static_cast<const Json *>(&part)})
    if (holder->is_object() && holder->contains("detail") && !isDetail((*holder)["detail"]))
      return wrongField(where + ".detail", "\"auto\", \"low\" or \"high\"");
  images.push_back(std::move(*source));
  part = {{"type", "image"}, {pictureNumber, images.size() - 1}};
  return Status::success();
}

Status takeContent(const std::string &where, Json &content, std::vector<std::string> &images) {
  if (content.is_null() || content.is_string())
    return Status::success();
  if (!content.is_array())
    return wrongField(where, "a string or a list of parts");
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part = where + "[" + std::to_string(i) + "]";
    if (!content[i].is_object() || !content[i].contains("type") || !content[i]["type"].is_string())
      return wrongField(part, "an object with a type");
    const std::string &type = content[i]["type"].get_ref<const std::string &>();
    if (type == "image_url" || type == "input_image" || type == "image") {
      if (Status status = takePicture(part, content[i], images); !status.ok())
        return status;
      continue;
    }
    if (type != "text")
      return wrongField(part + ".type", "\"text\": parts of type \"" + type + "\" are not served");
    if (!isPart(content[i]))
      return wrongField(part + ".text", "a string");
  }
  return Status::success();
}

Status takeMessage(const std::string &where, Json &message, std::vector<std::string> &images) {
  if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
    return wrongField(where, "an object with a role");
  if (message.contains("content"))
    if (Status status = takeContent(where + ".content", message["content"], images); !status.ok())
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

/// `arguments` as the template takes them: an object, or the text of one. A text that is none stays
/// a text, or is the one argument where the template cannot print a text.
void normalizeArguments(Json &arguments, const TemplateTraits &traits) {
  if (!arguments.is_string() && !arguments.is_object() && !arguments.is_null())
    arguments = arguments.dump(-1, ' ', false, Json::error_handler_t::replace);
  bool isDeep = false;
  Json object = arguments;
  if (arguments.is_string()) {
    const auto &text = arguments.get_ref<const std::string &>();
    object = isBlank(text) ? Json() : parseBounded(text, isDeep);
  }
  if (object.is_null())
    object = Json::object();
  if (isDeep || !object.is_object()) {
    if (traits.wantsObjects && !traits.takesAnyArguments)
      arguments = {{"arguments", std::move(arguments)}};
  } else if (traits.wantsObjects) {
    arguments = std::move(object);
  } else if (!arguments.is_string() || object.empty()) {
    arguments = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
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
    Json &function = call.contains("function") ? call["function"] : call;
    if (function.is_object())
      normalizeArguments(function["arguments"], traits);
  }
}

const ContentForms &formsOf(const Turn &turn, const TemplateTraits &traits) {
  return turn.is("system") || turn.is("developer") ? traits.system
         : turn.is("assistant")                    ? traits.assistant
         : turn.is("tool")                         ? traits.tool
                                                   : traits.user;
}

Status noPlaceForPictures(const Turn &turn, const std::string &place) {
  return Status::error("INGOT-E6077",
                       "messages[" + std::to_string(turn.index) +
                           "].content has pictures, and the chat template has no place for them " +
                           place,
                       "leave them out, or take a template with pictures");
}

/// What stands for nothing beside calls: what came, where the template takes it.
void normalizeNothing(Json &message, const TemplateTraits &traits) {
  const bool isAbsent = !message.contains("content");
  const bool isNull = !isAbsent && message["content"].is_null();
  if ((isAbsent && traits.takesAbsent) || (isNull && traits.takesNull))
    return;
  if (traits.takesEmpty)
    message["content"] = "";
  else if (traits.takesNull)
    message["content"] = nullptr;
  else
    message.erase("content");
}

Status normalizeContent(Turn &turn, const TemplateTraits &traits) {
  Json &message = turn.message;
  const ContentForms &forms = formsOf(turn, traits);
  if (hasPictures(message))
    return forms.images ? Status::success()
                        : noPlaceForPictures(turn, "in messages of the role " +
                                                       message["role"].get<std::string>());
  // What an assistant refused with is what it said.
  if (hasText(message, "refusal") && contentText(message).empty())
    message["content"] = message["refusal"];
  if (turn.hasCalls() && contentText(message).empty())
    return normalizeNothing(message, traits), Status::success();
  Json &content = message["content"];
  if (content.is_null())
    content = "";
  if (content.is_array() && !forms.parts)
    content = contentText(message);
  else if (content.is_string() && !forms.text)
    content = Json::array({{{"type", "text"}, {"text", content}}});
  return Status::success();
}

/// Takes the numbers of a message's pictures from it: a template might print them.
void takeNumbers(Json &message, std::vector<size_t> &numbers) {
  if (hasPictures(message))
    for (Json &part : message["content"])
      if (isPicture(part)) {
        numbers.push_back(part[pictureNumber].get<size_t>());
        part.erase(pictureNumber);
      }
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
  if (traits.knowsThinking && (traits.takesThinkingWithText || contentText(message).empty() ||
                               !message.contains("tool_calls")))
    message["thinking"] = text;
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
    if (Status status =
            takeMessage("messages[" + std::to_string(i) + "]", made.messages[i], made.images);
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
    made.effort = body["reasoning_effort"];
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

Result<ConversationVariables> Conversation::variablesFor(const TemplateTraits &traits) const {
  if (!tools.is_null() && !traits.knowsTools)
    return Status::error("INGOT-E6072",
                         "tools are given, and the chat template has no place for them",
                         "leave `tools` out, or take a model or a template with tools");
  Turns turns;
  for (size_t i = 0; i < messages.size(); ++i) {
    turns.push_back({messages[i], i});
    normalizeCalls(turns.back().message, traits);
    if (turns.back().hasCalls() && hasPictures(messages[i]))
      return noPlaceForPictures(turns.back(), "beside calls");
  }
  if (Status status = pairResults(turns); !status.ok())
    return status;
  placeInstructions(turns, traits);
  if (traits.knowsToolCalls)
    separateCalls(turns, traits);
  else
    sayCallsAsText(turns, *traits.tools, traits.knowsResults);
  joinRepeats(turns, traits);
  ConversationVariables made = {variables, {}, {}, {}};
  tellEffort(made.all, effort, traits);
  Json &given = made.all["messages"] = Json::array();
  for (Turn &turn : turns) {
    if (Status status = normalizeContent(turn, traits); !status.ok())
      return status;
    normalizeReasoning(turn.message, traits);
    takeNumbers(turn.message, made.pictures);
    given.push_back(std::move(turn.message));
    made.indices.push_back(turn.index);
    made.own.push_back(std::move(turn.own));
  }
  made.all["tools"] = tools.is_null() && traits.needsToolList ? Json::array() : tools;
  made.all["documents"] = documents;
  made.all["add_generation_prompt"] = addGenerationPrompt;
  return made;
}

} // namespace ingot::runtime
