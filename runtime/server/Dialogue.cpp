// SPDX-License-Identifier: Apache-2.0
// Templates and families of answers, found once; prompts, made for each request.
#include "runtime/server/Dialogue.h"

#include "runtime/tools/SessionArguments.h"

namespace ingot::runtime {

constexpr uint64_t mostTemplateBytes = 4 << 20;
/// Bytes of a prompt's end that tell whether an answer begins with reasoning.
constexpr size_t tailBytes = 512;

/// The family of a name that the user gave.
static Result<const AnswerFamily *> familyCalled(const std::string &name, const char *option,
                                                 const AnswerFamily *found) {
  if (found)
    return found;
  std::string names = "none";
  for (const AnswerFamily &family : answerFamilies())
    names += ", " + std::string(family.name);
  return Status::error("INGOT-E7222", std::string(option) + ": there is no family '" + name + "'",
                       "use one of " + names);
}

Result<Dialogue> Dialogue::make(const Tokenizer *tokenizer, const DialogueOptions &options) {
  Dialogue dialogue;
  dialogue.tokenizer = tokenizer;
  if (!tokenizer)
    return dialogue;
  if (options.templateFile.empty()) {
    dialogue.templates = ChatTemplates::of(*tokenizer);
  } else {
    Result<std::string> text = readTextFile(options.templateFile, mostTemplateBytes);
    if (!text.ok())
      return std::move(text).status();
    Result<ChatTemplates> read = ChatTemplates::of(*tokenizer, options.templateFile, *text);
    if (!read.ok())
      return std::move(read).status();
    dialogue.templates = std::move(*read);
  }
  std::string sources;
  for (std::string_view name : dialogue.templates.names())
    sources += dialogue.templates.source(name);
  dialogue.chosen = chooseFamilies(sources);
  if (!options.toolParser.empty()) {
    Result<const AnswerFamily *> family =
        familyCalled(options.toolParser, "--tool-parser", toolFamily(options.toolParser));
    if (!family.ok())
      return std::move(family).status();
    dialogue.chosen.tools = *family;
  }
  if (!options.reasoningParser.empty()) {
    Result<const AnswerFamily *> family = familyCalled(
        options.reasoningParser, "--reasoning-parser", reasoningFamily(options.reasoningParser));
    if (!family.ok())
      return std::move(family).status();
    dialogue.chosen.reasoning = *family;
  }
  return dialogue;
}

Result<RenderedPrompt> Dialogue::render(const Json &conversation) const {
  if (!tokenizer)
    return Status::error("INGOT-E6008", "the engine has no tokenizer", "work with token ids");
  return templates.render(conversation);
}

Result<Dialogue::Turn> Dialogue::begin(const ChatRequest &chat) const {
  Result<RenderedPrompt> prompt = render(chat.conversation);
  if (!prompt.ok())
    return std::move(prompt).status();
  Turn turn = {chat.each, chosen, {}};
  turn.settings.tools = chat.tools;
  turn.settings.parallel = chat.parallelCalls;
  turn.settings.streamed = chat.stream;
  Result<std::vector<int32_t>> tokens = tokenizer->encodePrompt(prompt->text, prompt->input);
  if (!tokens.ok())
    return std::move(tokens).status();
  turn.request.tokens = std::move(*tokens);
  if (chat.tools.empty())
    turn.families.tools = &noFamily();
  for (const AnswerFamily *family : {turn.families.tools, turn.families.reasoning})
    for (std::string_view marker : markers(*family))
      if (std::optional<int32_t> id = tokenizer->addedToken(marker))
        turn.request.keptSpecial.push_back(*id);
  size_t begin = prompt->text.size() - std::min(prompt->text.size(), tailBytes);
  turn.settings.promptTail = prompt->text.substr(begin);
  return turn;
}

} // namespace ingot::runtime
