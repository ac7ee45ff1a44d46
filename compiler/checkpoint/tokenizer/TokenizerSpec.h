// SPDX-License-Identifier: Apache-2.0
// What a checkpoint's tokenizer does, whatever files it came in: plain data, mirrored one to one by
// runtime/schema/Tokenizer.fbs, where the meaning of every field is documented.
#pragma once

#include "compiler/checkpoint/files/Deviation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ingot::checkpoint {

struct TokenizerPiece {
  std::string text;   ///< empty: the id has no piece
  bool model = false; ///< the model makes it from text spelled like it
  bool added = false; ///< an added token
  bool inert = false; ///< only decoded, or made for single bytes
};

struct TokenizerMerge {
  uint32_t left, right, result;
};

struct TokenizerAddedToken {
  uint32_t id = 0;
  std::string content;
  std::string pattern; ///< empty: not given
  bool singleWord = false;
  bool leftStrip = false;
  bool rightStrip = false;
  bool normalized = false;
  bool special = false;
};

struct TokenizerNormalizerStep {
  enum Kind : uint8_t {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    Prepend,
    ReplaceText,
    ReplaceRegex,
    Strip,
    Lowercase,
    ByteLevel,
    GraphemeMap,
    PrefixMap
  } kind;
  std::string pattern{};
  std::string content{};
  bool left = false;
  bool right = false;
  bool atStart = false;
  std::string map{};
  bool operator==(const TokenizerNormalizerStep &) const = default;
};

enum class TokenizerSplitBehavior : uint8_t {
  Removed,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous
};

enum class TokenizerPrepend : uint8_t { First, Always, Never };

struct TokenizerPreTokenizerStep {
  enum Kind : uint8_t { PrefixSpace, Split, ByteLevel, Metaspace } kind;
  std::string pattern{};
  TokenizerSplitBehavior behavior = TokenizerSplitBehavior::Isolated;
  bool invert = false;
  std::string replacement{};
  TokenizerPrepend prepend = TokenizerPrepend::Never;
  bool operator==(const TokenizerPreTokenizerStep &) const = default;
};

struct TokenizerDecoderStep {
  enum Kind : uint8_t { ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace } kind;
  std::string pattern{};
  std::string content{};
  uint32_t start = 0;
  uint32_t stop = 0;
  TokenizerPrepend prepend = TokenizerPrepend::Never;
  bool operator==(const TokenizerDecoderStep &) const = default;
};

struct TokenizerChatTemplate {
  std::string name; ///< "default" unless the checkpoint names several
  std::string text;
};

struct TokenizerSpec {
  std::vector<TokenizerPiece> pieces; ///< by id
  std::vector<float> scores;          ///< sentencepiece only: as many as pieces
  std::vector<TokenizerMerge> merges;
  std::vector<uint32_t> mergeRanks; ///< empty: the rank of a merge is its index
  std::vector<TokenizerAddedToken> addedTokens;
  std::vector<TokenizerNormalizerStep> normalizer;
  std::vector<TokenizerPreTokenizerStep> preTokenizer;
  std::vector<TokenizerDecoderStep> decoder;
  std::vector<uint32_t> prefixIds;
  std::vector<uint32_t> suffixIds;
  int32_t unkId = -1;
  int32_t bosId = -1;
  int32_t eosId = -1;
  int32_t padId = -1;
  bool byteFallback = false;
  bool fuseUnk = false;
  bool ignoreMerges = false;
  bool cleanUpSpaces = false;
  std::vector<TokenizerChatTemplate> chatTemplates;
  bool affixesStand = false;         ///< tokenizer.json says which ids stand around a text
  std::vector<Deviation> deviations; ///< from what the files state
  std::vector<double> unigramScores; ///< a Unigram model's, as many as pieces; else empty
  double unknownScore = 0;           ///< Unigram: of a character that no piece spells
};

} // namespace ingot::checkpoint
