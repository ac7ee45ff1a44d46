// SPDX-License-Identifier: Apache-2.0
// What a request of Anthropic's form has cleared of its history: `context_management`.
#pragma once

#include "runtime/server/JsonBody.h"

#include <functional>

namespace ingot::runtime {

/// One edit of the list, with what is left out at its default.
struct ContextEdit {
  enum Kind { Thinking, ToolUses } kind = ToolUses;
  int64_t keep = 3; ///< the newest so many stay: turns that thought, or uses of tools

  // Of ToolUses:
  bool triggeredByUses = false;      ///< `trigger` counts uses, not tokens of the prompt
  int64_t trigger = 100000;          ///< nothing is cleared up to so many
  int64_t clearAtLeast = 0;          ///< tokens; nothing is cleared where there are fewer to clear
  std::vector<std::string> excluded; ///< tools whose uses stay
  bool clearsInputs = false;         ///< what cleared uses were called with goes too,
  std::vector<std::string> inputsOf; ///< of these tools only, where it is not empty
};

/// Reads the field. INGOT-E7202: an edit that is not served. E7203: one that is malformed.
OrError<std::vector<ContextEdit>> readContextEdits(const Json &value);

/// Tokens of the prompt that messages in Anthropic's form become.
using MessageCounter = std::function<OrError<int64_t>(const Json &messages)>;

/// Applies edits in their order to messages, whose malformed parts it leaves alone, and gives
/// `applied_edits` of the answer. `count` is asked only where there is something to clear; its
/// errors are the result.
OrError<Json> applyContextEdits(const std::vector<ContextEdit> &edits, Json &messages,
                                const MessageCounter &count);

} // namespace ingot::runtime
