// SPDX-License-Identifier: Apache-2.0
// The prompt that one template makes of a conversation, and whether all of it is there.
#pragma once

#include "runtime/chat/Conversation.h"

namespace ingot::runtime {

/// Renders `conversation` with `specialTokens` beside it. `traits` are the template's. The prompt
/// ends where the last message's text ends, if that is to go on: a blank one is gone on with by the
/// template's own beginning of an answer. INGOT-E6073: the template leaves no such place.
/// INGOT-E6076: something that was said is not in the prompt. Others: Conversation::variablesFor,
/// ChatTemplate::render.
Result<RenderedPrompt> renderConversation(const Conversation &conversation,
                                          const ChatTemplate &chatTemplate,
                                          const TemplateTraits &traits,
                                          const nlohmann::ordered_json &specialTokens,
                                          const RenderSettings &settings);

} // namespace ingot::runtime
