// SPDX-License-Identifier: Apache-2.0
// How a model holds conversations: what its prompts look like, and how its answers are read.
#pragma once

#include "runtime/chat/AnswerEvent.h"
#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/ChatTemplates.h"
#include "runtime/schema/Engine_generated.h"
#include "runtime/serving/pictures/PromptPicture.h"

namespace ingot::runtime {

struct DialogueOptions {
  /// A template in place of the engine's, and what errors call it; both empty: the engine's.
  std::string templateName, templateText;
  std::string toolParser;      ///< a family's name; empty: by the template
  std::string reasoningParser; ///< likewise
};

/// Immutable, so threads may share it. The tokenizer, and the engine's table, must outlive it.
class Dialogue {
public:
  /// `tokenizer` may be null: then there are no conversations. `images`: what the engine says of
  /// pictures; null: it takes none. INGOT-E7222: there is no such family. Others:
  /// ChatTemplates::of.
  static Result<Dialogue> make(const Tokenizer *tokenizer, const DialogueOptions &options,
                               const schema::Images *images = nullptr);

  /// The prompt of a conversation, as the body of a chat request has it. INGOT-E6008: there is no
  /// tokenizer. INGOT-E6814: it has pictures, and the engine takes none. Others:
  /// ChatTemplates::render, which takes the rest.
  Result<RenderedPrompt> render(const nlohmann::ordered_json &conversation,
                                const RenderSettings &settings = {},
                                std::string_view name = {}) const;

  /// What DialogueOptions called the template; empty: it is the engine's.
  const std::string &templateName() const { return name; }

  /// Whether a template of it is told of efforts.
  bool knowsEffort() const;

  /// What there is to compute, and how the answer is read.
  struct Turn {
    std::vector<int32_t> tokens;      ///< of the prompt
    PromptPictures pictures;          ///< that it has the tokens of
    std::vector<int32_t> keptSpecial; ///< the answer's text is to have these special tokens
    AnswerFamilies families;
    AnswerSettings settings;
  };
  /// `settings`: but for the prompt's end. Without tools in them calls stay text. Without `read`
  /// pictures are refused. Errors as `render`, `read`, and encodeWithPictures.
  Result<Turn> begin(const nlohmann::ordered_json &conversation, AnswerSettings settings,
                     const RenderSettings &rendering = {}, std::string_view name = {},
                     const ReadPicture &read = {}) const;

private:
  Result<PromptPictures> readPictures(const std::vector<std::string> &sources,
                                      const ReadPicture &read) const;

  const Tokenizer *tokenizer = nullptr;
  const schema::Images *images = nullptr;
  ChatTemplates templates;
  std::string name;
  AnswerFamilies chosen = {&noFamily(), &noFamily()};
};

} // namespace ingot::runtime
