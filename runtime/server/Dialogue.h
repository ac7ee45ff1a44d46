// SPDX-License-Identifier: Apache-2.0
// How a model holds conversations: what its prompts look like, and how its answers are read.
#pragma once

#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/ChatTemplates.h"
#include "runtime/server/ChatRequest.h"

namespace ingot::runtime {

struct DialogueOptions {
  std::string templateFile;    ///< empty: the engine's templates
  std::string toolParser;      ///< a family's name; empty: by the template
  std::string reasoningParser; ///< likewise
};

/// Immutable, so threads may share it. The tokenizer must outlive it.
class Dialogue {
public:
  /// `tokenizer` may be null: then there are no conversations. INGOT-E7101: the file cannot be
  /// read. E7222: there is no such family. Others: ChatTemplates::of.
  static Result<Dialogue> make(const Tokenizer *tokenizer, const DialogueOptions &options);

  /// The prompt of a conversation as text. Errors: ChatTemplates::render. E6008: there is no
  /// tokenizer.
  Result<RenderedPrompt> render(const Json &conversation) const;

  /// A request with its prompt, and how its answers are read.
  struct Turn {
    Request request;
    AnswerFamilies families;
    AnswerSettings settings;
  };
  /// Errors as `render`.
  Result<Turn> begin(const ChatRequest &chat) const;

  const AnswerFamilies &families() const { return chosen; }

private:
  const Tokenizer *tokenizer = nullptr;
  ChatTemplates templates;
  AnswerFamilies chosen = {&noFamily(), &noFamily()};
};

} // namespace ingot::runtime
