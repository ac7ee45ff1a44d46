// SPDX-License-Identifier: Apache-2.0
// How long steps take, and so how many prompt tokens one may compute beside running streams.
#pragma once

#include <cstdint>

namespace ingot::runtime {

/// Learns from measured steps. Only when answers come depends on it, never what they are.
class StepClock {
public:
  /// `limit`: seconds that a step beside running streams should stay under.
  explicit StepClock(double limit) : limit(limit) {}

  /// A step of so many prompt tokens and decoded sequences took so long.
  void record(int64_t promptTokens, int64_t decodes, double seconds);
  /// Prompt tokens that a step takes beside `running` streams while `waiting` prompts are to be
  /// computed; perhaps none. Streams wait for prompts 1.75 times as long as for each other, longer
  /// the more wait for a first token, or for a moment that no reader sees; never past the limit.
  /// Without a measurement there is no bound.
  int64_t promptBudget(int64_t running, int64_t waiting) const;

private:
  double limit;
  double decodeSeconds = 0; ///< of a step without prompts
  double tokenSeconds = 0;  ///< that a prompt's token adds; 0: not known
};

} // namespace ingot::runtime
