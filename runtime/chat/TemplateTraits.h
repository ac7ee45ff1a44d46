// SPDX-License-Identifier: Apache-2.0
// TemplateTraits: what a chat template takes, learnt by rendering small conversations.
#pragma once

#include "runtime/chat/ChatTemplate.h"

namespace ingot::runtime {

struct TemplateTraits {
  bool takesText = true;       ///< content as a string
  bool takesParts = false;     ///< content as a list of {"type": "text", "text": ...}
  bool knowsSystem = true;     ///< the role `system`
  bool knowsDeveloper = false; ///< the role `developer`
  bool knowsTools = false;     ///< the list of tools
  bool needsToolList = false;  ///< no tools as an empty list, where null would be an error
  bool knowsToolCalls = false; ///< tool calls of an assistant
  bool wantsObjects = true;    ///< arguments of tool calls as objects; else as JSON text
  bool takesNull = false;      ///< null content beside tool calls
  bool takesAbsent = false;    ///< no content beside tool calls
  bool knowsThinking = false;  ///< reasoning of an assistant under the name `thinking`
};

/// Renders at most a dozen small conversations, each with few steps; `variables` are given beside
/// them (bos_token, ...). What renders in no way is told as the most usual way.
TemplateTraits traitsOf(const ChatTemplate &chatTemplate, const nlohmann::ordered_json &variables);

} // namespace ingot::runtime
