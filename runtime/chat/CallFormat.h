// SPDX-License-Identifier: Apache-2.0
// Calls that must be right: what a family's calls look like, as a form of the answer.
#pragma once

#include "runtime/chat/AnswerEvent.h"
#include "runtime/chat/AnswerFamilies.h"
#include "runtime/core/Status.h"
#include "runtime/serving/AnswerForm.h"

namespace ingot::runtime {

/// Holds an answer to calls as the settings ask for them, where they do (`bindsCalls`): what
/// AnswerParser reads of it are whole calls of the tools whose arguments match their schemas.
/// - Where a call must come the answer is one or more, and nothing else; `form` is then void.
/// - Else it is free text and calls; or, where `form` is not free, of that form or calls.
/// Arguments are objects without members that the schema does not name, but where it says that
/// there are others; those of tools that are not strict match where a call must come.
///
/// Errors: INGOT-E6608: the family has no calls, or a name that they cannot hold. Those of schemas
/// come where the grammar is made, with the tool's name.
Status bindCalls(const AnswerFamilies &families, const AnswerSettings &settings, AnswerForm &form);

} // namespace ingot::runtime
