// SPDX-License-Identifier: Apache-2.0
// What may stand around an answer that has a form, by how the model's answers are read.
#pragma once

#include "runtime/chat/AnswerEvent.h"
#include "runtime/chat/AnswerFamilies.h"
#include "runtime/core/Status.h"
#include "runtime/guided/MarkedConstraint.h"

namespace ingot::runtime {

/// Thoughts are free, and so are calls where there are tools. INGOT-E6607: the model's calls have
/// no marker by which they could be told from the answer.
Result<guided::AnswerMarkers> formMarkers(const AnswerFamilies &families,
                                          const AnswerSettings &settings);

/// What limits the thoughts of an answer that has no form, but for how long they are.
guided::AnswerMarkers thoughtMarkers(const AnswerFamilies &families,
                                     const AnswerSettings &settings);

} // namespace ingot::runtime
