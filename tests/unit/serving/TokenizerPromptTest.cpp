// SPDX-License-Identifier: Apache-2.0
// Prompts in which the words of strangers are text, whatever special tokens they spell.
#include "tests/unit/serving/TokenizerFixture.h"

#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

using Ids = std::vector<int32_t>;
using nlohmann::json;
using runtime::Span;

/// Bytes as pieces 0 to 3 ("a", "b", "<", ">"), and the special tokens 10 "<a>" and 11 "<b>" and
/// the plain added token 12 "<<". `isNormalized`: the special ones are looked for behind the
/// normalizer, which makes "x" of "a".
LoadedTokenizer loadPromptTokenizer(bool isNormalized = false) {
  json root = {{"decoder", {{"type", "Fuse"}}},
               {"model", {{"type", "BPE"}, {"merges", json::array({"b b"})}, {"unk_token", "?"}}}};
  root["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"<", 2}, {">", 3}, {"x", 4}, {"?", 5}, {"bb", 6}};
  root["added_tokens"] = json::array();
  auto add = [&](int id, const char *content, bool isSpecial) {
    root["added_tokens"].push_back({{"id", id},
                                    {"content", content},
                                    {"special", isSpecial},
                                    {"normalized", isSpecial && isNormalized}});
  };
  add(10, "<a>", true);
  add(11, "<b>", true);
  add(12, "<<", false);
  if (isNormalized)
    root["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "x"}};
  return loadJson(root.dump());
}

Ids encodePrompt(const LoadedTokenizer &tokenizer, std::string_view text,
                 const std::vector<Span> &literal) {
  auto ids = tokenizer->encodePrompt(text, literal);
  EXPECT_TRUE(ids.ok()) << ids.status().toString();
  return ids.ok() ? *ids : Ids();
}

TEST(TokenizerPrompt, SpecialTokensOfStrangersAreText) {
  const LoadedTokenizer tokenizer = loadPromptTokenizer();
  EXPECT_EQ(encodePrompt(tokenizer, "<a>b<b>", {}), (Ids{10, 1, 11}));
  EXPECT_EQ(encodePrompt(tokenizer, "<a><a><b>", {{3, 6}}), (Ids{10, 2, 0, 3, 11}));
  EXPECT_EQ(encodePrompt(tokenizer, "<a><b>", {{0, 6}}), (Ids{2, 0, 3, 2, 1, 3}));
}

TEST(TokenizerPrompt, OneByteOfAStrangerIsEnough) {
  const LoadedTokenizer tokenizer = loadPromptTokenizer();
  for (uint32_t at = 0; at < 3; ++at)
    EXPECT_EQ(encodePrompt(tokenizer, "<a>", {{at, at + 1}}), (Ids{2, 0, 3})) << at;
  EXPECT_EQ(encodePrompt(tokenizer, "a<a>a", {{0, 1}, {4, 5}}), (Ids{0, 10, 0}));
  // The template's own token begins inside of what a stranger's text would have made.
  EXPECT_EQ(encodePrompt(tokenizer, "<<a>", {{0, 1}}), (Ids{12, 0, 3}))
      << "an added token that is not special is text's own";
}

TEST(TokenizerPrompt, TextIsEncodedAsOnePiece) {
  json root = {{"decoder", {{"type", "Fuse"}}},
               {"model", {{"type", "BPE"}, {"merges", json::array({"a b"})}}}};
  root["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}};
  const LoadedTokenizer tokenizer = loadJson(root.dump());
  EXPECT_EQ(encodePrompt(tokenizer, "ab", {{0, 1}}), (Ids{2}));
  EXPECT_EQ(encodePrompt(tokenizer, "abab", {{1, 3}}), (Ids{2, 2}));
}

TEST(TokenizerPrompt, TokensBehindTheNormalizerAreCounted) {
  const LoadedTokenizer tokenizer = loadPromptTokenizer(/*isNormalized=*/true);
  EXPECT_EQ(encodePrompt(tokenizer, "<a>a<b>", {}), (Ids{10, 4, 11}));
  EXPECT_EQ(encodePrompt(tokenizer, "<a><a><b>", {{3, 6}}), (Ids{10, 2, 4, 3, 11}));
  // Text that only normalizing makes a token of: none of its like counts.
  EXPECT_EQ(encodePrompt(tokenizer, "<x><a>", {{3, 6}}), (Ids{2, 4, 3, 2, 4, 3}));
}

} // namespace
} // namespace ingot::test
