// SPDX-License-Identifier: Apache-2.0
// TilePlan: which weights are evaluated together, and in tiles of which size. Exact about memory.
#pragma once

#include "compiler/weights/BlockPlan.h"

namespace ingot::compiler {

/// A packed weight as the file holds it, once however often it is stored.
struct PackedWeight {
  WeightValue value;
  PackedLayout layout;
  ElementType element = kF32;
  uint8_t padding = 0; ///< the element in places beyond the weight
  uint64_t offset = 0; ///< from the start of the weights
  uint64_t bytes = 0;
};

/// Weights of equal row count that share what is read, evaluated in one walk over their rows; or a
/// single weight. Tile after tile, each member gets its next contiguous piece.
struct TilePass {
  std::vector<uint32_t> members; ///< indices of packed weights
  int64_t unitRows = 0;   ///< of all members together; tiles of several members are multiples of it
  int64_t leastArena = 0; ///< bytes to evaluate any one row
  int64_t leastTiles = 0; ///< bytes of the smallest tiles

  // Chosen for a memory limit:
  size_t cut = 0;           ///< which of the member's cuts; 0 where there are several members
  int64_t unitsPerTile = 0; ///< of a single member's cut
  int64_t rowsPerTile = 0;  ///< where there are several members
  int64_t tiles = 0;
  int64_t tileBytes = 0;  ///< memory of the members' tiles
  int64_t arenaBytes = 0; ///< memory of a block
};

class TilePlan {
public:
  /// Groups the weights into passes. Depends on nothing but the graph.
  TilePlan(const WeightGraph &graph, const std::vector<PackedWeight> &weights);

  const std::vector<TilePass> &passes() const { return allPasses; }

  /// Bytes that one thread needs at least.
  int64_t leastMemory() const { return least; }
  /// Bytes that a thread uses after size().
  int64_t threadMemory() const { return chosen; }

  /// Chooses tiles so that a thread uses at most `limit` bytes, which is at least leastMemory().
  void size(int64_t limit);

  /// The piece of member `member` in tile `tile` of a pass; nothing where it has no more.
  std::optional<PackedTile> tile(const TilePass &pass, size_t member, int64_t tile) const;

  /// Nodes whose range must be known before the passes run, operands before users.
  const std::vector<uint32_t> &rangeNodes() const { return ranges; }

private:
  void addToPass(uint32_t weight);
  bool canJoin(const TilePass &pass, uint32_t weight) const;
  void sizePass(TilePass &pass, int64_t limit) const;
  void sizeSingle(TilePass &pass, int64_t limit) const;
  void sizeJoined(TilePass &pass, int64_t limit) const;
  int64_t memoryOf(const PackedWeight &weight, int64_t places) const;
  int64_t arenaForRow(const std::vector<WeightValue> &values) const;
  void findLeast(TilePass &pass) const;

  const WeightGraph &graph;
  const std::vector<PackedWeight> &weights;
  std::vector<TilePass> allPasses;
  std::vector<uint32_t> ranges;
  std::vector<std::vector<uint32_t>> passesOfNode; ///< passes that read a shared node
  int64_t least = 0, chosen = 0;
};

} // namespace ingot::compiler
