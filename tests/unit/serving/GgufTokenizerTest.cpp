// SPDX-License-Identifier: Apache-2.0
// Tokenizers in GGUF metadata: against llama.cpp's ids, against the same models' Hugging Face
// files, and what is refused.
#include "runtime/serving/ByteAlphabet.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"
#include "tests/unit/serving/LlamaCppCases.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace ingot::test {
namespace {

using checkpoint::Expected;
using checkpoint::message;
using checkpoint::TokenizerSpec;

Expected<TokenizerSpec> parse(const GgufWriter &writer) {
  const TemporaryDirectory directory;
  return checkpoint::readTokenizer(directory.write("t.gguf", writer.str()));
}

/// A byte-level vocabulary of a few pieces.
GgufWriter byteLevel(const std::string &pre = "gpt-2") {
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2");
  if (!pre.empty())
    writer.string("tokenizer.ggml.pre", pre);
  writer.strings("tokenizer.ggml.tokens",
                 {"a", "b", "ab", "1", "\u0120", "<|end|>", "<tool>", "[PAD7]"});
  writer.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1, 1, 1, 3, 4, 5});
  writer.strings("tokenizer.ggml.merges", {"a b"});
  return writer;
}

/// A scored vocabulary of a few pieces.
GgufWriter scored() {
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "llama");
  writer.strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "<0x41>", "a", "b", "\u2581",
                                           "ab", "\u2581ab", "<tool>"});
  writer.numbers("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -5, -5, -5, -1, -2, 0});
  writer.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 3, 6, 1, 1, 1, 1, 1, 4});
  writer.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.eos_token_id", 2);
  writer.u32("tokenizer.ggml.unknown_token_id", 0);
  return writer;
}

using Ids = std::vector<int32_t>;

TEST(GgufTokenizer, MayRepeatTexts) {
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "gpt-2");
  writer.strings("tokenizer.ggml.tokens", {"a", "b", "ab", "ab", "<|end|>", "<|end|>", "b"});
  writer.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1, 1, 1, 3, 1});
  writer.strings("tokenizer.ggml.merges", {"a b"});
  const LoadedTokenizer tokenizer = load(expectValue(parse(writer)));
  EXPECT_EQ(encode(tokenizer, "ab<|end|>b"), (Ids{2, 5, 1}));
  EXPECT_EQ(tokenizer->decode(Ids{3, 6, 4}), "abb<|end|>");
}

TEST(GgufTokenizer, ByteLevel) {
  const LoadedTokenizer tokenizer = load(expectValue(parse(byteLevel())));
  EXPECT_EQ(encode(tokenizer, "ab a"), (Ids{2, 4, 0}));
  EXPECT_EQ(encode(tokenizer, "ab<|end|>b<tool>"), (Ids{2, 5, 1, 6}));
  EXPECT_EQ(tokenizer->decode(Ids{2, 4, 0}), "ab a");
  EXPECT_EQ(encode(tokenizer, "a", /*addSpecial=*/true), (Ids{0}));
}

TEST(GgufTokenizer, Scored) {
  const LoadedTokenizer tokenizer = load(expectValue(parse(scored())));
  EXPECT_EQ(encode(tokenizer, "ab A", /*addSpecial=*/true), (Ids{1, 8, 6, 3}));
  EXPECT_EQ(encode(tokenizer, "b<tool>"), (Ids{6, 5, 9}));
  EXPECT_EQ(tokenizer->decode(Ids{8, 6, 3}), "ab A");
  const LoadedTokenizer bare =
      load(expectValue(parse(scored()
                                 .boolean("tokenizer.ggml.add_space_prefix", false)
                                 .boolean("tokenizer.ggml.add_bos_token", false)
                                 .boolean("tokenizer.ggml.add_eos_token", true))));
  EXPECT_EQ(encode(bare, "ab", /*addSpecial=*/true), (Ids{7, 2}));
}

TEST(GgufTokenizer, MergesTextsThatAreNotCut) {
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gemma4");
  writer.strings("tokenizer.ggml.tokens", {"<unk>", "<bos>", "<turn|>", "<0x41>", "a", "b",
                                           "\u2581", "a\u2581", "a\u2581b", "<|tool>", "\u00e9"});
  writer.numbers("tokenizer.ggml.scores", std::vector<float>(11, -1000));
  writer.numbers("tokenizer.ggml.token_type",
                 std::vector<int32_t>{3, 3, 3, 6, 1, 1, 1, 1, 1, 4, 1});
  writer.strings("tokenizer.ggml.merges", {"a \u2581", "a\u2581 b"});
  writer.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.unknown_token_id", 0);
  writer.boolean("tokenizer.ggml.add_space_prefix", false);
  const LoadedTokenizer tokenizer = load(expectValue(parse(writer)));
  EXPECT_EQ(encode(tokenizer, "a b A", /*addSpecial=*/true), (Ids{1, 8, 6, 3}));
  EXPECT_EQ(encode(tokenizer, "b<|tool>\u00e9<turn|>"), (Ids{5, 9, 10, 2}));
  EXPECT_EQ(tokenizer->decode(Ids{8, 6, 3, 10}), "a b A\u00e9");
}

TEST(GgufTokenizer, TakesBosFromTheRuleOrTheFlag) {
  auto prefix = [](const std::string &pre, const std::function<void(GgufWriter &)> &add) {
    GgufWriter writer = byteLevel(pre);
    writer.u32("tokenizer.ggml.bos_token_id", 5);
    add(writer);
    return expectValue(parse(writer)).prefixIds;
  };
  auto nothing = [](GgufWriter &) {};
  EXPECT_EQ(prefix("gpt-2", nothing), std::vector<uint32_t>());
  EXPECT_EQ(prefix("llama-bpe", nothing), std::vector<uint32_t>{5});
  EXPECT_EQ(
      prefix("llama-bpe",
             [](GgufWriter &writer) { writer.boolean("tokenizer.ggml.add_bos_token", false); }),
      std::vector<uint32_t>());
  EXPECT_EQ(
      prefix("qwen2",
             [](GgufWriter &writer) { writer.boolean("tokenizer.ggml.add_bos_token", true); }),
      std::vector<uint32_t>{5});
}

TEST(GgufTokenizer, PaddingMayBeAnUnusedToken) {
  auto spec = expectValue(parse(byteLevel().u32("tokenizer.ggml.padding_token_id", 7)));
  EXPECT_EQ(spec.padId, -1);
  EXPECT_EQ(encode(load(spec), "ab"), (Ids{2}));
}

TEST(GgufTokenizer, CutsDigitsFirstWhereTheRuleSaysSo) {
  GgufWriter writer = byteLevel("smollm");
  const LoadedTokenizer tokenizer = load(expectValue(parse(writer)));
  EXPECT_EQ(encode(tokenizer, "11ab"), (Ids{3, 3, 2}));
}

TEST(GgufTokenizer, CutsBehindSmallLettersWhereTheRuleSaysSo) {
  auto ids = [](const std::string &pre, std::string_view text) {
    GgufWriter writer;
    writer.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", pre);
    writer.strings("tokenizer.ggml.tokens", {"a", "b", "A", "'", "bA", "Ab", "b'", "'b"});
    writer.strings("tokenizer.ggml.merges", {"b A", "A b", "b '", "' b"});
    return encode(load(expectValue(parse(writer))), text);
  };
  EXPECT_EQ(ids("dbrx", "abA"), (Ids{0, 4}));
  EXPECT_EQ(ids("gpt-4o", "abA"), (Ids{0, 1, 2}));
  EXPECT_EQ(ids("gpt-4o", "AAb"), (Ids{2, 5}));
  EXPECT_EQ(ids("gpt-4o", "b'b"), (Ids{1, 7}));
}

TEST(GgufTokenizer, CarriesTemplates) {
  auto spec = expectValue(parse(byteLevel()
                                    .string("tokenizer.chat_template", "{{ messages }}")
                                    .string("tokenizer.chat_template.tool_use", "{{ tools }}")));
  ASSERT_EQ(spec.chatTemplates.size(), 2u);
  EXPECT_EQ(spec.chatTemplates[0].name, "default");
  EXPECT_EQ(spec.chatTemplates[0].text, "{{ messages }}");
  EXPECT_EQ(spec.chatTemplates[1].name, "tool_use");
}

TEST(GgufTokenizer, RefusesWhatItDoesNotUnderstand) {
  EXPECT_TRUE(failsWith(parse(GgufWriter()), "INGOT-E1005", {"tokenizer.ggml.model"}));
  EXPECT_TRUE(failsWith(parse(GgufWriter().string("tokenizer.ggml.model", "bert")), "INGOT-E1403",
                        {"bert"}));
  EXPECT_TRUE(failsWith(parse(byteLevel("")), "INGOT-E1116", {"gpt-2, phi-2"}));
  EXPECT_TRUE(failsWith(parse(byteLevel("default")), "INGOT-E1116", {"\"default\""}));
  EXPECT_TRUE(failsWith(parse(byteLevel("falcon")), "INGOT-E1116", {"\"falcon\"", "smollm"}));
  EXPECT_TRUE(failsWith(parse(scored().string("tokenizer.ggml.precompiled_charsmap", "x")),
                        "INGOT-E1409", {"precompiled_charsmap"}));
  EXPECT_TRUE(failsWith(parse(byteLevel().u32("tokenizer.ggml.bos_token_id", 8)), "INGOT-E1006",
                        {"bos_token_id"}));
  EXPECT_TRUE(failsWith(parse(byteLevel().u32("tokenizer.ggml.eos_token_id", 7)), "INGOT-E1404",
                        {"eos_token_id is 7", "unused"}));
  EXPECT_TRUE(failsWith(parse(byteLevel().string("tokenizer.chat_template", "\xff")), "INGOT-E1405",
                        {"chat_template"}));
}

/// Whether reading ends with `code` and a message with `mention` in it.
testing::AssertionResult refused(const GgufWriter &writer, std::string_view code,
                                 std::string_view mention) {
  return failsWith(parse(writer), code, {mention});
}

TEST(GgufTokenizer, RefusesBadByteLevelVocabularies) {
  auto empty = [] {
    GgufWriter writer;
    return writer.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "gpt-2");
  };
  auto tokens = [&](const std::vector<std::string> &texts) {
    return empty().strings("tokenizer.ggml.tokens", texts);
  };
  auto three = [&] { return tokens({"a", "b", "ab"}); };
  using Numbers = std::vector<int32_t>;
  const std::string types = "tokenizer.ggml.token_type", merges = "tokenizer.ggml.merges";
  EXPECT_TRUE(refused(empty(), "INGOT-E1005", "tokens"));
  EXPECT_TRUE(refused(empty().u32("tokenizer.ggml.tokens", 1), "INGOT-E1004", "tokens"));
  EXPECT_TRUE(
      refused(empty().numbers("tokenizer.ggml.tokens", Numbers{1}), "INGOT-E1004", "tokens[0]"));
  EXPECT_TRUE(refused(three(), "INGOT-E1005", "merges"));
  EXPECT_TRUE(refused(three().strings(merges, {}), "INGOT-E1406", "empty"));
  EXPECT_TRUE(refused(three().strings(merges, {"a c"}), "INGOT-E1407", "merge 0"));
  EXPECT_TRUE(refused(three().numbers(types, Numbers{1, 1}), "INGOT-E1117", "2 for 3 tokens"));
  EXPECT_TRUE(refused(three().numbers(types, Numbers{1, 1, 7}), "INGOT-E1006", "token_type[2]"));
  EXPECT_TRUE(refused(tokens({"\xff"}), "INGOT-E1405", "token 0"));
}

TEST(GgufTokenizer, RefusesBadScoredVocabularies) {
  auto tokens = [](const std::vector<std::string> &texts) {
    GgufWriter writer;
    return writer.string("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", texts);
  };
  using Numbers = std::vector<float>;
  const std::string scores = "tokenizer.ggml.scores";
  EXPECT_TRUE(refused(tokens({"a"}), "INGOT-E1005", "scores"));
  EXPECT_TRUE(refused(tokens({"a"}).numbers(scores, Numbers{1, 2}), "INGOT-E1117", "scores"));
  EXPECT_TRUE(refused(tokens({"a", ""}).numbers(scores, Numbers{1, 2}), "INGOT-E1413", "piece 1"));
  EXPECT_TRUE(refused(tokens({"a", "b"}).numbers(scores, Numbers{1, 2}), "INGOT-E1406", "merge"));
}

TEST(GgufTokenizer, EncodesLikeLlamaCpp) {
  REQUIRE_SHARED_DATA();
  size_t vocabularies = 0;
  for (const auto &entry : std::filesystem::directory_iterator(sharedData() / "gguf-vocab")) {
    constexpr std::string_view before = "ggml-vocab-";
    if (entry.path().extension() != ".gguf")
      continue;
    const std::string name = entry.path().stem().string().substr(before.size());
    expectCases(name + ".gguf", loadDirectory(entry.path()), readLlamaCppCases(name));
    ++vocabularies;
  }
  EXPECT_GE(vocabularies, 3u);
}

/// The vocabulary of a byte-level tokenizer.json as a converter writes it.
GgufWriter converted(const nlohmann::json &tokenizer, const std::string &pre) {
  const auto &vocabulary = tokenizer.at("model").at("vocab");
  std::map<uint32_t, std::pair<std::string, int32_t>> byId;
  for (const auto &[text, id] : vocabulary.items())
    byId[id.get<uint32_t>()] = {text, 1};
  for (const auto &added : tokenizer.at("added_tokens"))
    byId[added.at("id").get<uint32_t>()] = {added.at("content"), added.at("special") ? 3 : 4};
  std::vector<std::string> tokens(byId.rbegin()->first + 1), merges;
  std::vector<int32_t> types(tokens.size(), 5);
  for (size_t id = 0; id < tokens.size(); ++id)
    tokens[id] = "[PAD" + std::to_string(id) + "]";
  for (const auto &[id, token] : byId)
    std::tie(tokens[id], types[id]) = token;
  for (const auto &merge : tokenizer.at("model").at("merges"))
    merges.push_back(merge.is_string()
                         ? merge.get<std::string>()
                         : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", pre);
  writer.strings("tokenizer.ggml.tokens", tokens).numbers("tokenizer.ggml.token_type", types);
  return writer.strings("tokenizer.ggml.merges", merges);
}

TEST(GgufTokenizer, WordRulesCutLikeLlamaCpp) {
  REQUIRE_SHARED_DATA();
  for (const auto &[pre, file] : {std::pair("llama-bpe", "llama3/tokenizer.derived.json"),
                                  {"qwen2", "qwen/tokenizer.derived.json"},
                                  {"deepseek-r1-qwen", "qwen/tokenizer.derived.json"}}) {
    const auto tokenizer = nlohmann::json::parse(readFile(sharedData() / "tokenizers" / file));
    expectCases(message(pre, " as GGUF"), load(expectValue(parse(converted(tokenizer, pre)))),
                readLlamaCppCases(pre));
  }
}

/// What stands for each byte in a byte-level vocabulary.
std::vector<std::string> byteAlphabet() {
  std::vector<std::string> alphabet(256);
  for (int byte = 0; byte < 256; ++byte) {
    const char value = static_cast<char>(byte);
    runtime::appendSpelled({&value, 1}, alphabet[static_cast<size_t>(byte)]);
  }
  return alphabet;
}

/// A vocabulary of the 256 bytes, and of two of them that are merged: where that happens shows
/// where words end.
LoadedTokenizer mergingPair(const std::string &pre, const std::string &first,
                            const std::string &second) {
  std::vector<std::string> tokens = byteAlphabet();
  tokens.push_back(first + second);
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", pre);
  writer.strings("tokenizer.ggml.tokens", tokens);
  writer.strings("tokenizer.ggml.merges", {first + " " + second});
  return load(expectValue(parse(writer)));
}

/// The ids of `text` in that vocabulary, cut into words of so many bytes.
Ids mergedInWords(const std::string &text, const std::vector<size_t> &lengths, char first,
                  char second) {
  Ids ids;
  size_t at = 0;
  for (size_t length : lengths)
    for (const size_t end = at + length; at < end;) {
      const bool both = at + 1 < end && text[at] == first && text[at + 1] == second;
      ids.push_back(both ? 256 : static_cast<uint8_t>(text[at]));
      at += both ? 2 : 1;
    }
  return ids;
}

TEST(GgufTokenizer, WordRulesCutLikeHuggingFace) {
  const auto golden = nlohmann::json::parse(readFile(INGOT_WORD_RULES));
  const auto texts = golden.at("texts").get<std::vector<std::string>>();
  const std::vector<std::string> bytes = byteAlphabet();
  std::set<std::pair<char, char>> pairs;
  for (const std::string &text : texts)
    for (size_t i = 0; i + 1 < text.size(); ++i)
      pairs.emplace(text[i], text[i + 1]);
  for (const auto &[pre, rows] : golden.items()) {
    if (pre == "texts")
      continue;
    for (const auto &[first, second] : pairs) {
      const LoadedTokenizer tokenizer =
          mergingPair(pre, bytes[static_cast<uint8_t>(first)], bytes[static_cast<uint8_t>(second)]);
      for (size_t i = 0; i < texts.size(); ++i)
        ASSERT_EQ(encode(tokenizer, texts[i]),
                  mergedInWords(texts[i], rows[i].get<std::vector<size_t>>(), first, second))
            << pre << ": '" << texts[i] << "', '" << first << second << "'";
    }
  }
}

TEST(GgufTokenizer, KnowsTheRulesOfLlamaCpp) {
  for (const char *pre : {"falcon3", "pixtral", "smaug-bpe", "llama4", "megrez", "command-r",
                          "olmo", "a.x-4.0", "exaone", "minerva-7b", "qwen35", "stablelm2", "glm4",
                          "chatglm-bpe", "minimax-m2", "hunyuan", "hunyuan-dense"})
    EXPECT_EQ(encode(mergingPair(pre, "a", "b"), "ab"), Ids{256}) << pre;
}

/// Texts of many kinds without special tokens.
std::vector<std::string> manyTexts() {
  std::vector<std::string> texts = {"",
                                    " ",
                                    "Once upon a time",
                                    "  two  spaces ",
                                    "\n\n\tx",
                                    "h\u00e9 \u4f60",
                                    "\U0001F999 1234567"};
  for (const GoldenCase &golden : readLlamaCppCases("llama-spm"))
    texts.push_back(golden.text);
  const std::string story = readFile(sharedData() / "text/tinystories_train_head_ascii.txt");
  for (size_t at = 0; at + 400 < std::min<size_t>(story.size(), 40000); at += 400)
    texts.push_back(story.substr(at, 400));
  return texts;
}

TEST(GgufTokenizer, EqualsTheHuggingFaceOne) {
  REQUIRE_SHARED_DATA();
  size_t compared = 0;
  for (const auto &entry : std::filesystem::directory_iterator(sharedData() / "gguf")) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const LoadedTokenizer gguf = loadDirectory(entry.path());
    const LoadedTokenizer directory = loadDirectory(
        sharedData() / (name.starts_with("stories") ? "stories260K-hf" : "TinyStories-656K"));
    std::vector<std::string> texts = manyTexts();
    // The other model's special tokens are of a kind that a GGUF file does not tell from this.
    if (name.starts_with("stories"))
      texts.insert(texts.end(), {"<s>Tim</s> and <s>", " <unk>x", "</s></s> y"});
    for (const std::string &text : texts)
      for (bool special : {false, true}) {
        const Ids ids = encode(gguf, text, special, special);
        EXPECT_EQ(ids, encode(directory, text, special, special)) << text;
        EXPECT_EQ(gguf->decode(ids), directory->decode(ids)) << text;
      }
    ++compared;
  }
  EXPECT_GE(compared, 16u);
}

} // namespace
} // namespace ingot::test
