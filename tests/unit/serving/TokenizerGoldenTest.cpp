// SPDX-License-Identifier: Apache-2.0
// Real tokenizers against the ids other implementations gave: every golden set whose tokenizer is
// among the shared data.
#include "compiler/checkpoint/tokenizer/TiktokenReader.h"
#include "tests/unit/serving/LlamaCppCases.h"
#include "tests/unit/serving/TokenizerFixture.h"

#include <nlohmann/json.hpp>

namespace ingot::test {
namespace {

using Ids = std::vector<int32_t>;

LoadedTokenizer loadTiktoken(const std::filesystem::path &path) {
  return load(
      expectValue(checkpoint::parseTiktoken(readFile(path), path.string(), /*allTokens=*/true)));
}

/// The GPT-2 vocabulary without the white-space tokens that CodeGen adds to it.
LoadedTokenizer loadGpt2() {
  auto json = nlohmann::json::parse(readFile(sharedData() / "tokenizers/gpt2/tokenizer.json"));
  auto &added = json["added_tokens"];
  added.erase(added.begin() + 1, added.end());
  return loadJson(json.dump());
}

TEST(TokenizerGolden, LlamaCppVocabularies) {
  REQUIRE_SHARED_DATA();
  const auto data = sharedData() / "tokenizers";
  expectCases("gpt-2", loadGpt2(), readLlamaCppCases("gpt-2"));
  expectCases("llama-bpe", loadJson(readFile(data / "llama3/tokenizer.derived.json")),
              readLlamaCppCases("llama-bpe"));
  expectCases("llama-bpe (tiktoken)", loadTiktoken(data / "llama3/tokenizer.model"),
              readLlamaCppCases("llama-bpe"));
  expectCases("qwen2 (tiktoken)", loadTiktoken(data / "qwen/qwen.tiktoken"),
              readLlamaCppCases("qwen2"));
  const LoadedTokenizer qwen = loadJson(readFile(data / "qwen/tokenizer.derived.json"));
  expectCases("qwen2", qwen, readLlamaCppCases("qwen2"));
  expectCases("deepseek-r1-qwen", qwen, readLlamaCppCases("deepseek-r1-qwen"));
  expectCases("llama-spm (tokenizer.model)", loadSentencePiece(data / "llama2/tokenizer.model"),
              readLlamaCppCases("llama-spm"));
  expectCases("phi-3 (tokenizer.json)", loadJson(readFile(data / "phi3v/tokenizer.json")),
              readLlamaCppCases("phi-3"));
}

/// A sentencepiece model with the pipeline of Mistral's tokenizer.json: a first space only where
/// the text starts and has none.
LoadedTokenizer loadAsMetaspace(const std::filesystem::path &path) {
  auto spec = expectValue(checkpoint::parseSentencePiece(readFile(path), path.string()));
  spec.normalizer.clear();
  spec.preTokenizer = {{.kind = checkpoint::TokenizerPreTokenizerStep::Metaspace,
                        .replacement = "\u2581",
                        .prepend = checkpoint::TokenizerPrepend::First}};
  return load(spec);
}

/// The models of the corpus whose tokenizer is among the shared data.
TEST(TokenizerGolden, Corpus) {
  REQUIRE_SHARED_DATA();
  const auto data = sharedData() / "tokenizers";
  const auto corpus =
      nlohmann::json::parse(readFile(sharedData() / "tokenizer-golden/iree_tokenizer_corpus.json"));
  const LoadedTokenizer gpt2 = loadGpt2();
  const LoadedTokenizer codegen = loadJson(readFile(data / "gpt2/tokenizer.json"));
  const LoadedTokenizer llama3 = loadJson(readFile(data / "llama3/tokenizer.derived.json"));
  const LoadedTokenizer llama3Ranks = loadTiktoken(data / "llama3/tokenizer.model");
  const LoadedTokenizer qwenRanks = loadTiktoken(data / "qwen/qwen.tiktoken");
  const LoadedTokenizer qwen = loadJson(readFile(data / "qwen/tokenizer.derived.json"));
  const LoadedTokenizer llama2 = loadSentencePiece(data / "llama2/tokenizer.model");
  const LoadedTokenizer mixtral = loadSentencePiece(data / "mistral/tokenizer.model.v1");
  const LoadedTokenizer mistral1 = loadAsMetaspace(data / "mistral/tokenizer.model.v1");
  const LoadedTokenizer mistral3 =
      loadAsMetaspace(data / "mistral/mistral_instruct_tokenizer_240323.model.v3");
  // The same tokenizer as Phi-3-mini's, which adds no beginning token.
  auto phi3Spec = expectValue(
      checkpoint::parseTokenizerJson(readFile(data / "phi3v/tokenizer.json"), "tokenizer.json"));
  phi3Spec.prefixIds.clear();
  const LoadedTokenizer phi3 = load(phi3Spec);
  const std::pair<const char *, const LoadedTokenizer *> models[] = {
      {"gpt2", &gpt2},
      {"distilbert/distilgpt2", &gpt2},
      {"EleutherAI/gpt-neo-1.3B", &gpt2},
      {"EleutherAI/gpt-j-6b", &gpt2},
      {"tiktoken/r50k_base", &gpt2},
      {"cerebras/Cerebras-GPT-111M", &gpt2},
      {"cerebras/Cerebras-GPT-1.3B", &gpt2},
      {"Salesforce/codegen-350M-mono", &codegen},
      {"Salesforce/codegen2-1B", &codegen},
      {"NousResearch/Meta-Llama-3-8B", &llama3},
      {"NousResearch/Meta-Llama-3-8B", &llama3Ranks},
      {"NousResearch/Meta-Llama-3.1-8B", &llama3Ranks},
      {"unsloth/Llama-3.2-1B-Instruct", &llama3Ranks},
      {"NousResearch/Meta-Llama-3.1-8B", &llama3},
      {"unsloth/Llama-3.2-1B-Instruct", &llama3},
      {"unsloth/Llama-3.2-3B", &llama3},
      {"Qwen/Qwen2-0.5B", &qwen},
      {"Qwen/Qwen2-0.5B", &qwenRanks},
      {"Qwen/Qwen2.5-7B", &qwen},
      {"Qwen/Qwen2.5-7B", &qwenRanks},
      {"Qwen/Qwen2.5-3B-Instruct", &qwen},
      {"Qwen/Qwen3-0.6B", &qwen},
      {"codellama/CodeLlama-7b-hf", &llama2},
      {"llava-hf/llava-1.5-7b-hf", &llama2},
      {"llava-hf/llava-1.5-13b-hf", &llama2},
      {"mistralai/Mistral-7B-v0.1", &mistral1},
      {"mistralai/Mixtral-8x7B-v0.1", &mixtral},
      {"mistralai/Mistral-7B-v0.3", &mistral3},
      {"microsoft/Phi-3-mini-4k-instruct", &phi3},
  };
  for (const auto &[name, tokenizer] : models) {
    size_t passed = 0, total = 0;
    for (const auto &test : corpus.at("models").at(name).at("tests")) {
      const auto text = test.at("input").get<std::string>();
      const auto golden = test.at("golden_ids").get<Ids>();
      const Ids ids = encode(*tokenizer, text, test.value("add_special_tokens", true));
      EXPECT_EQ(ids, golden) << name << ": '" << text << "'";
      passed += ids == golden;
      ++total;
    }
    std::printf("%-44s %3zu of %3zu\n", name, passed, total);
  }
}

TEST(TokenizerGolden, PromptsOfTheSmallModels) {
  REQUIRE_SHARED_DATA();
  const auto golden = nlohmann::json::parse(readFile(sharedData() / "golden_greedy_fp64.json"));
  for (const auto &[model, folder] : {std::pair("TinyStories-656K", "TinyStories-656K"),
                                      std::pair("stories260K", "stories260K-hf")}) {
    const std::string name = model;
    const auto &prompts = golden.at(name);
    const LoadedTokenizer tokenizer = loadDirectory(sharedData() / folder);
    size_t passed = 0;
    for (const auto &prompt : prompts) {
      const Ids ids = encode(tokenizer, prompt.at("prompt").get<std::string>(), true);
      const bool same = ids == prompt.at("prompt_ids").get<Ids>();
      EXPECT_TRUE(same) << name << ": " << prompt.at("prompt");
      passed += same;
    }
    EXPECT_GT(prompts.size(), 0u);
    std::printf("%-44s %3zu of %3zu\n", name.c_str(), passed, prompts.size());
  }
}

} // namespace
} // namespace ingot::test
