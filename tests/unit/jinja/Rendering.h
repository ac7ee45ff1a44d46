// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of templates: rendering of one text with given variables.
#pragma once

#include "runtime/chat/ChatTemplate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>

namespace ingot::test {

using Json = nlohmann::ordered_json;
using runtime::ChatTemplate;
using runtime::RenderedPrompt;
using runtime::RenderSettings;
using runtime::Result;

/// 2024-07-26 12:34:56, a Friday.
inline std::tm fixedTime() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 6;
  time.tm_mday = 26;
  time.tm_hour = 12;
  time.tm_min = 34;
  time.tm_sec = 56;
  time.tm_wday = 5;
  time.tm_yday = 207;
  return time;
}

inline Result<RenderedPrompt> tryRender(const std::string &text, const Json &variables,
                                        RenderSettings settings = {}) {
  settings.now = fixedTime();
  const Result<ChatTemplate> compiled = ChatTemplate::compile("t", text);
  if (!compiled.ok())
    return compiled.status();
  return compiled->render(variables, settings);
}

/// The text, or the error's code and message.
inline std::string renderText(const std::string &text, const Json &variables = Json::object(),
                              const RenderSettings &settings = {}) {
  const Result<RenderedPrompt> prompt = tryRender(text, variables, settings);
  return prompt.ok() ? prompt->text : prompt.status().toString();
}

} // namespace ingot::test
