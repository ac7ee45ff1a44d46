// SPDX-License-Identifier: Apache-2.0
// Responses of POST /v1/responses.
#pragma once

#include "runtime/chat/AnswerBlocks.h"
#include "runtime/server/AnswerWriter.h"
#include "runtime/server/ResponsesRequest.h"
#include "runtime/server/ServedModel.h"

namespace ingot::runtime {

class ResponsesWriter final : public AnswerWriter {
public:
  /// `model` must outlive it; `families` and `settings`: how the answer is read.
  ResponsesWriter(const ServedModel &model, const ResponsesRequest &request,
                  const AnswerFamilies &families, AnswerSettings settings, const std::string &id);

  std::string begin(const Usage &usage) override;
  std::string take(size_t request, const Event &event) override;
  std::string finish(const Usage &usage) override;
  std::string fail(const ApiError &error) override;

private:
  /// An event of the stream, numbered.
  std::string named(const char *type, Json body);
  std::string changed(const AnswerBlocks::Change &change);
  std::string partEvent(const char *type, size_t block, Json more);
  std::string callDone(size_t block);
  const OfferedTool *offeredAs(size_t block) const;
  std::string itemId(size_t block) const;
  Json part(size_t block, bool empty) const;
  Json item(size_t block, bool empty) const;
  Json response(const char *status, const Usage *usage) const;

  const ServedModel &model;
  const bool streamed, logprobs;
  const std::string id;
  const OfferedTools offered;
  Json head; ///< of the response: what does not change
  AnswerBlocks blocks;
  std::vector<Json> scores; ///< log-probabilities of each block
  std::vector<Json> unsent; ///< of them, what the stream's events have not told yet
  FinishReason reason = FinishReason::None;
  int64_t number = 0;  ///< of the next event
  int64_t thought = 0; ///< tokens of reasoning
};

} // namespace ingot::runtime
