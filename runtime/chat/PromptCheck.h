// SPDX-License-Identifier: Apache-2.0
// PromptCheck: whether all that was said is in the prompt.
#pragma once

#include "runtime/chat/ChatTemplate.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ingot::runtime {

/// The part of `message` ("content") whose text is not in the first `size` bytes of the prompt, or
/// is there as Python prints a list; empty: all is there. Texts and text parts, names and arguments
/// of calls are looked for, white space apart. Left out may be, of an assistant's text, what is
/// before `thoughtsEnd`, a marker, and words as "/no_think" that the template acts on.
std::string lostPart(const nlohmann::ordered_json &message, const Provenance &provenance,
                     size_t size, const ChatTemplate &chatTemplate, std::string_view thoughtsEnd);

} // namespace ingot::runtime
