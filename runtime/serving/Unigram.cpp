// SPDX-License-Identifier: Apache-2.0
// Unigram encoding: of all ways to spell a text with pieces the most probable one. The work and the
// memory are proportional to the text.
#include "runtime/serving/Unigram.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <cmath>

namespace ingot::runtime {

namespace {

Status malformed(const std::string &what) {
  return Status::error("INGOT-E5402", "the tokenizer " + what, "build the engine again");
}

std::string_view pieceOf(const schema::Tokenizer &description, uint32_t id) {
  const auto &offsets = *description.piece_offsets();
  return {reinterpret_cast<const char *>(description.piece_bytes()->data()) + offsets.Get(id),
          offsets.Get(id + 1) - offsets.Get(id)};
}

} // namespace

Result<Unigram> Unigram::create(const schema::Tokenizer &description) {
  const auto &flags = *description.piece_flags();
  const auto &from = *description.unigram_scores();
  if (from.size() != flags.size() || description.merges()->size() != 0 || description.unk_id() < 0)
    return malformed("has a Unigram model with " + std::to_string(from.size()) + " scores, " +
                     std::to_string(description.merges()->size()) + " merges, unknown id " +
                     std::to_string(description.unk_id()));
  Unigram unigram;
  unigram.scores.assign(from.begin(), from.end());
  unigram.unknownScore = description.unknown_score();
  unigram.unknownId = static_cast<uint32_t>(description.unk_id());
  if (!std::isfinite(unigram.unknownScore) ||
      !std::all_of(unigram.scores.begin(), unigram.scores.end(),
                   [](double score) { return std::isfinite(score); }))
    return malformed("has a score that is no number");

  // Special tokens are cut out before; where they were not to be parsed they are plain text.
  std::vector<bool> special(flags.size());
  if (description.added_tokens())
    for (const schema::AddedToken *token : *description.added_tokens())
      if (token->special() && token->id() < special.size())
        special[token->id()] = true;
  std::vector<uint32_t> ids;
  unigram.byteIds.fill(none);
  for (uint32_t id = 0; id < flags.size(); ++id) {
    const std::string_view piece = pieceOf(description, id);
    const int byte = byteOfPiece(piece);
    if (byte >= 0 && unigram.byteIds[static_cast<size_t>(byte)] == none)
      unigram.byteIds[static_cast<size_t>(byte)] = id;
    if (!(flags.Get(id) & static_cast<uint8_t>(schema::PieceFlag::Model)) || special[id])
      continue;
    if (piece.size() > maxPieceBytes)
      return malformed("has a piece of more than " + std::to_string(maxPieceBytes) + " bytes, id " +
                       std::to_string(id));
    ids.push_back(id);
  }
  unigram.byteFallback = description.byte_fallback();
  unigram.singlePrecision = description.scores() != nullptr;
  unigram.buildTrie(description, std::move(ids));
  return unigram;
}

void Unigram::buildTrie(const schema::Tokenizer &description, std::vector<uint32_t> ids) {
  // Of equal pieces the last counts, as in the tokenizers library; it comes first here.
  std::sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) {
    const std::string_view left = pieceOf(description, a), right = pieceOf(description, b);
    return left != right ? left < right : a > b;
  });
  // Breadth first: the pieces ids[low .. high) share their first `depth` bytes, the way to a node.
  struct Range {
    size_t low, high, depth;
  };
  std::vector<Range> level = {{0, ids.size(), 0}};
  while (!level.empty()) {
    std::vector<Range> below;
    for (Range range : level) {
      auto piece = [&](size_t i) { return pieceOf(description, ids[i]); };
      Node node{static_cast<uint32_t>(edgeBytes.size()), none};
      if (range.low < range.high && piece(range.low).size() == range.depth)
        node.id = ids[range.low];
      while (range.low < range.high && piece(range.low).size() == range.depth)
        ++range.low;
      nodes.push_back(node);
      for (size_t low = range.low; low < range.high;) {
        const char byte = piece(low)[range.depth];
        size_t high = low + 1;
        while (high < range.high && piece(high)[range.depth] == byte)
          ++high;
        edgeBytes.push_back(static_cast<unsigned char>(byte));
        below.push_back({low, high, range.depth + 1});
        low = high;
      }
    }
    level = std::move(below);
  }
  nodes.push_back({static_cast<uint32_t>(edgeBytes.size()), none});
}

uint32_t Unigram::child(uint32_t node, unsigned char byte) const {
  const auto begin = edgeBytes.begin() + nodes[node].firstEdge;
  const auto end = edgeBytes.begin() + nodes[node + 1].firstEdge;
  const auto found = std::lower_bound(begin, end, byte);
  if (found == end || *found != byte)
    return none;
  return static_cast<uint32_t>(found - edgeBytes.begin()) + 1;
}

/// Puts every piece that starts at `begin` behind the best way to there. `reached` grows to the
/// farthest end of a piece.
void Unigram::extend(std::string_view word, uint32_t begin, Scratch &scratch,
                     uint32_t &reached) const {
  const double before = scratch.steps[begin].score;
  auto offer = [&](uint32_t end, double added, uint32_t id) {
    double score = before + added;
    if (singlePrecision)
      score = static_cast<float>(score);
    Scratch::Step &step = scratch.steps[end];
    if (step.begin == none || score > step.score)
      step = {score, begin, id};
    reached = std::max(reached, end);
  };
  const auto character =
      static_cast<uint32_t>(begin + utf8Length(static_cast<unsigned char>(word[begin])));
  bool spelled = false;
  uint32_t node = 0;
  for (auto at = begin; at < word.size(); ++at) {
    node = child(node, static_cast<unsigned char>(word[at]));
    if (node == none)
      break;
    const uint32_t id = nodes[node].id;
    if (id == none)
      continue;
    offer(at + 1, scores[id], id);
    spelled |= at + 1 == character;
  }
  if (!spelled)
    offer(character, unknownScore, unknownId);
}

/// Appends what `characters`, which no piece spells, become.
void Unigram::appendUnknown(std::string_view characters, std::vector<int32_t> &ids) const {
  auto hasPiece = [&](char c) { return byteIds[static_cast<unsigned char>(c)] != none; };
  if (byteFallback && std::all_of(characters.begin(), characters.end(), hasPiece))
    for (char c : characters)
      ids.push_back(static_cast<int32_t>(byteIds[static_cast<unsigned char>(c)]));
  else
    ids.push_back(static_cast<int32_t>(unknownId));
}

/// Appends the pieces on the best way from `begin` to `end`. Unknown characters at its end wait in
/// [scratch.unknown, end) for more of them.
void Unigram::appendPath(std::string_view word, uint32_t begin, uint32_t end, Scratch &scratch,
                         std::vector<int32_t> &ids) const {
  scratch.path.clear();
  for (uint32_t at = end; at > begin; at = scratch.steps[at].begin)
    scratch.path.push_back(at);
  for (auto at = scratch.path.rbegin(); at != scratch.path.rend(); ++at) {
    const Scratch::Step &step = scratch.steps[*at];
    if (step.id == unknownId) {
      scratch.unknown = std::min(scratch.unknown, step.begin);
      continue;
    }
    if (scratch.unknown != none)
      appendUnknown(word.substr(scratch.unknown, step.begin - scratch.unknown), ids);
    scratch.unknown = none;
    ids.push_back(static_cast<int32_t>(step.id));
  }
}

void Unigram::encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const {
  if (word.empty() || scratch.cache.find(word, ids))
    return;
  const size_t first = ids.size();
  scratch.steps.assign(word.size() + 1, {0, none, none});
  scratch.unknown = none;
  // Where no piece lies across a place, the best way to there is final and is taken.
  uint32_t taken = 0, reached = 0;
  for (uint32_t at = 0; at < word.size();
       at += static_cast<uint32_t>(utf8Length(static_cast<unsigned char>(word[at])))) {
    if (at == reached && at > 0) {
      appendPath(word, taken, at, scratch, ids);
      taken = at;
    }
    extend(word, at, scratch, reached);
  }
  appendPath(word, taken, static_cast<uint32_t>(word.size()), scratch, ids);
  if (scratch.unknown != none)
    appendUnknown(word.substr(scratch.unknown), ids);
  scratch.cache.insert(word, std::span(ids).subspan(first));
}

} // namespace ingot::runtime
