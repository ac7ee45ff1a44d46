// SPDX-License-Identifier: Apache-2.0
// Lockfiles: reading, the canonical text, and every refusal.
#include "compiler/tuning/TuningLock.h"
#include "tests/unit/checkpoint/Fixtures.h"

using namespace ingot::tuning;
using namespace ingot::test;

static Expected<TuningLock> parse(const std::string &text) {
  return TuningLock::parse(text, "t.lock");
}

static const char *const entryText = "matmul 768 256 bf16*i4.64 sm_90a 9-64 "
                                     "MatmulTensor:4x2x2x4,d128,s4,k 0123456789abcdef";

TEST(TuningLock, ReadsWordsAndLeavesCommentsOut) {
  auto lock =
      parse("# first\n\ningot-tuning 1 # version\n" + std::string(entryText) + "   # 12.3 us\r\n");
  ASSERT_TRUE(succeeds(lock));
  ASSERT_EQ(lock->entries.size(), 1u);
  EXPECT_EQ(lock->entries[0], (TuningEntry{"matmul", 768, 256, "bf16*i4.64", "sm_90a", 9, 64,
                                           "MatmulTensor:4x2x2x4,d128,s4,k", "0123456789abcdef"}));
  EXPECT_EQ(lock->entries[0].product(), "matmul 768 256 bf16*i4.64");
  EXPECT_EQ(lock->str(), "ingot-tuning 1\n" + std::string(entryText) + "\n");
}

TEST(TuningLock, SortsByNumbersNotByText) {
  auto lock = parse("ingot-tuning 1\n"
                    "matmul 1024 8 a x 1-9 k 0123456789abcdef\n"
                    "matmul 256 8 a x 10-20 k 0123456789abcdef\n"
                    "matmul 256 8 a x 9-9 k 0123456789abcdef\n"
                    "matmul 256 8 a w 1-9 k 0123456789abcdef\n");
  ASSERT_TRUE(succeeds(lock));
  EXPECT_EQ(lock->str(), "ingot-tuning 1\n"
                         "matmul 256 8 a w 1-9 k 0123456789abcdef\n"
                         "matmul 256 8 a x 9-9 k 0123456789abcdef\n"
                         "matmul 256 8 a x 10-20 k 0123456789abcdef\n"
                         "matmul 1024 8 a x 1-9 k 0123456789abcdef\n");
}

TEST(TuningLock, RefusesOtherFormats) {
  for (const char *text :
       {"", "# ingot-tuning 1\n", "ingot-tuning 2\n", "ingot-tuning 1 1\n", "version: 1\n"}) {
    auto lock = parse(text);
    ASSERT_FALSE(lock) << text;
    EXPECT_EQ(lock.error().code, "INGOT-E2201") << text;
  }
}

TEST(TuningLock, RefusesWhatIsNoEntryWithItsLine) {
  for (const char *line :
       {"matmul 8 8 a x 1-9 k", "matmul 8 8 a x 1-9 k 0123456789abcdef more",
        "matmul 0 8 a x 1-9 k 0123456789abcdef", "matmul 8 8x a x 1-9 k 0123456789abcdef",
        "matmul 8 99999999999999999999 a x 1-9 k 0123456789abcdef",
        "matmul 8 8 a x 9-1 k 0123456789abcdef", "matmul 8 8 a x 1 k 0123456789abcdef",
        "matmul 8 8 a x -9 k 0123456789abcdef", "matmul 8 8 a x 0-9 k 0123456789abcdef",
        "matmul 8 8 a x 1-9 k 0123456789ABCDEF", "matmul 8 8 a x 1-9 k 0123",
        "mat\"mul 8 8 a x 1-9 k 0123456789abcdef"}) {
    auto lock = parse("ingot-tuning 1\n\n" + std::string(line));
    ASSERT_FALSE(lock) << line;
    EXPECT_EQ(lock.error().code, "INGOT-E2202") << line;
    EXPECT_EQ(lock.error().where, "t.lock, line 3") << line;
  }
}

TEST(TuningLock, RefusesTwoKernelsForTheSameRows) {
  auto lock = parse("ingot-tuning 1\n"
                    "matmul 8 8 a x 1-9 k 0123456789abcdef\n"
                    "matmul 8 8 a y 1-9 k 0123456789abcdef\n"
                    "matmul 8 8 a x 9-12 l 0123456789abcdef\n");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, "INGOT-E2203");
  EXPECT_EQ(lock.error().where, "t.lock, line 4");
}
