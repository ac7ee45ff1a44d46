// SPDX-License-Identifier: Apache-2.0
// The JSON of completions: chunks of a stream, and whole responses.
#pragma once

#include "runtime/server/JsonBody.h"
#include "runtime/server/TokenNames.h"
#include "runtime/serving/Session.h"

#include <span>

namespace ingot::runtime {

/// Log-probabilities of some tokens of an answer, as the completions API writes them.
class LogprobLists {
public:
  /// Adds the token of an event whose text begins at `offset`, in characters of the answer.
  void add(const Event &event, int64_t offset, const TokenNames &names, bool asIds);
  /// Adds the tokens of a prompt, whose text the answer begins with, with up to `most` alternatives
  /// each. The first, which nothing comes before, has none and no log-probability.
  void addPrompt(const std::vector<PromptLogprob> &prompt, int32_t most, const TokenNames &names,
                 bool asIds);
  bool empty() const { return tokens.empty(); }
  /// The lists as an object; they are empty then.
  Json take();

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

/// Tokens of a request, all its prompts and answers together.
struct Usage {
  int64_t promptTokens = 0, completionTokens = 0;
  int64_t cachedTokens = 0; ///< of the prompts, that the KV cache had
  Json json() const;
};

/// What all parts of one response say.
struct CompletionHead {
  std::string id, model;
  int64_t created = 0;
  Json json() const;
};

/// OpenAI's word for an end: "stop" or "length"; null while it goes on.
const char *finishReason(FinishReason reason);

/// {"index", "text", "logprobs", "finish_reason"}
Json choiceJson(int64_t index, std::string_view text, Json logprobs, FinishReason finish);

/// Characters in UTF-8 text.
int64_t characters(std::string_view text);

} // namespace ingot::runtime
