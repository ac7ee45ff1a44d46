// SPDX-License-Identifier: Apache-2.0
// The JSON of completions: chunks of a stream, and whole responses.
#pragma once

#include "runtime/server/AnswerWriter.h"
#include "runtime/server/JsonBody.h"
#include "runtime/server/ServedModel.h"

#include <span>

namespace ingot::runtime {

/// Log-probabilities of some tokens of an answer, as the completions API writes them.
class LogprobLists {
public:
  /// Adds the token of an event whose text begins at `offset`, in characters of the text given.
  void add(const Event &event, int64_t offset, const TokenNames &names, bool asIds);
  /// Adds the tokens of a prompt, whose text the answer begins with, with up to `most` alternatives
  /// each, and where each begins. The first, which nothing comes before, has none and no
  /// log-probability.
  void addPrompt(const std::vector<PromptLogprob> &prompt, std::span<const int64_t> begins,
                 int32_t most, const TokenNames &names, bool asIds);
  bool empty() const { return tokens.empty(); }
  /// The lists as an object; they are empty then. `end`: of the text, where that is known: tokens
  /// of a stop string, which is cut off, begin no later.
  Json take(int64_t end = INT64_MAX);

private:
  void add(const TokenLogprob &own, std::span<const TokenLogprob> alternatives, int64_t offset,
           const TokenNames &names, bool asIds);

  Json tokens = Json::array(), values = Json::array(), tops = Json::array(),
       offsets = Json::array();
};

/// vLLM's form of a prompt's log-probabilities: null for the first token, then an object for each,
/// of up to `most` alternatives and the token itself, by id.
Json promptLogprobsJson(const std::vector<PromptLogprob> &prompt, int32_t most,
                        const TokenNames &names);

/// The log-probability of an event's token, as conversations write it.
Json chatLogprobJson(const Event &event, const TokenNames &names);

/// What an answer that failed beside others says: {"message", ...}.
Json failureJson(const Event &event);

/// OpenAI's counts of tokens.
Json usageJson(const Usage &usage);

/// What all parts of one response say.
struct CompletionHead {
  /// `asked`: what the client called the model; empty: nothing.
  CompletionHead(std::string id, const char *object, const ServedModel &model,
                 const std::string &asked);

  std::string id;
  const char *object;
  std::string model;
  int64_t created; ///< seconds since 1970
  Json json() const;
};

/// A server-sent event.
std::string eventText(const Json &json);
/// The end of OpenAI's streams.
constexpr const char *lastEvent = "data: [DONE]\n\n";

/// OpenAI's word for an end: "stop" or "length"; null while it goes on.
const char *finishReason(FinishReason reason);

/// {"index", "text", "logprobs", "finish_reason"}
Json choiceJson(int64_t index, std::string_view text, Json logprobs, FinishReason finish);

} // namespace ingot::runtime
