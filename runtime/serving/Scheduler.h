// SPDX-License-Identifier: Apache-2.0
// In-flight batching: who runs, and which tokens of whom the next step computes.
#pragma once

#include "runtime/serving/KvCache.h"
#include "runtime/serving/StepClock.h"

#include <functional>
#include <memory>

namespace ingot::runtime {

/// What one sequence contributes to a step: tokens [computed, computed + tokens).
struct BatchEntry {
  Sequence *sequence;
  int64_t tokens;
  int64_t logitRows; ///< how many of its last tokens need logits
};

/// How the scheduler shares the KV cache and the time.
struct SchedulerOptions {
  /// Admit a sequence only when the blocks of its whole life are free beside those of all others.
  /// Otherwise sequences take blocks as they grow, and the newest of the lowest priority gives its
  /// own back, to be computed again, when there are none: more run at once.
  bool neverPreempt = false;
  double maxStepSeconds = 0.2; ///< of a step with prompts beside running streams
};

/// Totals since the start.
struct SchedulerCounters {
  int64_t preemptions = 0;
  int64_t prefixQueries = 0; ///< tokens of admitted sequences
  int64_t prefixHits = 0;    ///< of them, those whose K and V were in the cache
};

/// Sequences are admitted by priority, then in the order they came, and that is also their rank: of
/// two, the one behind gives way, and the first is never preempted, so each comes to its end. A
/// step takes generated tokens first, then chunks of prompts, up to the token budget. Beside
/// generated tokens the budget follows the time that steps take, and short prompts overtake the
/// rest of long ones, which always get half. Planning allocates no memory.
class Scheduler {
public:
  Scheduler(const MemoryPlan &plan, KvCache &cache, const SchedulerOptions &options = {});

  /// INGOT-E6005 when a sequence of so many positions can never fit the KV cache. Thread-safe.
  Status fits(int64_t positions) const;
  /// Takes a sequence into the queue. INGOT-E6005 when it can never fit the KV cache.
  Status add(std::unique_ptr<Sequence> sequence);

  /// Admits what fits. The next step is planned with it; those that run may change until then.
  void admitWaiting();
  /// Admits what fits and chooses the next step; empty when there is nothing to do. Valid until the
  /// next call. The caller runs the step, after `KvCache::copies`, then advances each
  /// `Sequence::computed`.
  std::span<const BatchEntry> planStep();
  /// Says how long a planned step took.
  void stepTook(int64_t promptTokens, int64_t decodes, double seconds) {
    clock.record(promptTokens, decodes, seconds);
  }

  /// The first waiting or running sequence that is so, or null.
  Sequence *findIf(const std::function<bool(const Sequence &)> &isIt);
  /// One of that request.
  Sequence *find(uint64_t id) {
    return findIf([id](const Sequence &sequence) { return sequence.id == id; });
  }
  void forEach(const std::function<void(Sequence &)> &visit);
  /// Forgets a sequence and frees its slot and blocks.
  void remove(Sequence &sequence);

  size_t active() const { return waiting.size() + running.size(); }
  /// Whether a sequence has something to compute or to wait for, beside those that are held.
  bool busy();
  size_t runningCount() const { return running.size(); }
  const SchedulerCounters &counters() const { return totals; }

  /// A slot and room for the lists of blocks outside the queue, for work that is not a request and
  /// takes its blocks step by step; false when none is free.
  bool borrow(Sequence &sequence, int64_t positions);
  void giveBack(Sequence &sequence);

private:
  using Owned = std::unique_ptr<Sequence>;

  void preemptLeaving();
  void admit();
  bool hasRoomFor(const Sequence &sequence);
  bool seat(Sequence &sequence);
  bool preemptHeld();
  void secureBlocks();
  bool grow(Sequence &sequence);
  Sequence *victimFor(const Sequence &sequence);
  bool preempt(Sequence &sequence);
  void chooseDecodes();
  void choosePrompts();
  void takeChunk(Sequence &sequence, int64_t tokens);

  KvCache &cache;
  SchedulerOptions options;
  StepClock clock;
  int64_t maxTokens, maxSequences, maxLogitRows, leastChunk;
  std::vector<Owned> waiting; ///< by rank; has room for those that run
  std::vector<Owned> running; ///< by rank
  std::vector<int64_t> freeSlots, reserved;
  std::vector<BatchEntry> batch;
  std::vector<Sequence *> candidates, secured, prompts; ///< of the step that is planned
  SchedulerCounters totals;
  uint64_t arrivals = 0;
  int64_t tokensLeft = 0, rowsLeft = 0;
  int64_t waitingTokens = 0; ///< the fewest that a prompt takes that got nothing in the last step
  size_t firstDecode = 0;    ///< where the next step starts to look, when rows are scarce
};

} // namespace ingot::runtime
