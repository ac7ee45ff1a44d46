// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/responses, in the form of OpenAI's API.
#pragma once

#include "runtime/server/ChatRequest.h"

namespace ingot::runtime {

struct ResponsesRequest {
  ChatRequest chat;
  Json told = Json::object(); ///< fields that the response repeats
};

/// Reads a body, which is an object, as the conversation that it is: the response depends on
/// nothing that was said to the server before. Errors as of readChatRequest.
OrError<ResponsesRequest> readResponsesRequest(const Json &body,
                                               const SamplingParameters &defaults);

/// As the functions of the same names for completions.
std::vector<std::string_view> refusedResponsesFields();
std::vector<std::string_view> ignoredResponsesFields();

} // namespace ingot::runtime
