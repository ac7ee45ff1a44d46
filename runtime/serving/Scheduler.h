// SPDX-License-Identifier: Apache-2.0
// In-flight batching: who is admitted, and which tokens of whom the next step computes.
#pragma once

#include "runtime/serving/KvCache.h"

#include <deque>
#include <functional>
#include <memory>

namespace ingot::runtime {

/// What one sequence contributes to a step: tokens [computed, computed + tokens).
struct BatchEntry {
  Sequence *sequence;
  int64_t tokens;
  int64_t logitRows; ///< how many of its last tokens need logits
};

/// Sequences are admitted by priority, then in the order they came, each with KV blocks for its
/// whole life, so one that runs never waits for memory. A step takes single generated tokens first,
/// then chunks of prompts, up to the token budget. Planning allocates no memory.
class Scheduler {
public:
  Scheduler(const MemoryPlan &plan, KvCache &cache);

  /// INGOT-E6005 when a sequence of so many positions can never fit the KV cache. Thread-safe.
  Status fits(int64_t positions) const;
  /// Takes a sequence into the queue. INGOT-E6005 when it can never fit the KV cache.
  Status add(std::unique_ptr<Sequence> sequence);

  /// Admits what fits and chooses the next step; empty when there is nothing to do. Valid until the
  /// next call. The caller runs the step, then advances each `Sequence::computed`.
  std::span<const BatchEntry> planStep();

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

  /// A slot and blocks outside the queue, for work that is not a request; false when none is free.
  bool borrow(Sequence &sequence, int64_t positions);
  void giveBack(Sequence &sequence);

private:
  void admit();
  void chooseDecodes();
  void choosePrompts();

  KvCache &cache;
  int64_t maxTokens, maxSequences, maxLogitRows;
  std::deque<std::unique_ptr<Sequence>> waiting;
  std::vector<std::unique_ptr<Sequence>> running; ///< in the order of admission
  std::vector<int64_t> freeSlots;
  std::vector<BatchEntry> batch;
  int64_t tokensLeft = 0, rowsLeft = 0;
  bool promptWaits = false; ///< a prompt got nothing in the last step
  size_t firstDecode = 0;   ///< where the next step starts to look, when rows are scarce
};

} // namespace ingot::runtime
