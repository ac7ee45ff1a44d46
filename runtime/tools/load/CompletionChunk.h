// SPDX-License-Identifier: Apache-2.0
// One event of a streamed completion.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::runtime {

struct CompletionChunk {
  bool isLast = false;    ///< "[DONE]"
  bool hasTokens = false; ///< it is an arrival of tokens, of which the text may be empty
  std::string text;
  std::string finish; ///< "stop", "length", ...; empty: the answer goes on
  /// Of the usage, if it is stated; cached ones are of the prompt.
  std::optional<int64_t> promptTokens, outputTokens, cachedTokens;

  /// Reads the data of an event as OpenAI's API of completions has it. INGOT-E7254: it is something
  /// else. INGOT-E7255: it is an error, whose message is quoted.
  static Result<CompletionChunk> read(std::string_view data);
};

/// The message in the body of an error, or the beginning of the body; without control characters,
/// and short.
std::string errorMessage(std::string_view body);

/// What a server says of the model it serves.
struct ListedModel {
  std::string name;
  int64_t vocabulary = 0; ///< 0: it does not say
  int64_t context = 0;    ///< tokens of a prompt and its answer; likewise

  /// Reads the answer to GET /v1/models; `wanted` chooses by name, empty: the first. INGOT-E7243:
  /// it is something else, or there is no such model.
  static Result<ListedModel> read(std::string_view body, const std::string &wanted);
};

} // namespace ingot::runtime
