// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/messages, in the form of Anthropic's API.
#pragma once

#include "runtime/server/ChatRequest.h"

#include <functional>

namespace ingot::runtime {

struct MessagesRequest {
  ChatRequest chat;
  Json appliedEdits; ///< of context_management; null: it was not given
};

/// Tokens of the prompt of a conversation.
using PromptCounter = std::function<OrError<int64_t>(const ChatRequest &chat)>;

/// Reads a body, which is an object, as the conversation that it is, with what it has cleared of
/// its history. `count` tells what that saves. `counted`: only its tokens are asked for, so that it
/// needs no max_tokens. Errors as of readChatRequest, and those of `count`.
OrError<MessagesRequest> readMessagesRequest(const Json &body, const SamplingParameters &defaults,
                                             const PromptCounter &count, bool counted = false);

} // namespace ingot::runtime
