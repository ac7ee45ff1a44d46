// SPDX-License-Identifier: Apache-2.0
// An event on its way to a caller in C, with everything that its pointers point to.
#pragma once

#include "runtime/include/ingot/ingot.h"
#include "runtime/serving/Session.h"

namespace ingot::runtime {

class HandedEvent {
public:
  /// Makes `next` the event that is handed out; what the result points to lives until the next
  /// call.
  ingot_event hand(Event next);
  /// Of that event.
  const Status &error() const { return event.error; }

private:
  Event event;
  std::string errorCode, errorMessage;
  std::vector<ingot_logprob> top;                   ///< its alternatives
  std::vector<ingot_prompt_logprob> promptLogprobs; ///< and of the prompt's tokens
  std::vector<ingot_logprob> promptTop;             ///< what those point to
};

} // namespace ingot::runtime
