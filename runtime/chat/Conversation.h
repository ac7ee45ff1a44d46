// SPDX-License-Identifier: Apache-2.0
// Conversation: the body of a chat request as the variables of a chat template.
#pragma once

#include "runtime/chat/TemplateTraits.h"
#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

struct ConversationVariables {
  nlohmann::ordered_json all;
  std::vector<size_t> indices; ///< of each message in `all`: that of the request's
  /// Of each message: the parts of its texts, one behind the other, that nobody wrote.
  std::vector<std::vector<Span>> own;
  std::vector<size_t> pictures; ///< Conversation::images as they stand in the messages
};

/// What the fields of a chat request's body say of its prompt; other fields are left alone.
struct Conversation {
  /// A list of objects, each with a role; parts of their contents are text or {"type": "image"}.
  nlohmann::ordered_json messages;
  std::vector<std::string> images;  ///< where the pictures come from, in the order of their parts
  nlohmann::ordered_json tools;     ///< a list, or null
  nlohmann::ordered_json documents; ///< a list, or null
  nlohmann::ordered_json variables; ///< of chat_template_kwargs
  std::string effort;               ///< reasoning_effort; may be empty
  bool addGenerationPrompt = true;
  bool continueFinalMessage = false; ///< the last message is not ended, but goes on

  /// The JSON of a body. INGOT-E6071: it is none, or has more than 64 levels.
  static Result<nlohmann::ordered_json> parse(std::string_view body);

  /// Reads `body`: messages, tools, documents, add_generation_prompt, continue_final_message,
  /// chat_template_kwargs, reasoning_effort. Parts are text or pictures. INGOT-E6071: a field is
  /// missing, malformed, or of no kind that is served; it is named.
  static Result<Conversation> read(const nlohmann::ordered_json &body);

  /// The variables for a template that takes what `traits` say:
  /// - `arguments` of tool calls become objects, or the text of one; blank ones have no members;
  /// - calls become text where it prints none;
  /// - results, instructions, and messages of one role as ToolTurns.h and Instructions.h say;
  /// - missing content becomes "" where the template would choke, a list of parts the text of all
  ///   with line breaks between them, and a text a list of one part where that is what it takes;
  /// - the effort is told as Effort.h says;
  /// - reasoning has the names `reasoning` and `reasoning_content`.
  /// INGOT-E6071: results without a call. INGOT-E6072: tools for a template without them.
  /// INGOT-E6077: pictures in a message of a role in which it prints none, or beside calls.
  Result<ConversationVariables> variablesFor(const TemplateTraits &traits) const;
};

} // namespace ingot::runtime
