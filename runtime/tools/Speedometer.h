// SPDX-License-Identifier: Apache-2.0
// Tokens per second of prompts and of generation, of steps that compute both.
#pragma once

#include "runtime/serving/Loop.h"

namespace ingot::runtime {

/// The seconds of a step are shared by the tokens it computed: those of prompts, and those drawn
/// before. The first token of an answer comes with its prompt and takes no time of its own.
class Speedometer {
public:
  /// Adds seconds in which the counters went from `before` to `after`. Where no tokens came of
  /// them, as of a step that was only started, they count for the tokens that come next.
  void add(double seconds, const SessionCounters &before, const SessionCounters &after) {
    int64_t ofPrompts = after.promptTokens - before.promptTokens;
    int64_t drawn = after.continuedTokens - before.continuedTokens;
    waiting += seconds;
    if (ofPrompts + drawn == 0)
      return;
    double each = waiting / double(ofPrompts + drawn);
    waiting = 0;
    prompts.seconds += each * double(ofPrompts);
    prompts.tokens += ofPrompts;
    generation.seconds += each * double(drawn);
    generation.tokens += drawn;
  }

  /// What comes from now on counts: the loop had nothing to do before.
  void start() { last = Clock::now(); }
  /// Adds the seconds since `start` or the call before, of a loop whose counters these are now.
  void lap(const SessionCounters &counters);
  /// Prints tokens and rates to standard error.
  void report() const;

  double promptRate() const { return prompts.rate(); }
  double generationRate() const { return generation.rate(); }

private:
  using Clock = std::chrono::steady_clock;
  struct Pace {
    double seconds = 0;
    int64_t tokens = 0;
    double rate() const { return seconds > 0 ? double(tokens) / seconds : 0; }
  };
  Pace prompts, generation;
  double waiting = 0;
  Clock::time_point last;
  SessionCounters counted;
};

} // namespace ingot::runtime
