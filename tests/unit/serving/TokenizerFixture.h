// SPDX-License-Identifier: Apache-2.0
// Shared by the tokenizer tests: a checkpoint's tokenizer, read, written and loaded.
#pragma once

#include "compiler/checkpoint/files/File.h"
#include "compiler/checkpoint/tokenizer/TokenizerReader.h"
#include "compiler/engine_file/EngineWriterTokenizer.h"
#include "runtime/serving/Tokenizer.h"
#include "runtime/serving/Unicode.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <memory>

namespace ingot::test {

using runtime::DecodeOptions;
using runtime::Detokenizer;
using runtime::validUtf8Prefix;

inline std::filesystem::path sharedData() {
  return std::filesystem::path(INGOT_SHARED_DIR) / "data";
}

#define REQUIRE_SHARED_DATA()                                                                      \
  if (!std::filesystem::exists(ingot::test::sharedData()))                                         \
  GTEST_SKIP() << "no shared test data at " << ingot::test::sharedData()

/// A loaded tokenizer with the bytes it refers to.
struct LoadedTokenizer {
  std::vector<uint64_t> storage;
  std::optional<runtime::Tokenizer> tokenizer;

  const runtime::Tokenizer *operator->() const { return &*tokenizer; }
  const runtime::Tokenizer &operator*() const { return *tokenizer; }
};

/// `bytes` at an address aligned to 8.
inline std::vector<uint64_t> aligned(std::span<const uint8_t> bytes) {
  std::vector<uint64_t> storage((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<uint8_t *>(storage.data()));
  return storage;
}

inline std::span<const std::byte> view(const std::vector<uint64_t> &storage, size_t size) {
  return {reinterpret_cast<const std::byte *>(storage.data()), size};
}

inline LoadedTokenizer load(const checkpoint::TokenizerSpec &spec) {
  const std::vector<uint8_t> bytes = compiler::writeTokenizer(spec);
  LoadedTokenizer loaded{aligned(bytes), {}};
  auto tokenizer = runtime::Tokenizer::load(view(loaded.storage, bytes.size()));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().toString();
  if (tokenizer.ok())
    loaded.tokenizer = *std::move(tokenizer);
  return loaded;
}

template <class T> T expectValue(checkpoint::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << value.error().str();
    return {};
  }
  return *std::move(value);
}

inline std::string readFile(const std::filesystem::path &path) {
  return expectValue(checkpoint::readText(path, uint64_t{64} << 20));
}

inline LoadedTokenizer loadJson(const std::string &text) {
  return load(expectValue(checkpoint::parseTokenizerJson(text, "tokenizer.json")));
}

inline LoadedTokenizer loadDirectory(const std::filesystem::path &directory) {
  return load(expectValue(checkpoint::readTokenizer(directory)));
}

inline LoadedTokenizer loadSentencePiece(const std::filesystem::path &path) {
  return load(expectValue(checkpoint::parseSentencePiece(readFile(path), path.string())));
}

inline std::vector<int32_t> encode(const LoadedTokenizer &loaded, std::string_view text,
                                   bool addSpecial = false, bool parseSpecial = true) {
  auto ids = loaded->encode(text, addSpecial, parseSpecial);
  EXPECT_TRUE(ids.ok()) << ids.status().toString();
  return ids.ok() ? *ids : std::vector<int32_t>();
}

} // namespace ingot::test
