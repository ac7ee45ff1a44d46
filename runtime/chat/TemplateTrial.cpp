// SPDX-License-Identifier: Apache-2.0
// What a probe said is found by where its strings came to stand, never by searching for them.
#include "runtime/chat/TemplateTrial.h"

#include "runtime/chat/PromptCheck.h"

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

struct TemplateTrial::Run {
  Json variables; ///< whose strings the provenance knows
  Provenance provenance;
  std::string prompt;
  bool rendered = false;
};

TemplateTrial::TemplateTrial(const ChatTemplate &chatTemplate, const Json &variables)
    : chatTemplate(chatTemplate), variables(variables) {
  settings.limits.steps = 200'000;
  settings.limits.bytes = size_t(16) << 20;
  settings.now.emplace();
  settings.now->tm_year = 124;
  settings.now->tm_mday = 1;
}

TemplateTrial::Run TemplateTrial::run(const Json &messages, const Json &tools) const {
  Run run;
  run.variables = variables;
  run.variables["messages"] = messages;
  run.variables["tools"] = tools;
  run.variables["documents"] = nullptr;
  run.variables["add_generation_prompt"] = true;
  Result<RenderedPrompt> rendered = chatTemplate.render(run.variables, settings, &run.provenance);
  run.rendered = rendered.ok();
  if (run.rendered)
    run.prompt = std::move(rendered->text);
  return run;
}

std::string TemplateTrial::prompt(const Json &messages, const Json &tools) const {
  return run(messages, tools).prompt;
}

bool TemplateTrial::says(const Json &messages, const Json &tools) const {
  const Run made = run(messages, tools);
  if (!made.rendered)
    return false;
  uint32_t before = 0;
  for (const Json &message : made.variables["messages"]) {
    if (!lostPart(message, made.provenance, made.prompt.size(), chatTemplate, {}).empty())
      return false;
    if (message["role"] != "tool" || !message["content"].is_string())
      continue;
    const uint32_t place =
        made.provenance.placesOf(message["content"].get_ref<const std::string &>())[0].prompt.begin;
    if (place < before)
      return false;
    before = place;
  }
  return true;
}

bool TemplateTrial::saysCall(const Json &messages, const Json &tools) const {
  const Run made = run(messages, tools);
  const Json &call = made.variables["messages"][1];
  if (!made.rendered ||
      !lostPart(call, made.provenance, made.prompt.size(), chatTemplate, {}).empty())
    return false;
  auto isBehind = [&](const std::string &text, char quote) {
    const uint32_t place = made.provenance.placesOf(text)[0].prompt.begin;
    return place > 0 && made.prompt[place - 1] == quote;
  };
  const Json &arguments = call["tool_calls"][0]["function"]["arguments"];
  // An object in quotes is a text, and one that is printed as Python prints it is no JSON.
  return arguments.is_string() ? !isBehind(arguments.get_ref<const std::string &>(), '"')
                               : !isBehind(arguments.items().begin().key(), '\'');
}

bool TemplateTrial::lists(const Json &messages, const Json &tools) const {
  const Run made = run(messages, tools);
  const Json &name = made.variables["tools"][0]["function"]["name"];
  return made.rendered && !made.provenance.placesOf(name.get_ref<const std::string &>()).empty();
}

Json TemplateTrial::message(const char *role, Json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

Json TemplateTrial::parts() {
  return Json::array({{{"type", "text"}, {"text", "one"}}, {{"type", "text"}, {"text", "two"}}});
}

static std::string idOf(size_t call) { return "abcdef12" + std::to_string(call); }

Json TemplateTrial::calls(const std::vector<Json> &arguments) {
  Json message = TemplateTrial::message("assistant", "");
  for (size_t i = 0; i < arguments.size(); ++i)
    message["tool_calls"].push_back({{"id", idOf(i)},
                                     {"type", "function"},
                                     {"function", {{"name", "f"}, {"arguments", arguments[i]}}}});
  return message;
}

Json TemplateTrial::result(size_t call, Json content) {
  Json message = TemplateTrial::message("tool", std::move(content));
  message["tool_call_id"] = idOf(call);
  message["name"] = "f";
  return message;
}

Json TemplateTrial::tools() {
  const Json text = {{"type", "string"}, {"description", "a text"}};
  const Json parameters = {
      {"type", "object"}, {"properties", {{"text", text}}}, {"required", Json::array({"text"})}};
  const Json function = {{"name", "f"}, {"description", "a tool"}, {"parameters", parameters}};
  return Json::array({{{"type", "function"}, {"function", function}}});
}

} // namespace ingot::runtime
