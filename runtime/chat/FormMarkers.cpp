// SPDX-License-Identifier: Apache-2.0
// The markers of a family in the words of a constraint.
#include "runtime/chat/FormMarkers.h"

namespace ingot::runtime {

Result<guided::AnswerMarkers> formMarkers(const AnswerFamilies &families,
                                          const AnswerSettings &settings) {
  guided::AnswerMarkers markers;
  const AnswerFamily &reasoning = *families.reasoning;
  const std::string_view tail = settings.promptTail;
  markers.isOpen = isThinking(reasoning, tail);
  // A prompt that has ended the thoughts wants none.
  const bool hasThought = !markers.isOpen && reasoning.hasReasoning() &&
                          tail.find(reasoning.reasoningOpen) != tail.npos;
  if (reasoning.hasReasoning() && !hasThought) {
    markers.open = reasoning.reasoningOpen;
    markers.close = reasoning.reasoningClose;
    markers.mayReopen = reasoning.reasonsAnywhere;
  }
  for (const AnswerFamily *family : {families.reasoning, families.tools}) {
    for (const std::string_view frame : family->frames)
      if (!frame.empty())
        markers.frames.emplace_back(frame);
    if (!family->promptPrefix.empty() && tail.ends_with(family->promptPrefix))
      markers.promptEnd = family->promptPrefix;
  }
  // Calls that have to be right are in the form.
  if (settings.tools.empty() || !settings.calls || settings.bindsCalls())
    return markers;
  for (const CallForm &form : families.tools->forms) {
    if (form.open.empty())
      return Status::error("INGOT-E6607",
                           "beside tools an answer of this model cannot have a form: its calls "
                           "begin with no marker",
                           "leave out the tools, or the form of the answer");
    markers.calls.emplace_back(form.open);
  }
  return markers;
}

guided::AnswerMarkers thoughtMarkers(const AnswerFamilies &families,
                                     const AnswerSettings &settings) {
  guided::AnswerMarkers markers;
  const AnswerFamily &reasoning = *families.reasoning;
  markers.open = reasoning.reasoningOpen;
  markers.close = reasoning.reasoningClose;
  markers.isOpen = isThinking(reasoning, settings.promptTail);
  markers.mayReopen = reasoning.reasonsAnywhere;
  if (settings.promptTail.ends_with(reasoning.promptPrefix) && !settings.promptEndsInWords)
    markers.promptEnd = reasoning.promptPrefix;
  if (settings.calls)
    for (const std::string_view call : callsEndingThoughts(*families.tools))
      markers.calls.emplace_back(call);
  return markers;
}

} // namespace ingot::runtime
