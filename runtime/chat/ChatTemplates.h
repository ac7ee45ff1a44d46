// SPDX-License-Identifier: Apache-2.0
// ChatTemplates: the chat templates of an engine, and which of them a conversation takes.
#pragma once

#include "runtime/chat/ConversationPrompt.h"
#include "runtime/serving/Tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Immutable once made, so threads may share it.
class ChatTemplates {
public:
  /// Compiles the templates of the tokenizer. One that does not compile is an error when it is to
  /// be rendered; see problems().
  static ChatTemplates of(const Tokenizer &tokenizer);

  /// One template from elsewhere, under the name `default`, with the special tokens of `tokenizer`.
  /// `name`, which may be a path, stands in errors of its compilation, but not in those that a
  /// client gets of its renders. Errors: those of ChatTemplate::compile.
  static Result<ChatTemplates> of(const Tokenizer &tokenizer, std::string_view name,
                                  std::string_view text);

  /// The prompt of the conversation that the body of a chat request holds. `name` chooses a
  /// template; empty: `tool_use` where tools are given and it exists, else `default`.
  /// INGOT-E6074: there is no such template. Others: renderConversation.
  Result<RenderedPrompt> render(const nlohmann::ordered_json &body,
                                const RenderSettings &settings = {},
                                std::string_view name = {}) const;

  /// The same of a body that was read.
  Result<RenderedPrompt> render(const Conversation &conversation,
                                const RenderSettings &settings = {},
                                std::string_view name = {}) const;

  bool empty() const { return all.empty(); }
  std::vector<std::string_view> names() const;

  /// What is known of a template; null where it does not exist or does not compile.
  const TemplateTraits *traits(std::string_view name) const;
  /// The source of a template, or nothing.
  std::string_view source(std::string_view name) const;

  /// The errors of those templates that do not compile.
  std::vector<Status> problems() const;

private:
  struct Entry {
    std::string name;
    Result<ChatTemplate> compiled;
    TemplateTraits traits;
  };
  void add(std::string_view name, Result<ChatTemplate> compiled);
  const Entry *find(std::string_view name) const;

  std::vector<Entry> all;
  nlohmann::ordered_json specialTokens; ///< bos_token, eos_token, unk_token, pad_token
};

} // namespace ingot::runtime
