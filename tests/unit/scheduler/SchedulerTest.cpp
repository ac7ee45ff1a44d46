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
  explicit SchedulerTest(int64_t blocks = 20)
      : plan(makePlan(blocks)), cache(plan.groups), scheduler(plan, cache) {}

  Status add(uint64_t id, int64_t prompt, int64_t answer) {
    auto sequence = std::make_unique<Sequence>();
    sequence->id = id;
    sequence->promptTokens = prompt;
    sequence->maxNewTokens = answer;
    sequence->tokens.assign(size_t(prompt), 1);
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
  EXPECT_EQ(cache.freeBlocks(0), 20);
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
  ASSERT_TRUE(add(1, 40, 10).ok()); // 7 blocks
  ASSERT_TRUE(add(2, 40, 10).ok()); // 7 blocks
  ASSERT_TRUE(add(3, 50, 10).ok()); // 8 blocks: must wait
  ASSERT_TRUE(add(4, 4, 4).ok());   // would fit, but stays behind
  step();
  EXPECT_EQ(scheduler.runningCount(), 2u);
  EXPECT_EQ(cache.freeBlocks(0), 6);
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
  EXPECT_EQ(cache.freeBlocks(0), 20);
}

TEST(KvCacheTest, SequencesNeverShareBlocks) {
  KvCache cache({{"main", 8, 64, 8, 8, 10}});
  SequenceBlocks first, second, third;
  ASSERT_TRUE(cache.reserve(33, first));
  ASSERT_TRUE(cache.reserve(40, second));
  EXPECT_FALSE(cache.reserve(1, third));
  std::set<int32_t> all(first[0].begin(), first[0].end());
  all.insert(second[0].begin(), second[0].end());
  EXPECT_EQ(all.size(), 10u);
  cache.release(first);
  EXPECT_TRUE(cache.reserve(8, third));
  EXPECT_EQ(cache.freeBlocks(0), 4);
}

TEST(KvCacheTest, ASlidingGroupReusesItsBlocksInTurn) {
  KvCache cache({{"local", 8, 64, 8, 3, 3}});
  SequenceBlocks blocks;
  ASSERT_TRUE(cache.reserve(64, blocks));
  std::vector<int32_t> row(8);
  cache.fillTableRow(0, blocks, row.data());
  for (size_t i = 0; i + 3 < row.size(); ++i)
    EXPECT_EQ(row[i], row[i + 3]);
  EXPECT_NE(row[0], row[1]);
  EXPECT_NE(row[1], row[2]);
}

} // namespace
