// SPDX-License-Identifier: Apache-2.0
// ECMA-262's expressions, against std::regex where that can read them.
#include "runtime/guided/RegexSyntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

namespace {

using namespace ingot::runtime::guided;
using ingot::runtime::Result;

bool matches(std::string_view pattern, std::string_view text, RegexOptions options = {}) {
  ExpressionArena arena;
  Result<ExpressionId> id = readRegex(arena, pattern, options);
  EXPECT_TRUE(id.ok()) << pattern << ": " << id.status().toString();
  return id.ok() && arena.matches(*id, text);
}

std::string refusal(std::string_view pattern) {
  ExpressionArena arena;
  Result<ExpressionId> id = readRegex(arena, pattern);
  return id.ok() ? "read" : id.status().toString();
}

constexpr RegexOptions search{.search = true};
constexpr RegexOptions json{.spelling = Spelling::JsonString};

TEST(RegexSyntax, Classes) {
  EXPECT_TRUE(matches("[a-c]+", "abc"));
  EXPECT_FALSE(matches("[^a-c]", "b"));
  EXPECT_TRUE(matches("[^a-c]", "é"));
  EXPECT_TRUE(matches("[\\w-.]+", "a-b.c_9"));
  EXPECT_TRUE(matches("\\d\\D\\w\\W\\s\\S", "1a_! x"));
  EXPECT_FALSE(matches("\\d", "٣"));
  EXPECT_TRUE(matches("\\s", "\xE3\x80\x80"));
  EXPECT_TRUE(matches("\\u00e9\\u{1F600}\\uD83D\\uDE00\\x41\\cJ", "é😀😀A\n"));
  EXPECT_TRUE(matches("[\\u3041-\\u309f一-鿿]+。", "ぁ一。"));
  EXPECT_TRUE(matches("\\p{Lu}\\p{L}+\\P{N}", "Éa!"));
  EXPECT_FALSE(matches("\\p{Lu}", "é"));
  EXPECT_FALSE(matches(".", "\n"));
  EXPECT_FALSE(matches(".", "\xE2\x80\xA8"));
  EXPECT_TRUE(matches(".", "😀"));
  EXPECT_FALSE(matches(".", "\xED\xA0\x80")); // A surrogate.
  EXPECT_FALSE(matches(".", "\xC0\x80"));
  EXPECT_TRUE(matches("[]|a", "a"));
  EXPECT_TRUE(matches("[^]", "\n"));
}

TEST(RegexSyntax, CasesAndGroups) {
  EXPECT_TRUE(matches("(?i)straße[a-c]", "STRAßEB"));
  EXPECT_TRUE(matches("a(?i:b)c", "aBc"));
  EXPECT_FALSE(matches("a(?i:b)c", "aBC"));
  EXPECT_TRUE(matches("(?<year>\\d{4})-(?:0[1-9]|1[0-2])", "2026-11"));
  EXPECT_TRUE(matches("a*?b+?c??d{2,3}?", "aabdd"));
  EXPECT_TRUE(matches("{a}", "{a}"));
  EXPECT_FALSE(matches("a{2,}", "a"));
}

TEST(RegexSyntax, AnchorsBelongToTheirBranch) {
  EXPECT_TRUE(matches("^a|b$", "ax", search));
  EXPECT_TRUE(matches("^a|b$", "xb", search));
  EXPECT_FALSE(matches("^a|b$", "xa", search));
  EXPECT_FALSE(matches("^a|b$", "bx", search));
  EXPECT_TRUE(matches("(^|,)x", "a,x", search));
  EXPECT_TRUE(matches("(^|,)x", "xa", search));
  EXPECT_FALSE(matches("(^|,)x", "ax", search));
  EXPECT_FALSE(matches("a^b", "ab", search));
  EXPECT_TRUE(matches("a?^b", "bc", search));
  EXPECT_TRUE(matches("^(a|b)$", "a", search));
  EXPECT_TRUE(matches("^", "anything", search));
  EXPECT_TRUE(matches("", "x", search));
  EXPECT_FALSE(matches("", "x"));
}

TEST(RegexSyntax, LooksAround) {
  const std::string password = R"(^(?=.*[A-Z])(?=.*\d)(?!.*\s).{4,}$)";
  EXPECT_TRUE(matches(password, "aB3-", search));
  EXPECT_FALSE(matches(password, "ab3-", search));
  EXPECT_FALSE(matches(password, "aB3- ", search));
  const std::string decimal = R"(^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$)";
  EXPECT_TRUE(matches(decimal, "-1.50", search));
  EXPECT_FALSE(matches(decimal, "-.", search));
  EXPECT_FALSE(matches(decimal, "", search));
  EXPECT_TRUE(matches("^(?!-)[a-z-]{1,5}$", "a-", search));
  EXPECT_FALSE(matches("^(?!-)[a-z-]{1,5}$", "-a", search));
  EXPECT_FALSE(matches("^[a-z-]+(?<!-)$", "a-", search));
  EXPECT_TRUE(matches("^[a-z-]+(?<!-)$", "-a", search));
  EXPECT_TRUE(matches("a(?!b)", "abac", search));
  EXPECT_FALSE(matches("a(?!b)", "ab", search));
  EXPECT_TRUE(matches("(?<=a)b", "xab", search));
  EXPECT_FALSE(matches("(?<=a)b", "b", search));
  EXPECT_TRUE(matches("(?!abc)[a-c]+", "abb"));
  EXPECT_FALSE(matches("(?!abc)[a-c]+", "abca"));
  EXPECT_FALSE(matches("ab(?=c)", "abc"));
}

TEST(RegexSyntax, SpeaksOfDecodedCharacters) {
  EXPECT_TRUE(matches("\"\\\\\\t", "\\\"\\\\\\t", json));
  EXPECT_TRUE(matches("\"a", "\\u0022\\u0061", json));
  EXPECT_TRUE(matches("é", "\\u00E9", json));
  EXPECT_TRUE(matches("é", "\\u00e9", json));
  EXPECT_TRUE(matches("é", "é", json));
  EXPECT_TRUE(matches("😀", "\\ud83d\\uDE00", json));
  EXPECT_FALSE(matches("😀", "\\ud83d\\uDE01", json));
  EXPECT_TRUE(matches(".{1}", "\\ud83d\\ude00", json));
  EXPECT_FALSE(matches(".{1}", "\\ud83d", json));
  EXPECT_FALSE(matches(".", "\"", json));
  EXPECT_TRUE(matches("/", "\\/", json));
  EXPECT_FALSE(matches("\\n", "\n", json));
}

TEST(RegexSyntax, RefusalsNameThePlace) {
  EXPECT_THAT(refusal("ab(?:(?=c).)*"), testing::HasSubstr("byte 5: look-around"));
  EXPECT_THAT(refusal("a(?=b).(?<!c)"), testing::HasSubstr("byte 1: look-ahead"));
  EXPECT_THAT(refusal("a(?=b)*"), testing::HasSubstr("byte 1: a look-around"));
  EXPECT_THAT(refusal("(a)\\1"), testing::HasSubstr("byte 3: back-ref"));
  EXPECT_THAT(refusal("\\bword"), testing::HasSubstr("byte 0: the word boundary"));
  EXPECT_THAT(refusal("(a"), testing::HasSubstr("byte 0: a group without an end"));
  EXPECT_THAT(refusal("a)"), testing::HasSubstr("byte 1"));
  EXPECT_THAT(refusal("[a"), testing::HasSubstr("byte 0: a class"));
  EXPECT_THAT(refusal("a**"), testing::HasSubstr("byte 2"));
  EXPECT_THAT(refusal("a{3,1}"), testing::HasSubstr("byte 1"));
  EXPECT_THAT(refusal("[z-a]"), testing::HasSubstr("byte 1"));
  EXPECT_THAT(refusal("\\p{Script=Greek}"), testing::HasSubstr("Script=Greek"));
  EXPECT_THAT(refusal("\\"), testing::HasSubstr("byte 0"));
  EXPECT_THAT(refusal("(^a)*"), testing::HasSubstr("anchor"));
  EXPECT_THAT(refusal("a\\q"), testing::HasSubstr("byte 1: no escape"));
  EXPECT_THAT(refusal("\xFF"), testing::HasSubstr("byte 0: not UTF-8"));
  EXPECT_THAT(refusal(std::string(100000, '(')), testing::HasSubstr("too deep"));
}

std::string randomPattern(std::mt19937 &random, int depth) {
  if (depth == 0)
    return std::vector<std::string>{"a", "b", ".", "[ab]", "[^b]", "\\d", "1"}[random() % 7];
  const std::string inner = randomPattern(random, depth - 1);
  switch (random() % 8) {
  case 0:
    return "(" + inner + ")*";
  case 1:
    return "(?:" + inner + ")?";
  case 2:
    return "(" + inner + "){1,2}";
  case 3:
    return "(?:" + inner + "|" + randomPattern(random, depth - 1) + ")";
  case 4:
    return "(?:^" + inner + "|" + randomPattern(random, depth - 1) + "$)";
  case 5:
    return "(?:" + inner + ")+?";
  default:
    return inner + randomPattern(random, depth - 1);
  }
}

TEST(RegexSyntax, AgreesWithTheStandardLibrary) {
  std::mt19937 random(7);
  int compared = 0;
  for (int round = 0; round < 600; ++round) {
    std::string pattern = randomPattern(random, 1 + int(random() % 4));
    for (size_t looks = random() % 6; looks > 3; --looks)
      pattern = std::string(random() % 2 ? "^" : "") + (random() % 2 ? "(?=" : "(?!") + pattern +
                ")" + randomPattern(random, 2);
    const bool whole = random() % 2;
    ExpressionArena arena;
    Result<ExpressionId> id = readRegex(arena, pattern, {.search = !whole});
    if (!id.ok())
      continue; // An anchor in a repeat.
    const std::regex expected(pattern);
    for (int i = 0; i < 60; ++i) {
      std::string text;
      for (size_t length = random() % 7; length > 0; --length)
        text += "ab1c"[random() % 4];
      const bool found =
          whole ? std::regex_match(text, expected) : std::regex_search(text, expected);
      ASSERT_EQ(arena.matches(*id, text), found) << pattern << " on " << text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(RegexSyntax, HostileOnesAreSmallOrRefused) {
  for (const char *pattern :
       {"(((a{0,99999}){0,99999}){0,99999}){0,99999}", "(a?){5000}a{5000}", "(a|a)*(a|aa)*(a*)*b",
        "(.*x.*){20}", "(.*a.*){50}", "(a{1000}){1000}", "((\\p{L}|\\d)*\\p{L}){100}", ".*a.{40}",
        "(a*)*(b*)*(c*)*|(a*b*c*)*"}) {
    ExpressionArena arena;
    Result<ExpressionId> id = readRegex(arena, pattern, search);
    ASSERT_TRUE(id.ok()) << id.status().toString();
    ExpressionId state = *id;
    for (int i = 0; i < 300; ++i)
      state = arena.derivative(state, uint8_t("ab"[i % 2]));
    EXPECT_TRUE(arena.status().ok()) << pattern;
    EXPECT_LT(arena.size(), 200000u) << pattern;
  }
}

} // namespace
