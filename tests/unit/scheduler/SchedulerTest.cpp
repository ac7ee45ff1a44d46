// SPDX-License-Identifier: Apache-2.0
// Admission, budgets and blocks, without a device.
#include "runtime/serving/Scheduler.h"

#include <gtest/gtest.h>
#include <set>

using namespace ingot::runtime;

namespace {

MemoryPlan makePlan(int64_t blocks) {
  MemoryPlan plan;
  plan.maxSequences = 4;
  plan.maxContext = 64;
  plan.maxTokens = 16;
  plan.maxLogitRows = 3;
  plan.groups = {{"main", 8, 64, 8, 8, blocks}};
  return plan;
}

class SchedulerTest : public testing::Test {
protected:
  explicit SchedulerTest(int64_t blocks = 20) : SchedulerTest(makePlan(blocks)) {}
  explicit SchedulerTest(const MemoryPlan &wanted)
      : plan(wanted), cache(plan.groups), scheduler(plan, cache) {}

  Status add(uint64_t id, int64_t prompt, int64_t answer) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = id;
    sequence->promptTokens = prompt;
    sequence->maxNewTokens = answer;
    sequence->tokens.assign(size_t(prompt), int32_t(id));
    return scheduler.add(std::move(sequence));
  }

  /// Runs a step as the session does, with a token for each row; checks its limits.
  std::vector<BatchEntry> step() {
    auto batch = scheduler.planStep();
    std::vector<BatchEntry> copy(batch.begin(), batch.end());
    int64_t tokens = 0, rows = 0;
    std::set<Sequence *> distinct;
    for (const BatchEntry &entry : copy) {
      tokens += entry.tokens;
      rows += entry.logitRows;
      EXPECT_GT(entry.tokens, 0);
      EXPECT_TRUE(distinct.insert(entry.sequence).second);
      entry.sequence->computed += entry.tokens;
      EXPECT_LE(entry.sequence->computed, entry.sequence->positions());
      EXPECT_EQ(entry.logitRows, entry.sequence->pending() == 0);
    }
    EXPECT_LE(tokens, plan.maxTokens);
    EXPECT_LE(rows, plan.maxLogitRows);
    for (const BatchEntry &entry : copy)
      if (entry.logitRows) {
        entry.sequence->tokens.push_back(2);
        if (entry.sequence->generated() == entry.sequence->maxNewTokens)
          scheduler.remove(*entry.sequence);
      }
    return copy;
  }

  MemoryPlan plan;
  KvCache cache;
  Scheduler scheduler;
};

TEST_F(SchedulerTest, PromptsAreCutIntoChunks) {
  ASSERT_TRUE(add(1, 40, 2).ok());
  EXPECT_EQ(step()[0].tokens, 16);
  EXPECT_EQ(step()[0].tokens, 16);
  EXPECT_EQ(step()[0].tokens, 8);
  EXPECT_EQ(step()[0].tokens, 1);
  EXPECT_EQ(scheduler.active(), 0u);
  EXPECT_EQ(cache.availableBlocks(0), 20);
}

TEST_F(SchedulerTest, OneThatNeedsItsLastTokenWaitsForIt) {
  ASSERT_TRUE(add(1, 3, 6).ok() && add(2, 3, 6).ok());
  step();
  for (uint64_t id : {1, 2})
    scheduler.find(id)->tokens.back() = unknownToken;
  scheduler.find(1)->sampling.noRepeatNgramSize = 2;
  std::vector<BatchEntry> batch = step();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].sequence->id, 2u);
  scheduler.find(1)->tokens.back() = 5;
  EXPECT_EQ(step().size(), 2u);
}

TEST_F(SchedulerTest, GenerationComesBeforePrompts) {
  ASSERT_TRUE(add(1, 4, 8).ok());
  step();
  ASSERT_TRUE(add(2, 30, 8).ok());
  auto batch = step();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].sequence->id, 1u);
  EXPECT_EQ(batch[0].tokens, 1);
  EXPECT_EQ(batch[1].tokens, 15);
}

TEST_F(SchedulerTest, AdmissionWaitsForBlocksInOrder) {
  ASSERT_TRUE(add(1, 60, 4).ok()); // 8 blocks
  ASSERT_TRUE(add(2, 56, 8).ok()); // 7 blocks, and one for the first
  ASSERT_TRUE(add(3, 40, 4).ok()); // 5 blocks: must wait
  ASSERT_TRUE(add(4, 4, 4).ok());  // would fit, but stays behind
  step();
  EXPECT_EQ(scheduler.runningCount(), 2u);
  EXPECT_EQ(cache.availableBlocks(0), 18); // each has computed half a step
  scheduler.remove(*scheduler.find(1));
  step();
  EXPECT_EQ(scheduler.runningCount(), 3u);
}

TEST_F(SchedulerTest, WhatCanNeverFitIsRefused) {
  MemoryPlan small = makePlan(2);
  small.groups[0].blocksPerSequence = 8;
  KvCache tiny(small.groups);
  Scheduler strict(small, tiny);
  auto sequence = std::make_unique<Sequence>();
  sequence->promptTokens = 17;
  sequence->maxNewTokens = 1;
  sequence->tokens.assign(17, 1);
  EXPECT_EQ(strict.add(std::move(sequence)).code(), "INGOT-E6005");
}

TEST_F(SchedulerTest, ScarceRowsGoRound) {
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_TRUE(add(id, 2, 30).ok());
  std::map<uint64_t, int> turns;
  for (int i = 0; i < 24; ++i)
    for (const BatchEntry &entry : step())
      turns[entry.sequence->id] += entry.logitRows != 0;
  ASSERT_EQ(turns.size(), 4u);
  for (auto [id, count] : turns)
    EXPECT_GE(count, 15) << id;
}

TEST_F(SchedulerTest, PromptsAreNotStarvedByGeneration) {
  MemoryPlan narrow = makePlan(20);
  narrow.maxTokens = narrow.maxLogitRows = 1;
  KvCache blocks(narrow.groups);
  Scheduler strict(narrow, blocks);
  for (uint64_t id = 1; id <= 2; ++id) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = id;
    sequence->promptTokens = 2;
    sequence->maxNewTokens = 30;
    sequence->tokens.assign(2, 1);
    ASSERT_TRUE(strict.add(std::move(sequence)).ok());
  }
  for (int i = 0; i < 12; ++i)
    for (const BatchEntry &entry : strict.planStep()) {
      entry.sequence->computed += entry.tokens;
      if (entry.logitRows)
        entry.sequence->tokens.push_back(2);
    }
  EXPECT_GT(strict.find(2)->generated(), 0);
}

TEST_F(SchedulerTest, EveryRequestEndsAndGivesEverythingBack) {
  for (uint64_t id = 1; id <= 40; ++id)
    ASSERT_TRUE(add(id, int64_t(1 + id * 7 % 40), int64_t(1 + id * 5 % 20)).ok());
  int steps = 0;
  while (scheduler.active() && ++steps < 2000)
    EXPECT_FALSE(step().empty());
  EXPECT_EQ(scheduler.active(), 0u);
  EXPECT_EQ(cache.availableBlocks(0), 20);
}

Sequence prepared(const KvCache &cache, int64_t tokens, int32_t first = 0) {
  Sequence sequence;
  for (int64_t i = 0; i < tokens; ++i)
    sequence.tokens.push_back(first + int32_t(i));
  sequence.promptTokens = tokens;
  cache.prepare(64, sequence);
  return sequence;
}

std::vector<int32_t> blocksOf(const Sequence &sequence, size_t group = 0) {
  const GroupBlocks &held = sequence.blocks[group];
  return {held.blocks.begin() + held.live, held.blocks.end()};
}

/// The last `count` elements of a list but for the last `behind`.
std::vector<int32_t> lastOf(const std::vector<int32_t> &list, int count, int behind = 0) {
  return {list.end() - count, list.end() - behind};
}

/// As a step does.
void compute(KvCache &cache, Sequence &sequence, int64_t tokens) {
  ASSERT_TRUE(cache.extend(sequence, tokens));
  sequence.computed += tokens;
  cache.settle(sequence);
}

TEST(KvCacheTest, SequencesOfOtherTokensNeverShareBlocks) {
  KvCache cache({{"main", 8, 64, 8, 8, 10}});
  Sequence first = prepared(cache, 33), second = prepared(cache, 40, 100);
  compute(cache, first, 33);
  compute(cache, second, 40);
  Sequence third = prepared(cache, 8, 200);
  EXPECT_FALSE(cache.extend(third, 1));
  std::vector<int32_t> all = blocksOf(first), others = blocksOf(second);
  all.insert(all.end(), others.begin(), others.end());
  EXPECT_EQ(std::set<int32_t>(all.begin(), all.end()).size(), 10u);
  cache.release(first);
  EXPECT_TRUE(cache.extend(third, 8));
  EXPECT_EQ(cache.availableBlocks(0), 4);
  EXPECT_TRUE(cache.copies().empty());
}

TEST(KvCacheTest, APrefixIsFoundAgain) {
  KvCache cache({{"main", 8, 64, 8, 8, 10}});
  Sequence first = prepared(cache, 30);
  compute(cache, first, 30);
  Sequence same = prepared(cache, 30);
  cache.takePrefix(same);
  EXPECT_EQ(same.computed, 24);
  EXPECT_EQ(blocksOf(same), lastOf(blocksOf(first), 4, 1));
  // Also after nobody uses it.
  cache.release(first);
  cache.release(same);
  EXPECT_EQ(cache.availableBlocks(0), 10);
  same.computed = 0;
  cache.takePrefix(same);
  EXPECT_EQ(same.computed, 24);
  Sequence salted = prepared(cache, 30), shorter = prepared(cache, 15);
  salted.root = rootHash("salt");
  cache.takePrefix(salted);
  EXPECT_EQ(salted.computed, 0);
  cache.takePrefix(shorter);
  EXPECT_EQ(shorter.computed, 8);
}

TEST(KvCacheTest, AWholePromptIsFoundButForItsLastToken) {
  KvCache cache({{"main", 8, 64, 8, 8, 10}});
  Sequence first = prepared(cache, 16);
  compute(cache, first, 16);
  Sequence same = prepared(cache, 16);
  cache.takePrefix(same);
  EXPECT_EQ(same.computed, 15);
  // It writes to a copy of the last block.
  std::vector<int32_t> before = blocksOf(same);
  compute(cache, same, 1);
  EXPECT_EQ(blocksOf(same)[0], before[0]);
  EXPECT_NE(blocksOf(same)[1], before[1]);
  ASSERT_EQ(cache.copies().size(), 1u);
  EXPECT_EQ(cache.copies()[0].from, before[1]);
  EXPECT_EQ(cache.copies()[0].to, blocksOf(same)[1]);
}

TEST(KvCacheTest, ChoicesShareTheirPrompt) {
  KvCache cache({{"main", 8, 64, 8, 8, 10}});
  Sequence leader = prepared(cache, 13), other = prepared(cache, 13);
  compute(cache, leader, 13);
  ASSERT_TRUE(cache.takePrompt(leader, other));
  EXPECT_EQ(other.computed, 12);
  EXPECT_EQ(blocksOf(other), blocksOf(leader));
  EXPECT_EQ(cache.availableBlocks(0), 8);
  // The first that writes to the partial block copies it, the other has it alone then.
  leader.tokens.push_back(7);
  compute(cache, leader, 1);
  compute(cache, other, 1);
  EXPECT_EQ(cache.copies().size(), 1u);
  EXPECT_EQ(blocksOf(other)[0], blocksOf(leader)[0]);
  EXPECT_NE(blocksOf(other)[1], blocksOf(leader)[1]);
  EXPECT_EQ(cache.availableBlocks(0), 7);
}

TEST(KvCacheTest, TheBlockUsedLeastRecentlyIsGivenUp) {
  KvCache cache({{"main", 8, 64, 8, 8, 4}});
  Sequence old = prepared(cache, 16), young = prepared(cache, 16, 100);
  for (Sequence *sequence : {&old, &young}) {
    compute(cache, *sequence, 16);
    cache.release(*sequence);
  }
  Sequence third = prepared(cache, 8, 200);
  compute(cache, third, 8);
  // Of the old one the end is gone, its beginning is left.
  old.computed = young.computed = 0;
  cache.takePrefix(young);
  cache.takePrefix(old);
  EXPECT_EQ(young.computed, 15);
  EXPECT_EQ(old.computed, 8);
}

TEST(KvCacheTest, AWindowGivesItsBlocksBack) {
  KvCache cache({{"local", 8, 64, 8, 4, 4, 16}});
  Sequence sequence = prepared(cache, 64);
  for (int64_t step = 0; step < 8; ++step) {
    compute(cache, sequence, 8);
    EXPECT_LE(blocksOf(sequence).size(), 3u);
  }
  std::vector<int32_t> row(8);
  cache.fillTableRow(0, sequence, row.data());
  EXPECT_EQ(row[0], blocksOf(sequence)[0]);
  EXPECT_EQ(lastOf(row, 2), lastOf(blocksOf(sequence), 2));
  cache.release(sequence);
  EXPECT_EQ(cache.availableBlocks(0), 4);
}

TEST(KvCacheTest, AHitIsWhatAllGroupsHave) {
  // The window of the second group holds three blocks of the last five.
  KvCache cache({{"main", 8, 64, 8, 8, 16}, {"local", 8, 64, 8, 4, 3, 16}});
  Sequence first = prepared(cache, 44);
  for (int64_t tokens : {8, 8, 8, 8, 8, 4})
    compute(cache, first, tokens);
  cache.release(first);
  Sequence same = prepared(cache, 44), shorter = prepared(cache, 30);
  cache.takePrefix(same);
  EXPECT_EQ(same.computed, 40);
  EXPECT_EQ(same.blocks[1].live, 3);
  EXPECT_EQ(same.blocks[0].live, 0);
  cache.takePrefix(shorter);
  EXPECT_EQ(shorter.computed, 0); // What it would see of the second group is gone.
}

TEST(KvCacheTest, RecurrentStateIsKeptAtBlockBordersThatStepsReach) {
  KvCache cache({{"main", 8, 64, 8, 8, 32}, {"recurrent", 8, 64, 8, 4, 12, 9, true}});
  Sequence first = prepared(cache, 44);
  std::array<int32_t, 8> row = {};
  ASSERT_TRUE(cache.extend(first, 30));
  cache.fillTableRow(1, first, row.data());
  // The last border, and what the step ends with; nothing is written for the two before.
  EXPECT_EQ(std::count(row.begin(), row.begin() + 2, -1), 2);
  EXPECT_EQ(std::count_if(row.begin() + 2, row.begin() + 4, [](int32_t b) { return b >= 0; }), 2);
  EXPECT_EQ(cache.availableBlocks(1), 10);
  first.computed = 30;
  cache.settle(first);
  compute(cache, first, 14);
  EXPECT_EQ(blocksOf(first, 1).size(), 2u); // of position 40 and behind the last token
  cache.release(first);
  EXPECT_EQ(cache.availableBlocks(1), 12);
  // Found are the borders at 24, 32 and 40, and never behind the last token.
  for (auto [tokens, computed] :
       {std::pair<int64_t, int64_t>{44, 40}, {41, 40}, {40, 32}, {30, 24}, {24, 0}, {20, 0}}) {
    Sequence next = prepared(cache, tokens);
    cache.takePrefix(next);
    EXPECT_EQ(next.computed, computed) << tokens;
    EXPECT_EQ(blocksOf(next, 1).size(), computed > 0) << tokens;
    cache.release(next);
  }
}

TEST(KvCacheTest, RecurrentStateIsNotSharedWithinABlock) {
  KvCache cache({{"main", 8, 64, 8, 8, 32}, {"recurrent", 8, 64, 8, 4, 12, 9, true}});
  Sequence leader = prepared(cache, 20), follower = prepared(cache, 20);
  compute(cache, leader, 20);
  EXPECT_FALSE(cache.takePrompt(leader, follower));
  cache.takePrefix(follower);
  EXPECT_EQ(follower.computed, 16);
  compute(cache, follower, 4);
  std::vector<int32_t> one = blocksOf(leader, 1), other = blocksOf(follower, 1);
  EXPECT_EQ(one.front(), other.front()); // of the border
  EXPECT_NE(one.back(), other.back());
  EXPECT_TRUE(cache.copies().empty());
}

TEST(KvCacheTest, ASequenceWithStateNeverHoldsMoreThanPlanned) {
  for (int64_t step : {1, 3, 7, 8, 9, 16, 23, 41}) {
    KvCache cache({{"main", 8, 64, 32, 32, 32}, {"recurrent", 8, 64, 32, 4, 4, 9, true}});
    Sequence sequence = prepared(cache, 200);
    while (sequence.computed < 200)
      compute(cache, sequence, std::min(step, 200 - sequence.computed));
    cache.release(sequence);
    EXPECT_EQ(cache.availableBlocks(1), 4);
  }
}

/// Ten states, of which a decode holds two and a prompt that is not computed yet takes four.
class StateTest : public SchedulerTest {
protected:
  StateTest() : SchedulerTest(makeStatePlan()) {}
  static MemoryPlan makeStatePlan() {
    MemoryPlan plan = makePlan(32);
    plan.groups.push_back({"recurrent", 8, 64, 8, 4, 10, 9, true});
    plan.maxLogitRows = 4;
    return plan;
  }
};

TEST_F(StateTest, ADecodeIsNotCountedWithStatesThatItWillNotHold) {
  for (uint64_t id : {1, 2, 3, 4})
    ASSERT_TRUE(add(id, 40, 20).ok());
  size_t most = 0;
  while (scheduler.active() > 0) {
    ASSERT_FALSE(step().empty());
    most = std::max(most, scheduler.runningCount());
  }
  EXPECT_EQ(most, 4u);
  EXPECT_EQ(scheduler.counters().preemptions, 0);
  EXPECT_EQ(cache.availableBlocks(1), 10);
}

TEST(StepClockTest, PromptsFitBesideStreams) {
  StepClock clock(0.2);
  EXPECT_GT(clock.promptBudget(8, 1), 1 << 30);
  clock.record(0, 8, 0.05);
  clock.record(512, 8, 0.05 + 0.512);
  EXPECT_NEAR(double(clock.promptBudget(1, 8)), 150, 2); // all that the limit leaves
  EXPECT_NEAR(double(clock.promptBudget(8, 0)), 87, 2);  // 1.75 steps of decoding
  EXPECT_NEAR(double(clock.promptBudget(8, 4)), 98, 2);  // an eighth more, as more wait
  for (int i = 0; i < 50; ++i)
    clock.record(150, 8, 0.05 + 0.3); // twice as slow
  EXPECT_NEAR(double(clock.promptBudget(1, 8)), 75, 2);
  EXPECT_NEAR(double(clock.promptBudget(8, 0)), 43, 2);
  for (int i = 0; i < 50; ++i)
    clock.record(0, 8, 0.001);
  EXPECT_NEAR(double(clock.promptBudget(8, 1)), 12, 1); // 25 ms, which no reader sees
  for (int i = 0; i < 50; ++i)
    clock.record(0, 8, 1.0);
  EXPECT_EQ(clock.promptBudget(1, 8), 0);
}

TEST_F(SchedulerTest, AShortPromptOvertakesALongOne) {
  ASSERT_TRUE(add(1, 60, 4).ok());
  ASSERT_TRUE(add(2, 6, 4).ok());
  auto batch = step();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].sequence->id, 2u);
  EXPECT_EQ(batch[0].tokens, 6);
  EXPECT_EQ(batch[0].logitRows, 1);
  EXPECT_EQ(batch[1].tokens, 10);
}

TEST_F(SchedulerTest, OfEqualPromptsTheFirstEndsFirst) {
  ASSERT_TRUE(add(1, 20, 4).ok());
  ASSERT_TRUE(add(2, 20, 4).ok());
  auto batch = step();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].sequence->id, 1u);
  EXPECT_EQ(batch[0].tokens, 16);
  batch = step();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].sequence->id, 1u);
  EXPECT_EQ(batch[0].tokens, 4);
  EXPECT_EQ(batch[1].tokens, 12); // what the first leaves
}

TEST_F(SchedulerTest, StreamsBoundPrompts) {
  ASSERT_TRUE(add(1, 2, 30).ok());
  step();
  for (int i = 0; i < 8; ++i) {
    scheduler.stepTook(0, 1, 0.1);
    scheduler.stepTook(16, 1, 0.1 + 16 * 0.01); // ten tokens fit
  }
  ASSERT_TRUE(add(2, 60, 4).ok());
  auto batch = step();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_NEAR(double(batch[1].tokens), 10, 1);
  scheduler.remove(*scheduler.find(1));
  EXPECT_EQ(step()[0].tokens, 16); // alone it gets everything
}

TEST_F(SchedulerTest, TheNewestOfTheLowestPriorityGivesWay) {
  for (uint64_t id = 1; id <= 3; ++id)
    ASSERT_TRUE(add(id, 8, 57).ok()); // 8 blocks each at their end, 20 in all
  std::set<uint64_t> preempted;
  for (int i = 0; i < 60 && scheduler.active(); ++i) {
    step();
    scheduler.forEach([&](const Sequence &sequence) {
      if (sequence.slot < 0 && sequence.admitted)
        preempted.insert(sequence.id);
    });
  }
  EXPECT_EQ(preempted, std::set<uint64_t>{3});
  while (scheduler.active())
    ASSERT_FALSE(step().empty());
  EXPECT_GT(scheduler.counters().preemptions, 0);
  EXPECT_EQ(cache.availableBlocks(0), 20);
}

TEST_F(SchedulerTest, WithoutPreemptionNobodyStartsWhoMightNotEnd) {
  Scheduler strict(plan, cache, {.neverPreempt = true});
  for (uint64_t id = 1; id <= 3; ++id) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = id;
    sequence->promptTokens = 8;
    sequence->maxNewTokens = 57;
    sequence->tokens.assign(8, int32_t(id));
    ASSERT_TRUE(strict.add(std::move(sequence)).ok());
  }
  strict.planStep();
  EXPECT_EQ(strict.runningCount(), 2u);
}

TEST_F(SchedulerTest, AHeldSequenceKeepsNothingFromOthers) {
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_TRUE(add(id, 40, 20).ok());
  step();
  scheduler.forEach([](Sequence &sequence) { sequence.held = sequence.id <= 3; });
  ASSERT_TRUE(add(5, 60, 4).ok());
  for (int i = 0; i < 100 && (scheduler.find(4) || scheduler.find(5)); ++i)
    step();
  EXPECT_EQ(scheduler.find(4), nullptr);
  EXPECT_EQ(scheduler.find(5), nullptr);
  EXPECT_FALSE(scheduler.busy());
  scheduler.forEach([](Sequence &sequence) { sequence.held = false; });
  while (scheduler.active())
    ASSERT_FALSE(step().empty());
  EXPECT_EQ(cache.availableBlocks(0), 20);
}

/// Arrivals at random, with answers up to the context: everyone ends, in time.
TEST_F(SchedulerTest, NobodyStarves) {
  uint64_t state = 7;
  auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  std::map<uint64_t, int> begun;
  int longest = 0;
  uint64_t next = 1;
  for (int now = 0; now < 6000 || scheduler.active(); ++now) {
    ASSERT_LT(now, 20000);
    if (now < 6000 && scheduler.active() < 12 && random(4) == 0) {
      int64_t prompt = 1 + int64_t(random(60));
      ASSERT_TRUE(add(next, prompt, 65 - prompt).ok());
      begun[next++] = now;
    }
    if (scheduler.active())
      ASSERT_FALSE(step().empty());
    for (auto entry = begun.begin(); entry != begun.end();) {
      bool ended = !scheduler.find(entry->first);
      longest = std::max(longest, now - entry->second);
      entry = ended ? begun.erase(entry) : std::next(entry);
    }
  }
  EXPECT_GT(scheduler.counters().preemptions, 10);
  EXPECT_LT(longest, 900); // twelve at once, of 64 positions each
  EXPECT_EQ(cache.availableBlocks(0), 20);
}

/// A plan with a group of all positions and one with a window, of as few blocks as one sequence
/// needs and `more`.
MemoryPlan windowedPlan(int64_t sequences, int64_t tokens, int64_t window, int64_t more) {
  MemoryPlan plan = makePlan(8 + more);
  plan.maxSequences = plan.maxLogitRows = sequences;
  plan.maxTokens = tokens;
  KvGroupPlan sliding = plan.groups.front();
  sliding.window = window;
  sliding.blocksPerSequence = std::min<int64_t>(8, (window + tokens + 7) / 8 + 1);
  sliding.blocks = sliding.blocksPerSequence + more;
  plan.groups.push_back(sliding);
  return plan;
}

/// Requests that begin alike, up to the whole context.
class Windowed : public SchedulerTest {
public:
  explicit Windowed(const MemoryPlan &plan) : SchedulerTest(plan) {}
  void TestBody() override {
    for (uint64_t id = 1; id <= 24; ++id) {
      const auto prompt = int64_t(id % 3 ? 1 + id * 7 % 64 : 64);
      ASSERT_TRUE(add(id % 2 ? 1 : 2, prompt, id % 4 ? 65 - prompt : 1).ok());
    }
    for (int steps = 0; scheduler.active(); ++steps) {
      ASSERT_LT(steps, 20000);
      ASSERT_FALSE(step().empty()) << steps;
    }
    for (size_t group = 0; group < plan.groups.size(); ++group)
      EXPECT_EQ(cache.availableBlocks(group), plan.groups[group].blocks);
  }
};

TEST(WindowTest, EveryRequestEndsHoweverFewBlocksThereAre) {
  for (int64_t sequences : {1, 2, 4})
    for (int64_t tokens : {1, 2, 7, 8, 16, 33})
      for (int64_t window : {1, 5, 8, 9, 17, 40, 64})
        for (int64_t more : {0, 1, 3}) {
          if (tokens < sequences)
            continue;
          SCOPED_TRACE(std::to_string(sequences) + " sequences, steps of " +
                       std::to_string(tokens) + ", window " + std::to_string(window) + ", " +
                       std::to_string(more) + " blocks more");
          Windowed(windowedPlan(sequences, tokens, window, more)).TestBody();
          if (testing::Test::HasFailure())
            return;
        }
}

} // namespace
