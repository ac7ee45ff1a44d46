// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/messages, in the form of Anthropic's API.
#pragma once

#include "runtime/server/ChatRequest.h"

namespace ingot::runtime {

/// Reads a body, which is an object, as the conversation that it is. `counted`: only its tokens are
/// asked for, so that it needs no max_tokens. Errors as of readChatRequest.
OrError<ChatRequest> readMessagesRequest(const Json &body, const SamplingParameters &defaults,
                                         bool counted = false);

/// As the functions of the same names for completions.
std::vector<std::string_view> refusedMessagesFields();
std::vector<std::string_view> ignoredMessagesFields();

} // namespace ingot::runtime
