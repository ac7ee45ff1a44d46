// SPDX-License-Identifier: Apache-2.0
// Where the loop's thread and the reader's meet.
#include "runtime/tools/LoopReader.h"

namespace ingot::runtime {

Result<uint64_t> LoopReader::submit(Request request) {
  // With nothing in flight the loop's thread measures nothing.
  if (open == 0)
    speed.start();
  int64_t choices = request.choices;
  Result<uint64_t> id = running.submit(std::move(request), [this](Event &&event) {
    speed.lap(running.statistics().counters);
    return queue.push(std::move(event));
  });
  if (id.ok())
    open += choices;
  return id;
}

std::optional<Event> LoopReader::take(std::chrono::steady_clock::time_point until) {
  std::optional<Event> event = queue.take(running, until);
  open -= event && event->finish != FinishReason::None;
  return event;
}

Event LoopReader::take() {
  std::optional<Event> event;
  while (!event)
    event = take(std::chrono::steady_clock::now() + std::chrono::hours(1));
  return std::move(*event);
}

} // namespace ingot::runtime
