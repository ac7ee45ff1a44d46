// SPDX-License-Identifier: Apache-2.0
// Free answers whose thoughts have an end.
#include "runtime/guided/ThoughtLimit.h"

#include <gtest/gtest.h>
#include <random>

namespace {

using namespace ingot::runtime::guided;

enum Token : int32_t { None, Think, EndThink, Call, A, B, Space, Less, Slash, Rest, Past, Count };

const std::vector<std::string> spelling = {"",  "<think>", "</think>", "<call>", "a",     "b",
                                           " ", "<",       "/",        "think>", "ink>ab"};
using Tokens = std::vector<int32_t>;
constexpr uint64_t forever = TokenConstraint::forever;

AnswerMarkers thoughts(uint64_t most, bool isOpen = true, bool mayReopen = false) {
  return {.open = "<think>",
          .close = "</think>",
          .isOpen = isOpen,
          .mayReopen = mayReopen,
          .mostThought = most,
          .calls = {"<call>"}};
}

std::unique_ptr<ThoughtLimit> make(AnswerMarkers markers, const Tokens &before = {}) {
  std::vector<bool> special(Count);
  special[Think] = special[EndThink] = special[Call] = true;
  auto limit = std::make_unique<ThoughtLimit>(
      std::move(markers), std::make_shared<const SpelledTokens>(spelling, special));
  for (const int32_t token : before)
    EXPECT_TRUE(limit->accept(token)) << token;
  return limit;
}

/// The tokens of the mask, which are those that accept() takes, and all where there is slack.
Tokens allowed(ThoughtLimit &limit) {
  std::vector<uint32_t> words(1);
  EXPECT_TRUE(limit.mask(words).ok());
  Tokens tokens;
  for (int32_t token = 0; token < Count; ++token) {
    const bool isSet = words[0] >> token & 1;
    EXPECT_EQ(limit.accept(token), isSet) << token;
    limit.rollback(isSet);
    if (isSet)
      tokens.push_back(token);
  }
  EXPECT_TRUE(limit.slack() == 0 || tokens.size() == Count);
  return tokens;
}

TEST(ThoughtLimitTest, AThoughtThatIsLongEnoughEnds) {
  for (const uint64_t most : {0, 1, 5}) {
    auto limit = make(thoughts(most));
    for (uint64_t left = most; left > 0; --left) {
      EXPECT_EQ(limit->slack(), left);
      EXPECT_EQ(allowed(*limit).size(), size_t(Count)) << "all is free before";
      ASSERT_TRUE(limit->accept(A));
    }
    EXPECT_TRUE(limit->insists() && !limit->mayEnd());
    EXPECT_EQ(allowed(*limit), Tokens{EndThink});
    ASSERT_TRUE(limit->accept(EndThink));
    EXPECT_FALSE(limit->insists());
    ASSERT_TRUE(limit->accept(A));
    EXPECT_EQ(limit->slack(), forever) << "behind text there are no thoughts";
    limit->rollback(2);
    EXPECT_EQ(allowed(*limit), Tokens{EndThink});
  }
}

TEST(ThoughtLimitTest, WhatHasComeOfTheClosingMarkerCounts) {
  auto limit = make(thoughts(2), {A, Less});
  EXPECT_EQ(allowed(*limit), Tokens{Slash});
  ASSERT_TRUE(limit->accept(Slash));
  EXPECT_EQ(allowed(*limit), Tokens{Rest});
}

TEST(ThoughtLimitTest, AThoughtMayEndByItself) {
  // The tokens of its end are none of the thought, of which one is left.
  auto limit = make(thoughts(2, true, true), {A, EndThink, Think});
  EXPECT_EQ(limit->slack(), 1u);
  limit = make(thoughts(5, true, true), {A, Less, Slash, Rest, Think});
  EXPECT_EQ(limit->slack(), 4u);
  // Also where the text behind it begins within a token.
  AnswerMarkers odd = thoughts(9);
  odd.close = "<ink>";
  EXPECT_EQ(make(odd, {A, Less})->slack(), 7u);
  EXPECT_EQ(make(odd, {A, Less, Past})->slack(), forever);
}

TEST(ThoughtLimitTest, ThoughtsBeginWhereAnswersDo) {
  EXPECT_EQ(make(thoughts(3, false))->slack(), 4u);
  EXPECT_EQ(make(thoughts(3, false), {Space, Space, Think, A})->slack(), 2u);
  EXPECT_EQ(make(thoughts(3, false), {Less, Rest, A})->slack(), 2u) << "spelled";
  EXPECT_EQ(make(thoughts(3, false), {Space, A})->slack(), forever);
  EXPECT_EQ(make(thoughts(3, false), {Less, A})->slack(), forever);
  EXPECT_EQ(make(thoughts(3, false, true), {A, B, Think, A})->slack(), 2u) << "or anywhere";
  AnswerMarkers begun = thoughts(3, false);
  begun.promptEnd = "<";
  EXPECT_EQ(make(begun, {Rest, A})->slack(), 2u) << "or in the prompt";
}

TEST(ThoughtLimitTest, WithNothingLeftNoneBegins) {
  auto limit = make(thoughts(1, true, true), {A, EndThink, B});
  EXPECT_EQ(allowed(*limit), (Tokens{None, EndThink, Call, A, B, Space, Less, Slash, Rest, Past}));
  // One that begins unforeseen ends at once.
  for (const int32_t token : {Less, Rest})
    ASSERT_TRUE(limit->accept(token));
  EXPECT_EQ(allowed(*limit), Tokens{EndThink});
  EXPECT_EQ(allowed(*make(thoughts(0, false))).size(), size_t(Count) - 1);
}

TEST(ThoughtLimitTest, ACallEndsAThought) {
  EXPECT_EQ(make(thoughts(3), {A, Call})->slack(), forever);
  EXPECT_EQ(make(thoughts(3, true, true), {A, Call, A, A})->slack(), 3u);
}

TEST(ThoughtLimitTest, RollbackIsExact) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const AnswerMarkers markers = thoughts(random() % 4, random() % 2, random() % 2);
    auto limit = make(markers);
    Tokens taken;
    for (int step = 0; step < 12; ++step) {
      const auto token = int32_t(random() % Count);
      if (limit->accept(token))
        taken.push_back(token);
      if (random() % 3 == 0) {
        const size_t count = random() % (taken.size() + 1);
        limit->rollback(count);
        taken.resize(taken.size() - count);
      }
      // So far nothing is refused, whatever comes.
      const uint64_t slack = std::min<uint64_t>(limit->slack(), 8);
      for (uint64_t i = 0; i < slack; ++i)
        EXPECT_TRUE(limit->accept(int32_t(random() % Count)));
      limit->rollback(slack);
      auto again = make(markers, taken);
      ASSERT_EQ(limit->slack(), again->slack());
      ASSERT_EQ(allowed(*limit), allowed(*again));
    }
  }
}

} // namespace
