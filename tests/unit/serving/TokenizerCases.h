// SPDX-License-Identifier: Apache-2.0
// Small tokenizers of every kind, and what must hold of each input that their readers accept. The
// mutation sessions and the libFuzzer targets share them.
#pragma once

#include "compiler/checkpoint/tokenizer/Base64.h"
#include "tests/unit/checkpoint/gguf/GgufFixtures.h"
#include "tests/unit/serving/SentencePieceFixture.h"
#include "tests/unit/serving/TokenizerFixture.h"

namespace ingot::test {

inline constexpr std::string_view sample =
    "Once upon a time,\n  there were 12 l\u00e9murs \u4f60\u597d \U0001F999 <s> e\u0301 \t<|end|>";

/// Loads `bytes`; what loads must encode, decode and stream without harm. The code, or nothing.
inline std::string tryTokenizer(std::span<const uint8_t> bytes) {
  const std::vector<uint64_t> storage = aligned(bytes);
  auto tokenizer = runtime::Tokenizer::load(view(storage, bytes.size()));
  if (!tokenizer.ok())
    return std::string(tokenizer.status().code());
  std::vector<int32_t> ids;
  for (bool special : {false, true})
    if (auto encoded = tokenizer->encode(sample, special, special); encoded.ok())
      ids.insert(ids.end(), encoded->begin(), encoded->end());
  for (int32_t id = -1; id < 400; ++id)
    ids.push_back(id);
  const std::string text = tokenizer->decode(ids);
  EXPECT_EQ(validUtf8Prefix(text), text.size());
  Detokenizer detokenizer(*tokenizer, {.skipSpecial = false, .cleanUpSpaces = true});
  for (int32_t id : ids) {
    const std::string part = detokenizer.push(id);
    EXPECT_EQ(validUtf8Prefix(part), part.size());
  }
  detokenizer.finish();
  return "";
}

/// Whatever a reader accepts, the runtime must load: a build that succeeds runs.
inline std::string tryReader(const checkpoint::Expected<checkpoint::TokenizerSpec> &spec) {
  if (!spec)
    return spec.error().code;
  const std::string code = tryTokenizer(compiler::writeTokenizer(*spec));
  EXPECT_EQ(code, "") << "the reader accepted what the runtime refuses";
  return "";
}

/// A small tokenizer.json with one step of every kind.
inline std::string everyStep() {
  return R"({"added_tokens": [
 {"id": 1, "content": "<s>", "special": true, "normalized": false, "lstrip": true},
 {"id": 30, "content": "<|end|>", "special": false, "normalized": true, "rstrip": true}],
"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKD"},
 {"type": "Strip", "strip_left": true, "strip_right": true}, {"type": "Prepend", "prepend": "_"},
 {"type": "Replace", "pattern": {"Regex": "[0-9]{1,3}"}, "content": "1"},
 {"type": "Replace", "pattern": {"String": "on"}, "content": "no"}]},
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
 {"type": "Split", "pattern":
  {"Regex": "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\s+(?!\\S)|\\s+"},
  "behavior": "Isolated", "invert": false},
 {"type": "Digits", "individual_digits": true}, {"type": "Metaspace", "prepend_scheme": "first"},
 {"type": "Punctuation", "behavior": "MergedWithNext"},
 {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}]},
"post_processor": {"type": "TemplateProcessing",
 "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
 "special_tokens": {"<s>": {"ids": [1]}}},
"decoder": {"type": "Sequence", "decoders": [
 {"type": "Replace", "pattern": {"String": "_"}, "content": " "},
 {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"},
 {"type": "ByteFallback"}, {"type": "Fuse"},
 {"type": "Strip", "content": " ", "start": 1, "stop": 2},
 {"type": "Replace", "pattern": {"String": "ab"}, "content": ""}]},
"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true,
 "ignore_merges": true, "dropout": null,
 "vocab": {"<unk>": 0, "<s>": 1, "a": 2, "b": 3, "n": 4, "o": 5, "e": 6, "ab": 7, "no": 8, "_": 9,
 "<0x41>": 10, "<0xC3>": 11, "Ġ": 12, "Ġa": 13, "Ã": 14},
 "merges": ["a b", ["n", "o"], "Ġ a"]}})";
}

/// A small Unigram tokenizer.json with the steps the other one lacks.
inline std::string unigramSteps() {
  return R"({"added_tokens": [{"id": 1, "content": "<s>", "special": true, "normalized": true},
 {"id": 9, "content": "<|end|>", "special": true, "normalized": false, "single_word": true}],
"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "Lowercase"},
 {"type": "Precompiled", "precompiled_charsmap": ")" +
         std::string(characterMap) + R"("}, {"type": "StripAccents"}]},
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"},
 {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}]},
"decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"},
 {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}]},
"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true,
 "vocab": [["<unk>", 0], ["<s>", 0.5], ["_", -1.25], ["_on", -3], ["ce", -2e0], ["o", -4],
 ["n", -5],
 ["<0xC3>", -9], ["<0x41>", -9]]}})";
}

/// Byte-level BPE over all bytes, which the runtime merges as bytes.
inline std::string everyByte() {
  std::string vocabulary;
  for (int character = 33; character < 256 + 68; ++character)
    if (character < 127 || (character > 160 && character != 173)) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(character));
      vocabulary += "\"" + std::string(escaped) + "\": " + std::to_string(character) + ", ";
    }
  return R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
"decoder": {"type": "ByteLevel"},
"model": {"type": "BPE", "ignore_merges": true, "vocab": {)" +
         vocabulary + R"("on": 330, "Ġon": 331}, "merges": ["o n", "Ġ on"]}})";
}

inline std::string smallUnigramModel() {
  return smallModel({.kind = 1, .map = *checkpoint::decodeBase64(characterMap)});
}

/// GGUF files with small vocabularies of both kinds.
inline std::vector<std::string> smallGgufs() {
  GgufWriter scored, byteLevel;
  scored.string("tokenizer.ggml.model", "llama");
  scored.strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "<0xC3>", "<tool>", "on", "o", "n"});
  scored.numbers("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1, -10, -10});
  scored.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 6, 4, 1, 1, 1});
  scored.u32("tokenizer.ggml.bos_token_id", 1).u32("tokenizer.ggml.unknown_token_id", 0);
  byteLevel.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "llama-bpe");
  byteLevel.strings("tokenizer.ggml.tokens", {"o", "n", "on", "\u0120", "<|end|>", "[PAD]"});
  byteLevel.numbers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1, 1, 3, 5});
  byteLevel.strings("tokenizer.ggml.merges", {"o n"});
  byteLevel.u32("tokenizer.ggml.eos_token_id", 4).boolean("tokenizer.ggml.add_eos_token", true);
  byteLevel.string("tokenizer.chat_template", "{{ x }}");
  return {scored.str(), byteLevel.str()};
}

inline const std::vector<std::string> tokenizerWords = {"null",
                                                        "\"type\": \"Sequence\",",
                                                        "\"unk_id\": 3,",
                                                        "[\"a\", -1],",
                                                        "\"Regex\": \"(a+)+b\"",
                                                        "(?=",
                                                        "[^",
                                                        "{64}",
                                                        "\\u0000",
                                                        "\"\"",
                                                        "\xC3",
                                                        "\"Removed\"",
                                                        "true",
                                                        "\"Fuse\""};

} // namespace ingot::test
