// SPDX-License-Identifier: Apache-2.0
// TileRun: the threads that walk over a plan's tiles. Tiles are computed and written in any order
// and hashed in theirs.
#pragma once

#include "compiler/checkpoint/files/Digest.h"
#include "compiler/weights/TilePlan.h"
#include "compiler/weights/WeightSink.h"

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace ingot::compiler {

/// One run. All references must outlive it.
class TileRun {
public:
  TileRun(const WeightGraph &graph, const std::vector<PackedWeight> &weights, const TilePlan &plan,
          const WeightSource &source, unsigned threads);

  checkpoint::Outcome run(const WeightSink &sink, const WeightProgress &progress);

  /// Of each packed weight, after run().
  const std::vector<checkpoint::Digest> &digests() const { return allDigests; }

private:
  /// A thread's memory, aligned to 64 bytes.
  struct Memory;
  struct Target;
  /// A pass while its tiles are under way.
  struct Progressing {
    int64_t nextToHash = 0;
    std::vector<std::unique_ptr<checkpoint::Sha256>> hashes; ///< by member
  };
  struct Piece {
    size_t member = 0;
    std::span<const std::byte> bytes;
  };

  void onEveryThread(const std::function<void(std::byte *memory)> &work);
  void fail(checkpoint::Error error);
  bool hasFailed() const { return failed.load(std::memory_order_relaxed); }

  void findRange(uint32_t node, std::byte *memory);
  void streamTiles(std::byte *memory);
  std::byte *startTile(const TilePass &pass, int64_t tile, std::byte *memory,
                       std::vector<Target> &targets) const;
  checkpoint::Expected<bool> computeBlock(const TilePass &pass, int64_t row, int64_t rowEnd,
                                          std::byte *arena,
                                          const std::vector<Target> &targets) const;
  checkpoint::Outcome computeTile(const TilePass &pass, int64_t tile, std::byte *memory,
                                  std::vector<Piece> &pieces) const;
  checkpoint::Outcome writePieces(const TilePass &pass, int64_t tile,
                                  const std::vector<Piece> &pieces);
  checkpoint::Outcome hashPieces(size_t passIndex, int64_t tile, const std::vector<Piece> &pieces);

  const WeightGraph &graph;
  const std::vector<PackedWeight> &weights;
  const TilePlan &plan;
  const WeightSource &source;
  unsigned threads;
  const WeightSink *sink = nullptr;
  const WeightProgress *progress = nullptr;

  WeightRanges ranges;               ///< by node
  std::vector<int64_t> firstTiles;   ///< of each pass, and the number of all tiles
  std::vector<Progressing> underWay; ///< by pass
  std::vector<checkpoint::Digest> allDigests;
  std::atomic<int64_t> next{0}; ///< tile, or row of a range
  uint64_t doneBytes = 0, allBytes = 0;

  std::atomic<bool> failed{false};
  checkpoint::Error firstError;
  std::mutex mutex; ///< guards what is below `next`, `underWay` and `ranges`
  std::condition_variable hashed;
};

} // namespace ingot::compiler
