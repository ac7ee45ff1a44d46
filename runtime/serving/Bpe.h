// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding of one word: characters become pieces, then the lowest-ranked adjacent pair
// is merged, the leftmost first, until none is left. A word of n characters takes O(n log n).
#pragma once

#include "runtime/core/Status.h"

#include <array>
#include <cstdint>
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
  };

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
  void splitCharacters(std::string_view word, Scratch &scratch) const;
  bool appendBytes(std::string_view character, Scratch &scratch) const;
  void pushCandidate(uint32_t left, Scratch &scratch) const;

  std::string_view bytes;
  const uint32_t *offsets = nullptr; // little-endian, as all of the file
  std::vector<uint32_t> pieceSlots;  // open addressing; ids
  std::vector<MergeSlot> mergeSlots; // open addressing
  std::array<uint32_t, 256> byteIds{};
  uint32_t unknownId = none;
  bool byteFallback = false;
  bool fuseUnknown = false;
  bool ignoreMerges = false;
};

} // namespace ingot::runtime
