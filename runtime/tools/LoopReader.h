// SPDX-License-Identifier: Apache-2.0
// A loop as `generate` uses it: requests go in and their events come out on one thread.
#pragma once

#include "runtime/serving/EventQueue.h"
#include "runtime/tools/Speedometer.h"

namespace ingot::runtime {

/// Owns a loop whose events wait for this object's thread, and measures it.
class LoopReader {
public:
  explicit LoopReader(std::unique_ptr<Session> session, int64_t queueLimit)
      : running(std::move(session), {queueLimit}) {}

  const Loop &loop() const { return running; }
  /// As Loop::submit.
  Result<uint64_t> submit(Request request);
  /// As Loop::cancel.
  void cancel(uint64_t request) { running.cancel(request); }
  /// The next event of any request; waits for it. There must be a request that has not ended.
  Event take();
  /// The same up to a time, when there is none.
  std::optional<Event> take(std::chrono::steady_clock::time_point until);
  /// Prints tokens and rates to standard error.
  void report() const { speed.report(); }

private:
  EventQueue queue; ///< it and `speed` outlive the loop's thread
  Speedometer speed;
  int64_t open = 0; ///< answers whose last event has not been taken
  Loop running;
};

} // namespace ingot::runtime
