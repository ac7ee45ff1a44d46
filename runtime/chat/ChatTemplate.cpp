// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: makes a prompt of a conversation.
#include "runtime/chat/ChatTemplate.h"

#include <chrono>

namespace ingot::runtime {

static std::tm localTime() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

Result<ChatTemplate> ChatTemplate::compile(std::string_view name, std::string_view text) {
  Result<jinja::Template> compiled = jinja::Template::compile(name, text);
  if (!compiled.ok())
    return compiled.status();
  return ChatTemplate(*std::move(compiled));
}

Result<RenderedPrompt> ChatTemplate::render(const nlohmann::ordered_json &variables,
                                            const RenderSettings &settings) const {
  Result<jinja::Text> text =
      compiled.render(variables, settings.now ? *settings.now : localTime(), settings.limits);
  if (!text.ok())
    return text.status();
  RenderedPrompt prompt;
  prompt.input = text->takeInput();
  prompt.text = text->takeBytes();
  return prompt;
}

} // namespace ingot::runtime
