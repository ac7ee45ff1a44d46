// SPDX-License-Identifier: Apache-2.0
// Calls of tools as the model wrote them, for templates that print none.
#pragma once

#include "runtime/chat/AnswerFamilies.h"
#include "runtime/chat/Turn.h"

namespace ingot::runtime {

/// Puts the calls of each message behind its text, in the form of `family`, or as a JSON object a
/// line where it has none that is written here; Turn::own tells its markers. `areResultsKnown`:
/// results stay; else they are a user's messages.
void sayCallsAsText(Turns &turns, const AnswerFamily &family, bool areResultsKnown);

} // namespace ingot::runtime
