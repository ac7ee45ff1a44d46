// SPDX-License-Identifier: Apache-2.0
// What the events of a response's requests become: the form of one path.
#pragma once

#include "runtime/server/ErrorBody.h"
#include "runtime/serving/Session.h"

namespace ingot::runtime {

/// Tokens of a response, all its requests and answers together.
struct Usage {
  int64_t promptTokens = 0, completionTokens = 0;
  int64_t cachedTokens = 0; ///< of the prompts, that the KV cache had
};

/// Texts of one response, whole or as server-sent events. Calls come one at a time.
class AnswerWriter {
public:
  virtual ~AnswerWriter() = default;

  /// What a stream begins with, when the prompts are known alone.
  virtual std::string begin(const Usage &) { return {}; }
  /// An event of the request of that index that has not failed; what a stream sends of it.
  virtual std::string take(size_t request, const Event &event) = 0;
  /// All answers have ended: the rest of a stream, or the body of a whole response.
  virtual std::string finish(const Usage &usage) = 0;
  /// The rest of a stream that ends with an error.
  virtual std::string fail(const ApiError &error) = 0;
};

} // namespace ingot::runtime
