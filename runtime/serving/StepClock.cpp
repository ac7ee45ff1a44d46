// SPDX-License-Identifier: Apache-2.0
// Moving averages: of steps that only decode, and of what a prompt's token adds to a step.
#include "runtime/serving/StepClock.h"

#include <algorithm>
#include <limits>

namespace ingot::runtime {

void StepClock::record(int64_t promptTokens, int64_t decodes, double seconds) {
  constexpr double weight = 0.25;
  if (promptTokens == 0) {
    decodeSeconds += (decodeSeconds > 0 ? weight : 1) * (seconds - decodeSeconds);
    return;
  }
  // Whatever decoding was thought to take, prompts took a part of the step.
  constexpr double leastShare = 0.2;
  double alone = std::max(seconds - (decodes > 0 ? decodeSeconds : 0), seconds * leastShare);
  double each = alone / double(promptTokens);
  // Of few tokens most is the price of a step, which more tokens share.
  constexpr double tellingTokens = 64;
  double telling = std::min(1.0, double(promptTokens) / tellingTokens);
  tokenSeconds += (tokenSeconds > 0 ? weight * telling : 1) * (each - tokenSeconds);
}

int64_t StepClock::promptBudget(int64_t running, int64_t waiting) const {
  if (tokenSeconds <= 0)
    return std::numeric_limits<int64_t>::max();
  // Found by simulation of many loads, then measured: less costs throughput, as sequences that are
  // not there yet leave decode steps part empty; more is seen as a stall.
  constexpr double unseenSeconds = 0.025, decodeSteps = 1.75, perWaiting = 0.25;
  double crowd = double(waiting) / double(std::max<int64_t>(running, 1));
  double share = std::max(unseenSeconds, decodeSteps * decodeSeconds * (1 + perWaiting * crowd));
  share = std::min(share, limit - decodeSeconds);
  return int64_t(std::max(0.0, std::min(share / tokenSeconds, 1e12)));
}

} // namespace ingot::runtime
