// SPDX-License-Identifier: Apache-2.0
// Calls of tools and their results, as a template takes them.
#pragma once

#include "runtime/chat/TemplateTraits.h"
#include "runtime/chat/Turn.h"
#include "runtime/core/Status.h"

namespace ingot::runtime {

/// Puts results behind the message with their calls, in the order of these, and gives them the
/// calls' names and ids where they have none: templates know results by one of the three. Calls
/// without a result come last. INGOT-E6071: a result is of no call, though it has several to
/// choose from.
Status pairResults(Turns &turns);

/// Says calls as the template takes them: one in a message, with its result behind it, where it
/// takes no more; what is said beside them in a message before them, or in the answer to their
/// results; ids of nine letters.
void separateCalls(Turns &turns, const TemplateTraits &traits);

} // namespace ingot::runtime
