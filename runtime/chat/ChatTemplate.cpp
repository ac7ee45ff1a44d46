// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: makes a prompt of a conversation.
#include "runtime/chat/ChatTemplate.h"

#include <chrono>
#include <cstdio>

namespace ingot::runtime {

static std::tm localTime() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&seconds, &local);
  return local;
}

Result<std::tm> parseTime(const std::string &text) {
  std::tm time{};
  int used = 0;
  const int parts =
      std::sscanf(text.c_str(), "%4d-%2d-%2d%n %2d:%2d:%2d%n", &time.tm_year, &time.tm_mon,
                  &time.tm_mday, &used, &time.tm_hour, &time.tm_min, &time.tm_sec, &used);
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  const std::tm asked = time;
  // Gives the day of the week and of the year, and another date where there is none such.
  if ((parts != 3 && parts != 6) || size_t(used) != text.size() || timegm(&time) == -1 ||
      time.tm_mday != asked.tm_mday || time.tm_mon != asked.tm_mon ||
      time.tm_hour != asked.tm_hour || time.tm_min != asked.tm_min || time.tm_sec != asked.tm_sec)
    return Status::error("INGOT-E6075", "now='" + text + "' is no time",
                         "write it as now='2024-07-26 12:34:56'");
  return time;
}

Result<ChatTemplate> ChatTemplate::compile(std::string_view name, std::string_view text) {
  Result<jinja::Template> compiled = jinja::Template::compile(name, text);
  if (!compiled.ok())
    return compiled.status();
  return ChatTemplate(*std::move(compiled));
}

Result<RenderedPrompt> ChatTemplate::render(const nlohmann::ordered_json &variables,
                                            const RenderSettings &settings,
                                            Provenance *provenance) const {
  Result<jinja::Rendered> rendered =
      compiled.render(variables, settings.now ? *settings.now : localTime(), settings.limits);
  if (!rendered.ok())
    return rendered.status();
  RenderedPrompt prompt;
  for (const jinja::Piece &piece : rendered->text.pieces())
    if (!prompt.input.empty() && prompt.input.back().end == piece.span.begin)
      prompt.input.back().end = piece.span.end;
    else
      prompt.input.push_back(piece.span);
  if (provenance)
    *provenance = Provenance(*rendered);
  prompt.text = rendered->text.takeBytes();
  return prompt;
}

} // namespace ingot::runtime
