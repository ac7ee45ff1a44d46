// SPDX-License-Identifier: Apache-2.0
// The recognizer against a parser that tries every split, and where it must stay small.
#include "runtime/guided/Recognizer.h"

#include "tests/unit/guided/Grammars.h"

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <random>
#include <set>

namespace {

using namespace ingot::runtime::guided;

/// Rules as texts: capital letters are rules, others stand for themselves.
using Rules = std::map<char, std::vector<std::string>>;

/// All texts of up to `length` bytes, by growing the sets of all rules until nothing is new.
std::set<std::string> textsOf(const Rules &rules, size_t length) {
  std::map<char, std::set<std::string>> texts;
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto &[rule, alternatives] : rules)
      for (const std::string &alternative : alternatives) {
        std::set<std::string> partial{""};
        for (char symbol : alternative) {
          std::set<std::string> longer;
          for (const std::string &text : partial) {
            if (!rules.contains(symbol))
              longer.insert(text + symbol);
            else
              for (const std::string &more : texts[symbol])
                longer.insert(text + more);
          }
          std::erase_if(longer, [&](const std::string &text) { return text.size() > length; });
          partial = std::move(longer);
        }
        for (const std::string &text : partial)
          grown |= texts[rule].insert(text).second;
      }
  }
  return texts['S'];
}

Symbol build(GrammarBuilder &builder, const Rules &rules) {
  std::map<char, Symbol> symbols;
  for (const auto &[rule, alternatives] : rules)
    symbols.emplace(rule, builder.rule());
  for (const auto &[rule, alternatives] : rules)
    for (const std::string &alternative : alternatives) {
      std::vector<Symbol> list;
      for (char symbol : alternative)
        list.push_back(rules.contains(symbol) ? symbols.at(symbol)
                                              : builder.literal(std::string(1, symbol)));
      builder.add(symbols.at(rule), list);
    }
  return symbols.at('S');
}

Rules randomRules(std::mt19937 &random) {
  Rules rules;
  for (char rule : {'S', 'A', 'B', 'C'}) {
    const size_t count = 1 + random() % 3;
    for (size_t i = 0; i < count; ++i) {
      std::string alternative;
      for (size_t length = random() % 4; length > 0; --length)
        alternative += "SABCabab"[random() % 8];
      rules[rule].push_back(alternative);
    }
  }
  return rules;
}

/// Whether the end is in reach of `state`; true where it takes too long to find out.
bool canEnd(Recognizer &recognizer, Recognizer::State state) {
  std::set<Recognizer::State> seen{state};
  std::deque<Recognizer::State> open{state};
  while (!open.empty()) {
    Recognizer::State at = open.front();
    open.pop_front();
    if (recognizer.mayEnd(at) || seen.size() > 500)
      return true;
    for (char byte : {'a', 'b'})
      if (auto next = recognizer.next(at, uint8_t(byte)); next && seen.insert(next).second)
        open.push_back(next);
  }
  return false;
}

TEST(Recognizer, AgreesWithItsDefinition) {
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    const Rules rules = randomRules(random);
    const std::set<std::string> expected = textsOf(rules, 5);
    GrammarBuilder builder;
    Symbol start = build(builder, rules);
    auto grammar = std::move(builder).build(start);
    if (!grammar.ok()) {
      EXPECT_EQ(grammar.status().code(), "INGOT-E6604");
      ASSERT_TRUE(expected.empty());
      ++refused;
      continue;
    }
    Recognizer recognizer(*grammar);
    std::vector<std::string> texts{""};
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string text = texts[i];
      const auto state = recognizer.run(recognizer.start(), text);
      ASSERT_EQ(state != 0 && recognizer.mayEnd(state), expected.contains(text))
          << "round " << round << ", text '" << text << "'";
      ASSERT_TRUE(state == 0 || canEnd(recognizer, state))
          << "round " << round << ", text '" << text << "'";
      if (text.size() < 5)
        for (char byte : {'a', 'b'})
          texts.push_back(text + byte);
    }
    ASSERT_TRUE(recognizer.status().ok());
  }
  EXPECT_GT(refused, 10);
}

TEST(Recognizer, FollowsAllEndsOfALexeme) {
  GrammarBuilder builder;
  ExpressionArena &arena = builder.expressions();
  CharacterSet set({{0x3041, 0x309F}, {0x4E00, 0x9FFF}});
  Symbol word = builder.terminal(arena.repeat(spelled(arena, set, Spelling::Utf8), 1));
  auto grammar = built(std::move(builder), builder.sequence({word, builder.literal("。")}));
  Recognizer recognizer(grammar);
  auto state = recognizer.run(recognizer.start(), "ぁ一。");
  EXPECT_TRUE(recognizer.mustEnd(state));
}

/// Lists of either recursion come back to the states they were in.
TEST(Recognizer, ListsTakeNoStates) {
  for (bool right : {false, true}) {
    GrammarBuilder builder;
    Symbol digit = builder.terminal(builder.expressions().range('0', '9'));
    Symbol list = builder.rule(), comma = builder.literal(",");
    builder.add(list, {digit});
    right ? builder.add(list, {digit, comma, list}) : builder.add(list, {list, comma, digit});
    Symbol start = builder.sequence({builder.literal("["), list, builder.literal("]")});
    Recognizer recognizer(built(std::move(builder), start));
    auto state = recognizer.run(recognizer.start(), "[1,2");
    const size_t states = recognizer.stateCount();
    for (int i = 0; i < 100000; ++i)
      state = recognizer.run(state, ",3");
    EXPECT_LE(recognizer.stateCount(), states + 3) << (right ? "right" : "left");
    EXPECT_TRUE(recognizer.mustEnd(recognizer.next(state, ']')));
  }
}

TEST(Recognizer, Counts) {
  for (auto [least, most] : std::vector<std::pair<uint32_t, uint32_t>>{
           {0, 0}, {0, 3}, {2, 2}, {1, ~0u}, {300, 700}, {0, 1000}, {513, ~0u}}) {
    GrammarBuilder builder;
    Symbol a = builder.literal("a");
    Recognizer recognizer(built(std::move(builder), builder.repeat(a, least, most)));
    auto state = recognizer.start();
    for (uint32_t count = 0; count < 1100; ++count) {
      ASSERT_EQ(state != 0 && recognizer.mayEnd(state), count >= least && count <= most)
          << least << " to " << most << " at " << count;
      state = state ? recognizer.next(state, 'a') : 0;
    }
  }
}

TEST(Recognizer, Json) {
  GrammarBuilder builder;
  JsonRules rules(builder);
  Recognizer recognizer(built(std::move(builder), rules.value));
  auto complete = [&](std::string_view text) {
    auto state = recognizer.run(recognizer.start(), text);
    return state && recognizer.mayEnd(state);
  };
  for (const char *text :
       {"{}", "[]", "[[[1]]]", "{\"a\": [1, 2.5e-3, \"x\\u00e9\"], \"b\" : null}", "\"\"", "-0.1",
        "[true , false]", "{\"\\ud83d\\ude00\":{}}", "0"})
    EXPECT_TRUE(complete(text)) << text;
  for (const char *text : {"", "{", "[1,]", "{\"a\"}", "01", "1.", "\"\n\"", "[1 2]", "tru",
                           "\"\\ud83d\"", "{a:1}", "[         1]"})
    EXPECT_FALSE(complete(text)) << text;
  std::string deep(20000, '[');
  auto state = recognizer.run(recognizer.start(), deep);
  ASSERT_NE(state, 0u) << recognizer.status().toString();
  state = recognizer.run(state, std::string(20000, ']'));
  EXPECT_TRUE(recognizer.mustEnd(state));
}

TEST(Recognizer, LimitsAreErrors) {
  GrammarBuilder builder;
  JsonRules rules(builder);
  Recognizer recognizer(built(std::move(builder), rules.value), {.bytes = size_t(4) << 20});
  EXPECT_EQ(recognizer.run(recognizer.start(), std::string(200000, '[')), 0u);
  EXPECT_EQ(recognizer.status().code(), "INGOT-E6605");
  GrammarBuilder small({.rules = 5, .expressions = {}});
  for (int i = 0; i < 100; ++i)
    small.literal("x"), small.rule();
  EXPECT_EQ(std::move(small).build({0}).status().code(), "INGOT-E6603");
}

/// Nested alternatives that all begin alike, and rules in rings.
TEST(Recognizer, AmbiguityIsNoExplosion) {
  GrammarBuilder builder;
  Symbol a = builder.literal("a"), e = builder.rule();
  builder.add(e, {a});
  builder.add(e, {e, e});
  builder.add(e, {e});
  builder.add(e, {});
  Recognizer recognizer(built(std::move(builder), e));
  auto state = recognizer.run(recognizer.start(), std::string(100, 'a'));
  EXPECT_TRUE(state && recognizer.mayEnd(state));
  state = recognizer.run(state, std::string(1000, 'a'));
  EXPECT_EQ(recognizer.status().code(), "INGOT-E6605");
}

} // namespace
