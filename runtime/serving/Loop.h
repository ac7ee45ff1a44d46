// SPDX-License-Identifier: Apache-2.0
// A session that many threads use: one thread steps it, the others submit and cancel.
#pragma once

#include "runtime/serving/Session.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace ingot::runtime {

/// What the reader of a request wants after an event.
enum class Demand {
  More,
  Hold,   ///< compute nothing more of this request until `Loop::resume`; more events may come still
  Cancel, ///< end the request, and give it no more events
};

/// Takes the events of one request, on the loop's thread and in their order. It must be quick, for
/// no step runs meanwhile, and may call the loop. One that throws has said Cancel.
using EventSink = std::function<Demand(Event &&)>;

enum class LoopState {
  Serving,
  Draining, ///< what was accepted goes on, nothing new is
  Broken,   ///< the device failed; for good
};

struct LoopOptions {
  /// Answers that may wait beside those that one step can hold.
  int64_t queueLimit = 1024;
};

/// What is going on, a moment ago.
struct LoopStatistics {
  SessionGauges gauges;
  SessionCounters counters;
  int64_t answers = 0;     ///< accepted and not ended; at most `answerLimit`
  int64_t answerLimit = 0; ///< sequences of a step, and LoopOptions::queueLimit
};

/// Owns a session and the one thread that touches it. All functions may be called from any thread.
///
///     Result<uint64_t> id = loop.submit(request, [](Event &&event) { ...; return Demand::More; });
class Loop {
public:
  explicit Loop(std::unique_ptr<Session> session, const LoopOptions &options = {});
  /// Cancels what is left, whose sinks hear of it, and waits for the thread.
  ~Loop();
  Loop(const Loop &) = delete;
  Loop &operator=(const Loop &) = delete;

  /// Checks all of a request and turns its text into tokens, on the caller's thread: `submit` then
  /// is quick. Errors as Session::prepare.
  Result<Request> prepare(Request request) const { return session->prepare(std::move(request)); }
  /// Queues a request; the result names it in its events, which may come before this returns.
  /// Errors as `prepare`, and INGOT-E6030 (too many answers wait), E6031 (draining), E6032 (the
  /// device has failed). A request that was refused has no events.
  Result<uint64_t> submit(Request request, EventSink sink);
  /// The same for a request that `prepare` has given. INGOT-E6030, E6031, E6032.
  Result<uint64_t> submitPrepared(Request prepared, EventSink sink);
  /// Ends a request within a step; the last event of each answer says so. Nothing happens when it
  /// has ended.
  void cancel(uint64_t request);
  /// Computes a request again that its sink has put on hold.
  void resume(uint64_t request);

  /// Takes no more requests; accepted ones go on. For good.
  void drain();
  /// Waits until no accepted request is left, nor its sink; false when it is `until` before that.
  bool waitIdle(std::chrono::steady_clock::time_point until) const;

  LoopState state() const;
  /// Why the state is Broken; success otherwise.
  Status failure() const;
  LoopStatistics statistics() const;

  // Facts that never change.
  const EngineFile &file() const { return engine.file(); }
  const schema::Target &target() const { return engine.target(); }
  const schema::Images *images() const { return engine.images(); }
  const Tokenizer *tokenizer() const { return engine.tokenizer(); }
  const MemoryPlan &memoryPlan() const { return engine.memoryPlan(); }
  SamplingParameters defaultSampling() const { return engine.defaultSampling(); }
  bool namesSampling() const { return engine.namesSampling(); }

private:
  /// A request that has been accepted and not ended.
  struct Entry {
    uint64_t id = 0; ///< that callers know
    Request request; ///< until the session has it
    EventSink sink;
    std::vector<bool> open; ///< answers that go on
    std::optional<std::chrono::steady_clock::time_point> deadline;
    bool held = false;
    bool dropped = false; ///< its sink said Cancel

    bool isOpen() const { return std::find(open.begin(), open.end(), true) != open.end(); }
  };
  struct Command {
    enum Kind { Cancel, Resume } kind;
    uint64_t request;
  };
  /// What other threads have asked for since the loop looked last.
  struct Inbox {
    std::deque<std::unique_ptr<Entry>> requests;
    std::deque<Command> commands;
    bool empty() const { return requests.empty() && commands.empty(); }
  };
  using Entries = std::map<uint64_t, std::unique_ptr<Entry>>; ///< by the session's id

  void run();
  bool turn();
  void waitForWork();
  void takeInbox();
  void begin(std::unique_ptr<Entry> &entry);
  void obey(const Command &command);
  bool deliverAll();
  void deliver(Entry &entry, Event &&event);
  void endAll(FinishReason finish, const Status &error);
  void endOpen(Entry &entry, FinishReason finish, const Status &error);
  void breakDown(Status error);
  void publish();

  std::unique_ptr<Session> session;
  const Session &engine; ///< what never changes of it
  const int64_t answerLimit;

  mutable std::mutex mutex;
  std::condition_variable wake;         ///< of the loop's thread
  mutable std::condition_variable idle; ///< nothing is accepted or being delivered
  Inbox inbox;
  bool stopping = false, draining = false;
  Status broken;
  int64_t accepted = 0;    ///< answers that have not ended
  bool delivering = false; ///< the last event of one
  int64_t incoming = 0;    ///< of them, those in `inbox`
  uint64_t nextId = 1;
  LoopStatistics published;

  // Of the loop's thread alone:
  Inbox taken; ///< and not yet begun or obeyed
  Entries entries;
  std::map<uint64_t, uint64_t> sessionIds; ///< by the callers' ids

  std::thread thread; ///< last: it uses all of the above
};

} // namespace ingot::runtime
