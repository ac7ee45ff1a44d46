// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/chat/completions, which the other paths of conversations are turned into.
#pragma once

#include "runtime/chat/AnswerEvent.h"
#include "runtime/server/BodyFields.h"

namespace ingot::runtime {

struct ChatRequest {
  std::string model; ///< empty: not named
  /// What the chat template is told: messages, tools, documents, chat_template_kwargs, ..., as in
  /// the body.
  Json conversation = Json::object();
  /// What fields tell the template beside it; chat_template_kwargs win.
  Json variables = Json::object();
  std::vector<AnswerTool> tools; ///< empty: calls in the answer stay text
  bool parallelCalls = true;
  bool mustCall = false; ///< the answer has to be a call
  std::string onlyTool;  ///< of this tool; empty: of any
  Request each;          ///< of the prompt, which it does not hold
  int32_t n = 1;
  bool stream = false;
  bool includeUsage = false;    ///< of a stream
  bool wantsUsage = false;      ///< the same, where it is one
  bool logprobs = false;        ///< of each token
  int32_t topLogprobs = 0;      ///< alternatives of each
  bool includeReasoning = true; ///< what the model thinks is part of the response
};

/// Reads a body, which is an object. Errors as of readCompletionRequest; parts of messages are text
/// or pictures.
OrError<ChatRequest> readChatRequest(const Json &body, const SamplingParameters &defaults);

/// A request of which nothing has been read.
ChatRequest newChatRequest(const SamplingParameters &defaults);

/// Reads "tools" in the form of chat completions into both of the request's places.
std::optional<ApiError> takeTools(const Json &tools, ChatRequest &request);
/// "auto", "none", "required", or an object of the type "function" with the name of the one that
/// has to be called, in a member "function" or beside the type.
std::optional<ApiError> takeToolChoice(const Json &choice, ChatRequest &request);
/// A call has to come, of that tool, or of any where the name is empty.
std::optional<ApiError> requireCall(std::string tool, ChatRequest &request);
/// Whether a model that can is to think: {"type": "enabled", "adaptive" or "disabled"}, as
/// Anthropic's clients and those of several servers of chats say it; and for how long.
bool readThinking(const Json &value, ChatRequest &request);
inline constexpr const char *mustBeThinking =
    "an object whose type is enabled, adaptive or disabled; thinking.budget_tokens of an enabled "
    "one must be an integer of at least 0";
/// The limit of an answer's thoughts in tokens: the one that is given, else that of an effort which
/// the template is not told.
uint64_t mostThought(const ChatRequest &request, bool templateKnowsEffort);
/// What holds of every path once all fields are read.
void settle(ChatRequest &request);

} // namespace ingot::runtime
