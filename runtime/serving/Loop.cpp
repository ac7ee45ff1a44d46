// SPDX-License-Identifier: Apache-2.0
// Each turn of the loop takes what others asked for, runs a step and gives its events away.
#include "runtime/serving/Loop.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace ingot::runtime {

using Clock = std::chrono::steady_clock;

Loop::Loop(std::unique_ptr<Session> owned, const LoopOptions &options)
    : session(std::move(owned)), engine(*session),
      answerLimit(session->memoryPlan().maxSequences + std::max<int64_t>(options.queueLimit, 0)) {
  publish();
  thread = std::thread([this] { run(); });
}

Loop::~Loop() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  thread.join();
}

Result<uint64_t> Loop::submit(Request request, EventSink sink) {
  Result<Request> prepared = prepare(std::move(request));
  if (!prepared.ok())
    return std::move(prepared).status();
  return submitPrepared(std::move(*prepared), std::move(sink));
}

Result<uint64_t> Loop::submitPrepared(Request prepared, EventSink sink) {
  auto entry = std::make_unique<Entry>();
  entry->request = std::move(prepared);
  entry->sink = std::move(sink);
  entry->deadline = entry->request.deadline;
  entry->open.assign(size_t(entry->request.choices), true);
  int64_t choices = entry->request.choices;

  uint64_t id = 0;
  {
    std::lock_guard lock(mutex);
    if (!broken.ok())
      return Status::error("INGOT-E6032", "the engine is out of service: " + broken.toString(),
                           "start the process again");
    if (draining || stopping)
      return Status::error("INGOT-E6031", "no more requests are taken: the process is to end",
                           "ask another one");
    if (accepted + choices > answerLimit)
      return Status::error("INGOT-E6030",
                           std::to_string(accepted) + " answers are computed or wait, and " +
                               std::to_string(choices) + " more would pass the limit of " +
                               std::to_string(answerLimit),
                           "try again later, or allow a longer queue");
    id = entry->id = nextId++;
    accepted += choices;
    incoming += choices;
    inbox.requests.push_back(std::move(entry));
  }
  wake.notify_one();
  return id;
}

void Loop::cancel(uint64_t request) {
  {
    std::lock_guard lock(mutex);
    inbox.commands.push_back({Command::Cancel, request});
  }
  wake.notify_one();
}

void Loop::resume(uint64_t request) {
  {
    std::lock_guard lock(mutex);
    inbox.commands.push_back({Command::Resume, request});
  }
  wake.notify_one();
}

void Loop::drain() {
  std::lock_guard lock(mutex);
  draining = true;
}

bool Loop::waitIdle(Clock::time_point until) const {
  std::unique_lock lock(mutex);
  return idle.wait_until(lock, until, [this] { return accepted == 0 && !delivering; });
}

LoopState Loop::state() const {
  std::lock_guard lock(mutex);
  return !broken.ok() ? LoopState::Broken : draining ? LoopState::Draining : LoopState::Serving;
}

Status Loop::failure() const {
  std::lock_guard lock(mutex);
  return broken;
}

LoopStatistics Loop::statistics() const {
  std::lock_guard lock(mutex);
  LoopStatistics statistics = published;
  statistics.gauges.waiting += incoming;
  statistics.answers = accepted;
  statistics.answerLimit = answerLimit;
  return statistics;
}

void Loop::publish() {
  SessionGauges gauges = session->gauges();
  std::lock_guard lock(mutex);
  published.gauges = gauges;
  published.counters = session->counters();
}

void Loop::run() {
  while (true) {
    bool works = false;
    {
      std::lock_guard lock(mutex);
      if (stopping)
        break;
      works = broken.ok();
    }
    try {
      if (!works || !turn())
        waitForWork();
    } catch (const std::bad_alloc &) {
      breakDown(Status::error("INGOT-E6010", "no memory is left for the requests",
                              "lower the limits or give the process more memory"));
    } catch (const std::exception &error) {
      breakDown(Status::error("INGOT-E6033",
                              std::string("the loop met an exception: ") + error.what(),
                              "report this as an error of Ingot"));
    }
  }
  endAll(FinishReason::Cancelled, {});
}

/// One round. False when nothing can go on before somebody asks for something.
bool Loop::turn() {
  takeInbox();
  for (; !taken.requests.empty(); taken.requests.pop_front())
    begin(taken.requests.front());
  for (; !taken.commands.empty(); taken.commands.pop_front())
    obey(taken.commands.front());
  // What was cancelled has events too. Figures are told before events, whose readers may ask.
  publish();
  bool moved = deliverAll();
  if (!entries.empty()) {
    int64_t steps = session->counters().steps;
    Result<bool> active = session->step();
    if (!active.ok()) {
      breakDown(std::move(active).status());
      return false;
    }
    moved |= session->counters().steps != steps;
    publish();
    moved |= deliverAll();
  }
  // Held requests may leave no room for the others, which are work then and cannot go on.
  return moved;
}

/// Sleeps until there is a request or a command, or a deadline has passed.
void Loop::waitForWork() {
  std::optional<Clock::time_point> next;
  for (const auto &[id, entry] : entries)
    if (entry->deadline && (!next || *entry->deadline < *next))
      next = entry->deadline;
  std::unique_lock lock(mutex);
  auto called = [this] { return stopping || !inbox.empty(); };
  if (next)
    wake.wait_until(lock, *next, called);
  else
    wake.wait(lock, called);
}

/// Until the next `publish`, what was taken waits as before.
void Loop::takeInbox() {
  std::lock_guard lock(mutex);
  published.gauges.waiting += std::exchange(incoming, 0);
  taken = std::exchange(inbox, {});
}

/// Gives a request to the session. It was checked before, so only what changes may refuse it now.
void Loop::begin(std::unique_ptr<Entry> &entry) {
  Result<uint64_t> id = session->submitPrepared(std::exchange(entry->request, {}));
  if (!id.ok())
    return endOpen(*entry, FinishReason::Failed, id.status());
  sessionIds[entry->id] = *id;
  entries.emplace(*id, std::move(entry));
}

void Loop::obey(const Command &command) {
  auto id = sessionIds.find(command.request);
  if (id == sessionIds.end())
    return;
  if (command.kind == Command::Cancel) {
    // The session has it: an answer is open, or its last event is not yet delivered.
    (void)session->cancel(id->second);
    return;
  }
  entries.at(id->second)->held = false;
  session->hold(id->second, false);
}

/// Gives away all events of the session; false when there were none.
bool Loop::deliverAll() {
  bool any = false;
  while (std::optional<Event> event = session->nextEvent()) {
    any = true;
    auto found = entries.find(event->request);
    if (found == entries.end())
      continue;
    Entry &entry = *found->second;
    uint64_t sessionId = found->first;
    bool wasHeld = entry.held, wasDropped = entry.dropped;
    deliver(entry, std::move(*event));
    if (!entry.isOpen()) {
      sessionIds.erase(entry.id);
      entries.erase(found);
    } else if (entry.dropped && !wasDropped) {
      (void)session->cancel(sessionId);
    } else if (entry.held != wasHeld) {
      session->hold(sessionId, entry.held);
    }
  }
  return any;
}

/// Gives one event to the request's sink and notes what that wants.
void Loop::deliver(Entry &entry, Event &&event) {
  event.request = entry.id;
  bool last = event.finish != FinishReason::None;
  if (last) {
    entry.open[size_t(event.choice)] = false;
    // Its place is free before its reader can know.
    std::lock_guard lock(mutex);
    --accepted;
    delivering = true;
  }
  if (!entry.dropped) {
    Demand demand = Demand::Cancel;
    try {
      demand = entry.sink(std::move(event));
    } catch (...) {
      // Its reader is not to be had any more.
    }
    entry.held = demand == Demand::Hold;
    entry.dropped = demand == Demand::Cancel;
  }
  if (!last)
    return;
  if (!entry.isOpen())
    entry.sink = nullptr; // with what it owns
  std::lock_guard lock(mutex);
  delivering = false;
  if (accepted == 0)
    idle.notify_all();
}

/// Ends every request, those not yet begun too.
void Loop::endAll(FinishReason finish, const Status &error) {
  for (auto &[id, entry] : entries)
    endOpen(*entry, finish, error);
  entries.clear();
  sessionIds.clear();
  for (int round = 0; round < 2; ++round, takeInbox())
    for (std::unique_ptr<Entry> &entry : taken.requests)
      if (entry)
        endOpen(*entry, finish, error);
  taken = {};
}

/// Ends the open answers of a request with events of their own.
void Loop::endOpen(Entry &entry, FinishReason finish, const Status &error) {
  for (size_t choice = 0; choice < entry.open.size(); ++choice) {
    if (!entry.open[choice])
      continue;
    Event event;
    event.choice = int32_t(choice);
    event.finish = finish;
    event.error = error;
    deliver(entry, std::move(event));
  }
}

/// Nothing is accepted from here on, so that what is ended is all there will be.
void Loop::breakDown(Status error) {
  {
    std::lock_guard lock(mutex);
    broken = error;
  }
  endAll(FinishReason::Failed, error);
  std::lock_guard lock(mutex);
  published.gauges.running = published.gauges.waiting = 0;
}

} // namespace ingot::runtime
