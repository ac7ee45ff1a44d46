// SPDX-License-Identifier: Apache-2.0
// Responses of POST /v1/completions.
#pragma once

#include "runtime/server/AnswerWriter.h"
#include "runtime/server/CompletionRequest.h"
#include "runtime/server/CompletionText.h"
#include "runtime/server/ServedModel.h"

#include <cmath>

namespace ingot::runtime {

class CompletionWriter final : public AnswerWriter {
public:
  /// `model` must outlive it.
  CompletionWriter(const ServedModel &model, CompletionRequest request, const std::string &id);

  std::string take(size_t request, const Event &event) override;
  std::string finish(const Usage &usage) override;
  std::string fail(const ApiError &error) override;

private:
  /// One answer to one prompt.
  struct Answer {
    std::string text; ///< of a response that is given whole
    LogprobLists logprobs;
    int64_t length = 0; ///< characters so far, the echo too
    int64_t tokens = 0;
    double logprobSum = 0;
    FinishReason finish = FinishReason::None;
    bool echoed = false;
    bool scored = false; ///< a chunk has told the prompt's log-probabilities

    Json failure; ///< null: it has none

    /// What the best of several is chosen by.
    double meanLogprob() const {
      return failure.is_null() ? logprobSum / double(std::max<int64_t>(tokens, 1)) : -INFINITY;
    }
  };
  struct Prompt {
    std::string echo;
    int64_t echoLength = 0; ///< characters
    Json logprobs;          ///< of the prompt's tokens; null where nobody asked
    std::vector<Answer> answers;
  };

  void keepPromptLogprobs(size_t index, const Event &event);
  std::vector<int64_t> echoOffsets(size_t index, const std::vector<PromptLogprob> &scored) const;
  Json choice(int64_t index, Answer &answer, std::string_view text, Json logprobs) const;
  std::string chunk(size_t index, Answer &answer, std::string_view text, const Event &event);
  std::string whole(const Usage &usage);

  const ServedModel &model;
  const CompletionRequest request;
  CompletionHead head;
  std::vector<Prompt> prompts;
};

} // namespace ingot::runtime
