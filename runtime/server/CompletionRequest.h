// SPDX-License-Identifier: Apache-2.0
// The body of POST /v1/completions.
#pragma once

#include "runtime/server/JsonBody.h"
#include "runtime/serving/Session.h"

namespace ingot::runtime {

/// A prompt as the client wrote it: text, or ids.
struct CompletionPrompt {
  std::string text;
  std::vector<int32_t> tokens;
};

struct CompletionRequest {
  std::string model; ///< empty: not named
  std::vector<CompletionPrompt> prompts;
  Request each; ///< of every prompt, which it does not hold
  int32_t n = 1;
  int32_t bestOf = 1; ///< at least n
  bool stream = false;
  bool includeUsage = false; ///< of a stream
  bool echo = false;
  int32_t promptLogprobs = -1; ///< alternatives for each token of the prompt; -1: not wanted
  bool tokensAsIds = false;    ///< log-probabilities name tokens "token_id:N"

  /// One for each prompt.
  std::vector<Request> requests() const;
};

/// Reads a body, which is an object; `defaults` is what a request says nothing of. Unknown fields
/// are errors, those without an effect on tokens are ignored. INGOT-E7202: a field that is not
/// served. E7203: a value of the wrong kind.
OrError<CompletionRequest> readCompletionRequest(const Json &body,
                                                 const SamplingParameters &defaults);

} // namespace ingot::runtime
