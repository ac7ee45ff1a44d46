// SPDX-License-Identifier: Apache-2.0
// Prompts of `generate`: from text to ids, and files with one request a line.
#pragma once

#include "runtime/tools/LoopReader.h"

#include <string>

namespace ingot::runtime {

/// Turns the request's text, if it has one, into ids. Warns on stderr, naming `where`, when the
/// text begins with the BOS that is put before it anyway. `tokenizer`: null where the engine has
/// none, and nothing is done. INGOT-E6401 to E6405.
Status encodePrompt(const Tokenizer *tokenizer, Request &request, const std::string &where);

/// Answers the requests of a file ("-": standard input), which is read while they run; each answer
/// is written as soon as it is there. `request`: what lines do not say. `seeded`: its seed is
/// meant; otherwise each line without one gets a random one. Returns the exit status: 1 for an
/// error or for a line that was refused or failed.
/// `reader`: its queue has room for `mostInFlight`.
int answerPrompts(LoopReader &reader, const std::string &path, const Request &request, bool seeded);

/// Requests that are in flight at a time, so that no step lacks sequences.
inline int64_t mostInFlight(const MemoryPlan &plan) { return 4 * plan.maxSequences; }

} // namespace ingot::runtime
