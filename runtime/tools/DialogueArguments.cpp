// SPDX-License-Identifier: Apache-2.0
// Options about conversations, and the file that one of them names.
#include "runtime/tools/DialogueArguments.h"

#include "runtime/tools/SessionArguments.h"

namespace ingot::runtime {

constexpr uint64_t mostTemplateBytes = 4 << 20;

void addDialogueOptions(CommandLine &app, DialogueArguments &arguments) {
  const char *group = "Conversations";
  app.addOption("--chat-template", arguments.templateFile,
                "file of the template that makes a prompt of a conversation; default: the engine's")
      .file(FileUse::Reads)
      .group(group);
  std::string tools = "none", reasoning = "none";
  for (const AnswerFamily &family : answerFamilies()) {
    if (family.hasTools())
      tools += ", " + std::string(family.name);
    if (family.hasReasoning())
      reasoning += ", " + std::string(family.name);
  }
  app.addOption("--tool-parser", arguments.options.toolParser,
                "how the model writes calls of tools (" + tools + "); default: by the template")
      .group(group);
  app.addOption("--reasoning-parser", arguments.options.reasoningParser,
                "how the model writes what it thinks (" + reasoning + "); default: by the template")
      .group(group);
}

/// The options with the template's text.
static Result<DialogueOptions> withTemplate(const DialogueArguments &arguments) {
  DialogueOptions options = arguments.options;
  if (!arguments.templateFile.empty()) {
    Result<std::string> text = readTextFile(arguments.templateFile, mostTemplateBytes);
    if (!text.ok())
      return std::move(text).status();
    options.templateName = arguments.templateFile;
    options.templateText = std::move(*text);
  }
  return options;
}

Status checkDialogue(const DialogueArguments &arguments) {
  Result<DialogueOptions> options = withTemplate(arguments);
  if (!options.ok())
    return std::move(options).status();
  if (!options->templateName.empty()) {
    Result<ChatTemplate> compiled =
        ChatTemplate::compile(options->templateName, options->templateText);
    if (!compiled.ok())
      return std::move(compiled).status();
  }
  Result<Dialogue> dialogue = Dialogue::make(nullptr, *options);
  return dialogue.ok() ? Status() : std::move(dialogue).status();
}

Result<Dialogue> makeDialogue(const Tokenizer *tokenizer, const DialogueArguments &arguments,
                              const schema::Images *images) {
  Result<DialogueOptions> options = withTemplate(arguments);
  return options.ok() ? Dialogue::make(tokenizer, *options, images) : std::move(options).status();
}

} // namespace ingot::runtime
