// SPDX-License-Identifier: Apache-2.0
// Regular expressions over bytes, hash-consed in an arena, and their derivatives.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/BytePartitions.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// An expression of one arena: equal ids are equal expressions.
using ExpressionId = uint32_t;

/// What bounds an arena. Past a limit every constructor gives ExpressionArena::nothing and status()
/// is INGOT-E6601.
struct ExpressionLimits {
  size_t nodes = size_t(1) << 20;    ///< expressions
  size_t operands = size_t(1) << 22; ///< operands of alternations and intersections, in all
};

/// The languages are sets of byte strings; "any" below is ANY byte string, valid UTF-8 or not, so
/// that a complement should be intersected with what is text. Constructors simplify: two
/// expressions that differ in the order, grouping or repetition of alternatives are one. No
/// constructor fails; look at status() when done. Not for several threads at once.
///
///     ExpressionArena arena;
///     ExpressionId digits = arena.repeat(arena.range('0', '9'), 1, 3);
///     ExpressionId no7 = arena.difference(digits, arena.literal("7"));
class ExpressionArena {
public:
  static constexpr ExpressionId nothing = 0;  ///< matches no text
  static constexpr ExpressionId empty = 1;    ///< matches the empty text
  static constexpr ExpressionId anything = 2; ///< matches every byte string
  static constexpr uint32_t unbounded = ~0u;  ///< a repeat without an upper bound

  explicit ExpressionArena(ExpressionLimits limits = {});

  /// One byte out of `set`; nothing where it is empty.
  ExpressionId bytes(const ByteSet &set);
  /// One byte from first to last, both included.
  ExpressionId range(uint8_t first, uint8_t last);
  /// Exactly these bytes.
  ExpressionId literal(std::string_view text);
  /// Exactly one of these texts, as a tree of their common beginnings: for many.
  ExpressionId literals(std::span<const std::string> texts);

  ExpressionId concatenation(ExpressionId first, ExpressionId second);
  ExpressionId concatenation(std::span<const ExpressionId> parts);
  ExpressionId concatenation(std::initializer_list<ExpressionId> parts) {
    return concatenation(std::span(parts.begin(), parts.size()));
  }
  ExpressionId alternation(ExpressionId first, ExpressionId second);
  ExpressionId alternation(std::span<const ExpressionId> alternatives);
  ExpressionId alternation(std::initializer_list<ExpressionId> alternatives) {
    return alternation(std::span(alternatives.begin(), alternatives.size()));
  }
  /// What all of them match; `anything` for none.
  ExpressionId intersection(std::span<const ExpressionId> operands);
  ExpressionId intersection(ExpressionId first, ExpressionId second);
  ExpressionId complement(ExpressionId operand);
  /// What `whole` matches and `without` does not.
  ExpressionId difference(ExpressionId whole, ExpressionId without);
  /// `minimum` to `maximum` times `operand`; nothing where minimum > maximum. The counts stay
  /// numbers: their size costs nothing.
  ExpressionId repeat(ExpressionId operand, uint32_t minimum, uint32_t maximum = unbounded);
  ExpressionId optional(ExpressionId operand) { return repeat(operand, 0, 1); }
  ExpressionId star(ExpressionId operand) { return repeat(operand, 0); }

  /// Whether the empty text matches.
  bool nullable(ExpressionId id) const { return nodes[id].flags & Nullable; }
  /// What may follow `byte` in texts of `id` that begin with it.
  ExpressionId derivative(ExpressionId id, uint8_t byte);
  /// The derivative of what begins with one set of bytes and always has an end: true, and `next`.
  bool simpleStep(ExpressionId id, uint8_t byte, ExpressionId &next) const {
    const Node &node = nodes[id];
    if (!(node.flags & Positive) || node.kind != Kind::Concatenation ||
        nodes[node.a].kind != Kind::Bytes)
      return false;
    next = sets[nodes[node.a].a].contains(byte) ? node.b : nothing;
    return true;
  }
  /// Whether no text matches. Intersections and complements are explored, over at most
  /// `stateLimit` derivatives; where that is not enough the answer is "not empty" and status()
  /// INGOT-E6601.
  bool isEmpty(ExpressionId id, size_t stateLimit = 100000);
  /// Whether all of `text` matches.
  bool matches(ExpressionId id, std::string_view text);

  /// `id` without counts that `steps` bytes cannot use up, as far as that is known to make no
  /// difference over so many bytes, ends and dead ends included. For asking, not for keeping: what
  /// it matches beyond is not what `id` does.
  ExpressionId clamped(ExpressionId id, uint32_t steps);
  /// 64 bits that depend on the structure of `id` alone, not on its arena.
  uint64_t fingerprint(ExpressionId id) const { return nodes[id].fingerprint; }
  /// Whether `id` holds a count above `steps`, which clamped() would change.
  bool countsAbove(ExpressionId id, uint32_t steps) const { return nodes[id].highest > steps; }

  /// Says that `id` is made of whole characters of text of kind 0 or 1, before it is part of
  /// others; and that `id` is all texts of that kind. Where all texts are an alternative, others
  /// that are texts are left out.
  void declareText(ExpressionId id, int kind);
  void declareAllText(ExpressionId id, int kind) { allText[kind] = id; }

  /// What a caller has made under a 64-bit hash of its own; nothing where it has not.
  ExpressionId noted(uint64_t key) const {
    const uint32_t known = notes.find(key);
    return known == FlatMap::missing ? nothing : known;
  }
  void note(uint64_t key, ExpressionId id) { notes.put(key, id); }

  /// Bytes of one part have the same derivative of `id`.
  const BytePartitions::Partition &partition(ExpressionId id) const {
    return partitions[nodes[id].partition];
  }
  BytePartitions::Id partitionId(ExpressionId id) const { return nodes[id].partition; }
  BytePartitions &bytePartitions() { return partitions; }

  /// Byte sets in use, to be told apart by ByteClasses.
  std::span<const ByteSet> byteSets() const { return sets; }
  size_t size() const { return nodes.size(); }
  /// INGOT-E6601 once a limit was met.
  const Status &status() const { return failure; }

private:
  enum class Kind : uint8_t {
    Nothing,
    Empty,
    Bytes,
    Concatenation,
    Alternation,
    Intersection,
    Complement,
    Repeat
  };
  enum Flag : uint8_t {
    Nullable = 1,
    Positive = 2, ///< without intersection and complement: empty only as `nothing`
    Alive = 4,    ///< known to match something
    Dead = 8,     ///< known to match nothing
    Text = 16,    ///< made of characters of text of kind 0; twice that: of kind 1
  };
  /// Kind, operands: Bytes has the set's index in `a`; Concatenation first `a`, rest `b`;
  /// Alternation and Intersection operands[a, a+b), sorted; Complement `a`; Repeat `a`, minimum
  /// `b`, maximum `c`.
  struct Node {
    Kind kind;
    uint8_t flags = 0;
    uint32_t a = 0, b = 0, c = 0;
    uint32_t highest = 0; ///< the largest count in it
    BytePartitions::Id partition = BytePartitions::coarsest;
    uint32_t shortest = 0; ///< no text has fewer bytes
    uint64_t fingerprint = 0;
  };

  std::span<const ExpressionId> operandsOf(const Node &node) const {
    return {operands.data() + node.a, node.b};
  }
  ExpressionId intern(Node node, std::span<const ExpressionId> list = {}, ByteSet set = {});
  bool same(const Node &left, const Node &right, std::span<const ExpressionId> list,
            const ByteSet &set) const;
  void describe(Node &node, std::span<const ExpressionId> list, const ByteSet &set) const;
  BytePartitions::Id partitionOf(const Node &node);
  uint32_t shortestOf(const Node &node) const;
  void grow();
  std::vector<ExpressionId> flattened(Kind kind, std::span<const ExpressionId> list) const;
  void mergeByteSets(Kind kind, std::vector<ExpressionId> &list);
  void dropCovered(Kind kind, std::vector<ExpressionId> &list) const;
  bool mergeRepeats(std::vector<ExpressionId> &list);
  ExpressionId prepend(ExpressionId first, ExpressionId second);
  ExpressionId literalTree(std::span<const std::string> texts, size_t offset, int depth);
  ExpressionId derive(ExpressionId id, uint8_t byte, int depth);
  ExpressionId deriveConcatenation(ExpressionId id, uint8_t byte, int depth);
  ExpressionId deriveCompound(const Node &node, uint8_t byte, int depth);
  struct Horizon {
    uint32_t steps;
    bool upperOnly; ///< only upper bounds go
  };
  ExpressionId clamp(ExpressionId id, Horizon horizon, int depth);
  uint32_t longestEnd(ExpressionId id);
  bool explore(ExpressionId id, size_t stateLimit);
  ExpressionId fail(std::string_view what);

  ExpressionLimits limits;
  Status failure;
  std::vector<Node> nodes;
  std::vector<ExpressionId> operands;
  std::vector<ByteSet> sets;
  std::vector<ExpressionId> table; ///< by fingerprint, open addressing, 0: free
  ExpressionId allText[2] = {nothing, nothing};
  BytePartitions partitions;
  FlatMap notes;
  FlatMap derived;      ///< by id and part of the bytes
  FlatMap clampedParts; ///< by id and horizon
  FlatMap longestEnds;  ///< by id
};

} // namespace ingot::runtime::guided
