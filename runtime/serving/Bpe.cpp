// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one word: characters become pieces, then the lowest-ranked adjacent pair
// is merged, the leftmost first, until none is left. A word of n characters takes O(n log n).
#include "runtime/serving/Bpe.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/ByteAlphabet.h"
#include "runtime/serving/TextHash.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <bit>

namespace ingot::runtime {

namespace {

constexpr uint64_t noPair = UINT64_MAX;

/// A power of two with room to spare for `entries`.
size_t tableSize(size_t entries) { return std::bit_ceil(entries * 2 + 1); }

constexpr size_t junctionBits = size_t(1) << 18;

size_t junctionOf(std::string_view before, std::string_view behind) {
  auto packed = [](std::string_view character) {
    uint64_t bytes = 0;
    for (char c : character)
      bytes = bytes << 8 | static_cast<unsigned char>(c);
    return bytes;
  };
  return mixBits(packed(before) << 32 | packed(behind)) % junctionBits;
}

std::string_view characterAt(std::string_view text, size_t offset) {
  return text.substr(offset, utf8Length(static_cast<unsigned char>(text[offset])));
}

std::string_view lastCharacter(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  return text.substr(begin);
}

/// Links the symbols in their order; `none` marks both ends.
void link(std::vector<Bpe::Scratch::Symbol> &symbols, uint32_t none) {
  const auto count = static_cast<uint32_t>(symbols.size());
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i].previous = i == 0 ? none : i - 1;
    symbols[i].next = i + 1 == count ? none : i + 1;
  }
}

bool later(const Bpe::Scratch::Candidate &a, const Bpe::Scratch::Candidate &b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

} // namespace

Result<Bpe> Bpe::create(const schema::Tokenizer &description) {
  Bpe bpe;
  bpe.bytes = {reinterpret_cast<const char *>(description.piece_bytes()->data()),
               description.piece_bytes()->size()};
  bpe.offsets = description.piece_offsets()->data();
  bpe.byteFallback = description.byte_fallback();
  bpe.fuseUnknown = description.fuse_unk();
  bpe.ignoreMerges = description.ignore_merges();
  bpe.indexPieces(description);
  if (description.unk_id() >= 0)
    bpe.unknownId = static_cast<uint32_t>(description.unk_id());
  constexpr char digits[] = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char name[] = {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
    bpe.byteIds[byte] = bpe.find({name, sizeof name});
    const char character = static_cast<char>(byte);
    std::string spelled;
    appendSpelled({&character, 1}, spelled);
    bpe.spelledByte[byte] = bpe.find(spelled);
  }
  if (Status status = bpe.indexMerges(description); !status.ok())
    return status;
  bpe.indexJunctions(description);
  return bpe;
}

bool Bpe::takeBytes() {
  takesBytes = std::find(spelledByte.begin(), spelledByte.end(), none) == spelledByte.end();
  return takesBytes;
}

std::string_view Bpe::piece(uint32_t id) const {
  return bytes.substr(offsets[id], offsets[id + 1] - offsets[id]);
}

void Bpe::indexPieces(const schema::Tokenizer &description) {
  const auto &flags = *description.piece_flags();
  const auto model = static_cast<uint8_t>(schema::PieceFlag::Model);
  size_t count = 0;
  for (uint8_t flag : flags)
    count += (flag & model) != 0;
  pieceSlots.assign(tableSize(count), none);
  const size_t mask = pieceSlots.size() - 1;
  for (uint32_t id = 0; id < flags.size(); ++id) {
    if (!(flags[id] & model))
      continue;
    size_t slot = hashText(piece(id)) & mask;
    // Of equal pieces the first counts.
    while (pieceSlots[slot] != none && piece(pieceSlots[slot]) != piece(id))
      slot = (slot + 1) & mask;
    if (pieceSlots[slot] == none)
      pieceSlots[slot] = id;
  }
}

Status Bpe::indexMerges(const schema::Tokenizer &description) {
  const auto &merges = *description.merges();
  const auto *ranks = description.merge_ranks();
  const uint32_t pieces = description.piece_flags()->size();
  auto malformed = [](const std::string &what) {
    return Status::error("INGOT-E5402", "the tokenizer " + what, "build the engine again");
  };
  if (ranks && ranks->size() != merges.size())
    return malformed("has " + std::to_string(merges.size()) + " merges and " +
                     std::to_string(ranks->size()) + " ranks");
  mergeSlots.assign(tableSize(merges.size()), MergeSlot{noPair, 0, 0});
  const size_t mask = mergeSlots.size() - 1;
  for (uint32_t i = 0; i < merges.size(); ++i) {
    const schema::Merge &merge = *merges.Get(i);
    if (merge.left() >= pieces || merge.right() >= pieces || merge.result() >= pieces)
      return malformed("merges pieces that it does not have (merge " + std::to_string(i) + ")");
    const uint64_t pair = uint64_t(merge.left()) << 32 | merge.right();
    size_t slot = mixBits(pair) & mask;
    while (mergeSlots[slot].pair != noPair && mergeSlots[slot].pair != pair)
      slot = (slot + 1) & mask;
    if (mergeSlots[slot].pair == pair)
      return malformed("merges one pair twice (merge " + std::to_string(i) + ")");
    mergeSlots[slot] = {pair, ranks ? ranks->Get(i) : i, merge.result()};
  }
  return Status::success();
}

void Bpe::indexJunctions(const schema::Tokenizer &description) {
  junctions.assign(junctionBits / 64, 0);
  for (const schema::Merge *merge : *description.merges()) {
    const std::string_view left = piece(merge->left()), right = piece(merge->right());
    if (left.empty() || right.empty())
      continue;
    const size_t bit = junctionOf(lastCharacter(left), characterAt(right, 0));
    junctions[bit / 64] |= uint64_t(1) << bit % 64;
  }
}

/// Whether no merge can ever join what lies on the two sides: both characters are pieces, and none
/// joins a piece that ends with the one to a piece that starts with the other.
bool Bpe::isCut(std::string_view before, std::string_view behind) const {
  const size_t bit = junctionOf(before, behind);
  return !(junctions[bit / 64] >> bit % 64 & 1) && find(before) != none && find(behind) != none;
}

uint32_t Bpe::find(std::string_view text) const {
  const size_t mask = pieceSlots.size() - 1;
  for (size_t slot = hashText(text) & mask; pieceSlots[slot] != none; slot = (slot + 1) & mask)
    if (piece(pieceSlots[slot]) == text)
      return pieceSlots[slot];
  return none;
}

const Bpe::MergeSlot *Bpe::findMerge(uint32_t left, uint32_t right) const {
  const uint64_t pair = uint64_t(left) << 32 | right;
  const size_t mask = mergeSlots.size() - 1;
  for (size_t slot = mixBits(pair) & mask; mergeSlots[slot].pair != noPair;
       slot = (slot + 1) & mask)
    if (mergeSlots[slot].pair == pair)
      return &mergeSlots[slot];
  return nullptr;
}

bool Bpe::appendBytes(std::string_view character, Scratch &scratch) const {
  for (char c : character)
    if (byteIds[static_cast<unsigned char>(c)] == none)
      return false;
  for (char c : character)
    scratch.symbols.push_back({byteIds[static_cast<unsigned char>(c)], none, none});
  return true;
}

void Bpe::splitCharacters(std::string_view word, Scratch &scratch) const {
  scratch.symbols.clear();
  bool afterUnknown = false;
  for (size_t offset = 0; offset < word.size();) {
    const std::string_view character = characterAt(word, offset);
    offset += character.size();
    const uint32_t id = find(character);
    const bool wasUnknown = std::exchange(afterUnknown, false);
    if (id != none) {
      scratch.symbols.push_back({id, none, none});
    } else if (!(byteFallback && appendBytes(character, scratch)) && unknownId != none) {
      afterUnknown = true;
      if (!(wasUnknown && fuseUnknown))
        scratch.symbols.push_back({unknownId, none, none});
    }
  }
}

void Bpe::splitBytes(std::string_view word, Scratch &scratch) const {
  scratch.symbols.clear();
  for (char c : word)
    scratch.symbols.push_back({spelledByte[static_cast<unsigned char>(c)], none, none});
}

void Bpe::pushCandidate(uint32_t left, Scratch &scratch) const {
  const Scratch::Symbol &symbol = scratch.symbols[left];
  if (symbol.next == none)
    return;
  const uint32_t rightId = scratch.symbols[symbol.next].id;
  if (const MergeSlot *merge = findMerge(symbol.id, rightId)) {
    scratch.heap.push_back({merge->rank, left, symbol.id, rightId, merge->result});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), later);
  }
}

bool Bpe::findWhole(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const {
  if (takesBytes) {
    scratch.spelled.clear();
    appendSpelled(word, scratch.spelled);
    word = scratch.spelled;
  }
  const uint32_t id = find(word);
  if (id != none)
    ids.push_back(static_cast<int32_t>(id));
  return id != none;
}

void Bpe::encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const {
  if (word.size() <= WordCache::maxWordBytes || takesBytes || ignoreMerges)
    return mergeCached(word, scratch, ids);
  // A long word is merged in parts that never meet: most of them are in the cache.
  size_t begin = 0;
  std::string_view before = characterAt(word, 0);
  for (size_t at = before.size(); at < word.size();) {
    const std::string_view character = characterAt(word, at);
    if (isCut(before, character)) {
      mergeCached(word.substr(begin, at - begin), scratch, ids);
      begin = at;
    }
    before = character;
    at += character.size();
  }
  mergeCached(word.substr(begin), scratch, ids);
}

void Bpe::mergeCached(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const {
  if (word.empty() || scratch.cache.find(word, ids))
    return;
  const size_t first = ids.size();
  if (!ignoreMerges || !findWhole(word, scratch, ids))
    merge(word, scratch, ids);
  scratch.cache.insert(word, std::span(ids).subspan(first));
}

void Bpe::merge(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const {
  if (takesBytes)
    splitBytes(word, scratch);
  else
    splitCharacters(word, scratch);
  auto &symbols = scratch.symbols;
  if (symbols.empty())
    return;
  link(symbols, none);
  scratch.heap.clear();
  for (uint32_t i = 0; i < symbols.size(); ++i)
    pushCandidate(i, scratch);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), later);
    const Scratch::Candidate best = scratch.heap.back();
    scratch.heap.pop_back();
    // Stale if one of the two symbols has since become part of another. A merged-away right symbol
    // keeps `none` as its id, which no candidate has.
    Scratch::Symbol &left = symbols[best.left];
    if (left.id != best.leftId || left.next == none || symbols[left.next].id != best.rightId)
      continue;
    Scratch::Symbol &right = symbols[left.next];
    left.id = best.result;
    left.next = right.next;
    right.id = none;
    if (left.next != none)
      symbols[left.next].previous = best.left;
    if (left.previous != none)
      pushCandidate(left.previous, scratch);
    pushCandidate(best.left, scratch);
  }
  for (uint32_t i = 0; i != none; i = symbols[i].next)
    ids.push_back(static_cast<int32_t>(symbols[i].id));
}

} // namespace ingot::runtime
