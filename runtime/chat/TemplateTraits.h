// SPDX-License-Identifier: Apache-2.0
// TemplateTraits: what a chat template takes, learnt by rendering small conversations.
#pragma once

#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/ChatTemplate.h"

#include <array>
#include <string_view>

namespace ingot::runtime {

/// What clients say of how much an answer is to be thought over, the least first.
inline constexpr std::array<std::string_view, 7> effortScale = {"none", "minimal", "low", "medium",
                                                                "high", "xhigh",   "max"};

/// How a template takes the content of a role's messages without losing any of it.
struct ContentForms {
  bool text = true;    ///< a string
  bool parts = false;  ///< a list of {"type": "text", "text": ...}
  bool images = false; ///< {"type": "image"} in such a list makes something of the prompt
};

struct TemplateTraits {
  ContentForms system, user, assistant, tool;
  bool takesRepeats = true;         ///< messages of one role behind each other
  bool knowsSystem = true;          ///< the role `system`
  bool knowsDeveloper = false;      ///< the role `developer`
  bool takesMoreSystem = true;      ///< instructions behind the first
  bool takesLateSystem = true;      ///< instructions behind an answer
  bool knowsTools = false;          ///< the list of tools
  bool needsToolList = false;       ///< no tools as an empty list, where null would be an error
  bool knowsResults = true;         ///< results of tools, where calls are text
  bool knowsToolCalls = false;      ///< tool calls of an assistant
  bool wantsObjects = true;         ///< arguments of tool calls as objects; else as JSON text
  bool takesAnyArguments = true;    ///< arguments that are a text of anything
  bool takesParallelCalls = true;   ///< several tool calls in a message, and their results
  bool takesTextWithCalls = true;   ///< text beside tool calls
  bool takesTextBeforeCalls = true; ///< text in a message before tool calls
  bool takesAnyId = true;           ///< ids of calls of any length; else of nine letters
  bool takesEmpty = true;           ///< empty content beside tool calls
  bool takesNull = false;           ///< null content beside tool calls
  bool takesAbsent = false;         ///< no content beside tool calls
  const AnswerFamily *tools = &noFamily(); ///< how its models write calls
  std::string_view thoughtsEnd;       ///< what ends thoughts in an assistant's text; may be empty
  bool knowsThinking = false;         ///< reasoning of an assistant under the name `thinking`
  bool takesThinkingWithText = false; ///< that beside text and calls
  bool knowsSwitch = false;           ///< the variable `enable_thinking`
  bool knowsEffort = false;           ///< the variable `reasoning_effort`
  std::array<bool, effortScale.size()> refusesEffort = {}; ///< words of `reasoning_effort`
};

/// Renders some thirty small conversations, each with few steps; `variables` are given beside
/// them (bos_token, ...). What renders in no way is told as the most usual way.
TemplateTraits traitsOf(const ChatTemplate &chatTemplate, const nlohmann::ordered_json &variables);

} // namespace ingot::runtime
