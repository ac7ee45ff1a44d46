// SPDX-License-Identifier: Apache-2.0
// Lists of C for the lists of an event.
#include "runtime/api/HandedEvent.h"

namespace ingot::runtime {

ingot_event HandedEvent::hand(Event next) {
  event = std::move(next);
  top.clear();
  for (const TokenLogprob &entry : event.top)
    top.push_back({entry.token, entry.logprob});
  promptLogprobs.clear();
  promptTop.clear();
  for (const PromptLogprob &entry : event.promptLogprobs)
    for (const TokenLogprob &other : entry.top)
      promptTop.push_back({other.token, other.logprob});
  size_t place = 0; // only now do the alternatives stay where they are
  for (const PromptLogprob &entry : event.promptLogprobs) {
    promptLogprobs.push_back(
        {entry.token, entry.logprob, promptTop.data() + place, entry.top.size()});
    place += entry.top.size();
  }
  errorCode = event.error.code();
  errorMessage = event.error.message();

  ingot_event full = {};
  full.request = event.request;
  full.choice = event.choice;
  full.token = event.token;
  full.text = event.text.c_str();
  full.text_bytes = event.text.size();
  full.logprob = event.logprob;
  full.top = top.data();
  full.top_count = top.size();
  full.prompt_tokens = event.promptTokens;
  full.finish = ingot_finish(event.finish);
  if (!event.error.ok()) {
    full.error_code = errorCode.c_str();
    full.error_message = errorMessage.c_str();
  }
  full.prompt_logprobs = promptLogprobs.data();
  full.prompt_logprob_count = promptLogprobs.size();
  return full;
}

} // namespace ingot::runtime
