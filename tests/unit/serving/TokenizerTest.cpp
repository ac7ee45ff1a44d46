// SPDX-License-Identifier: Apache-2.0
// The tokenizer on small vocabularies: each step, special tokens, limits, streaming.
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"
#include "runtime/serving/PromptOffsets.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

namespace ingot::test {
namespace {

using Ids = std::vector<int32_t>;
using nlohmann::json;

/// A tokenizer.json over single letters, "ab", "abc", the space mark, and all byte pieces.
json smallJson() {
  json vocab;
  int id = 0;
  for (const char *piece : {"<unk>", "<s>", "</s>", "a", "b", "c", "ab", "abc", "\u2581", "\u2581a",
                            "é", "1", "2", ".", " "})
    vocab[piece] = id++;
  json root;
  root["model"] = {{"type", "BPE"},
                   {"vocab", vocab},
                   {"merges", {"a b", "ab c", json::array({"\u2581", "a"})}},
                   {"unk_token", "<unk>"}};
  root["decoder"] = {{"type", "Fuse"}};
  return root;
}

json withBytePieces(json root) {
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    root["model"]["vocab"][name] = 100 + byte;
  }
  root["model"]["byte_fallback"] = true;
  root["decoder"] = json::parse(R"({"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  return root;
}

json addedToken(int id, const char *content, std::initializer_list<const char *> flags = {}) {
  json token = {{"id", id}, {"content", content}, {"normalized", false}};
  for (const char *flag : flags)
    token[flag] = true;
  return token;
}

LoadedTokenizer loadSmall(const json &root) { return loadJson(root.dump()); }

std::string refusal(const json &root) {
  auto spec = checkpoint::parseTokenizerJson(root.dump(), "tokenizer.json");
  return spec ? "" : spec.error().code;
}

TEST(TokenizerBpe, MergesLowestRankFirstAndLeftmost) {
  const LoadedTokenizer tokenizer = loadSmall(smallJson());
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{7}));
  EXPECT_EQ(encode(tokenizer, "aabcab"), (Ids{3, 7, 6}));
  EXPECT_EQ(encode(tokenizer, ""), Ids{});
}

TEST(TokenizerBpe, UnknownCharacters) {
  json root = smallJson();
  EXPECT_EQ(encode(loadSmall(root), "axyb"), (Ids{3, 0, 0, 4}));
  root["model"]["fuse_unk"] = true;
  EXPECT_EQ(encode(loadSmall(root), "axyb"), (Ids{3, 0, 4}));
  root["model"]["unk_token"] = nullptr;
  EXPECT_EQ(encode(loadSmall(root), "axyb"), (Ids{6})) << "dropped, as if never there";
  // Byte pieces are used only for characters whose bytes all have one.
  root = withBytePieces(smallJson());
  EXPECT_EQ(encode(loadSmall(root), "aü"), (Ids{3, 100 + 0xC3, 100 + 0xBC}));
  root["model"]["vocab"].erase("<0xBC>");
  EXPECT_EQ(encode(loadSmall(root), "aü"), (Ids{3, 0}));
}

TEST(TokenizerBpe, IgnoreMergesTakesWholeWords) {
  json root = smallJson();
  root["model"]["vocab"]["ca"] = 20;
  EXPECT_EQ(encode(loadSmall(root), "ca"), (Ids{5, 3}));
  root["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(loadSmall(root), "ca"), (Ids{20}));
}

/// What smallJson() makes of `text`, by its three merges applied one by one to all of it.
Ids mergeNaively(std::string_view text, bool fuse) {
  std::vector<int32_t> symbols;
  bool afterUnknown = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    runtime::nextCharacter(text, at);
    const std::string_view character = text.substr(begin, at - begin);
    const std::pair<std::string_view, int32_t> known[] = {
        {"a", 3}, {"b", 4}, {"c", 5}, {"\u2581", 8}, {"é", 10}};
    const auto found = std::find_if(std::begin(known), std::end(known),
                                    [&](const auto &entry) { return entry.first == character; });
    const bool unknown = found == std::end(known);
    if (!(unknown && afterUnknown && fuse))
      symbols.push_back(unknown ? 0 : found->second);
    afterUnknown = unknown;
  }
  for (const auto &[left, right, result] :
       {std::array{3, 4, 6}, std::array{6, 5, 7}, std::array{8, 3, 9}})
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      if (symbols[i] == left && symbols[i + 1] == right) {
        symbols[i] = result;
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      }
  return symbols;
}

/// Long words are merged in parts, and parts are remembered: neither may show.
TEST(TokenizerBpe, PartsOfLongWordsAndRememberedWordsDoNotShow) {
  std::mt19937 random(7);
  for (bool fuse : {false, true}) {
    json root = smallJson();
    root["model"]["fuse_unk"] = fuse;
    const LoadedTokenizer tokenizer = loadSmall(root);
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (size_t length = random() % 120; length > 0; --length)
        text += std::array{"a", "b", "c", "\u2581", "é", "x", "ü"}[random() % 7];
      EXPECT_EQ(encode(tokenizer, text), mergeNaively(text, fuse)) << text;
    }
  }
}

TEST(TokenizerBpe, ThreadsShareOneTokenizer) {
  const LoadedTokenizer tokenizer = loadSmall(smallJson());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string word =
            std::string(static_cast<size_t>(i % 20), 'a') + (t % 2 ? "bc" : "b");
        Ids expected(word.find('b') > 0 ? word.find('b') - 1 : 0, 3);
        if (word.starts_with('a'))
          expected.push_back(t % 2 ? 7 : 6);
        else
          expected = t % 2 ? Ids{4, 5} : Ids{4};
        auto ids = tokenizer->encode(word, false, false);
        wrong += !ids.ok() || *ids != expected;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TokenizerBpe, LongWordTakesNoQuadraticTime) {
  const LoadedTokenizer tokenizer = loadSmall(smallJson());
  std::string word;
  while (word.size() < (1u << 20))
    word += "abc";
  // Quadratic work would be some 10^12 steps, far beyond the test's time.
  const Ids ids = encode(tokenizer, word);
  EXPECT_EQ(ids, Ids(word.size() / 3, 7));
}

TEST(TokenizerAddedTokens, SpecialOnesAreParsedOnRequest) {
  json root = smallJson();
  root["added_tokens"] = {addedToken(1, "<s>", {"special"}), addedToken(20, "<tool>")};
  const LoadedTokenizer tokenizer = loadSmall(root);
  EXPECT_EQ(encode(tokenizer, "a<s>b", false, true), (Ids{3, 1, 4}));
  EXPECT_EQ(encode(tokenizer, "a<s>b", false, false), (Ids{3, 0, 0, 0, 4}));
  EXPECT_EQ(encode(tokenizer, "a<tool>b", false, false), (Ids{3, 20, 4}));
  EXPECT_EQ(tokenizer->decode(Ids{3, 1, 20, 4}), "a<tool>b");
  EXPECT_EQ(tokenizer->decode(Ids{3, 1, 20, 4}, {.skipSpecial = false}), "a<s><tool>b");
  EXPECT_EQ(tokenizer->decode(Ids{3, 1, 20, 4}, {.kept = {1}}), "a<s><tool>b");
  EXPECT_EQ(tokenizer->addedToken("<tool>"), 20);
  EXPECT_EQ(tokenizer->addedToken("<none>"), std::nullopt);
}

TEST(TokenizerAddedTokens, LeftmostLongest) {
  json root = smallJson();
  root["added_tokens"] = {addedToken(20, "ab"), addedToken(21, "abca"), addedToken(22, "bc")};
  root["model"]["vocab"].erase("ab"); // its merges go with it
  root["model"]["vocab"].erase("abc");
  root["model"]["merges"] = {"\u2581 a"};
  const LoadedTokenizer tokenizer = loadSmall(root);
  EXPECT_EQ(encode(tokenizer, "abcab"), (Ids{21, 4}));
  EXPECT_EQ(encode(tokenizer, "abcb"), (Ids{20, 5, 4}));
  EXPECT_EQ(encode(tokenizer, "cbc"), (Ids{5, 22}));
}

TEST(TokenizerAddedTokens, StripAndSingleWord) {
  json root = smallJson();
  root["added_tokens"] = {addedToken(20, "[L]", {"lstrip"}), addedToken(21, "[R]", {"rstrip"}),
                          addedToken(22, "cc", {"single_word"})};
  const LoadedTokenizer tokenizer = loadSmall(root);
  EXPECT_EQ(encode(tokenizer, "a  [L] a"), (Ids{3, 20, 14, 3}));
  EXPECT_EQ(encode(tokenizer, "a [R]\u3000 a"), (Ids{3, 14, 21, 3}));
  EXPECT_EQ(encode(tokenizer, "[R]  [L]"), (Ids{21, 20}));
  EXPECT_EQ(encode(tokenizer, "cc cc.acc"), (Ids{22, 14, 22, 13, 3, 5, 5}));
  EXPECT_EQ(encode(tokenizer, "écc"), (Ids{10, 5, 5}));
}

TEST(TokenizerAddedTokens, NormalizedOnesAreSoughtAfterTheNormalizer) {
  json root = smallJson();
  root["added_tokens"] = {{{"id", 20}, {"content", "a b"}, {"normalized", true}}};
  root["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  const LoadedTokenizer tokenizer = loadSmall(root);
  EXPECT_EQ(encode(tokenizer, "ca b"), (Ids{5, 20}));
  EXPECT_EQ(encode(tokenizer, "ca\u2581b"), (Ids{5, 20}));
}

TEST(TokenizerNormalizer, UnicodeFormsPrependAndStrip) {
  json root = smallJson();
  root["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(encode(loadSmall(root), "e\u0301"), (Ids{10}));
  root["normalizer"] = {{"type", "NFD"}};
  EXPECT_EQ(encode(loadSmall(root), "é"), (Ids{0, 0}));
  root["normalizer"] = {{"type", "NFKC"}};
  EXPECT_EQ(encode(loadSmall(root), "\uFF41\u00B2"), (Ids{3, 12}));
  root["normalizer"] = json::parse(R"({"type": "Sequence", "normalizers": [
      {"type": "Strip", "strip_left": true, "strip_right": true},
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": "1"}]})");
  EXPECT_EQ(encode(loadSmall(root), "\u00A0a345b\n"), (Ids{9, 11, 4}));
  EXPECT_EQ(encode(loadSmall(root), " "), Ids{});
}

TEST(TokenizerNormalizer, LowercaseAndByteLevel) {
  json root = smallJson();
  root["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_EQ(encode(loadSmall(root), "ABcÉ"), (Ids{7, 10}));
  root["normalizer"] = {{"type", "ByteLevel"}};
  root["model"]["vocab"]["\u0120"] = 20;
  root["model"]["vocab"]["\u00C3"] = 21;
  root["model"]["vocab"]["\u00A9"] = 22;
  EXPECT_EQ(encode(loadSmall(root), "a é"), (Ids{3, 20, 21, 22}));
}

/// Only what is not ASCII is rewritten, with the character before it that a mark may join.
TEST(TokenizerNormalizer, UnicodeFormsBetweenAscii) {
  json root = smallJson();
  root["normalizer"] = {{"type", "NFC"}};
  const LoadedTokenizer tokenizer = loadSmall(root);
  EXPECT_EQ(encode(tokenizer, "ae\u0301be\u0301\u0301c\u00E9"), (Ids{3, 10, 4, 10, 0, 5, 10}));
  EXPECT_EQ(encode(tokenizer, "e\u0301"), (Ids{10}));
  EXPECT_EQ(encode(tokenizer, "\u0301a"), (Ids{0, 3}));
}

TEST(TokenizerNormalizer, EndlessMarksAreRefused) {
  json root = smallJson();
  root["normalizer"] = {{"type", "NFC"}};
  const LoadedTokenizer tokenizer = loadSmall(root);
  std::string text = "e";
  for (int i = 0; i < 100'000; ++i)
    text += "\u0301\u0323";
  EXPECT_EQ(tokenizer->encode(text, false, false).status().code(), "INGOT-E6405");
}

/// The words a pre-tokenizer makes: no merges apply across them, so "ab" shows where it cut.
TEST(TokenizerPreTokenizer, SplitBehaviors) {
  json root = smallJson();
  const std::pair<const char *, Ids> behaviors[] = {
      {"Removed", {6, 6, 3, 4}},
      {"Isolated", {6, 13, 13, 6, 13, 3, 13, 4}},
      {"Contiguous", {6, 13, 13, 6, 13, 3, 13, 4}},
      {"MergedWithPrevious", {6, 13, 13, 6, 13, 3, 13, 4}},
      {"MergedWithNext", {6, 13, 13, 6, 13, 3, 13, 4}}};
  for (const auto &[behavior, ids] : behaviors) {
    root["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"String", "."}}}, {"behavior", behavior}};
    EXPECT_EQ(encode(loadSmall(root), "ab..ab.a.b"), ids) << behavior;
  }
  // Where the dot goes shows in which merge it can take part in.
  root["model"]["vocab"]["a."] = 20;
  root["model"]["vocab"][".b"] = 21;
  root["model"]["vocab"][".."] = 22;
  root["model"]["merges"] = {"a .", ". b", ". ."};
  auto split = [&](const char *behavior) {
    root["pre_tokenizer"]["behavior"] = behavior;
    return encode(loadSmall(root), "a.b..b");
  };
  EXPECT_EQ(split("Isolated"), (Ids{3, 13, 4, 13, 13, 4}));
  EXPECT_EQ(split("Contiguous"), (Ids{3, 13, 4, 22, 4}));
  EXPECT_EQ(split("MergedWithPrevious"), (Ids{20, 4, 13, 13, 4}));
  EXPECT_EQ(split("MergedWithNext"), (Ids{3, 21, 13, 21}));
  root["pre_tokenizer"]["invert"] = true;
  EXPECT_EQ(split("Removed"), (Ids{13, 13, 13}));
}

TEST(TokenizerPreTokenizer, DigitsWhitespaceAndMetaspace) {
  json root = smallJson();
  root["model"]["vocab"]["12"] = 20;
  root["model"]["merges"] = {"1 2", "\u2581 a"};
  root["pre_tokenizer"] = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(encode(loadSmall(root), "a12"), (Ids{3, 11, 12}));
  root["pre_tokenizer"]["individual_digits"] = false;
  EXPECT_EQ(encode(loadSmall(root), "a12"), (Ids{3, 20}));
  root["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  EXPECT_EQ(encode(loadSmall(root), " a \u20051\u00852 "), (Ids{3, 11, 12}));
  root["pre_tokenizer"] = {{"type", "Whitespace"}};
  EXPECT_EQ(encode(loadSmall(root), "a . 1"), (Ids{3, 13, 11}));
  root["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  EXPECT_EQ(encode(loadSmall(root), "12. 1\u30002"), (Ids{20, 13, 11, 12}));
  root["pre_tokenizer"] = {{"type", "Metaspace"}, {"prepend_scheme", "always"}};
  EXPECT_EQ(encode(loadSmall(root), "a a"), (Ids{9, 9}));
  EXPECT_EQ(encode(loadSmall(root), " a"), (Ids{9}));
  root["pre_tokenizer"]["prepend_scheme"] = "never";
  EXPECT_EQ(encode(loadSmall(root), "a a"), (Ids{3, 9}));
  root["pre_tokenizer"]["prepend_scheme"] = "first";
  root["added_tokens"] = {addedToken(1, "<s>", {"special"})};
  EXPECT_EQ(encode(loadSmall(root), "a<s>a"), (Ids{9, 1, 3}));
}

TEST(TokenizerPostProcessor, PutsIdsAroundTheText) {
  json root = smallJson();
  root["post_processor"] = json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "special_tokens": {"<s>": {"ids": [1]}, "</s>": {"ids": [2]}}})");
  auto spec = expectValue(checkpoint::parseTokenizerJson(root.dump(), "tokenizer.json"));
  EXPECT_EQ(encode(load(spec), "a", true), (Ids{1, 3, 2}));
  EXPECT_EQ(encode(load(spec), "a", false), (Ids{3}));
  const auto config = checkpoint::Json::parse(
      R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": false,
          "pad_token": null, "add_eos_token": true, "clean_up_tokenization_spaces": true,
          "chat_template": [{"name": "default", "template": "D"},
                            {"name": "tool_use", "template": "T"}],
          "added_tokens_decoder": {"30":
              {"content": "<x>", "special": true, "normalized": false}}})",
      "tokenizer_config.json");
  ASSERT_TRUE(config) << config.error().str();
  const auto applied = checkpoint::applyTokenizerConfig(spec, *config);
  ASSERT_TRUE(applied) << applied.error().str();
  const LoadedTokenizer tokenizer = load(spec);
  // As transformers 5 has it, the post-processor counts.
  EXPECT_EQ(encode(tokenizer, "a<x>", true), (Ids{1, 3, 30, 2}));
  ASSERT_EQ(spec.deviations.size(), 1u);
  EXPECT_EQ(spec.deviations[0].what, "tokenizer_config.json add_bos_token");
  EXPECT_TRUE(tokenizer->addsBos());
  EXPECT_TRUE(tokenizer->addsEos());
  EXPECT_TRUE(tokenizer->cleansUpSpaces());
  EXPECT_EQ(tokenizer->bosId(), 1);
  EXPECT_EQ(tokenizer->eosId(), 2);
  EXPECT_EQ(tokenizer->padId(), -1);
  EXPECT_EQ(tokenizer->chatTemplate(), "D");
  const auto processor = checkpoint::Json::parse(R"({"chat_template": "P"})", "chat_template.json");
  ASSERT_TRUE(processor && checkpoint::applyProcessorTemplate(spec, *processor));
  EXPECT_EQ(load(spec)->chatTemplate(), "D");
  ASSERT_EQ(spec.deviations.size(), 2u);
  EXPECT_EQ(spec.deviations[1].what, "chat_template.json");
  spec.chatTemplates.clear();
  ASSERT_TRUE(checkpoint::applyProcessorTemplate(spec, *processor));
  EXPECT_EQ(load(spec)->chatTemplate(), "P");
  EXPECT_EQ(tokenizer->chatTemplate("tool_use"), "T");
  EXPECT_EQ(tokenizer->chatTemplate("rag"), std::nullopt);
  // Other files say nothing of it.
  spec.affixesStand = false;
  spec.suffixIds.clear();
  spec.chatTemplates.clear();
  ASSERT_TRUE(checkpoint::applyTokenizerConfig(spec, *config));
  EXPECT_EQ(encode(load(spec), "a<x>", true), (Ids{3, 30, 2}));
}

/// Pushes ids one by one; checks that every part is UTF-8 and that the whole is decode()'s.
std::string stream(const LoadedTokenizer &tokenizer, const Ids &ids, DecodeOptions options = {}) {
  Detokenizer detokenizer(*tokenizer, options);
  std::string text;
  auto append = [&](const std::string &part) {
    EXPECT_EQ(validUtf8Prefix(part), part.size());
    text += part;
  };
  for (int32_t id : ids)
    append(detokenizer.push(id));
  append(detokenizer.finish());
  EXPECT_EQ(text, tokenizer->decode(ids, options));
  return text;
}

TEST(TokenizerDetokenizer, BytePiecesBecomeWholeCharacters) {
  const LoadedTokenizer tokenizer = loadSmall(withBytePieces(smallJson()));
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(9), "a") << "the first space of the text is dropped";
  EXPECT_EQ(detokenizer.push(100 + 0xF0), "");
  EXPECT_EQ(detokenizer.push(100 + 0x9F), "");
  EXPECT_EQ(detokenizer.push(100 + 0xA6), "");
  EXPECT_EQ(detokenizer.push(100 + 0x99), "\U0001F999");
  EXPECT_EQ(detokenizer.push(9), " a");
  EXPECT_EQ(detokenizer.push(100 + 0xE2), "");
  EXPECT_EQ(detokenizer.push(100 + 0x82), "");
  EXPECT_EQ(detokenizer.push(3), "\uFFFD\uFFFDa") << "one per byte that is part of no character";
  EXPECT_EQ(detokenizer.push(100 + 0xC3), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.push(9), "a") << "finish() starts anew";
  EXPECT_EQ(detokenizer.push(-1), "");
  EXPECT_EQ(detokenizer.push(99'999), "");
}

TEST(TokenizerDetokenizer, StepsAfterFuseSeeOneText) {
  json root = smallJson();
  root["decoder"] = json::parse(R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Replace", "pattern": {"String": "abab"}, "content": "X"},
      {"type": "Strip", "content": "a", "start": 2, "stop": 1}]})");
  const LoadedTokenizer tokenizer = loadSmall(root);
  EXPECT_EQ(stream(tokenizer, {6, 3, 4}), "X");
  EXPECT_EQ(stream(tokenizer, {6, 6, 6}), "Xab");
  EXPECT_EQ(stream(tokenizer, {3, 3, 3, 4, 3, 3}), "aba");
  EXPECT_EQ(stream(tokenizer, {5, 6, 3}), "cab");
}

TEST(TokenizerDetokenizer, CleansUpSpacesOnRequest) {
  const LoadedTokenizer tokenizer = loadSmall(smallJson());
  const Ids ids = {3, 14, 13, 14, 14, 13, 14};
  EXPECT_EQ(stream(tokenizer, ids), "a .  . ");
  EXPECT_EQ(stream(tokenizer, ids, {.cleanUpSpaces = true}), "a. . ");
}

/// The parts of `ids` behind a prompt.
std::vector<std::string> behind(const LoadedTokenizer &tokenizer, const Ids &prompt, const Ids &ids,
                                DecodeOptions options = {}) {
  Detokenizer detokenizer(*tokenizer, options);
  detokenizer.follow(prompt);
  std::vector<std::string> parts;
  for (int32_t id : ids)
    parts.push_back(detokenizer.push(id));
  parts.push_back(detokenizer.finish());
  return parts;
}

TEST(TokenizerDetokenizer, APromptsTextDoesNotComeBack) {
  using Parts = std::vector<std::string>;
  const LoadedTokenizer plain = loadSmall(smallJson());
  // 14 is a space, which may begin what cleaning up replaces; 13 is a full stop.
  EXPECT_EQ(behind(plain, {3, 14}, {14, 3}, {.cleanUpSpaces = true}), (Parts{"", " a", ""}));
  EXPECT_EQ(behind(plain, {3, 14}, {13, 3}, {.cleanUpSpaces = true}), (Parts{".", "a", ""}));
  EXPECT_EQ(behind(plain, {3, 14}, {}, {.cleanUpSpaces = true}), (Parts{""}));
  const LoadedTokenizer bytes = loadSmall(withBytePieces(smallJson()));
  const int32_t e2 = 100 + 0xE2, x82 = 100 + 0x82, xac = 100 + 0xAC;
  EXPECT_EQ(behind(bytes, {3, e2, x82}, {3}), (Parts{"a", ""}));
  EXPECT_EQ(behind(bytes, {3, e2, x82}, {}), (Parts{""}));
  EXPECT_EQ(behind(bytes, {3, e2, x82}, {xac, 3}), (Parts{"\u20AC", "a", ""})) << "its last byte";
  EXPECT_EQ(behind(bytes, {3, e2}, {x82, 3}), (Parts{"", "\uFFFDa", ""})) << "one byte is ours";
  EXPECT_EQ(behind(bytes, {3, e2}, {x82}), (Parts{"", "\uFFFD"}));
  EXPECT_EQ(behind(bytes, {9}, {9, 3}), (Parts{" a", "a", ""})) << "the text's first space is gone";
  // Byte-level tokenizers spell bytes as characters: U+0122 is the byte 0xE2.
  json root = smallJson();
  root["model"]["vocab"]["\u0122"] = 300;
  root["decoder"] = {{"type", "ByteLevel"}};
  const LoadedTokenizer spelled = loadSmall(root);
  EXPECT_EQ(behind(spelled, {3, 300}, {3}), (Parts{"a", ""}));
  EXPECT_EQ(behind(spelled, {3, 300}, {}), (Parts{""}));
}

TEST(TokenizerDetokenizer, WhereTheTextOfEachIdBegins) {
  auto beginsOf = [](const LoadedTokenizer &tokenizer, const Ids &ids, DecodeOptions options = {}) {
    Detokenizer detokenizer(*tokenizer, options);
    std::vector<size_t> begins;
    for (size_t given = 0; int32_t id : ids) {
      const std::string part = detokenizer.push(id);
      begins.push_back(given + detokenizer.earlier());
      given += runtime::countCharacters(part);
    }
    return begins;
  };
  using Begins = std::vector<size_t>;
  const LoadedTokenizer bytes = loadSmall(withBytePieces(smallJson()));
  // Parts of a character begin where it does; bytes that are part of none are characters.
  EXPECT_EQ(beginsOf(bytes, {3, 100 + 0xC3, 100 + 0xBC, 4}), (Begins{0, 1, 1, 2}));
  EXPECT_EQ(beginsOf(bytes, {3, 100 + 0xE2, 100 + 0x82, 4}), (Begins{0, 1, 1, 3}));
  EXPECT_EQ(beginsOf(bytes, {3, 100 + 0xE2, 100 + 0xC3, 100 + 0xBC, 4}), (Begins{0, 1, 2, 2, 3}));
  EXPECT_EQ(bytes->bytesOf(100 + 0xC3), "\xC3");
  EXPECT_EQ(bytes->bytesOf(3), std::nullopt);
  // Spaces that cleaning up holds back: "a", " ", " ", "b" and "a", " ", ".", "b".
  const LoadedTokenizer plain = loadSmall(smallJson());
  const DecodeOptions clean{.cleanUpSpaces = true};
  EXPECT_EQ(beginsOf(plain, {3, 14, 14, 4}, clean), (Begins{0, 1, 2, 3}));
  EXPECT_EQ(beginsOf(plain, {3, 14, 13, 4}, clean), (Begins{0, 1, 1, 2}));
  json root = smallJson();
  root["model"]["vocab"]["\u00E2"] = 300;
  root["decoder"] = {{"type", "ByteLevel"}};
  const LoadedTokenizer spelled = loadSmall(root);
  EXPECT_EQ(beginsOf(spelled, {3, 300, 300, 4}), (Begins{0, 1, 2, 3}));
  EXPECT_EQ(spelled->bytesOf(300), "\xE2");
}

TEST(TokenizerPromptOffsets, AreThoseOfTheText) {
  using Begins = std::vector<int64_t>;
  auto of = [](const LoadedTokenizer &tokenizer, std::string_view text, size_t before = 0,
               size_t behind = 0) {
    Ids ids(before, 1);
    for (int32_t id : encode(tokenizer, text))
      ids.push_back(id);
    ids.insert(ids.end(), behind, 2);
    return runtime::promptOffsets(*tokenizer, ids, text, {before, behind, false});
  };
  json root = withBytePieces(smallJson());
  EXPECT_EQ(of(loadSmall(root), "aüb", 1, 1), (Begins{0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(of(loadSmall(root), "", 1), Begins{0});
  // A special token that is spelled out is text, and one that stands before the text is not.
  root["added_tokens"] = {addedToken(1, "<s>", {"special"}), addedToken(2, "</s>", {"special"})};
  EXPECT_EQ(of(loadSmall(root), "<s>a<s>b", 1), (Begins{0, 0, 3, 4, 7}));
  // Where the text was rewritten: a mark joined its letter, letters became small ones, a space was
  // put before all.
  root["normalizer"] = {{"type", "NFC"}};
  EXPECT_EQ(of(loadSmall(root), "ae\u0301bc"), (Begins{0, 1, 3, 4}));
  root["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_EQ(of(loadSmall(root), "a1C1B12"), (Begins{0, 1, 2, 3, 4, 5, 6}));
  root = smallJson();
  root["normalizer"] = {{"type", "Prepend"}, {"prepend", " "}};
  EXPECT_EQ(of(loadSmall(root), "1 2"), (Begins{0, 0, 1, 2}));
  // What the prompt is given as ids, the text is theirs.
  const LoadedTokenizer loaded = loadSmall(root);
  const Ids ids = {3, 14, 4};
  EXPECT_EQ(runtime::promptOffsets(*loaded, ids, loaded->decode(ids), {}), (Begins{0, 1, 2}));
  EXPECT_EQ(loaded->checkIds(ids).code(), "");
  EXPECT_EQ(loaded->checkIds(Ids{3, 99}).code(), "INGOT-E6007");
  EXPECT_NE(loaded->checkIds(Ids{3, 99}).message().find("99 at position 1"), std::string::npos);
}

TEST(TokenizerLimits, HostileRegexAndTextEndInAnError) {
  json root = smallJson();
  auto withRegex = [&](const char *regex) {
    root["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}};
    return loadSmall(root);
  };
  const std::string many(1 << 20, 'a');
  EXPECT_EQ(withRegex("(a+)+[bc]")->encode(many, false, false).status().code(), "INGOT-E6403");
  EXPECT_EQ(withRegex("a*b|a")->encode(many, false, false).status().code(), "INGOT-E6403")
      << "quadratic over the text though cheap per match";
  EXPECT_EQ(withRegex("a*c|a*d|a")->encode(many, false, false).status().code(), "INGOT-E6403");
  EXPECT_EQ(withRegex("(?:a|b)*c")->encode(many, false, false).status().code(), "INGOT-E6403");
  // The rules of real tokenizers stay far below the limit, also on a text of white space.
  const LoadedTokenizer gpt2 = withRegex(R"(\s*[\r\n]+|\s+(?!\S)|\s+|\S+)");
  EXPECT_TRUE(gpt2->encode(std::string(1 << 20, ' ') + "a", false, false).ok());
  EXPECT_TRUE(gpt2->encode(many, false, false).ok());
}

TEST(TokenizerLimits, TextMustBeUtf8) {
  const LoadedTokenizer tokenizer = loadSmall(smallJson());
  for (const char *bad : {"\xFF", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"})
    EXPECT_EQ(tokenizer->encode(bad, false, false).status().code(), "INGOT-E6401") << bad;
  EXPECT_TRUE(tokenizer->encode(std::string_view("\0\xF4\x8F\xBF\xBF", 5), false, false).ok());
}

TEST(TokenizerReader, RefusesByName) {
  json root = smallJson();
  EXPECT_EQ(refusal(root), "");
  for (const char *type : {"WordPiece", "WordLevel"}) {
    root["model"]["type"] = type;
    auto spec = checkpoint::parseTokenizerJson(root.dump(), "tokenizer.json");
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().code, "INGOT-E1403");
    EXPECT_NE(spec.error().what.find(type), std::string::npos);
  }
  auto refusalOf = [](const std::function<void(json &)> &change) {
    json root = smallJson();
    change(root);
    return refusal(root);
  };
  using J = json &;
  EXPECT_EQ(refusalOf([](J r) { r["model"]["merges"] = json::array(); }), "INGOT-E1406");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["merges"] = {"a x"}; }), "INGOT-E1407");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["merges"] = {"a b c"}; }), "INGOT-E1407");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"]["new"] = 3; }), "INGOT-E1404");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"]["new"] = 4'000'000'000u; }), "INGOT-E1404");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["vocab"]["new"] = -1; }), "INGOT-E1404");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["unk_token"] = "none"; }), "INGOT-E1404");
  EXPECT_EQ(refusalOf([](J r) { r["added_tokens"] = {addedToken(3, "b")}; }), "INGOT-E1404");
  EXPECT_EQ(refusalOf([](J r) { r["added_tokens"] = {addedToken(30, "")}; }), "INGOT-E1405");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["end_of_word_suffix"] = "</w>"; }), "INGOT-E1408");
  EXPECT_EQ(refusalOf([](J r) { r["model"]["dropout"] = 0.1; }), "INGOT-E1408");
  EXPECT_EQ(refusalOf([](J r) { r["normalizer"] = {{"type", "BertNormalizer"}}; }), "INGOT-E1409");
  EXPECT_EQ(refusalOf([](J r) { r["pre_tokenizer"] = {{"type", "UnicodeScripts"}}; }),
            "INGOT-E1409");
  EXPECT_EQ(refusalOf([](J r) { r["decoder"] = {{"type", "WordPiece"}}; }), "INGOT-E1409");
  EXPECT_EQ(refusalOf([](J r) {
              r["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "[\\p{L}&&a]"}}}};
            }),
            "INGOT-E1410");
  EXPECT_EQ(refusalOf([](J r) {
              r["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}};
            }),
            "INGOT-E1410");
  for (const char *regex : {"a++", "a{2}+", "(?>a*)b", "(?=a*b)a", "(?<n>a)", "(a)\\1", "(*UTF)a",
                            "a{65}", "(?R)", "\\X", "[[a]b]", "\\h"})
    EXPECT_EQ(refusalOf([&](J r) {
                r["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", regex}}}};
              }),
              "INGOT-E1410")
        << regex;
  EXPECT_EQ(refusalOf([](J r) { r["decoder"] = {{"type", "Strip"}, {"content", "ab"}}; }),
            "INGOT-E1411");
  EXPECT_EQ(refusalOf([](J r) { r.erase("decoder"); }), "INGOT-E1412");
}

TEST(TokenizerReader, RealDirectories) {
  REQUIRE_SHARED_DATA();
  const LoadedTokenizer stories = loadDirectory(sharedData() / "TinyStories-656K");
  EXPECT_EQ(stories->bosId(), 1);
  EXPECT_EQ(stories->eosId(), 2);
  EXPECT_TRUE(stories->addsBos());
  const LoadedTokenizer phi3 = loadDirectory(sharedData() / "tokenizers/phi3v");
  ASSERT_TRUE(phi3->chatTemplate());
  EXPECT_TRUE(phi3->chatTemplate()->starts_with("{% for message in messages %}"));
  const auto prompt = encode(phi3, "<|user|>\nHi<|end|>\n<|assistant|>\n");
  EXPECT_EQ(prompt, (Ids{32010, 29871, 13, 18567, 32007, 29871, 13, 32001}));
  auto tiktoken = checkpoint::parseSentencePiece(
      readFile(sharedData() / "tokenizers/llama3/tokenizer.model"), "tokenizer.model");
  ASSERT_FALSE(tiktoken);
  EXPECT_EQ(tiktoken.error().code, "INGOT-E1413");
  EXPECT_FALSE(checkpoint::readTokenizer(sharedData() / "text"));
}

TEST(TokenizerRoundTrip, RealTextsThroughRealTokenizers) {
  REQUIRE_SHARED_DATA();
  const auto data = sharedData() / "tokenizers";
  std::string text = readFile(sharedData() / "text/frankenstein.txt").substr(0, 60'000);
  text.resize(validUtf8Prefix(text));
  text += "\n 你好世界 こんにちは 안녕하세요 🦙🌫️ नमस्ते \t\t\r\n  x  = [1, 22, 333];\n";
  const std::pair<const char *, LoadedTokenizer> tokenizers[] = {
      {"gpt2", loadJson(readFile(data / "gpt2/tokenizer.json"))},
      {"llama3", loadJson(readFile(data / "llama3/tokenizer.derived.json"))},
      {"phi3v", loadJson(readFile(data / "phi3v/tokenizer.json"))},
      {"llama2", loadSentencePiece(data / "llama2/tokenizer.model")},
      {"qwen", loadJson(readFile(data / "qwen/tokenizer.derived.json"))},
      {"llama3 (tiktoken)",
       load(expectValue(checkpoint::parseTiktoken(readFile(data / "llama3/tokenizer.model"),
                                                  "tokenizer.model", /*allTokens=*/true)))},
      {"mistral v1", loadSentencePiece(data / "mistral/tokenizer.model.v1")},
      {"mistral v3",
       loadSentencePiece(data / "mistral/mistral_instruct_tokenizer_240323.model.v3")},
      {"mistral v2",
       loadSentencePiece(data / "mistral/mistral_instruct_tokenizer_240216.model.v2")},
      {"mistral v7",
       loadSentencePiece(data / "mistral/mistral_instruct_tokenizer_241114.model.v7")},
  };
  for (const auto &[name, tokenizer] : tokenizers) {
    const Ids ids = encode(tokenizer, text);
    EXPECT_LT(ids.size(), text.size() / 2) << name;
    EXPECT_TRUE(stream(tokenizer, ids) == text) << name;
    if (std::string_view(name) != "qwen") // which composes them (NFC)
      EXPECT_EQ(stream(tokenizer, encode(tokenizer, "e\u0301 a\u0323")), "e\u0301 a\u0323") << name;
  }
}

} // namespace
} // namespace ingot::test
