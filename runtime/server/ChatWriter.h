// SPDX-License-Identifier: Apache-2.0
// Responses of POST /v1/chat/completions.
#pragma once

#include "runtime/chat/AnswerBlocks.h"
#include "runtime/server/AnswerWriter.h"
#include "runtime/server/ChatRequest.h"
#include "runtime/server/CompletionText.h"

namespace ingot::runtime {

class ChatWriter final : public AnswerWriter {
public:
  /// `model` must outlive it; `families` and `settings`: how answers are read.
  ChatWriter(const ServedModel &model, const ChatRequest &request, const AnswerFamilies &families,
             const AnswerSettings &settings, const std::string &id);

  std::string take(size_t request, const Event &event) override;
  std::string finish(const Usage &usage) override;
  std::string fail(const ApiError &error) override;

private:
  struct Answer {
    AnswerBlocks blocks;
    Json logprobs = Json::array(); ///< not yet sent
    bool begun = false;            ///< the role has been sent
    int64_t thought = 0;           ///< tokens of reasoning
    FinishReason finish = FinishReason::None;
    Json failure = nullptr; ///< null: it has none
  };

  std::string chunks(Answer &answer, int64_t index,
                     const std::vector<AnswerBlocks::Change> &changes);
  std::string chunk(Answer &answer, int64_t index, Json delta, Json finish = {});
  Json deltaOf(const AnswerBlocks &blocks, const AnswerBlocks::Change &change) const;
  Json message(const Answer &answer) const;
  const char *reasonOf(const Answer &answer) const;
  Json counts(const Usage &usage) const;
  std::string whole(const Usage &usage);

  const ServedModel &model;
  const bool streamed, includeUsage, includeReasoning, logprobs;
  CompletionHead head;
  std::vector<Answer> answers;
};

} // namespace ingot::runtime
