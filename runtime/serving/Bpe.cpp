// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one word: characters become pieces, then the lowest-ranked adjacent pair
// is merged, the leftmost first, until none is left. A word of n characters takes O(n log n).
#include "runtime/serving/Bpe.h"

#include "runtime/schema/Tokenizer_generated.h"
#include "runtime/serving/Unicode.h"

#include <algorithm>
#include <bit>

namespace ingot::runtime {

namespace {

constexpr uint64_t noPair = UINT64_MAX;

uint64_t mix(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

uint64_t hashOf(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix(hash);
}

/// A power of two with room to spare for `entries`.
size_t tableSize(size_t entries) { return std::bit_ceil(entries * 2 + 1); }

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
  }
  if (Status status = bpe.indexMerges(description); !status.ok())
    return status;
  return bpe;
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
    size_t slot = hashOf(piece(id)) & mask;
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
    size_t slot = mix(pair) & mask;
    while (mergeSlots[slot].pair != noPair && mergeSlots[slot].pair != pair)
      slot = (slot + 1) & mask;
    if (mergeSlots[slot].pair == pair)
      return malformed("merges one pair twice (merge " + std::to_string(i) + ")");
    mergeSlots[slot] = {pair, ranks ? ranks->Get(i) : i, merge.result()};
  }
  return Status::success();
}

uint32_t Bpe::find(std::string_view text) const {
  const size_t mask = pieceSlots.size() - 1;
  for (size_t slot = hashOf(text) & mask; pieceSlots[slot] != none; slot = (slot + 1) & mask)
    if (piece(pieceSlots[slot]) == text)
      return pieceSlots[slot];
  return none;
}

const Bpe::MergeSlot *Bpe::findMerge(uint32_t left, uint32_t right) const {
  const uint64_t pair = uint64_t(left) << 32 | right;
  const size_t mask = mergeSlots.size() - 1;
  for (size_t slot = mix(pair) & mask; mergeSlots[slot].pair != noPair; slot = (slot + 1) & mask)
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
    const std::string_view character =
        word.substr(offset, utf8Length(static_cast<unsigned char>(word[offset])));
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
  const auto count = static_cast<uint32_t>(scratch.symbols.size());
  for (uint32_t i = 0; i < count; ++i) {
    scratch.symbols[i].previous = i == 0 ? none : i - 1;
    scratch.symbols[i].next = i + 1 == count ? none : i + 1;
  }
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

void Bpe::encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const {
  if (ignoreMerges) {
    if (const uint32_t id = find(word); id != none) {
      ids.push_back(static_cast<int32_t>(id));
      return;
    }
  }
  splitCharacters(word, scratch);
  auto &symbols = scratch.symbols;
  if (symbols.empty())
    return;
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
