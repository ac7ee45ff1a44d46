// SPDX-License-Identifier: Apache-2.0
// The table of rules that cut a text into words: for tokenizer.ggml.pre of GGUF files, which are
// read and written by it.
#include "compiler/checkpoint/tokenizer/GgufWords.h"

#include "compiler/checkpoint/files/JsonFields.h"
#include "compiler/checkpoint/tokenizer/TokenizerRegex.h"
#include "compiler/checkpoint/tokenizer/TokenizerSteps.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

nlohmann::json byteLevel(bool useRegex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", useRegex}};
}

/// Cuts by each expression in turn what those before it left, then into bytes or GPT-2's words.
nlohmann::json cutBy(std::initializer_list<std::string> regexes, bool gpt2Behind = false) {
  nlohmann::json steps = nlohmann::json::array();
  for (const std::string &regex : regexes)
    steps.push_back({{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}});
  steps.push_back(byteLevel(gpt2Behind));
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

nlohmann::json gpt2Words() { return byteLevel(true); }

nlohmann::json llama3Words() { return cutBy({wordRegex(R"(\p{N}{1,3})")}); }

nlohmann::json qwen2Words() { return cutBy({wordRegex(R"(\p{N})")}); }

/// As Qwen2, but marks are of words.
nlohmann::json qwen35Words() {
  return cutBy({R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
                R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"});
}

/// Words end where small letters do. `behind`: of a word; `digits`: of a number.
nlohmann::json wordsByCase(std::string_view behind, std::string_view digits) {
  constexpr std::string_view large = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])",
                             small = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])",
                             before = R"([^\r\n\p{L}\p{N}]?)";
  return cutBy(
      {message(before, large, "*", small, "+", behind, "|", before, large, "+", small, "*", behind,
               "|", digits, R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|)", R"(\s+(?!\S)|\s+)")});
}

nlohmann::json gpt4oWords() {
  return wordsByCase(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)", R"(\p{N}{1,3})");
}

nlohmann::json tekkenWords() { return wordsByCase("", R"(\p{N})"); }

nlohmann::json kimiWords() { return cutBy({kimiWordRegex()}); }

/// As Qwen2, but line breaks are no part of punctuation.
nlohmann::json seedCoderWords() {
  return cutBy({R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                R"( ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"});
}

/// Words may have single spaces in them.
nlohmann::json exaoneMoeWords() {
  return cutBy({R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*)"
                R"((?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|)"
                R"(\s+(?!\S)|\s+)"});
}

nlohmann::json digitsThenGpt2Words() { return cutBy({R"(\p{N})"}, /*gpt2Behind=*/true); }

/// Letters with an upper and a lower case, as DeepSeek's first models list them.
constexpr std::string_view casedLetters =
    R"(A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386})"
    R"(\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f})"
    R"(\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba})"
    R"(\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a})"
    R"(\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d})"
    R"(\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4})"
    R"(\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3})"
    R"(\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107})"
    R"(\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d})"
    R"(\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184})"
    R"(\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
    R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e})"
    R"(\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a})"
    R"(\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb})"
    R"(\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943})";
constexpr std::string_view eastAsian = R"([\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+)";

nlohmann::json deepSeekLlmWords() {
  return cutBy(
      {R"([\r\n])", message(R"(\s?[)", casedLetters, "]+"),
       R"(\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+)",
       R"(\s+$)", std::string(eastAsian), R"(\p{N})"});
}

nlohmann::json deepSeekCoderWords() {
  return cutBy({R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", std::string(eastAsian), R"(\p{N})"});
}

nlohmann::json deepSeekV3Words() {
  return cutBy({R"(\p{N}{1,3})", R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]+)",
                message(R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)re",
                        R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)",
                        R"(\s*[\r\n]+|\s+(?!\S)|\s+)")});
}

/// Source: `src/llama-vocab.cpp` of llama.cpp, and where it quotes them the expressions of the
/// models' own tokenizer.json. It composes nothing; the rules that do are those of models that do.
constexpr WordRule wordRules[] = {
    {"gpt-2", gpt2Words, false, false, false},
    {"phi-2", gpt2Words, false, false, false},
    {"olmo", gpt2Words, false, false, false},
    {"mpt", gpt2Words, false, false, false},
    {"jais", gpt2Words, false, false, false},
    {"mellum", gpt2Words, false, false, false},
    {"a.x-4.0", gpt2Words, false, false, false},
    {"exaone4", gpt2Words, false, false, false},
    {"gigachat", gpt2Words, false, false, false},
    {"trillion", gpt2Words, false, false, false},
    {"granite-docling", gpt2Words, false, false, false},
    {"llama-bpe", llama3Words, false, true, true},
    {"llama3", llama3Words, false, true, true},
    {"llama-v3", llama3Words, false, true, true},
    {"falcon3", llama3Words, false, true, true},
    {"falcon-h1", llama3Words, false, true, true},
    {"pixtral", llama3Words, false, true, true},
    {"midm-2.0", llama3Words, false, true, true},
    {"lfm2", llama3Words, false, true, true},
    {"dbrx", llama3Words, false, false, false},
    {"smaug-bpe", llama3Words, false, false, false},
    {"glm4", llama3Words, false, false, false},
    {"chatglm-bpe", llama3Words, false, false, false},
    {"gpt-4o", gpt4oWords, false, false, false},
    {"llama4", gpt4oWords, false, false, false},
    {"kanana2", gpt4oWords, false, false, false},
    {"minimax-m2", gpt4oWords, false, false, false},
    {"tekken", tekkenWords, false, true, true},
    {"kimi-k2", kimiWords, false, true, false},
    {"qwen2", qwen2Words, true, false, false},
    {"deepseek-r1-qwen", qwen2Words, true, false, false},
    {"qwen35", qwen35Words, true, false, false},
    {"kormo", qwen2Words, false, false, false},
    {"megrez", qwen2Words, false, false, false},
    {"stablelm2", qwen2Words, false, false, false},
    {"hunyuan", qwen2Words, false, false, false},
    {"seed-coder", seedCoderWords, false, false, false},
    {"exaone-moe", exaoneMoeWords, false, false, false},
    {"deepseek-llm", deepSeekLlmWords, false, false, false},
    {"deepseek-coder", deepSeekCoderWords, false, false, false},
    {"deepseek-v3", deepSeekV3Words, false, false, false},
    {"hunyuan-dense", deepSeekV3Words, false, false, false},
    {"smollm", digitsThenGpt2Words, false, false, false},
    {"starcoder", digitsThenGpt2Words, false, false, false},
    {"refact", digitsThenGpt2Words, false, false, false},
    {"command-r", digitsThenGpt2Words, false, false, false},
    {"codeshell", digitsThenGpt2Words, false, false, false},
    {"exaone", digitsThenGpt2Words, false, false, false},
    {"minerva-7b", digitsThenGpt2Words, false, false, false},
};

} // namespace

Expected<const WordRule *> findWordRule(const Json &metadata) {
  JsonFields fields(metadata);
  const std::string name = fields.stringOr(tokenizerKey("pre"), "");
  if (fields.error())
    return *fields.error();
  std::string known;
  for (const WordRule &rule : wordRules) {
    if (rule.name == name)
      return &rule;
    known += message(known.empty() ? "" : ", ", rule.name);
  }
  return metadata.error("INGOT-E1116",
                        name.empty()
                            ? "the file does not say how a text is cut into words"
                            : message("tokenizer.ggml.pre ", inQuotes(name), " is not supported"),
                        "give a model whose tokenizer.ggml.pre is one of: " + known);
}

Outcome addWordRule(const WordRule &rule, const std::string &where, TokenizerSpec &spec) {
  if (rule.composes)
    spec.normalizer.push_back({.kind = TokenizerNormalizerStep::Nfc});
  spec.ignoreMerges = rule.ignoreMerges;
  spec.decoder.push_back({.kind = TokenizerDecoderStep::ByteLevel});
  return readPreTokenizer(Json::of(rule.steps(), where), spec);
}

const WordRule *wordRuleOf(const TokenizerSpec &spec) {
  for (const WordRule &rule : wordRules) {
    TokenizerSpec steps;
    if (addWordRule(rule, "", steps) && steps.normalizer == spec.normalizer &&
        steps.preTokenizer == spec.preTokenizer && steps.decoder == spec.decoder &&
        steps.ignoreMerges == spec.ignoreMerges)
      return &rule;
  }
  return nullptr;
}

} // namespace ingot::checkpoint
