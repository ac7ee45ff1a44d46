// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/responses, in the form of OpenAI's API.
#pragma once

#include "runtime/server/ResponsesTools.h"

namespace ingot::runtime {

struct ResponsesRequest {
  ChatRequest chat;
  OfferedTools offered;
  Json told = Json::object(); ///< fields that the response repeats
};

/// Reads a body, which is an object, as the conversation that it is: the response depends on
/// nothing that was said to the server before. Errors as of readChatRequest.
OrError<ResponsesRequest> readResponsesRequest(const Json &body,
                                               const SamplingParameters &defaults);

} // namespace ingot::runtime
