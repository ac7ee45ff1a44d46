// SPDX-License-Identifier: Apache-2.0
// render-templates: renders the templates of standard input, a JSON object a line with "template"
// and "variables", and writes a line each: {"ok": text, "input": [[begin, end], ...]} or {"error"}.
#include "runtime/chat/ChatTemplate.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;
using namespace ingot::runtime;

Json answer(const Json &request) {
  RenderSettings settings;
  settings.now.emplace();
  settings.now->tm_year = 124; // 2024-07-26 12:34:56, a Friday
  settings.now->tm_mon = 6;
  settings.now->tm_mday = 26;
  settings.now->tm_hour = 12;
  settings.now->tm_min = 34;
  settings.now->tm_sec = 56;
  settings.now->tm_wday = 5;
  settings.now->tm_yday = 207;
  const Result<ChatTemplate> compiled =
      ChatTemplate::compile("t", request.at("template").get_ref<const std::string &>());
  if (!compiled.ok())
    return {{"error", compiled.status().toString()}};
  const Result<RenderedPrompt> prompt = compiled->render(request.at("variables"), settings);
  if (!prompt.ok())
    return {{"error", prompt.status().toString()}};
  Json input = Json::array();
  for (const Span &span : prompt->input)
    input.push_back({span.begin, span.end});
  return {{"ok", prompt->text}, {"input", input}};
}

} // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json request = Json::parse(line, nullptr, false);
    const bool isRequest = request.is_object() && request.contains("template") &&
                           request["template"].is_string() && request.contains("variables");
    std::cout << (isRequest ? answer(request) : Json{{"error", "not a request"}})
                     .dump(-1, ' ', true, Json::error_handler_t::replace)
              << std::endl;
  }
}
