// SPDX-License-Identifier: Apache-2.0
// Admission by free slots and blocks, then one pass for generation and one for prompts.
#include "runtime/serving/Scheduler.h"

#include <algorithm>

namespace ingot::runtime {

Scheduler::Scheduler(const MemoryPlan &plan, KvCache &cache)
    : cache(cache), maxTokens(plan.maxTokens), maxSequences(plan.maxSequences),
      maxLogitRows(plan.maxLogitRows) {
  running.reserve(size_t(maxSequences));
  batch.reserve(size_t(maxSequences));
  for (int64_t slot = maxSequences; slot-- > 0;)
    freeSlots.push_back(slot);
}

Status Scheduler::fits(int64_t positions) const {
  if (cache.canEverHold(positions))
    return {};
  return Status::error("INGOT-E6005",
                       "the KV cache cannot hold " + std::to_string(positions) +
                           " positions of prompt and answer",
                       "ask for fewer tokens or load the engine with more --memory");
}

Status Scheduler::add(std::unique_ptr<Sequence> sequence) {
  if (Status status = fits(sequence->positions()); !status.ok())
    return status;
  cache.prepare(sequence->positions(), sequence->blocks);
  auto later = std::find_if(waiting.begin(), waiting.end(), [&](const auto &other) {
    return other->priority > sequence->priority;
  });
  waiting.insert(later, std::move(sequence));
  return {};
}

bool Scheduler::borrow(Sequence &sequence, int64_t positions) {
  if (freeSlots.empty() || !cache.reserve(positions, sequence.blocks))
    return false;
  sequence.slot = freeSlots.back();
  freeSlots.pop_back();
  sequence.needsState = true;
  return true;
}

void Scheduler::giveBack(Sequence &sequence) {
  if (sequence.slot < 0)
    return;
  cache.release(sequence.blocks);
  freeSlots.push_back(sequence.slot);
  sequence.slot = -1;
}

void Scheduler::admit() {
  while (!waiting.empty() && borrow(*waiting.front(), waiting.front()->positions())) {
    running.push_back(std::move(waiting.front()));
    waiting.pop_front();
  }
}

std::span<const BatchEntry> Scheduler::planStep() {
  admit();
  batch.clear();
  // A prompt that got nothing out of the last step finds a token and a row in this one.
  int64_t kept = promptWaits;
  tokensLeft = maxTokens - kept;
  rowsLeft = maxLogitRows - kept;
  chooseDecodes();
  tokensLeft += kept;
  rowsLeft += kept;
  choosePrompts();
  return batch;
}

/// Starts where the last step stopped, so that scarce rows go round.
void Scheduler::chooseDecodes() {
  size_t count = running.size(), start = count ? firstDecode % count : 0;
  for (size_t i = 0; i < count && tokensLeft > 0 && rowsLeft > 0; ++i) {
    size_t index = (start + i) % count;
    Sequence &sequence = *running[index];
    // One that has drawn all its tokens only waits for the host to read them.
    bool decodes = sequence.pending() == 1 && sequence.generated() > 0;
    if (sequence.held || !decodes || sequence.generated() >= sequence.maxNewTokens)
      continue;
    batch.push_back({&sequence, 1, 1});
    --tokensLeft;
    --rowsLeft;
    firstDecode = index + 1;
  }
}

void Scheduler::choosePrompts() {
  promptWaits = false;
  for (const std::unique_ptr<Sequence> &sequence : running) {
    if (sequence->held || sequence->generated() > 0)
      continue;
    int64_t tokens = std::min(sequence->pending(), tokensLeft);
    bool completes = tokens == sequence->pending();
    if (completes && rowsLeft == 0) {
      // No row left for its logits: all but the last token now, that one in another step.
      --tokens;
      completes = false;
    }
    if (tokens <= 0) {
      promptWaits = true;
      continue;
    }
    batch.push_back({sequence.get(), tokens, completes ? 1 : 0});
    tokensLeft -= tokens;
    rowsLeft -= completes;
  }
}

Sequence *Scheduler::findIf(const std::function<bool(const Sequence &)> &isIt) {
  for (const std::unique_ptr<Sequence> &sequence : running)
    if (isIt(*sequence))
      return sequence.get();
  for (const std::unique_ptr<Sequence> &sequence : waiting)
    if (isIt(*sequence))
      return sequence.get();
  return nullptr;
}

void Scheduler::forEach(const std::function<void(Sequence &)> &visit) {
  for (const std::unique_ptr<Sequence> &sequence : running)
    visit(*sequence);
  for (const std::unique_ptr<Sequence> &sequence : waiting)
    visit(*sequence);
}

bool Scheduler::busy() {
  return findIf([](const Sequence &sequence) { return !sequence.held; }) != nullptr;
}

void Scheduler::remove(Sequence &sequence) {
  giveBack(sequence);
  auto isIt = [&](const std::unique_ptr<Sequence> &other) { return other.get() == &sequence; };
  if (std::erase_if(running, isIt) == 0)
    std::erase_if(waiting, isIt);
}

} // namespace ingot::runtime
