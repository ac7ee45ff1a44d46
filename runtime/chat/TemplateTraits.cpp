// SPDX-License-Identifier: Apache-2.0
// TemplateTraits: what a chat template takes, learnt by rendering small conversations.
#include "runtime/chat/TemplateTraits.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char *marker = "xprobex", *toolName = "xprobetoolx", *argument = "xprobeargx";

/// One template under trial.
class Trial {
public:
  Trial(const ChatTemplate &chatTemplate, const Json &variables)
      : chatTemplate(chatTemplate), variables(variables) {
    settings.limits.steps = 200'000;
    settings.limits.bytes = size_t(16) << 20;
    settings.now.emplace();
    settings.now->tm_year = 124;
    settings.now->tm_mday = 1;
  }

  /// The prompt of a conversation, or nothing where it does not render.
  std::string prompt(const Json &messages, const Json &tools = nullptr) const {
    Json given = variables;
    given["messages"] = messages;
    given["tools"] = tools;
    given["documents"] = nullptr;
    given["add_generation_prompt"] = true;
    Result<RenderedPrompt> rendered = chatTemplate.render(given, settings);
    return rendered.ok() ? std::move(rendered->text) : std::string();
  }

private:
  const ChatTemplate &chatTemplate;
  const Json &variables;
  RenderSettings settings;
};

bool has(const std::string &text, std::string_view part) { return text.find(part) != text.npos; }

Json message(const char *role, Json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

Json probeTools() {
  const Json text = {{"type", "string"}, {"description", "a text"}};
  const Json parameters = {
      {"type", "object"}, {"properties", {{"text", text}}}, {"required", Json::array({"text"})}};
  const Json function = {{"name", toolName}, {"description", "a tool"}, {"parameters", parameters}};
  return Json::array({{{"type", "function"}, {"function", function}}});
}

/// A question, the tool call `call` makes of it, and the tool's answer.
Json withCall(const Json &call) {
  Json answer = message("tool", "1");
  answer["tool_call_id"] = "abcdef123";
  answer["name"] = toolName;
  return Json::array({message("user", "1"), call, answer});
}

Json callWith(const Json &arguments) {
  Json call = message("assistant", "");
  call["tool_calls"] =
      Json::array({{{"id", "abcdef123"},
                    {"type", "function"},
                    {"function", {{"name", toolName}, {"arguments", arguments}}}}});
  return call;
}

void learnContent(const Trial &trial, TemplateTraits &traits) {
  traits.takesText = has(trial.prompt(Json::array({message("user", marker)})), marker);
  const Json part = {{"type", "text"}, {"text", marker}};
  const std::string parts = trial.prompt(Json::array({message("user", Json::array({part}))}));
  // A list that is printed as it is has not been taken for parts.
  traits.takesParts = has(parts, marker) && !has(parts, "'type'") && !has(parts, "\"type\"");
  if (!traits.takesParts)
    traits.takesText = true;
  const Json content = traits.takesText ? Json(marker) : Json::array({part});
  const Json user = traits.takesText ? Json("1") : Json::array({{{"type", "text"}, {"text", "1"}}});
  traits.knowsSystem =
      has(trial.prompt(Json::array({message("system", content), message("user", user)})), marker);
}

void learnCalls(const Trial &trial, TemplateTraits &traits) {
  const Json tools = traits.knowsTools ? probeTools() : Json();
  const Json object = {{argument, "1"}};
  const std::string asObject = trial.prompt(withCall(callWith(object)), tools);
  const std::string asText = trial.prompt(withCall(callWith(object.dump())), tools);
  // The tool may be listed, and its answer name it: its arguments show that there is a call.
  traits.knowsToolCalls = has(asObject, argument) || has(asText, argument);
  // An object that is printed as Python prints it is no JSON, nor is a text in quotes.
  const bool objectIsJson = has(asObject, argument) && !has(asObject, "{'" + std::string(argument));
  const bool textIsJson = has(asText, "{\"" + std::string(argument) + "\"");
  traits.wantsObjects = objectIsJson || !textIsJson;
  const Json arguments = traits.wantsObjects ? object : Json(object.dump());
  auto isTaken = [&](const std::string &prompt) {
    return has(prompt, argument) && !has(prompt, "None") && !has(prompt, "null");
  };
  Json without = callWith(arguments);
  without["content"] = nullptr;
  traits.takesNull = isTaken(trial.prompt(withCall(without), tools));
  without.erase("content");
  traits.takesAbsent = isTaken(trial.prompt(withCall(without), tools));
}

} // namespace

TemplateTraits traitsOf(const ChatTemplate &chatTemplate, const Json &variables) {
  TemplateTraits traits;
  const Trial trial(chatTemplate, variables);
  learnContent(trial, traits);
  traits.knowsDeveloper = has(std::string(chatTemplate.source()), "developer");
  traits.knowsThinking = has(std::string(chatTemplate.source()), ".thinking") &&
                         !has(std::string(chatTemplate.source()), "reasoning_content");
  const Json question = Json::array({message("user", "1")});
  traits.knowsTools =
      chatTemplate.mentions("tools") && (has(trial.prompt(question, probeTools()), toolName) ||
                                         trial.prompt(question, probeTools()).empty());
  traits.needsToolList = chatTemplate.mentions("tools") && trial.prompt(question).empty() &&
                         !trial.prompt(question, Json::array()).empty();
  learnCalls(trial, traits);
  return traits;
}

} // namespace ingot::runtime
