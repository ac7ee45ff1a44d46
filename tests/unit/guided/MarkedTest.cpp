// SPDX-License-Identifier: Apache-2.0
// Thoughts, frames and calls around an answer that has a form.
#include "runtime/guided/MarkedConstraint.h"

#include "runtime/guided/GrammarConstraint.h"
#include "runtime/guided/RegexSyntax.h"

#include "tests/unit/guided/Grammars.h"

#include <random>

namespace {

using namespace ingot::runtime::guided;

enum Token : int32_t {
  None,
  Stop,
  Think,
  EndThink,
  Final,
  Call,
  Yes,
  No,
  Line,
  Lines,
  Less,
  Hm,
  Passing,
  Brace,
  Count
};

const std::vector<std::string> spelling = {"",       "<s>", "<think>", "</think>", "<final>",
                                           "<call>", "yes", "no",      "\n",       "\n\n",
                                           "<",      "hm",  "nk>yes",  "{"};

std::unique_ptr<MarkedConstraint> make(AnswerMarkers markers, std::string_view pattern = "yes|no") {
  GrammarBuilder builder;
  auto expression = readRegex(builder.expressions(), pattern);
  EXPECT_TRUE(expression.ok());
  const Symbol start = builder.terminal(*expression);
  std::vector<std::string> texts = spelling;
  for (const Token token : {Stop, Final, Call})
    texts[token].clear();
  auto masks = std::make_shared<GrammarMasks>(
      built(std::move(builder), start), std::make_shared<const TokenVocabulary>(std::move(texts)));
  std::vector<bool> special(Count);
  special[Stop] = special[Final] = special[Call] = true;
  return std::make_unique<MarkedConstraint>(
      std::make_unique<GrammarConstraint>(std::move(masks), std::vector<int32_t>{Stop}),
      std::move(markers), std::make_shared<const SpelledTokens>(spelling, special),
      std::vector<int32_t>{Stop});
}

/// The tokens of the mask, which are those that accept() takes.
std::vector<int32_t> allowed(MarkedConstraint &constraint) {
  std::vector<uint32_t> words(1);
  EXPECT_TRUE(constraint.mask(words).ok());
  std::vector<int32_t> tokens;
  for (int32_t token = 0; token < Count; ++token) {
    const bool isSet = words[0] >> token & 1;
    const size_t length = constraint.length();
    EXPECT_EQ(constraint.accept(token), isSet) << "token " << token << " behind " << length;
    constraint.rollback(constraint.length() - length);
    if (isSet)
      tokens.push_back(token);
  }
  EXPECT_EQ(words[0] >> Count, 0u);
  return tokens;
}

using Tokens = std::vector<int32_t>;

TEST(MarkedTest, AThoughtMayComeBeforeTheAnswerAndIsFree) {
  auto constraint = make({.open = "<think>", .close = "</think>"});
  EXPECT_EQ(allowed(*constraint), (Tokens{Think, Yes, No}));
  EXPECT_FALSE(constraint->mayEnd());
  ASSERT_TRUE(constraint->accept(Think));
  // All but the stop token, and what would begin the answer within a token.
  EXPECT_EQ(allowed(*constraint).size(), size_t(Count) - 1);
  for (const int32_t token : {Yes, Less, Hm, EndThink}) {
    EXPECT_FALSE(constraint->mayEnd());
    ASSERT_TRUE(constraint->accept(token));
  }
  EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No, Line, Lines}));
  ASSERT_TRUE(constraint->accept(Lines));
  EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No}));
  ASSERT_TRUE(constraint->accept(No));
  EXPECT_TRUE(constraint->mayEnd() && constraint->mustEnd());
  EXPECT_EQ(allowed(*constraint), Tokens{Stop});
}

TEST(MarkedTest, APromptMayHaveBegunToThink) {
  auto constraint = make({.open = "<think>", .close = "</thinnk>", .isOpen = true});
  EXPECT_EQ(allowed(*constraint).size(), size_t(Count) - 1);
  EXPECT_FALSE(constraint->accept(Stop));
}

TEST(MarkedTest, AThoughtEndsWithAToken) {
  auto constraint = make({.open = "<think>", .close = "<<nk>", .isOpen = true});
  ASSERT_TRUE(constraint->accept(Passing)); // nothing has begun
  ASSERT_TRUE(constraint->accept(Less));
  ASSERT_TRUE(constraint->accept(Less));
  ASSERT_TRUE(constraint->accept(Less)); // the last two count
  EXPECT_FALSE(constraint->accept(Passing));
  allowed(*constraint);
}

TEST(MarkedTest, FramesStandOnceBeforeTheAnswer) {
  auto constraint = make({.frames = {"<final>", "\n<"}});
  EXPECT_EQ(allowed(*constraint), (Tokens{Final, Yes, No, Line}));
  ASSERT_TRUE(constraint->accept(Final));
  EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No, Line}));
  ASSERT_TRUE(constraint->accept(Line));
  EXPECT_EQ(allowed(*constraint), Tokens{Less});
  ASSERT_TRUE(constraint->accept(Less));
  EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No}));
}

TEST(MarkedTest, ACallIsFreeToItsEnd) {
  auto constraint = make({.calls = {"<call>"}});
  EXPECT_EQ(allowed(*constraint), (Tokens{Call, Yes, No}));
  ASSERT_TRUE(constraint->accept(Call));
  EXPECT_TRUE(constraint->mayEnd());
  EXPECT_FALSE(constraint->mustEnd());
  EXPECT_EQ(allowed(*constraint).size(), size_t(Count));
  ASSERT_TRUE(constraint->accept(Stop));
  EXPECT_TRUE(constraint->mustEnd());
  EXPECT_EQ(allowed(*constraint), Tokens{});
}

TEST(MarkedTest, APromptMayEndInAFrame) {
  auto constraint = make({.frames = {">>>\n"}, .promptEnd = ">>>"});
  EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No, Line}));
}

TEST(MarkedTest, AThoughtThatIsLongEnoughEnds) {
  for (const uint64_t most : {0, 1, 3}) {
    auto constraint =
        make({.open = "<think>", .close = "</think>", .isOpen = true, .mostThought = most});
    for (uint64_t i = 0; i < most; ++i) {
      EXPECT_FALSE(constraint->insists());
      EXPECT_EQ(allowed(*constraint).size(), size_t(Count) - 1);
      ASSERT_TRUE(constraint->accept(Hm));
    }
    EXPECT_TRUE(constraint->insists());
    EXPECT_EQ(allowed(*constraint), Tokens{EndThink});
    ASSERT_TRUE(constraint->accept(EndThink));
    EXPECT_FALSE(constraint->insists());
    EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No, Line, Lines}));
  }
  // Of which nothing is left, that does not begin.
  EXPECT_EQ(allowed(*make({.open = "<think>", .close = "</think>", .mostThought = 0})),
            (Tokens{Yes, No}));
}

TEST(MarkedTest, WhatHasComeOfTheClosingMarkerCounts) {
  // Spelled by plain tokens, at whose second the thought comes to its limit.
  auto constraint = make({.open = "<think>", .close = "<hm\n\n", .isOpen = true, .mostThought = 2});
  for (const int32_t token : {No, Less})
    ASSERT_TRUE(constraint->accept(token));
  EXPECT_EQ(allowed(*constraint), Tokens{Hm});
  ASSERT_TRUE(constraint->accept(Hm));
  EXPECT_EQ(allowed(*constraint), Tokens{Lines}); // not two of one line
  constraint->rollback(1);
  EXPECT_EQ(allowed(*constraint), Tokens{Hm});
  for (const int32_t token : {Hm, Lines, Yes})
    ASSERT_TRUE(constraint->accept(token));
  constraint->rollback(3);
  EXPECT_EQ(allowed(*constraint), Tokens{Hm});
}

TEST(MarkedTest, TheLimitIsOfAllThoughts) {
  auto constraint = make({.open = "<think>",
                          .close = "</think>",
                          .isOpen = true,
                          .mayReopen = true,
                          .mostThought = 2});
  // Markers are no thought.
  for (const int32_t token : {Hm, EndThink, Think, EndThink, Think, Hm})
    ASSERT_TRUE(constraint->accept(token));
  EXPECT_EQ(allowed(*constraint), Tokens{EndThink});
  ASSERT_TRUE(constraint->accept(EndThink));
  EXPECT_EQ(allowed(*constraint), (Tokens{Yes, No, Line, Lines})) << "none is left";
}

TEST(MarkedTest, RollbackIsExact) {
  const AnswerMarkers markers = {.open = "<think>",
                                 .close = "</think>",
                                 .mayReopen = true,
                                 .mostThought = 4,
                                 .frames = {"<final>", "\n<"},
                                 .calls = {"<call>"}};
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    auto constraint = make(markers, "(yes|no|<|\\n)*");
    std::vector<int32_t> taken;
    for (int step = 0; step < 20; ++step) {
      const auto token = int32_t(random() % Count);
      if (constraint->accept(token))
        taken.push_back(token);
      if (random() % 4 == 0) {
        const size_t count = random() % (taken.size() + 1);
        constraint->rollback(count);
        taken.resize(taken.size() - count);
      }
      auto again = make(markers, "(yes|no|<|\\n)*");
      for (const int32_t known : taken)
        ASSERT_TRUE(again->accept(known));
      ASSERT_EQ(constraint->mayEnd(), again->mayEnd());
      ASSERT_EQ(allowed(*constraint), allowed(*again));
    }
  }
}

} // namespace
