// SPDX-License-Identifier: Apache-2.0
// The part of ingot.h about loops.
#include "runtime/api/Boundary.h"
#include "runtime/serving/EventQueue.h"

#include <cmath>
#include <deque>

using namespace ingot::runtime;

namespace {

using Clock = std::chrono::steady_clock;

constexpr double longestWait = 1e9; ///< seconds

Status readSeconds(double seconds, Clock::time_point &until) {
  if (!(seconds >= 0 && seconds <= longestWait))
    return Status::error("INGOT-E6053", "the time to wait is no time from now",
                         "choose from 0 to 1e9 seconds");
  until = Clock::now() +
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  return {};
}

} // namespace

struct ingot_loop {
  std::unique_ptr<ingot_engine> engine; ///< without its session
  EventQueue queue;                     ///< outlives the thread that fills it
  std::unique_ptr<Loop> loop;
};

static Status checkLoop(const ingot_loop *loop) {
  return loop ? Status() : misuse("the loop is NULL");
}

ingot_error *ingot_loop_options_init(ingot_loop_options *options, size_t size) {
  return guarded(
      [&] { return initSized(ingot_loop_options{0, LoopOptions().queueLimit}, options, size); });
}

ingot_error *ingot_loop_start(ingot_engine *engine, const ingot_loop_options *options,
                              ingot_loop **loop) {
  return guarded([&]() -> Status {
    if (!loop)
      return misuse("the result pointer is NULL");
    if (Status status = checkOwned(engine); !status.ok())
      return status;
    ingot_loop_options full = {0, LoopOptions().queueLimit};
    if (options)
      if (Status status = readSized(options, full); !status.ok())
        return status;
    if (full.queue_limit < 0)
      return misuse("the queue limit is negative");
    SessionGauges gauges = engine->session->gauges();
    if (gauges.waiting + gauges.running > 0)
      return misuse("the engine has requests");
    auto started = std::make_unique<ingot_loop>();
    started->loop = std::make_unique<Loop>(std::move(engine->owned), LoopOptions{full.queue_limit});
    started->engine.reset(engine);
    *loop = started.release();
    return {};
  });
}

void ingot_loop_close(ingot_loop *loop) {
  if (loop)
    loop->loop.reset();
  delete loop;
}

/// Converts events for a sink in C, each time anew.
static EventSink sinkInC(ingot_sink sink, void *user, size_t size) {
  auto handed = std::make_shared<HandedEvent>();
  return [=](Event &&event) {
    ingot_event full = handed->hand(std::move(event));
    full.size = size;
    switch (sink(user, &full)) {
    case INGOT_DEMAND_HOLD:
      return Demand::Hold;
    case INGOT_DEMAND_CANCEL:
      return Demand::Cancel;
    case INGOT_DEMAND_MORE:
      break;
    }
    return Demand::More;
  };
}

ingot_error *ingot_loop_submit(ingot_loop *loop, const ingot_request *request, ingot_sink sink,
                               void *user, size_t event_size, uint64_t *id) {
  return guarded([&]() -> Status {
    if (!id)
      return misuse("the result pointer is NULL");
    if (Status status = checkLoop(loop); !status.ok())
      return status;
    ingot_event event;
    if (Status status = checkSize(&event, event_size); !status.ok())
      return status;
    Request read;
    if (Status status = readRequest(loop->engine.get(), request, read); !status.ok())
      return status;
    EventSink taker =
        sink ? sinkInC(sink, user, event_size)
             : EventSink([loop](Event &&next) { return loop->queue.push(std::move(next)); });
    Result<uint64_t> submitted = loop->loop->submit(std::move(read), std::move(taker));
    if (!submitted.ok())
      return std::move(submitted).status();
    *id = *submitted;
    return {};
  });
}

ingot_error *ingot_loop_cancel(ingot_loop *loop, uint64_t id) {
  return guarded([&]() -> Status {
    if (Status status = checkLoop(loop); !status.ok())
      return status;
    loop->loop->cancel(id);
    return {};
  });
}

ingot_error *ingot_loop_resume(ingot_loop *loop, uint64_t id) {
  return guarded([&]() -> Status {
    if (Status status = checkLoop(loop); !status.ok())
      return status;
    loop->loop->resume(id);
    return {};
  });
}

/// Takes up to `capacity` events into an array of structures of `size` bytes.
static Status takeEvents(ingot_loop *loop, double seconds, ingot_event *events, size_t size,
                         size_t capacity, size_t &count) {
  count = 0;
  if (Status status = checkLoop(loop); !status.ok())
    return status;
  if (Status status = checkSize(events, size); !status.ok())
    return status;
  Clock::time_point until;
  if (Status status = readSeconds(seconds, until); !status.ok())
    return status;
  thread_local std::deque<HandedEvent> handed; // whose elements never move
  while (count < capacity) {
    std::optional<Event> next = loop->queue.take(*loop->loop, until);
    if (!next)
      break;
    until = {}; // only the first is waited for
    if (count == handed.size())
      handed.emplace_back();
    auto *place = reinterpret_cast<ingot_event *>(reinterpret_cast<char *>(events) + count * size);
    copyOut(handed[count++].hand(std::move(*next)), place, size);
  }
  return {};
}

ingot_error *ingot_loop_next_event(ingot_loop *loop, double seconds, ingot_event *event,
                                   bool *taken) {
  return guarded([&]() -> Status {
    if (!taken)
      return misuse("the result pointer is NULL");
    size_t count = 0;
    Status status = takeEvents(loop, seconds, event, event ? event->size : 0, 1, count);
    *taken = count > 0;
    return status;
  });
}

ingot_error *ingot_loop_next_events(ingot_loop *loop, double seconds, ingot_event *events,
                                    size_t event_size, size_t capacity, size_t *count) {
  return guarded([&]() -> Status {
    if (!count)
      return misuse("the result pointer is NULL");
    if (capacity == 0)
      return misuse("there is no room for an event");
    return takeEvents(loop, seconds, events, event_size, capacity, *count);
  });
}

ingot_error *ingot_loop_drain(ingot_loop *loop) {
  return guarded([&]() -> Status {
    if (Status status = checkLoop(loop); !status.ok())
      return status;
    loop->loop->drain();
    return {};
  });
}

ingot_error *ingot_loop_wait_idle(ingot_loop *loop, double seconds, bool *idle) {
  return guarded([&]() -> Status {
    if (!idle)
      return misuse("the result pointer is NULL");
    if (Status status = checkLoop(loop); !status.ok())
      return status;
    Clock::time_point until;
    if (Status status = readSeconds(seconds, until); !status.ok())
      return status;
    *idle = loop->loop->waitIdle(until);
    return {};
  });
}

ingot_error *ingot_loop_get_statistics(const ingot_loop *loop, ingot_loop_statistics *statistics) {
  return guarded([&]() -> Status {
    if (Status status = checkLoop(loop); !status.ok())
      return status;
    LoopStatistics found = loop->loop->statistics();
    LoopState state = loop->loop->state();
    ingot_loop_statistics full = {};
    full.waiting = found.gauges.waiting;
    full.running = found.gauges.running;
    full.kv_blocks = found.gauges.kvBlocks;
    full.kv_blocks_used = found.gauges.kvBlocksUsed;
    full.answer_limit = found.answerLimit;
    full.prompt_tokens = found.counters.promptTokens;
    full.generated_tokens = found.counters.generatedTokens;
    full.prefix_queries = found.counters.prefixQueries;
    full.prefix_hits = found.counters.prefixHits;
    full.preemptions = found.counters.preemptions;
    full.draining = state == LoopState::Draining;
    full.broken = state == LoopState::Broken;
    return writeSized(full, statistics);
  });
}
