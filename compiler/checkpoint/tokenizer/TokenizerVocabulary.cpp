// SPDX-License-Identifier: Apache-2.0
// Building blocks shared by the tokenizer readers: pieces by id and text, merges from scores.
#include "compiler/checkpoint/tokenizer/TokenizerVocabulary.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace ingot::checkpoint {

bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length == 0 || lead > 0xF4 || text.size() - i < length)
      return false;
    for (size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xC0) != 0x80)
        return false;
    // Overlong forms, surrogates and values above U+10FFFF show in the second byte.
    if ((lead == 0xE0 && byte(i + 1) < 0xA0) || (lead == 0xED && byte(i + 1) > 0x9F) ||
        (lead == 0xF0 && byte(i + 1) < 0x90) || (lead == 0xF4 && byte(i + 1) > 0x8F))
      return false;
    i += length;
  }
  return true;
}

bool isCharacterMap(std::string_view bytes) {
  constexpr size_t maxMapBytes = size_t{4} << 20;
  uint32_t trieBytes = 0;
  if (bytes.size() < sizeof trieBytes || bytes.size() > maxMapBytes)
    return false;
  std::memcpy(&trieBytes, bytes.data(), sizeof trieBytes);
  bytes.remove_prefix(sizeof trieBytes);
  return trieBytes > 0 && trieBytes % 4 == 0 && trieBytes <= bytes.size() &&
         bytes.ends_with('\0') && isUtf8(bytes.substr(trieBytes)) && bytes.size() > trieBytes;
}

TokenizerVocabulary::TokenizerVocabulary(TokenizerSpec &spec) : spec(spec) {
  for (size_t id = 0; id < spec.pieces.size(); ++id)
    if (!spec.pieces[id].text.empty())
      ids.emplace(spec.pieces[id].text, static_cast<uint32_t>(id));
  for (size_t i = 0; i < spec.addedTokens.size(); ++i)
    addedById.emplace(spec.addedTokens[i].id, i);
}

TokenizerPiece &TokenizerVocabulary::pieceAt(uint32_t id) {
  if (spec.pieces.size() <= id)
    spec.pieces.resize(size_t{id} + 1);
  if (!spec.scores.empty())
    spec.scores.resize(spec.pieces.size());
  if (!spec.unigramScores.empty())
    spec.unigramScores.resize(spec.pieces.size());
  return spec.pieces[id];
}

std::optional<uint32_t> TokenizerVocabulary::find(const std::string &text) const {
  const auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

bool TokenizerVocabulary::has(uint32_t id) const {
  return id < spec.pieces.size() && !spec.pieces[id].text.empty();
}

Outcome TokenizerVocabulary::addPiece(uint64_t id, const std::string &text,
                                      const std::string &where) {
  if (text.empty())
    return {};
  if (id >= maxTokenId)
    return Error{"INGOT-E1404", message("token id ", id, " is not below ", maxTokenId), where,
                 "correct the id"};
  TokenizerPiece &piece = pieceAt(static_cast<uint32_t>(id));
  if (!piece.text.empty() || !ids.emplace(text, static_cast<uint32_t>(id)).second)
    return Error{"INGOT-E1404",
                 message("piece ", inQuotes(text), " with id ", id, " repeats an id or a text"),
                 where, "make ids and texts of the vocabulary unique"};
  piece.text = text;
  piece.model = true;
  return {};
}

Outcome TokenizerVocabulary::addToken(const TokenizerAddedToken &token, const std::string &where) {
  if (token.content.empty() || token.content.size() > maxAddedTokenBytes || !isUtf8(token.content))
    return Error{"INGOT-E1405",
                 message("added token ", token.id, " is empty, longer than ", maxAddedTokenBytes,
                         " bytes or not UTF-8"),
                 where, "correct the token"};
  if (token.id >= maxTokenId)
    return Error{"INGOT-E1404", message("token id ", token.id, " is not below ", maxTokenId), where,
                 "correct the id"};
  const std::optional<uint32_t> known = find(token.content);
  TokenizerPiece &piece = pieceAt(token.id);
  if ((known && *known != token.id) || (!piece.text.empty() && piece.text != token.content))
    return Error{"INGOT-E1404",
                 message("added token ", inQuotes(token.content), " has id ", token.id,
                         ", but another piece has that id or this text"),
                 where, "make ids and texts of the vocabulary agree"};
  piece.text = token.content;
  piece.added = true;
  ids.emplace(token.content, token.id);
  const auto [added, isNew] = addedById.emplace(token.id, spec.addedTokens.size());
  if (isNew) {
    spec.addedTokens.push_back(token);
    return {};
  }
  TokenizerAddedToken &same = spec.addedTokens[added->second];
  const std::string pattern = std::move(same.pattern);
  same = token;
  if (same.normalized)
    same.pattern = pattern;
  return {};
}

Outcome mergeByScores(TokenizerSpec &spec, const std::vector<bool> &mergeable,
                      const std::string &where) {
  std::unordered_map<std::string_view, uint32_t> ids;
  std::vector<float> byRank;
  for (uint32_t id = 0; id < spec.pieces.size(); ++id) {
    if (!mergeable[id])
      continue;
    ids.emplace(spec.pieces[id].text, id);
    byRank.push_back(spec.scores[id]);
  }
  std::sort(byRank.begin(), byRank.end(), std::greater<>());
  byRank.erase(std::unique(byRank.begin(), byRank.end()), byRank.end());

  struct RankedMerge {
    uint32_t rank;
    TokenizerMerge merge;
  };
  std::vector<RankedMerge> found;
  for (const auto &[text, id] : ids) {
    const auto at =
        std::lower_bound(byRank.begin(), byRank.end(), spec.scores[id], std::greater<>());
    const auto rank = static_cast<uint32_t>(at - byRank.begin());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80)
        continue;
      const auto left = ids.find(text.substr(0, cut));
      const auto right = ids.find(text.substr(cut));
      if (left != ids.end() && right != ids.end())
        found.push_back({rank, {left->second, right->second, id}});
    }
  }
  if (found.empty())
    return Error{"INGOT-E1406", "no two pieces of the vocabulary merge", where,
                 "export the tokenizer again"};
  std::sort(found.begin(), found.end(), [](const RankedMerge &a, const RankedMerge &b) {
    return std::tie(a.rank, a.merge.left, a.merge.right) <
           std::tie(b.rank, b.merge.left, b.merge.right);
  });
  for (const RankedMerge &ranked : found) {
    spec.merges.push_back(ranked.merge);
    spec.mergeRanks.push_back(ranked.rank);
  }
  return {};
}

static Error badMerge(const Json &merges, size_t index, std::string_view what) {
  return merges.element(index).error("INGOT-E1407", message("merge ", index, " ", what),
                                     "export the tokenizer again");
}

/// The two sides of a merge: "left right" or ["left", "right"]. False if it is neither.
static bool splitMerge(const nlohmann::json &merge, std::string &left, std::string &right) {
  if (const auto *text = merge.get_ptr<const std::string *>()) {
    const size_t space = text->find(' ');
    if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos)
      return false;
    left = text->substr(0, space);
    right = text->substr(space + 1);
  } else {
    if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string())
      return false;
    left = *merge[0].get_ptr<const std::string *>();
    right = *merge[1].get_ptr<const std::string *>();
  }
  return !left.empty() && !right.empty();
}

Outcome readMerges(const Json &list, const TokenizerVocabulary &vocabulary, TokenizerSpec &spec) {
  if (!list.isArray())
    return list.wrongType("a list");
  if (list.size() == 0)
    return list.error("INGOT-E1406",
                      "the merge table is empty: every text would fall into single characters",
                      "export the tokenizer again");
  const nlohmann::json &merges = list.raw();
  std::string left, right;
  for (size_t i = 0; i < merges.size(); ++i) {
    if (!splitMerge(merges[i], left, right))
      return badMerge(list, i, "is neither \"left right\" nor [\"left\", \"right\"]");
    const std::optional<uint32_t> leftId = vocabulary.find(left);
    const std::optional<uint32_t> rightId = vocabulary.find(right);
    const std::optional<uint32_t> result = vocabulary.find(left + right);
    if (!leftId || !rightId || !result)
      return badMerge(list, i, "has a side or a result that is not in the vocabulary");
    spec.merges.push_back({*leftId, *rightId, *result});
  }
  // Of two merges of one pair the last counts.
  std::unordered_set<uint64_t> seen;
  std::vector<TokenizerMerge> kept;
  for (auto merge = spec.merges.rbegin(); merge != spec.merges.rend(); ++merge)
    if (seen.insert(uint64_t{merge->left} << 32 | merge->right).second)
      kept.push_back(*merge);
  std::reverse(kept.begin(), kept.end());
  spec.merges = std::move(kept);
  return {};
}

void readAddedToken(JsonFields &fields, TokenizerAddedToken &token) {
  token.content = fields.stringOr("content", "");
  token.singleWord = fields.booleanOr("single_word", false);
  token.leftStrip = fields.booleanOr("lstrip", false);
  token.rightStrip = fields.booleanOr("rstrip", false);
  token.normalized = fields.booleanOr("normalized", true);
  token.special = fields.booleanOr("special", false);
}

} // namespace ingot::checkpoint
