// SPDX-License-Identifier: Apache-2.0
// Conversation: the body of a chat request as the variables of a chat template.
#pragma once

#include "runtime/chat/TemplateTraits.h"
#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// What the fields of a chat request's body say of its prompt; other fields are left alone.
struct Conversation {
  nlohmann::ordered_json messages;  ///< a list of objects, each with a role
  nlohmann::ordered_json tools;     ///< a list, or null
  nlohmann::ordered_json documents; ///< a list, or null
  nlohmann::ordered_json variables; ///< of chat_template_kwargs, and reasoning_effort
  bool addGenerationPrompt = true;
  bool continueFinalMessage = false; ///< the last message is not ended, but goes on

  /// The JSON of a body. INGOT-E6071: it is none, or has more than 64 levels.
  static Result<nlohmann::ordered_json> parse(std::string_view body);

  /// Reads `body`: messages, tools, documents, add_generation_prompt, continue_final_message,
  /// chat_template_kwargs, reasoning_effort. Text parts are the only ones. INGOT-E6071: a field is
  /// missing, malformed, or of no kind that is served; it is named.
  static Result<Conversation> read(const nlohmann::ordered_json &body);

  /// The variables for a template that takes what `traits` say:
  /// - `arguments` of tool calls become objects where they are the text of one, or the text;
  /// - missing content becomes "" where the template would choke, a list of parts the text of all
  ///   with line breaks between them, and a text a list of one part where that is what it takes;
  /// - `developer` becomes `system` where the template does not know it, and the text of a `system`
  ///   that it does not know goes before that of the first user's message;
  /// - reasoning has the names `reasoning` and `reasoning_content`.
  /// INGOT-E6072: tools are given to a template without them.
  Result<nlohmann::ordered_json> variablesFor(const TemplateTraits &traits) const;

  /// Ends `prompt` where the last message's own text ends, if that goes on. INGOT-E6073: the text
  /// is empty, or not in the prompt.
  Status cutBehindFinalMessage(RenderedPrompt &prompt) const;
};

} // namespace ingot::runtime
