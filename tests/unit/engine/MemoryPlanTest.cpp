// SPDX-License-Identifier: Apache-2.0
// The memory contract: limits, tiers and blocks for a given amount of memory.
#include "tests/unit/engine/ToyEngine.h"

#include <gtest/gtest.h>

using namespace ingot::runtime;
using namespace ingot::test;

namespace {

class MemoryPlanTest : public testing::Test {
protected:
  Result<MemoryPlan> plan(const MemoryRequest &request, const ToyOptions &options = {}) {
    bytes = std::make_unique<AlignedBytes>(makeToyEngine(options));
    auto file = EngineFile::openBytes(bytes->view(), ".");
    EXPECT_TRUE(file.ok()) << file.status().toString();
    const ingot::schema::Engine &engine = (*file)->metadata();
    return planMemory(engine, *engine.targets()->Get(0), 2, request);
  }

  std::unique_ptr<AlignedBytes> bytes;
};

TEST_F(MemoryPlanTest, WithoutALimitEverySequenceHasAFullContext) {
  auto planned = plan({});
  ASSERT_TRUE(planned.ok()) << planned.status().toString();
  EXPECT_EQ(planned->maxSequences, 8);
  EXPECT_EQ(planned->maxContext, 96);
  ASSERT_EQ(planned->groups.size(), 1u);
  EXPECT_EQ(planned->groups[0].blocks, 8 * 6);
  EXPECT_EQ(planned->kvBytes, 8u * 6 * 64);
  EXPECT_EQ(planned->tier, 1u);
  EXPECT_EQ(planned->stateBytes, 8u * 64 * 4);
  EXPECT_EQ(planned->scratchBytes, 2u * 64);
}

TEST_F(MemoryPlanTest, ALimitIsKeptAndUsedToTheLastBlock) {
  uint64_t fixed = plan({})->totalBytes() - plan({})->kvBytes;
  for (uint64_t blocks : {6, 7, 20, 47}) {
    auto planned = plan({fixed + blocks * 64 + 63});
    ASSERT_TRUE(planned.ok()) << planned.status().toString();
    EXPECT_EQ(planned->groups[0].blocks, int64_t(blocks));
    EXPECT_LE(planned->totalBytes(), fixed + blocks * 64 + 63);
  }
  EXPECT_EQ(plan({fixed + 5 * 64}).status().code(), "INGOT-E6002");
  EXPECT_EQ(plan({1}).status().code(), "INGOT-E6002");
}

TEST_F(MemoryPlanTest, SmallLimitsChooseASmallTier) {
  MemoryRequest request;
  request.maxTokens = request.maxSequences = request.maxLogitRows = 1;
  auto planned = plan(request);
  ASSERT_TRUE(planned.ok()) << planned.status().toString();
  EXPECT_EQ(planned->tier, 0u);
  EXPECT_LT(planned->arenaBytes, plan({})->arenaBytes);
}

TEST_F(MemoryPlanTest, LimitsOutsideTheBuildAreRefused) {
  MemoryRequest request;
  request.maxSequences = 9;
  EXPECT_EQ(plan(request).status().code(), "INGOT-E6001");
  request = {};
  request.maxContext = 97;
  EXPECT_EQ(plan(request).status().code(), "INGOT-E6001");
  request = {};
  request.maxTokens = -1;
  EXPECT_EQ(plan(request).status().code(), "INGOT-E6001");
}

TEST_F(MemoryPlanTest, ASlidingWindowNeedsFewerBlocks) {
  ToyOptions options;
  options.maxContext = 512;
  options.window = 32;
  auto planned = plan({}, options);
  ASSERT_TRUE(planned.ok()) << planned.status().toString();
  EXPECT_EQ(planned->groups[0].tableWidth, 32);
  EXPECT_EQ(planned->groups[0].blocksPerSequence, 5);
}

} // namespace
