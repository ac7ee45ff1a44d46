// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile tokenizer.json, tokenizer.model and tokenizer sections: each is refused with
// a code, or loads and then encodes and decodes.
#include "tests/fuzz/FuzzSession.h"
#include "tests/unit/checkpoint/Fixtures.h"
#include "tests/unit/serving/TokenizerCases.h"

#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

TEST(TokenizerMutation, TokenizerJson) {
  std::vector<std::string> corpus = {everyStep(), unigramSteps(), everyByte()};
  for (const std::string &good : corpus)
    ASSERT_EQ(tryReader(checkpoint::parseTokenizerJson(good, "tokenizer.json")), "") << good;
  if (std::filesystem::exists(sharedData()))
    corpus.push_back(readFile(sharedData() / "stories260K-hf/tokenizer.json"));
  fuzz::FuzzSession session("tokenizer_json", 11);
  session.mutator.setWords(tokenizerWords);
  session.run(4000, corpus, [](const std::string &text) {
    return tryReader(checkpoint::parseTokenizerJson(text, "tokenizer.json"));
  });
  session.check();
}

TEST(TokenizerMutation, TokenizerConfig) {
  const std::vector<std::string> corpus = {
      R"({"bos_token": {"content": "<s>"}, "eos_token": "<|end|>", "pad_token": null,
"add_bos_token": true, "add_eos_token": false, "legacy": false,
"clean_up_tokenization_spaces": true,
"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}],
"added_tokens_decoder": {"40": {"content": "<x>", "special": true, "normalized": false},
 "41": {"content": "on a", "normalized": true, "lstrip": true, "single_word": true}}})"};
  fuzz::FuzzSession session("tokenizer_config", 15);
  session.mutator.setWords(
      {"null", "\"40\"", "\"1\":", "\"<s>\"", "[]", "\"content\": \"\",", "4194303"});
  session.run(3000, corpus, [](const std::string &text) -> std::string {
    const auto config = checkpoint::Json::parse(text, "tokenizer_config.json");
    if (!config)
      return config.error().code;
    for (const auto &base : {checkpoint::parseTokenizerJson(everyStep(), "tokenizer.json"),
                             checkpoint::parseTokenizerJson(unigramSteps(), "tokenizer.json")}) {
      checkpoint::TokenizerSpec spec = *base;
      if (const auto applied = checkpoint::applyTokenizerConfig(spec, *config); !applied)
        return applied.error().code;
      EXPECT_EQ(tryReader(std::move(spec)), "");
    }
    return "";
  });
  session.check();
}

TEST(TokenizerMutation, SentencePieceModel) {
  const std::vector<std::string> corpus = {smallModel({}), smallUnigramModel()};
  for (const std::string &good : corpus)
    ASSERT_EQ(tryReader(checkpoint::parseSentencePiece(good, "tokenizer.model")), "");
  fuzz::FuzzSession session("tokenizer_model", 12);
  session.run(4000, corpus, [](const std::string &bytes) {
    return tryReader(checkpoint::parseSentencePiece(bytes, "tokenizer.model"));
  });
  session.check();
}

TEST(TokenizerMutation, GgufMetadata) {
  const TemporaryDirectory directory;
  fuzz::FuzzSession session("tokenizer_gguf", 14);
  session.mutator.setWords({"gpt2", "llama", "qwen2", std::string(8, '\0')});
  session.run(4000, smallGgufs(), [&](const std::string &bytes) {
    return tryReader(checkpoint::readTokenizer(directory.write("t.gguf", bytes)));
  });
  session.check();
}

TEST(TokenizerMutation, Section) {
  std::vector<std::string> corpus;
  for (const auto &spec :
       {checkpoint::parseTokenizerJson(everyStep(), "tokenizer.json"),
        checkpoint::parseTokenizerJson(unigramSteps(), "tokenizer.json"),
        checkpoint::parseTokenizerJson(everyByte(), "tokenizer.json"),
        checkpoint::parseSentencePiece(smallModel({}), "tokenizer.model"),
        checkpoint::parseSentencePiece(smallUnigramModel(), "tokenizer.model")}) {
    ASSERT_TRUE(spec) << spec.error().str();
    const std::vector<uint8_t> bytes = compiler::writeTokenizer(*spec);
    corpus.emplace_back(bytes.begin(), bytes.end());
  }
  fuzz::FuzzSession session("tokenizer_section", 13);
  session.run(6000, corpus, [](const std::string &bytes) {
    return tryTokenizer({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  });
  session.check();
}

TEST(TokenizerMutation, EveryTruncationOfASectionIsRefused) {
  const auto spec = checkpoint::parseTokenizerJson(everyStep(), "tokenizer.json");
  ASSERT_TRUE(spec) << spec.error().str();
  const std::vector<uint8_t> bytes = compiler::writeTokenizer(*spec);
  size_t refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size)
    refused += !tryTokenizer(std::span(bytes).first(size)).empty();
  // The last bytes may be padding behind the last object.
  EXPECT_GE(refused + 8, bytes.size());
}

} // namespace
} // namespace ingot::test
