// SPDX-License-Identifier: Apache-2.0
// Admission by free slots and blocks, blocks for those that run, then one pass for generation and
// one for prompts.
#include "runtime/serving/Scheduler.h"

#include <algorithm>
#include <tuple>

namespace ingot::runtime {

static bool ranksBefore(const Sequence &one, const Sequence &other) {
  return std::pair(one.priority, one.arrival) < std::pair(other.priority, other.arrival);
}

/// Whether the next step computes the token that was drawn last; otherwise tokens of the prompt, or
/// those that were computed before it was preempted.
static bool isDecode(const Sequence &sequence) {
  return sequence.generated() > 0 && sequence.pending() == 1;
}

/// Whether there is nothing to compute for now, or ever: one that has drawn all its tokens only
/// waits for the host to read them.
static bool rests(const Sequence &sequence) {
  return sequence.held || sequence.leaving || sequence.generated() >= sequence.maxNewTokens;
}

static void insertByRank(std::vector<std::unique_ptr<Sequence>> &list,
                         std::unique_ptr<Sequence> sequence) {
  auto place = std::find_if(list.begin(), list.end(),
                            [&](const auto &other) { return ranksBefore(*sequence, *other); });
  list.insert(place, std::move(sequence));
}

Scheduler::Scheduler(const MemoryPlan &plan, KvCache &cache, const SchedulerOptions &options)
    : cache(cache), options(options), clock(options.maxStepSeconds), maxTokens(plan.maxTokens),
      maxSequences(plan.maxSequences), maxLogitRows(plan.maxLogitRows), leastChunk(1),
      reserved(plan.groups.size()) {
  for (const KvGroupPlan &group : plan.groups)
    leastChunk = std::max(leastChunk, group.blockTokens);
  // More than a step's are not written at once, and a window has no blocks for them.
  leastChunk = std::min(leastChunk, maxTokens);
  running.reserve(size_t(maxSequences));
  batch.reserve(size_t(maxSequences));
  candidates.reserve(size_t(maxSequences));
  secured.reserve(size_t(maxSequences));
  prompts.reserve(size_t(maxSequences));
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
  cache.prepare(sequence->positions(), *sequence);
  sequence->arrival = arrivals++;
  waiting.reserve(waiting.size() + 1 + size_t(maxSequences));
  insertByRank(waiting, std::move(sequence));
  return {};
}

bool Scheduler::borrow(Sequence &sequence, int64_t positions) {
  cache.prepare(positions, sequence);
  if (freeSlots.empty())
    return false;
  sequence.slot = freeSlots.back();
  freeSlots.pop_back();
  return true;
}

void Scheduler::giveBack(Sequence &sequence) {
  if (sequence.slot < 0)
    return;
  cache.release(sequence);
  freeSlots.push_back(sequence.slot);
  sequence.slot = -1;
}

/// Whether a waiting sequence, with the blocks that it has taken, finds those that it still needs
/// beside those of the running ones and one more for each of these to grow into.
bool Scheduler::hasRoomFor(const Sequence &sequence) {
  std::fill(reserved.begin(), reserved.end(), 0);
  auto reserve = [&](const Sequence &other, int64_t spare) {
    int64_t next = int64_t(other.tokens.size()) + spare;
    cache.addMissing(other, options.neverPreempt ? other.positions() : next, reserved);
  };
  for (const Owned &other : running)
    reserve(*other, cache.leastBlockTokens());
  reserve(sequence, 0);
  for (size_t group = 0; group < reserved.size(); ++group)
    if (reserved[group] > cache.availableBlocks(group))
      return false;
  return true;
}

/// Gives a waiting sequence the longest prefix of it that is in the cache, a slot, and a place
/// among those that run; false when these leave it too few blocks.
bool Scheduler::seat(Sequence &sequence) {
  bool taken = sequence.leader && cache.takePrompt(*sequence.leader, sequence);
  if (!taken && sequence.cachePrompt)
    cache.takePrefix(sequence);
  if (!hasRoomFor(sequence)) {
    cache.release(sequence);
    sequence.computed = 0;
    // Alone it fits in any case, if need be without the copy of a block that it shares.
    if (!running.empty() || !hasRoomFor(sequence))
      return false;
  }
  sequence.slot = freeSlots.back();
  freeSlots.pop_back();
  sequence.needsState = true;
  sequence.leader = nullptr;
  if (!sequence.admitted && sequence.cachePrompt) {
    totals.prefixQueries += int64_t(sequence.tokens.size());
    totals.prefixHits += sequence.computed;
    sequence.cachedTokens = sequence.computed;
  }
  sequence.admitted = true;
  return true;
}

void Scheduler::admit() {
  for (size_t i = 0; i < waiting.size();) {
    Sequence &sequence = *waiting[i];
    const Sequence *leader = sequence.leader;
    if (sequence.held || (leader && leader->computed < leader->promptTokens)) {
      ++i; // The leader computes the prompt of both.
      continue;
    }
    while (freeSlots.empty() || !seat(sequence))
      if (!preemptHeld())
        return;
    // Those that were preempted may stand before it.
    auto place = std::find_if(waiting.begin(), waiting.end(),
                              [&](const Owned &other) { return other.get() == &sequence; });
    i = size_t(place - waiting.begin());
    Owned taken = std::move(*place);
    waiting.erase(place);
    insertByRank(running, std::move(taken));
  }
}

/// Takes slot and blocks of a running sequence, which is computed again later; with equal results,
/// so that nobody sees it. False when its last token must be awaited first.
bool Scheduler::preempt(Sequence &sequence) {
  sequence.leaving = sequence.unknown();
  if (sequence.leaving)
    return false;
  giveBack(sequence);
  sequence.computed = 0;
  ++totals.preemptions;
  auto place = std::find_if(running.begin(), running.end(),
                            [&](const Owned &other) { return other.get() == &sequence; });
  Owned taken = std::move(*place);
  running.erase(place);
  insertByRank(waiting, std::move(taken));
  return true;
}

/// The last by rank of those that are held; false when there is none or it must be awaited.
bool Scheduler::preemptHeld() {
  auto last = std::find_if(running.rbegin(), running.rend(),
                           [](const Owned &sequence) { return sequence->held; });
  return last != running.rend() && preempt(**last);
}

void Scheduler::preemptLeaving() {
  candidates.clear();
  for (const Owned &sequence : running)
    if (sequence->leaving)
      candidates.push_back(sequence.get());
  for (Sequence *sequence : candidates)
    preempt(*sequence);
}

/// Who gives way to a running sequence: one that is held, else the last, which may be itself. Null
/// when it is the first of all, whose blocks only borrowed ones can keep from it.
Sequence *Scheduler::victimFor(const Sequence &sequence) {
  for (size_t i = running.size(); i-- > 0;)
    if (running[i]->held)
      return running[i].get();
  bool first = running.front().get() == &sequence;
  return first && running.size() == 1 ? nullptr : running.back().get();
}

/// Finds the blocks for what a running sequence computes at least. False when it has to wait.
bool Scheduler::grow(Sequence &sequence) {
  int64_t least = std::max(std::min(sequence.pending(), leastChunk), sequence.leastChunk());
  while (!cache.extend(sequence, least)) {
    Sequence *victim = victimFor(sequence);
    if (!victim || !preempt(*victim) || victim == &sequence)
      return false;
  }
  return true;
}

/// Blocks for everything that runs, by rank, so that nothing waits for those behind it.
void Scheduler::secureBlocks() {
  candidates.clear();
  secured.clear();
  for (const Owned &sequence : running) {
    cache.settle(*sequence);
    candidates.push_back(sequence.get());
  }
  for (Sequence *sequence : candidates)
    if (sequence->slot >= 0 && !rests(*sequence) && grow(*sequence))
      secured.push_back(sequence);
}

void Scheduler::admitWaiting() {
  preemptLeaving();
  admit();
}

std::span<const BatchEntry> Scheduler::planStep() {
  batch.clear();
  admitWaiting();
  secureBlocks();
  // A prompt that got nothing out of the last step finds tokens and a row in this one.
  int64_t kept = std::min(waitingTokens, maxTokens), keptRow = kept > 0;
  tokensLeft = maxTokens - kept;
  rowsLeft = maxLogitRows - keptRow;
  chooseDecodes();
  tokensLeft += kept;
  rowsLeft += keptRow;
  choosePrompts();
  return batch;
}

/// Starts where the last step stopped, so that scarce rows go round.
void Scheduler::chooseDecodes() {
  size_t count = secured.size(), start = count ? firstDecode % count : 0;
  for (size_t i = 0; i < count && tokensLeft > 0 && rowsLeft > 0; ++i) {
    size_t index = (start + i) % count;
    if (!isDecode(*secured[index]) || secured[index]->waitsForToken())
      continue;
    batch.push_back({secured[index], 1, 1});
    --tokensLeft;
    --rowsLeft;
    firstDecode = index + 1;
  }
}

/// Puts at most so many tokens of a prompt into the step, as blocks allow, and rows of logits.
void Scheduler::takeChunk(Sequence &sequence, int64_t tokens) {
  bool scores = sequence.scoresPrompt();
  tokens = std::min({tokens, sequence.pending(), tokensLeft, scores ? rowsLeft : tokensLeft});
  tokens = sequence.chunk(cache.room(sequence, tokens));
  bool completes = tokens == sequence.pending();
  if (completes && rowsLeft == 0) {
    // No row left for its logits: all but the last token now, that one in another step.
    tokens = sequence.chunk(tokens - 1);
    completes = false;
  }
  if (tokens <= 0 || !cache.extend(sequence, tokens)) {
    waitingTokens = std::max(waitingTokens, sequence.leastChunk());
    return;
  }
  batch.push_back({&sequence, tokens, scores ? tokens : completes ? 1 : 0});
  tokensLeft -= tokens;
  rowsLeft -= batch.back().logitRows;
}

/// The first by rank gets what shorter ones leave, and they leave it half; the rest goes to others.
void Scheduler::choosePrompts() {
  waitingTokens = 0;
  prompts.clear();
  for (Sequence *sequence : secured)
    if (!isDecode(*sequence))
      prompts.push_back(sequence);
  if (prompts.empty())
    return;
  if (!batch.empty())
    tokensLeft = std::min(
        tokensLeft, std::max({clock.promptBudget(int64_t(batch.size()), int64_t(prompts.size())),
                              leastChunk, prompts.front()->leastChunk()}));
  Sequence &first = *prompts.front();
  std::sort(prompts.begin() + 1, prompts.end(), [](const auto *one, const auto *other) {
    return std::tuple(one->priority, one->pending(), one->arrival) <
           std::tuple(other->priority, other->pending(), other->arrival);
  });
  // Of prompts of one length the first ends first: side by side, both would end late.
  auto overtakes = [&](const Sequence *sequence) {
    return sequence->priority == first.priority && sequence->pending() < first.pending();
  };
  auto others = std::span(prompts).subspan(1);
  auto behind = std::find_if_not(others.begin(), others.end(), overtakes);
  int64_t half = std::min(first.pending(), (tokensLeft + 1) / 2);
  int64_t row = std::min<int64_t>(rowsLeft, 1); // Of the first, should its prompt end.
  rowsLeft -= row;
  for (auto sequence = others.begin(); sequence != behind; ++sequence)
    takeChunk(**sequence, tokensLeft - half);
  rowsLeft += row;
  takeChunk(first, tokensLeft);
  for (; behind != others.end(); ++behind)
    takeChunk(**behind, tokensLeft);
}

Sequence *Scheduler::findIf(const std::function<bool(const Sequence &)> &isIt) {
  for (const Owned &sequence : running)
    if (isIt(*sequence))
      return sequence.get();
  for (const Owned &sequence : waiting)
    if (isIt(*sequence))
      return sequence.get();
  return nullptr;
}

void Scheduler::forEach(const std::function<void(Sequence &)> &visit) {
  for (const Owned &sequence : running)
    visit(*sequence);
  for (const Owned &sequence : waiting)
    visit(*sequence);
}

bool Scheduler::busy() {
  return findIf([](const Sequence &sequence) { return !sequence.held; }) != nullptr;
}

void Scheduler::remove(Sequence &sequence) {
  giveBack(sequence);
  forEach([&](Sequence &other) {
    if (other.leader == &sequence)
      other.leader = nullptr;
  });
  auto isIt = [&](const Owned &other) { return other.get() == &sequence; };
  if (std::erase_if(running, isIt) == 0)
    std::erase_if(waiting, isIt);
}

} // namespace ingot::runtime
