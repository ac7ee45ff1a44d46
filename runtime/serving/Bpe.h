// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one word: characters become pieces, then the lowest-ranked adjacent pair
// is merged, the leftmost first, until none is left. A word of n characters takes O(n log n).
#pragma once

#include "runtime/core/Status.h"
#include "runtime/serving/WordCache.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::schema {
struct Tokenizer;
}

namespace ingot::runtime {

/// The vocabulary and its merges. Keeps views of the description's bytes, which must outlive it.
class Bpe {
public:
  /// `description` must have passed the verifier and checkPieces (Tokenizer.cpp).
  /// Errors: INGOT-E5402 for ids out of range or a pair merged twice.
  static Result<Bpe> create(const schema::Tokenizer &description);

  /// Memory reused from word to word; one per thread.
  struct Scratch {
    struct Symbol {
      uint32_t id;
      uint32_t previous; // index, or none
      uint32_t next;
    };
    struct Candidate {
      uint32_t rank;
      uint32_t left; // index of the left symbol
      uint32_t leftId;
      uint32_t rightId;
      uint32_t result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    std::string spelled;
    WordCache cache;
  };

  /// From now on words are bytes as they are, which the pieces spell in the byte alphabet
  /// (ByteAlphabet.h). False, and nothing changes, unless every byte has a piece.
  bool takeBytes();

  /// Appends the ids of `word`, valid UTF-8, to `ids`. Characters that are no piece become byte
  /// pieces, else the unknown id, else nothing.
  void encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const;

private:
  struct MergeSlot {
    uint64_t pair; // left << 32 | right
    uint32_t rank;
    uint32_t result;
  };
  static constexpr uint32_t none = UINT32_MAX;

  std::string_view piece(uint32_t id) const;
  uint32_t find(std::string_view text) const;
  const MergeSlot *findMerge(uint32_t left, uint32_t right) const;
  void indexPieces(const schema::Tokenizer &description);
  Status indexMerges(const schema::Tokenizer &description);
  void indexJunctions(const schema::Tokenizer &description);
  bool isCut(std::string_view before, std::string_view behind) const;
  bool findWhole(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const;
  void merge(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const;
  void mergeCached(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const;
  void splitCharacters(std::string_view word, Scratch &scratch) const;
  void splitBytes(std::string_view word, Scratch &scratch) const;
  bool appendBytes(std::string_view character, Scratch &scratch) const;
  void pushCandidate(uint32_t left, Scratch &scratch) const;

  std::string_view bytes;
  const uint32_t *offsets = nullptr;       // little-endian, as all of the file
  std::vector<uint32_t> pieceSlots;        // open addressing; ids
  std::vector<MergeSlot> mergeSlots;       // open addressing
  std::array<uint32_t, 256> byteIds{};     // of "<0xNN>"
  std::array<uint32_t, 256> spelledByte{}; // of the character that spells a byte; for takeBytes
  bool takesBytes = false;
  /// Bits by hash of two characters: some merge may join a piece that ends with the first and one
  /// that starts with the second.
  std::vector<uint64_t> junctions;
  uint32_t unknownId = none;
  bool byteFallback = false;
  bool fuseUnknown = false;
  bool ignoreMerges = false;
};

} // namespace ingot::runtime
