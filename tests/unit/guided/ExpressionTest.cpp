// SPDX-License-Identifier: Apache-2.0
// Expressions against a matcher that tries every split.
#include "runtime/guided/Expression.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace ingot::runtime::guided;

/// An expression as a tree, with the set of its texts up to a length by brute force.
struct Tree {
  enum Kind { Set, Concatenation, Alternation, Intersection, Complement, Repeat } kind;
  std::string set;
  std::vector<Tree> parts;
  uint32_t least = 0, most = 0;
};

/// Whether `text` matches, by definition.
bool matches(const Tree &tree, std::string_view text);

bool repeats(const Tree &tree, uint32_t least, uint32_t most, std::string_view text, int rounds) {
  if (text.empty() && (least == 0 || matches(tree, "")))
    return true;
  if (most == 0 || rounds == 0)
    return false;
  for (size_t cut = 1; cut <= text.size(); ++cut)
    if (matches(tree, text.substr(0, cut)) &&
        repeats(tree, least ? least - 1 : 0, most == ~0u ? most : most - 1, text.substr(cut),
                rounds - 1))
      return true;
  return false;
}

bool matches(const Tree &tree, std::string_view text) {
  switch (tree.kind) {
  case Tree::Set:
    return text.size() == 1 && tree.set.find(text[0]) != std::string::npos;
  case Tree::Concatenation:
    for (size_t cut = 0; cut <= text.size(); ++cut)
      if (matches(tree.parts[0], text.substr(0, cut)) && matches(tree.parts[1], text.substr(cut)))
        return true;
    return false;
  case Tree::Alternation:
    return matches(tree.parts[0], text) || matches(tree.parts[1], text);
  case Tree::Intersection:
    return matches(tree.parts[0], text) && matches(tree.parts[1], text);
  case Tree::Complement:
    return !matches(tree.parts[0], text);
  case Tree::Repeat:
    return repeats(tree.parts[0], matches(tree.parts[0], "") ? 0 : tree.least, tree.most, text, 8);
  }
  return false;
}

Tree randomTree(std::mt19937 &random, int depth) {
  const auto kind = depth == 0 ? Tree::Set : Tree::Kind(random() % 6);
  Tree tree{kind, {}, {}};
  if (kind == Tree::Set) {
    tree.set = std::vector<std::string>{"a", "b", "ab", "c"}[random() % 4];
    return tree;
  }
  tree.parts.push_back(randomTree(random, depth - 1));
  if (kind != Tree::Complement && kind != Tree::Repeat)
    tree.parts.push_back(randomTree(random, depth - 1));
  tree.least = uint32_t(random() % 3);
  tree.most = random() % 3 ? tree.least + uint32_t(random() % 3) : ~0u;
  return tree;
}

ExpressionId build(ExpressionArena &arena, const Tree &tree) {
  std::vector<ExpressionId> parts;
  for (const Tree &part : tree.parts)
    parts.push_back(build(arena, part));
  switch (tree.kind) {
  case Tree::Set: {
    ByteSet set;
    for (char byte : tree.set)
      set.add(uint8_t(byte));
    return arena.bytes(set);
  }
  case Tree::Concatenation:
    return arena.concatenation(parts[0], parts[1]);
  case Tree::Alternation:
    return arena.alternation(parts[0], parts[1]);
  case Tree::Intersection:
    return arena.intersection(parts[0], parts[1]);
  case Tree::Complement:
    return arena.complement(parts[0]);
  case Tree::Repeat:
    return arena.repeat(parts[0], tree.least, tree.most);
  }
  return ExpressionArena::nothing;
}

std::vector<std::string> textsUpTo(size_t length) {
  std::vector<std::string> texts{""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < length; ++i)
    for (char byte : {'a', 'b', 'c'})
      texts.push_back(texts[i] + byte);
  return texts;
}

TEST(Expression, AgreesWithItsDefinition) {
  std::mt19937 random(1);
  const std::vector<std::string> texts = textsUpTo(4);
  for (int round = 0; round < 1500; ++round) {
    ExpressionArena arena;
    const Tree tree = randomTree(random, 3);
    const ExpressionId id = build(arena, tree);
    bool any = false;
    for (const std::string &text : texts) {
      const bool expected = matches(tree, text);
      any |= expected;
      ASSERT_EQ(arena.matches(id, text), expected) << "round " << round << ", text " << text;
    }
    ASSERT_FALSE(any && arena.isEmpty(id));
    ASSERT_TRUE(arena.status().ok());
  }
}

TEST(Expression, WhatMatchesNothingIsFound) {
  ExpressionArena arena;
  ExpressionId a = arena.literal("a");
  ExpressionId even = arena.repeat(arena.literal("aa"), 0), odd = arena.concatenation(a, even);
  EXPECT_TRUE(arena.isEmpty(arena.intersection(even, odd)));
  EXPECT_FALSE(arena.isEmpty(arena.intersection(even, arena.repeat(a, 1000, 1000))));
  EXPECT_TRUE(arena.isEmpty(arena.intersection(even, arena.repeat(a, 1001, 1001))));
  EXPECT_TRUE(arena.isEmpty(arena.difference(even, arena.star(a))));
  EXPECT_EQ(arena.repeat(a, 3, 1), ExpressionArena::nothing);
}

TEST(Expression, CountsStaySmall) {
  ExpressionArena arena;
  ExpressionId any = arena.repeat(arena.range(0, 255), 0, 100000000);
  ExpressionId nested = arena.repeat(arena.repeat(arena.literal("ab"), 1, 1000000), 5, 1000000);
  for (int i = 0; i < 10; ++i) {
    any = arena.derivative(any, uint8_t(i));
    nested = arena.derivative(nested, uint8_t("ab"[i % 2]));
  }
  EXPECT_LT(arena.size(), 200u);
  EXPECT_NE(nested, ExpressionArena::nothing);
  ExpressionId search = arena.concatenation({arena.star(arena.range('a', 'z')), arena.literal("x"),
                                             arena.repeat(arena.range('a', 'z'), 0, 5000)});
  for (int i = 0; i < 1000; ++i)
    search = arena.derivative(search, uint8_t("xyz"[i % 3]));
  EXPECT_LT(arena.size(), 20000u);
}

TEST(Expression, ClampedGoesOnAlike) {
  ExpressionArena arena;
  ExpressionId letters = arena.range('a', 'z');
  ExpressionId many = arena.concatenation(arena.repeat(letters, 3, 500), arena.literal("."));
  ExpressionId more = arena.concatenation(arena.repeat(letters, 3, 90), arena.literal("."));
  EXPECT_EQ(arena.clamped(many, 16), arena.clamped(more, 16));
  EXPECT_NE(arena.clamped(many, 100), arena.clamped(more, 100));
  ExpressionArena other;
  other.literal("something else");
  ExpressionId same =
      other.concatenation(other.repeat(other.range('a', 'z'), 3, 500), other.literal("."));
  EXPECT_EQ(arena.fingerprint(many), other.fingerprint(same));
}

TEST(Expression, TreesOfLiterals) {
  ExpressionArena arena;
  std::vector<std::string> texts{"a", "ab", "abc", "b", "", "xyz", "xyw"};
  ExpressionId id = arena.literals(texts);
  for (const std::string &text : texts)
    EXPECT_TRUE(arena.matches(id, text)) << text;
  for (const char *text : {"c", "x", "xy", "abcd", "ba"})
    EXPECT_FALSE(arena.matches(id, text)) << text;
}

TEST(Expression, LimitsAreErrors) {
  ExpressionArena arena({.nodes = 1000, .operands = 1000});
  ExpressionId id = ExpressionArena::empty;
  for (int i = 0; i < 2000; ++i)
    id = arena.concatenation(arena.range(uint8_t(i % 7), uint8_t(100 + i % 100)), id);
  EXPECT_EQ(arena.status().code(), "INGOT-E6601");
}

/// Levels that each use the one below twice: 2^60 paths.
TEST(Expression, SharedPartsCostOnce) {
  ExpressionArena arena;
  ExpressionId id = arena.literal("a");
  for (int i = 0; i < 60; ++i)
    id = arena.alternation(arena.concatenation(id, arena.literal("b")),
                           arena.concatenation(id, arena.literal("c")));
  id = arena.derivative(id, 'a');
  EXPECT_NE(id, ExpressionArena::nothing);
  EXPECT_TRUE(arena.status().ok());
}

TEST(Expression, PartsOfBytesAreCommonRefinements) {
  std::mt19937 random(3);
  BytePartitions partitions;
  auto some = [&] {
    ByteSet set;
    for (unsigned count = random() % 40; count > 0; --count)
      set.add(uint8_t(random()));
    return set;
  };
  for (int round = 0; round < 6000; ++round) { // Past the limit all are the finest.
    const ByteSet left = some(), right = some();
    const auto both = partitions.meet(partitions.ofSet(left), partitions.ofSet(right));
    const auto &parts = partitions[both];
    for (int i = 0; i < 20; ++i) {
      const auto a = uint8_t(random()), b = uint8_t(random());
      const bool alike =
          left.contains(a) == left.contains(b) && right.contains(a) == right.contains(b);
      if (both != BytePartitions::finest)
        ASSERT_EQ(parts.of[a] == parts.of[b], alike);
      ASSERT_TRUE(parts.of[parts.representative[parts.of[a]]] == parts.of[a]);
    }
  }
  EXPECT_EQ(partitions.meet(partitions.ofSet(ByteSet::range(1, 77)), BytePartitions::finest),
            BytePartitions::finest);
}

TEST(Expression, LongWaysToAnEndTakeFewStates) {
  ExpressionArena arena;
  const ExpressionId letter = arena.range('a', 'z'), blank = arena.literal(" ");
  const ExpressionId word = arena.concatenation(arena.repeat(letter, 1), blank);
  const ExpressionId any = arena.repeat(arena.range(' ', '~'), 0, 300);
  const ExpressionId words = arena.intersection(arena.repeat(word, 60, 60), any);
  EXPECT_FALSE(arena.isEmpty(words));
  EXPECT_LT(arena.size(), 2000u);
  EXPECT_TRUE(
      arena.isEmpty(arena.intersection(arena.repeat(word, 3, 3), arena.repeat(letter, 0, 9))));
  EXPECT_TRUE(arena.status().ok());
}

} // namespace
