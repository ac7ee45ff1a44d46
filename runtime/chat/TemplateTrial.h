// SPDX-License-Identifier: Apache-2.0
// TemplateTrial: small conversations, rendered to learn what a chat template takes.
#pragma once

#include "runtime/chat/ChatTemplate.h"

#include <nlohmann/json.hpp>

namespace ingot::runtime {

/// One template under trial. Conversations are lists of messages as templates get them.
class TemplateTrial {
public:
  using Json = nlohmann::ordered_json;

  /// `variables` are given beside each conversation (bos_token, ...). Both must outlive it.
  TemplateTrial(const ChatTemplate &chatTemplate, const Json &variables);

  /// The prompt of a conversation, or nothing where it does not render.
  std::string prompt(const Json &messages, const Json &tools = nullptr) const;
  /// Whether it renders with all that was said in the prompt, and results in their order.
  bool says(const Json &messages, const Json &tools = nullptr) const;
  /// Whether the second message's call comes to be in the prompt, its arguments as JSON.
  bool saysCall(const Json &messages, const Json &tools) const;
  /// Whether the first tool's name comes to be in the prompt.
  bool lists(const Json &messages, const Json &tools) const;

  static Json message(const char *role, Json content);
  static Json parts();
  /// An assistant's message with a call of the probe's tool for each of `arguments`.
  static Json calls(const std::vector<Json> &arguments);
  static Json result(size_t call, Json content);
  static Json tools();

private:
  struct Run;
  Run run(const Json &messages, const Json &tools) const;

  const ChatTemplate &chatTemplate;
  const Json &variables;
  RenderSettings settings;
};

} // namespace ingot::runtime
