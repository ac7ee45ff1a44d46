// SPDX-License-Identifier: Apache-2.0
// ChatTemplates: the chat templates of an engine, and which of them a conversation takes.
#include "runtime/chat/ChatTemplates.h"

namespace ingot::runtime {

using Json = nlohmann::ordered_json;

static Json specialTokensOf(const Tokenizer &tokenizer) {
  Json tokens = Json::object();
  for (const auto &[name, id] :
       {std::pair("bos_token", tokenizer.bosId()), std::pair("eos_token", tokenizer.eosId()),
        std::pair("unk_token", tokenizer.unknownId()), std::pair("pad_token", tokenizer.padId())})
    if (tokenizer.hasPiece(id))
      tokens[name] = std::string(tokenizer.piece(id));
  return tokens;
}

void ChatTemplates::add(std::string_view name, Result<ChatTemplate> compiled) {
  const TemplateTraits traits =
      compiled.ok() ? traitsOf(*compiled, specialTokens) : TemplateTraits();
  all.push_back({std::string(name), std::move(compiled), traits});
}

ChatTemplates ChatTemplates::of(const Tokenizer &tokenizer) {
  ChatTemplates made;
  made.specialTokens = specialTokensOf(tokenizer);
  for (const std::string_view name : tokenizer.chatTemplateNames())
    made.add(name, ChatTemplate::compile("chat template '" + std::string(name) + "'",
                                         *tokenizer.chatTemplate(name)));
  return made;
}

Result<ChatTemplates> ChatTemplates::of(const Tokenizer &tokenizer, std::string_view name,
                                        std::string_view text) {
  ChatTemplates made;
  made.specialTokens = specialTokensOf(tokenizer);
  const Result<ChatTemplate> compiled = ChatTemplate::compile(name, text);
  if (!compiled.ok())
    return compiled.status();
  made.add("default", compiled->named("chat template"));
  return made;
}

const ChatTemplates::Entry *ChatTemplates::find(std::string_view name) const {
  for (const Entry &entry : all)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

Result<RenderedPrompt> ChatTemplates::render(const Json &body, const RenderSettings &settings,
                                             std::string_view name) const {
  const Result<Conversation> conversation = Conversation::read(body);
  return conversation.ok() ? render(*conversation, settings, name) : conversation.status();
}

Result<RenderedPrompt> ChatTemplates::render(const Conversation &conversation,
                                             const RenderSettings &settings,
                                             std::string_view name) const {
  const bool forTools = name.empty() && !conversation.tools.is_null() && find("tool_use");
  const std::string_view chosen = forTools ? "tool_use" : name.empty() ? "default" : name;
  const Entry *entry = find(chosen);
  if (!entry) {
    std::string known;
    for (const Entry &each : all)
      known += (known.empty() ? "" : ", ") + each.name;
    return Status::error("INGOT-E6074",
                         "the engine has no chat template '" + std::string(chosen) + "'",
                         known.empty() ? "build it from a checkpoint with one, or give a template"
                                       : "it has: " + known);
  }
  if (!entry->compiled.ok())
    return entry->compiled.status();
  return renderConversation(conversation, *entry->compiled, entry->traits, specialTokens, settings);
}

std::vector<std::string_view> ChatTemplates::names() const {
  std::vector<std::string_view> names;
  for (const Entry &entry : all)
    names.push_back(entry.name);
  return names;
}

const TemplateTraits *ChatTemplates::traits(std::string_view name) const {
  const Entry *entry = find(name);
  return entry && entry->compiled.ok() ? &entry->traits : nullptr;
}

std::string_view ChatTemplates::source(std::string_view name) const {
  const Entry *entry = find(name);
  return entry && entry->compiled.ok() ? entry->compiled->source() : std::string_view();
}

std::vector<Status> ChatTemplates::problems() const {
  std::vector<Status> problems;
  for (const Entry &entry : all)
    if (!entry.compiled.ok())
      problems.push_back(entry.compiled.status());
  return problems;
}

} // namespace ingot::runtime
