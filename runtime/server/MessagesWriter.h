// SPDX-License-Identifier: Apache-2.0
// Responses of POST /v1/messages.
#pragma once

#include "runtime/chat/AnswerBlocks.h"
#include "runtime/server/AnswerWriter.h"
#include "runtime/server/MessagesRequest.h"
#include "runtime/server/ServedModel.h"

namespace ingot::runtime {

class MessagesWriter final : public AnswerWriter {
public:
  /// `families` and `settings`: how the answer is read.
  MessagesWriter(const ServedModel &model, const MessagesRequest &request,
                 const AnswerFamilies &families, AnswerSettings settings, const std::string &id);

  std::string begin(const Usage &usage) override;
  std::string take(size_t request, const Event &event) override;
  std::string finish(const Usage &usage) override;
  std::string fail(const ApiError &error) override;

private:
  std::string changed(const AnswerBlocks::Change &change);
  Json blockJson(const AnswerBlocks::Block &block, bool empty) const;
  Json ends() const;

  const bool streamed;
  Json message;    ///< without content
  Json management; ///< "context_management" of the answer; null: it was not asked for
  AnswerBlocks blocks;
  FinishReason reason = FinishReason::None;
  std::string stop; ///< the text that ended the answer
};

} // namespace ingot::runtime
