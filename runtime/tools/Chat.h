// SPDX-License-Identifier: Apache-2.0
// A conversation at a terminal.
#pragma once

#include "runtime/chat/Dialogue.h"
#include "runtime/tools/LoopReader.h"

namespace ingot::runtime {

struct ChatOptions {
  std::string system;  ///< what the model is told first; empty: nothing
  bool seeded = false; ///< the request's seed is meant; otherwise each answer has another
};

/// Reads what somebody says from standard input, line by line, and prints what the model answers.
/// `each`: how it draws. Interrupts end an answer, not the conversation. Returns the exit status.
int holdChat(LoopReader &reader, const Dialogue &dialogue, const Request &each,
             const ChatOptions &options);

} // namespace ingot::runtime
