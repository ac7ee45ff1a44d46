// SPDX-License-Identifier: Apache-2.0
// What system and developer messages say, where the template takes it; and messages of one role
// behind each other.
#pragma once

#include "runtime/chat/TemplateTraits.h"
#include "runtime/chat/Turn.h"

namespace ingot::runtime {

/// - `developer` becomes `system` where the template does not know it;
/// - of the instructions that the conversation begins with, all become one message where it takes
///   no more;
/// - others that it does not take go before the text of the next user's message, on lines of their
///   own, or are a user's message where none follows.
void placeInstructions(Turns &turns, const TemplateTraits &traits);

/// Makes one message of those of a user, or of an assistant without calls, that are behind each
/// other, where the template takes no two.
void joinRepeats(Turns &turns, const TemplateTraits &traits);

} // namespace ingot::runtime
