// SPDX-License-Identifier: Apache-2.0
// Masks against an oracle that tries every token, and taking tokens back.
#include "runtime/guided/GrammarConstraint.h"
#include "runtime/guided/RegexSyntax.h"

#include "tests/unit/guided/Grammars.h"

#include <functional>
#include <random>

namespace {

using namespace ingot::runtime::guided;

constexpr int32_t stop = 1;

/// Token 0 is special, 1 the stop token; then all bytes, and pieces of what the grammars speak of.
std::shared_ptr<const TokenVocabulary> vocabulary() {
  static const auto shared = [] {
    std::vector<std::string> texts{"", ""};
    for (int byte = 0; byte < 256; ++byte)
      texts.push_back(std::string(1, char(byte)));
    const std::vector<std::string> pieces{
        "{",  "}",    "[",     "]",    "\"",   ",", ":",  " ",        "  ",   "\n", "name", "age",
        "a",  "b",    "1",     "23",   "-",    ".", "e5", "\\",       "\\u",  "00", "é",    "日",
        "本", "true", "false", "\\\"", "null", "x", "\t", "\xF0\x9F", "\xE6", "ab", "/",    "0"};
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
      std::string text;
      for (size_t length = 1 + random() % 5; length > 0; --length)
        text += pieces[random() % pieces.size()];
      texts.push_back(text);
    }
    texts.push_back(std::string(100, ' '));
    texts.push_back(std::string(70, 'a') + "\"");
    return std::make_shared<const TokenVocabulary>(std::move(texts));
  }();
  return shared;
}

using Maker = std::function<Symbol(GrammarBuilder &)>;

std::shared_ptr<const Grammar> make(const Maker &maker) {
  GrammarBuilder builder;
  Symbol start = maker(builder);
  return built(std::move(builder), start);
}

Symbol regex(GrammarBuilder &builder, std::string_view pattern, RegexOptions options = {}) {
  auto id = readRegex(builder.expressions(), pattern, options);
  EXPECT_TRUE(id.ok()) << id.status().toString();
  return builder.terminal(id.ok() ? *id : ExpressionArena::empty);
}

std::vector<Maker> makers() {
  return {
      [](GrammarBuilder &builder) { return JsonRules(builder).value; },
      [](GrammarBuilder &builder) {
        JsonRules json(builder);
        return json.object({{"name", json.text(2, 12)},
                            {"age", json.integer},
                            {"ab", json.array(json.text(0, 100))},
                            {"x", builder.choice({json.number, builder.literal("null")})}});
      },
      [](GrammarBuilder &builder) { return regex(builder, "(a|b|ab)*x?[0-9]{2,5}|true.*"); },
      [](GrammarBuilder &builder) { return regex(builder, ".*"); },
      [](GrammarBuilder &builder) {
        return builder.sequence({builder.literal("\""),
                                 regex(builder, "a.b|[é日]", {Spelling::JsonString, true, false}),
                                 builder.literal("\"")});
      },
      [](GrammarBuilder &builder) { // Words that may end anywhere.
        Symbol word = regex(builder, "[a-z ]+"), list = builder.rule();
        builder.add(list, {word});
        builder.add(list, {list, word});
        return builder.sequence({list, builder.literal("."), builder.optional(list)});
      },
      [](GrammarBuilder &builder) { // More lexemes in flight than are walked one by one.
        std::vector<Symbol> words;
        for (char c = 'a'; c <= 'z'; ++c)
          words.push_back(builder.sequence({builder.literal(std::string("a") + c),
                                            builder.literal(std::string(1, c)),
                                            builder.repeat(builder.literal("ab"), 0)}));
        return builder.choice(words);
      },
      [](GrammarBuilder &builder) { // What is left may be nothing: no dead ends.
        ExpressionArena &arena = builder.expressions();
        ExpressionId letters = arena.repeat(arena.range('a', 'z'), 0, 20);
        auto pattern = readRegex(arena, "name|age", {.search = true});
        EXPECT_TRUE(pattern.ok());
        return builder.terminal(arena.difference(letters, *pattern));
      },
      [](GrammarBuilder &builder) { // Patterns with lengths: counts that tokens use up.
        ExpressionArena &arena = builder.expressions();
        const ExpressionId any = spelled(arena, CharacterSet::all(), Spelling::JsonString);
        std::vector<Symbol> texts;
        for (const char *pattern : {"[0-9é]", "^(?:\\S+ ){2}\\S+$", "^[a-z0-9]+(?:-[a-z]+)*$"}) {
          auto id = readRegex(arena, pattern, {Spelling::JsonString, true, false});
          EXPECT_TRUE(id.ok());
          texts.push_back(builder.terminal(arena.concatenation(
              {arena.literal("\""), arena.intersection(*id, arena.repeat(any, 3, 14)),
               arena.literal("\"")})));
        }
        return builder.repeat(builder.choice(texts), 1, 3);
      },
  };
}

std::vector<uint32_t> oracle(GrammarMasks &masks, Recognizer::State state) {
  const TokenVocabulary &tokens = *masks.vocabulary;
  std::vector<uint32_t> words(tokens.words());
  for (uint32_t token = 0; token < tokens.size(); ++token)
    if (!tokens.text(token).empty() && masks.recognizer.run(state, tokens.text(token)) != 0)
      words[token / 32] |= 1u << (token % 32);
  if (masks.recognizer.mayEnd(state))
    words[stop / 32] |= 1u << (stop % 32);
  return words;
}

/// Answers of random tokens out of the masks; half the rounds take tokens back.
TEST(Mask, AgreesWithTryingEveryToken) {
  std::mt19937 random(11);
  for (const Maker &maker : makers()) {
    auto grammar = make(maker);
    // The oracle has tables of its own.
    auto masks = std::make_shared<GrammarMasks>(grammar, vocabulary());
    GrammarMasks slow(grammar, vocabulary());
    for (int answer = 0; answer < 12; ++answer) {
      GrammarConstraint constraint(masks, {stop});
      std::vector<Recognizer::State> states{slow.recognizer.start()};
      std::vector<uint32_t> words(vocabulary()->words());
      for (int step = 0; step < 12 && states.back() != 0; ++step) {
        ASSERT_TRUE(constraint.mask(words).ok());
        const auto expected = oracle(slow, states.back());
        for (uint32_t token = 0; token < vocabulary()->size(); ++token)
          ASSERT_EQ(words[token / 32] >> (token % 32) & 1, expected[token / 32] >> (token % 32) & 1)
              << "grammar " << &maker - makers().data() << " token '" << vocabulary()->text(token)
              << "'";
        std::vector<int32_t> allowed;
        for (int32_t token = 0; token < int32_t(vocabulary()->size()); ++token)
          if (words[size_t(token) / 32] >> (token % 32) & 1)
            allowed.push_back(token);
        ASSERT_FALSE(allowed.empty());
        const int32_t token = allowed[random() % allowed.size()];
        ASSERT_TRUE(constraint.accept(token));
        if (token == stop)
          break;
        states.push_back(slow.recognizer.run(states.back(), vocabulary()->text(uint32_t(token))));
        if (random() % 4 == 0) {
          const size_t count = random() % states.size();
          constraint.rollback(count);
          states.resize(states.size() - count);
        }
      }
    }
  }
}

TEST(Mask, StopTokensOnlyAtTheEnd) {
  auto masks = std::make_shared<GrammarMasks>(
      make([](GrammarBuilder &builder) { return builder.literal("ab"); }), vocabulary());
  GrammarConstraint constraint(masks, {stop});
  std::vector<uint32_t> words(vocabulary()->words());
  EXPECT_FALSE(constraint.accept(stop));
  EXPECT_FALSE(constraint.accept(0));
  EXPECT_FALSE(constraint.accept(int32_t(vocabulary()->size())));
  EXPECT_FALSE(constraint.accept(2 + 'b'));
  EXPECT_TRUE(constraint.accept(2 + 'a'));
  EXPECT_FALSE(constraint.mayEnd());
  EXPECT_TRUE(constraint.accept(2 + 'b'));
  EXPECT_TRUE(constraint.mustEnd());
  ASSERT_TRUE(constraint.mask(words).ok());
  for (size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(words[i], i == 0 ? 1u << stop : 0);
  EXPECT_TRUE(constraint.accept(stop));
  EXPECT_FALSE(constraint.accept(stop));
  constraint.rollback(2);
  EXPECT_EQ(constraint.length(), 1u);
  EXPECT_TRUE(constraint.accept(2 + 'b'));
}

TEST(Mask, PastALimitNothingGoesOn) {
  auto grammar = make([](GrammarBuilder &builder) { return regex(builder, "[a-z]*"); });
  GrammarMasks fits(grammar, vocabulary()), none(grammar, vocabulary(), {.bytes = 1});
  std::vector<uint32_t> words(vocabulary()->words());
  EXPECT_TRUE(fits.mask(fits.recognizer.start(), words).ok());
  EXPECT_FALSE(fits.failed());
  EXPECT_EQ(none.mask(none.recognizer.start(), words).code(), "INGOT-E6605");
  EXPECT_TRUE(none.failed());
}

TEST(Mask, TriesHoldTheirTokens) {
  TokenTrie trie({{"ab", 3}, {"a", 1}, {"abc", 2}, {"b", 5}, {"ab", 4}, {"", 9}});
  std::vector<uint32_t> all(trie.tokens().begin(), trie.tokens().end());
  EXPECT_EQ(all, (std::vector<uint32_t>{1, 3, 4, 2, 5}));
  ASSERT_EQ(trie.size(), 4u);
  EXPECT_EQ(trie.nodes()[0].end, 3u);
  EXPECT_EQ(trie.tokensAt(1).size(), 2u);
  EXPECT_EQ(trie.tokensUnder(1).size(), 3u);
  EXPECT_EQ(trie.depth(), 3u);
}

} // namespace
