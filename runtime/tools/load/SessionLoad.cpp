// SPDX-License-Identifier: Apache-2.0
// The loop: requests that are due, a step, what came of it.
#include "runtime/tools/load/SessionLoad.h"

#include "runtime/tools/RequestJson.h"

#include <map>
#include <thread>

namespace ingot::runtime {
namespace {

class SessionLoad {
public:
  SessionLoad(Session &session, Workload &workload, const Pacing &pacing, bool ignoreEos,
              LoadProgress &progress)
      : session(session), workload(workload), pacing(pacing), ignoreEos(ignoreEos),
        progress(progress), ahead(workload.next()) {}

  Status run();

  LoadClock clock;
  std::vector<LoadRecord> records;

private:
  struct Flight {
    LoadRecord record;
    std::optional<int64_t> cancelAfter;
  };

  bool mayMake() const;
  void make();
  void takeEvents();
  void take(Flight &flight, const Event &event);
  void cancelWhereAsked(uint64_t id, const Flight &flight);
  void end(LoadRecord record);

  Session &session;
  Workload &workload;
  const Pacing &pacing;
  bool ignoreEos;
  LoadProgress &progress;
  std::optional<LoadRequest> ahead; ///< the next request
  std::map<uint64_t, Flight> flights;
};

/// Whether the next request is made now.
bool SessionLoad::mayMake() const {
  if (!ahead)
    return false;
  if (pacing.concurrency)
    return int64_t(flights.size()) < pacing.concurrency;
  return ahead->due <= clock.now();
}

void SessionLoad::end(LoadRecord record) {
  record.end = clock.now();
  progress.ended(record);
  records.push_back(std::move(record));
}

void SessionLoad::make() {
  Flight flight;
  flight.record.number = ahead->number;
  flight.record.sent = clock.now();
  flight.record.due = pacing.concurrency ? flight.record.sent : ahead->due;
  flight.record.promptTokens = int64_t(ahead->tokens.size());
  flight.cancelAfter = ahead->cancelAfter;
  Request request;
  request.text = std::move(ahead->text);
  request.tokens = std::move(ahead->tokens);
  request.sampling.maxTokens = ahead->outputTokens;
  request.sampling.ignoreEos = ignoreEos;
  ahead = workload.next();
  progress.sent();
  Result<uint64_t> id = session.submit(request);
  if (!id.ok()) {
    flight.record.failure = {"refused", id.status()};
    return end(std::move(flight.record));
  }
  cancelWhereAsked(*id, flights.emplace(*id, std::move(flight)).first->second);
}

void SessionLoad::cancelWhereAsked(uint64_t id, const Flight &flight) {
  // A request that has ended meanwhile is no longer there to cancel.
  if (flight.cancelAfter && flight.record.outputTokens >= *flight.cancelAfter)
    (void)session.cancel(id);
}

void SessionLoad::take(Flight &flight, const Event &event) {
  LoadRecord &record = flight.record;
  if (event.token >= 0) {
    ++record.outputTokens;
    record.arrived(clock.now());
    progress.tick(1);
  }
  record.text += event.text;
  record.promptTokens = event.promptTokens;
  record.cachedTokens = event.cachedTokens;
  if (event.finish == FinishReason::None)
    return cancelWhereAsked(event.request, flight);
  record.finish = nameOf(event.finish);
  record.cancelled = event.finish == FinishReason::Cancelled;
  if (!event.error.ok())
    record.failure = {std::string(event.error.code()), event.error};
}

void SessionLoad::takeEvents() {
  while (std::optional<Event> event = session.nextEvent()) {
    auto found = flights.find(event->request);
    if (found == flights.end())
      continue; // it was somebody else's before this load
    take(found->second, *event);
    if (event->finish == FinishReason::None)
      continue;
    LoadRecord record = std::move(found->second.record);
    flights.erase(found);
    end(std::move(record));
  }
}

Status SessionLoad::run() {
  clock = LoadClock();
  while (true) {
    double over = pacing.concurrency ? clock.now() : ahead ? ahead->due : 0;
    if (over > pacing.duration)
      ahead.reset();
    while (mayMake())
      make();
    if (flights.empty()) {
      if (!ahead)
        return {};
      if (double wait = ahead->due - clock.now(); !pacing.concurrency && wait > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(wait));
      continue;
    }
    Result<bool> stepped = session.step();
    if (!stepped.ok())
      return std::move(stepped).status();
    takeEvents();
  }
}

} // namespace

Result<std::vector<LoadRecord>> runSessionLoad(Session &session, Workload &workload,
                                               const Pacing &pacing, bool ignoreEos,
                                               LoadProgress &progress, double &seconds) {
  SessionLoad load(session, workload, pacing, ignoreEos, progress);
  if (Status status = load.run(); !status.ok())
    return status;
  seconds = load.clock.now();
  return std::move(load.records);
}

} // namespace ingot::runtime
