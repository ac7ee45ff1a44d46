// SPDX-License-Identifier: Apache-2.0
// Unigram encoding: of all ways to spell a text with pieces the most probable one. The work and the
// memory are proportional to the text.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/serving/WordCache.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ingot::schema {
struct Tokenizer;
}

namespace ingot::runtime {

/// The pieces as a trie, with their scores. Immutable; independent of the description it was made
/// from.
class Unigram {
public:
  /// Longer pieces are refused: the work per character is at most this.
  static constexpr size_t maxPieceBytes = 1024;

  /// `description` must have passed the verifier and checkPieces (Tokenizer.cpp).
  /// Errors: INGOT-E5402 for a score, an unknown id or a piece that a Unigram model cannot have.
  static Result<Unigram> create(const schema::Tokenizer &description);

  /// Memory reused from word to word; one per thread.
  struct Scratch {
    /// The best way to spell the text up to some place: its last piece.
    struct Step {
      double score;
      uint32_t begin; // none: the place is not reached yet
      uint32_t id;
    };
    std::vector<Step> steps;
    std::vector<uint32_t> path;
    uint32_t unknown; // where unknown characters begin that are not yet appended, or none
    WordCache cache;
  };

  /// Appends the ids of `word`, valid UTF-8 of less than 4 GiB, to `ids`. Characters that no piece
  /// spells become the unknown id, neighbours one; with byte_fallback the pieces of their bytes.
  void encode(std::string_view word, Scratch &scratch, std::vector<int32_t> &ids) const;

private:
  static constexpr uint32_t none = UINT32_MAX;

  /// The edges of node n are [nodes[n].firstEdge, nodes[n + 1].firstEdge), in order of their
  /// bytes; edge e leads to node e + 1.
  struct Node {
    uint32_t firstEdge;
    uint32_t id; // of the piece that ends here, or none
  };

  void buildTrie(const schema::Tokenizer &description, std::vector<uint32_t> ids);
  uint32_t child(uint32_t node, unsigned char byte) const;
  void extend(std::string_view word, uint32_t begin, Scratch &scratch, uint32_t &reached) const;
  void appendPath(std::string_view word, uint32_t begin, uint32_t end, Scratch &scratch,
                  std::vector<int32_t> &ids) const;
  void appendUnknown(std::string_view characters, std::vector<int32_t> &ids) const;

  std::vector<Node> nodes; // and one behind the last
  std::vector<unsigned char> edgeBytes;
  std::vector<double> scores; // by id
  double unknownScore = 0;
  uint32_t unknownId = none;
  bool byteFallback = false;
  bool singlePrecision = false; // of sums; decides between ways that are equally good
  std::array<uint32_t, 256> byteIds{};
};

} // namespace ingot::runtime
