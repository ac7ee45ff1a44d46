// SPDX-License-Identifier: Apache-2.0
// The prompt that one template makes of a conversation, and whether all of it is there.
#pragma once

#include "runtime/chat/Conversation.h"

namespace ingot::runtime {

/// How a template is used.
struct TemplateUse {
  const ChatTemplate *compiled;
  TemplateTraits traits;
  std::string_view thoughtsEnd; ///< what ends thoughts in an assistant's text; empty: nothing does
};

/// Renders `conversation` with `specialTokens` beside it. The prompt ends where the last message's
/// text ends, if that is to go on: a blank one is gone on with by the template's own beginning of
/// an answer. INGOT-E6073: the template leaves no such place. INGOT-E6076: something that was said
/// is not in the prompt. Others: Conversation::variablesFor, ChatTemplate::render.
Result<RenderedPrompt> renderConversation(const Conversation &conversation, const TemplateUse &use,
                                          const nlohmann::ordered_json &specialTokens,
                                          const RenderSettings &settings);

} // namespace ingot::runtime
