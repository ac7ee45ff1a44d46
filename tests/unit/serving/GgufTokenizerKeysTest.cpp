// SPDX-License-Identifier: Apache-2.0
// Tokenizers that are written as the metadata of a GGUF file and read back: they give the same ids.
#include "compiler/checkpoint/tokenizer/GgufTokenizerKeys.h"
#include "compiler/checkpoint/tokenizer/Base64.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/serving/TokenizerCases.h"

namespace ingot::test {
namespace {

using checkpoint::Expected;
using checkpoint::GgufTokenizerKeys;
using checkpoint::Json;
using checkpoint::TokenizerSpec;

constexpr std::string_view kTexts[] = {
    "Once upon a time, there was a little girl.", "  two  spaces\n\n\tand 12345 digits, it's  ",
    "l\u00e9murs \u4f60\u597d \U0001F999 e\u0301 <s>[INST] <|im_start|>user\n", ""};

/// Writes and reads the tokenizer, for 8 rows more than it has tokens.
GgufTokenizerKeys written(const TokenizerSpec &spec) {
  std::vector<uint64_t> ends;
  if (spec.eosId >= 0)
    ends.push_back(static_cast<uint64_t>(spec.eosId));
  return expectValue(checkpoint::ggufTokenizerKeys(spec, spec.pieces.size() + 8, ends, "here"));
}

void expectSameIds(const TokenizerSpec &spec, std::string_view pre) {
  const GgufTokenizerKeys made = written(spec);
  EXPECT_EQ(made.deviation, "");
  EXPECT_EQ(made.keys["tokenizer.ggml.pre"], pre);
  const TokenizerSpec back =
      expectValue(checkpoint::parseGgufTokenizer(Json::of(made.keys, "here")));
  EXPECT_EQ(back.eosId, spec.eosId);
  ASSERT_EQ(back.chatTemplates.size(), spec.chatTemplates.size());
  const LoadedTokenizer ours = load(back), theirs = load(spec);
  for (std::string_view text : kTexts)
    for (bool special : {false, true}) {
      EXPECT_EQ(encode(ours, text, special), encode(theirs, text, special)) << text;
      EXPECT_EQ(ours->decode(encode(ours, text)), theirs->decode(encode(theirs, text)));
    }
}

std::string wordsBy(const std::string &preTokenizer) {
  return R"({"added_tokens": [{"id": 5, "content": "<|end|>", "special": true}],
"pre_tokenizer": )" +
         preTokenizer + R"(, "decoder": {"type": "ByteLevel"},
"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "1": 3, "Ġ": 4, "11": 6},
"merges": ["a b", "1 1"]}})";
}

Expected<TokenizerSpec> parsed(const std::string &text) {
  return checkpoint::parseTokenizerJson(text, "tokenizer.json");
}

TEST(GgufTokenizerKeys, NamesTheRuleThatCutsWords) {
  constexpr const char *bytes = R"({"type": "ByteLevel", "add_prefix_space": false})";
  expectSameIds(expectValue(parsed(wordsBy(bytes))), "gpt-2");
  expectSameIds(
      expectValue(parsed(wordsBy(std::string(R"({"type": "Sequence", "pretokenizers": [)"
                                             R"({"type": "Digits", "individual_digits": true}, )") +
                                 bytes + "]}"))),
      "smollm");
}

/// As Gemma's: runs of spaces are pieces and tokens of their own.
TEST(GgufTokenizerKeys, SpacesWithoutOneInFront) {
  const TokenizerSpec spec = expectValue(parsed(
      R"({"added_tokens": [{"id": 0, "content": "<unk>", "special": true},
 {"id": 1, "content": "<bos>", "special": true},
 {"id": 2, "content": "▁▁", "special": false, "normalized": false}],
"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
"pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
"decoder": {"type": "Sequence", "decoders": [
 {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
 {"type": "Fuse"}]},
"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true,
 "vocab": {"<unk>": 0, "<bos>": 1, "▁▁": 2, "<0x41>": 3, "a": 4, "b": 5, "▁": 6, "ab": 7, "▁ab": 8},
 "merges": ["▁ ▁", "a b", "▁ ab"]}})"));
  expectSameIds(spec, "default");
  const GgufTokenizerKeys made = written(spec);
  EXPECT_EQ(made.keys["tokenizer.ggml.add_space_prefix"], false);
  EXPECT_EQ(made.keys["tokenizer.ggml.tokens"][2], "  ");
  const LoadedTokenizer ours =
      load(expectValue(checkpoint::parseGgufTokenizer(Json::of(made.keys, "here"))));
  EXPECT_EQ(encode(ours, "ab  a abA"), encode(load(spec), "ab  a abA"));
}

TEST(GgufTokenizerKeys, RealTokenizers) {
  REQUIRE_SHARED_DATA();
  const auto folder = sharedData() / "tokenizers";
  auto json = [&](const char *name) {
    const auto path = folder / name;
    return expectValue(parsed(expectValue(checkpoint::readText(path, uint64_t{64} << 20))));
  };
  expectSameIds(expectValue(checkpoint::readTokenizer(folder / "gpt2")), "gpt-2");
  expectSameIds(json("qwen/tokenizer.derived.json"), "qwen2");
  expectSameIds(json("llama3/tokenizer.derived.json"), "llama-bpe");
  expectSameIds(expectValue(checkpoint::readTokenizer(folder / "llama2")), "default");
  expectSameIds(expectValue(checkpoint::readTokenizer(sharedData() / "stories260K-hf")), "default");
}

/// Its merges are fewer than those that its pieces allow.
TEST(GgufTokenizerKeys, TellsOfOtherMerges) {
  REQUIRE_SHARED_DATA();
  const auto spec = expectValue(checkpoint::readTokenizer(sharedData() / "TinyStories-656K"));
  EXPECT_NE(written(spec).deviation.find("1063 of 1967"), std::string::npos)
      << written(spec).deviation;
}

TEST(GgufTokenizerKeys, RefusesWhatFilesCannotSay) {
  auto refused = [](const TokenizerSpec &spec, std::vector<uint64_t> ends, const char *what,
                    uint64_t rows = 64) {
    EXPECT_TRUE(
        failsWith(checkpoint::ggufTokenizerKeys(spec, rows, ends, "here"), "INGOT-E2158", {what}));
  };
  refused(expectValue(parsed(everyStep())), {}, "cuts a text");
  refused(expectValue(parsed(unigramSteps())), {}, "cuts a text");
  const std::string plain = wordsBy(R"({"type": "ByteLevel", "add_prefix_space": false})");
  TokenizerSpec spec = expectValue(parsed(plain));
  refused(spec, {}, "beyond", 6);
  refused(spec, {0, 1, 2, 3}, "so many tokens");
  spec.prefixIds = {5, 0};
  refused(spec, {}, "around a text");
  spec.prefixIds = {};
  spec.addedTokens.front().rightStrip = true;
  refused(spec, {}, "<|end|>");
}

} // namespace
} // namespace ingot::test
