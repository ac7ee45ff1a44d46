// SPDX-License-Identifier: Apache-2.0
// Events of a loop's requests for a thread that takes them one by one.
#pragma once

#include "runtime/serving/Loop.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

namespace ingot::runtime {

/// Events that nobody has taken yet, in their order. `push` is what sinks call; a request of which
/// too many wait is held, so that its reader costs no other one anything. It outlives the loop.
class EventQueue {
public:
  /// What the request's sink answers.
  Demand push(Event &&event) {
    std::lock_guard lock(mutex);
    bool full = ++waiting[event.request] >= mostWaiting;
    events.push_back(std::move(event));
    filled.notify_one();
    return full ? Demand::Hold : Demand::More;
  }

  /// The oldest event; nothing when there was none until `until`. A request that had been held
  /// goes on.
  std::optional<Event> take(Loop &loop, std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex);
    // A wait that is over before it begins would still ask the system.
    const bool waits = events.empty() && until > std::chrono::steady_clock::now();
    if (waits)
      filled.wait_until(lock, until, [&] { return !events.empty(); });
    if (events.empty())
      return std::nullopt;
    Event event = std::move(events.front());
    events.pop_front();
    auto entry = waiting.find(event.request);
    bool resumed = entry->second-- == mostWaiting;
    if (entry->second == 0)
      waiting.erase(entry);
    lock.unlock();
    if (resumed)
      loop.resume(event.request);
    return event;
  }

private:
  static constexpr int64_t mostWaiting = 256;

  std::mutex mutex;
  std::condition_variable filled;
  std::deque<Event> events;
  std::map<uint64_t, int64_t> waiting; ///< of each request
};

} // namespace ingot::runtime
