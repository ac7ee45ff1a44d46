// SPDX-License-Identifier: Apache-2.0
// Options about conversations.
#pragma once

#include "runtime/chat/Dialogue.h"
#include "runtime/tools/CommandLine.h"

namespace ingot::runtime {

struct DialogueArguments {
  std::string templateFile; ///< empty: the engine's templates
  DialogueOptions options;  ///< but for the template
};

/// Adds --chat-template, --tool-parser and --reasoning-parser; parsing fills `arguments`, which
/// must outlive `app`.
void addDialogueOptions(CommandLine &app, DialogueArguments &arguments);

/// What of the options can be refused without a tokenizer. INGOT-E7101, E7222 and those of
/// ChatTemplate::compile.
Status checkDialogue(const DialogueArguments &arguments);

/// The dialogue that the options ask for. INGOT-E7101: the file cannot be read. Others:
/// Dialogue::make.
Result<Dialogue> makeDialogue(const Tokenizer *tokenizer, const DialogueArguments &arguments,
                              const schema::Images *images);

} // namespace ingot::runtime
