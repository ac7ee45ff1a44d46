// SPDX-License-Identifier: Apache-2.0
// A thread takes the next tile, computes it in its own memory, gives it to the sink, waits until
// the tiles before it are hashed, and hashes it. The lowest tile under way never waits.
#include "compiler/weights/TileRun.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <thread>

namespace ingot::compiler {

using checkpoint::Error;
using checkpoint::Outcome;

static constexpr int64_t alignment = 64;

static int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

struct TileRun::Memory {
  explicit Memory(int64_t bytes)
      : start(static_cast<std::byte *>(
            ::operator new(static_cast<size_t>(bytes), std::align_val_t(alignment)))) {}
  ~Memory() { ::operator delete(start, std::align_val_t(alignment)); }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  std::byte *start;
};

TileRun::TileRun(const WeightGraph &graph, const std::vector<PackedWeight> &weights,
                 const TilePlan &plan, const WeightSource &source, unsigned threads)
    : graph(graph), weights(weights), plan(plan), source(source), threads(threads),
      ranges(graph.nodes().size()), underWay(plan.passes().size()), allDigests(weights.size()) {
  firstTiles.push_back(0);
  for (const TilePass &pass : plan.passes())
    firstTiles.push_back(firstTiles.back() + pass.tiles);
  for (const PackedWeight &weight : weights)
    allBytes += weight.bytes;
}

Outcome TileRun::run(const WeightSink &sink, const WeightProgress &progress) {
  this->sink = &sink;
  this->progress = &progress;
  for (uint32_t node : plan.rangeNodes()) {
    ranges[node].emplace();
    next = 0;
    onEveryThread([&](std::byte *memory) { findRange(node, memory); });
  }
  next = 0;
  if (!hasFailed())
    onEveryThread([&](std::byte *memory) { streamTiles(memory); });
  return hasFailed() ? Outcome(firstError) : Outcome();
}

void TileRun::onEveryThread(const std::function<void(std::byte *memory)> &work) {
  auto body = [&] {
    Memory memory(plan.threadMemory());
    work(memory.start);
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) {
    try {
      others.emplace_back(body);
    } catch (const std::system_error &) {
      break; // A system that allows no more threads is served by fewer.
    }
  }
  body();
}

void TileRun::fail(Error error) {
  std::lock_guard lock(mutex);
  if (!failed.exchange(true))
    firstError = std::move(error);
  hashed.notify_all();
}

/// Rows of a block: as many as the arena holds by the cost of one, in whole panels.
static int64_t blockRows(int64_t arena, int64_t rowBytes) {
  int64_t rows = std::max<int64_t>(arena / std::max<int64_t>(rowBytes, 1), 1);
  return rows > 64 ? rows / 64 * 64 : rows > 16 ? rows / 16 * 16 : rows;
}

//===- Ranges over whole weights ------------------------------------------------------------===//

void TileRun::findRange(uint32_t node, std::byte *memory) {
  WeightValue operand = graph.nodes()[node].operands[0];
  const WeightShape &shape = graph.shape(operand);
  int64_t floatBytes = aligned(shape.columns * 4);
  int64_t rowBytes = shape.rowBytes();
  ValueRange range;
  auto *floats = reinterpret_cast<float *>(memory);
  while (!hasFailed()) {
    // One row always fits; several only where their plan, which may need more than the result,
    // does.
    int64_t step =
        blockRows(std::min<int64_t>(plan.threadMemory() / 4, int64_t{1} << 20), rowBytes);
    int64_t row = next.fetch_add(step);
    int64_t end = std::min(row + step, shape.rows);
    while (row < end) {
      int64_t rows = end - row;
      std::optional<BlockPlan> block;
      WeightView view;
      for (;; rows = (rows + 1) / 2) {
        block.emplace(graph);
        view = block->request(operand, {row, row + rows, 0, shape.columns});
        if (rows == 1 || block->memory() + floatBytes <= plan.threadMemory())
          break;
      }
      std::byte *arena = memory + floatBytes;
      if (auto done = block->evaluate(source, ranges, arena); !done)
        return fail(done.error());
      for (int64_t i = 0; i < rows; ++i) {
        int64_t offset = i * view.pitch * workingBytes(shape.element);
        widen(shape.element, arena + view.offset + offset, floats, shape.columns);
        range.include(floats, shape.columns);
      }
      row += rows;
    }
    if (row >= shape.rows)
      break;
  }
  std::lock_guard lock(mutex);
  ranges[node]->include(range);
}

//===- Tiles --------------------------------------------------------------------------------===//

void TileRun::streamTiles(std::byte *memory) {
  std::vector<Piece> pieces;
  while (!hasFailed()) {
    int64_t index = next.fetch_add(1);
    if (index >= firstTiles.back())
      return;
    auto after = std::upper_bound(firstTiles.begin(), firstTiles.end(), index);
    auto passIndex = static_cast<size_t>(after - firstTiles.begin()) - 1;
    const TilePass &pass = plan.passes()[passIndex];
    int64_t tile = index - firstTiles[passIndex];
    pieces.clear();
    Outcome done = computeTile(pass, tile, memory, pieces);
    if (done)
      done = writePieces(pass, tile, pieces);
    if (done)
      done = hashPieces(passIndex, tile, pieces);
    if (!done)
      return fail(done.error());
  }
}

/// A member's part of a tile.
struct TileRun::Target {
  size_t member = 0;
  PackedTile tile;
  TilePacker packer;
  std::byte *places = nullptr;
};

/// Sets up the members' parts from `memory` on, padding filled in; answers the first byte after
/// them.
std::byte *TileRun::startTile(const TilePass &pass, int64_t tile, std::byte *memory,
                              std::vector<Target> &targets) const {
  for (size_t member = 0; member < pass.members.size(); ++member) {
    auto part = plan.tile(pass, member, tile);
    if (!part)
      continue;
    const PackedWeight &weight = weights[pass.members[member]];
    int64_t size = workingBytes(weight.element);
    targets.push_back({member, *part, TilePacker(weight.layout, *part, size), memory});
    if (targets.back().packer.hasPadding())
      std::memset(memory, weight.padding, static_cast<size_t>(part->places * size));
    memory += std::max(aligned(part->places * size), aligned(weight.layout.bytesOf(part->places)));
  }
  return memory;
}

/// Evaluates rows [row, rowEnd) for every target and packs them. Answers false, having done
/// nothing, where that needs more memory than the pass has and fewer rows would need less.
checkpoint::Expected<bool> TileRun::computeBlock(const TilePass &pass, int64_t row, int64_t rowEnd,
                                                 std::byte *arena,
                                                 const std::vector<Target> &targets) const {
  BlockPlan block(graph);
  std::vector<std::pair<WeightView, int64_t>> views; // and the end of the target's rows
  for (const Target &target : targets) {
    const Window &inside = target.packer.inside();
    Window window{row, std::min(rowEnd, inside.rowEnd), inside.column, inside.columnEnd};
    WeightView view;
    if (!window.isEmpty())
      view = block.request(weights[pass.members[target.member]].value, window);
    views.emplace_back(view, window.isEmpty() ? row : window.rowEnd);
  }
  if (block.memory() > pass.arenaBytes && rowEnd - row > 1)
    return false;
  if (auto done = block.evaluate(source, ranges, arena); !done)
    return done.error();
  for (size_t i = 0; i < targets.size(); ++i)
    targets[i].packer.pack(row, views[i].second, arena + views[i].first.offset,
                           views[i].first.pitch, targets[i].places);
  return true;
}

Outcome TileRun::computeTile(const TilePass &pass, int64_t tile, std::byte *memory,
                             std::vector<Piece> &pieces) const {
  std::vector<Target> targets;
  std::byte *arena = startTile(pass, tile, memory, targets);
  int64_t row = std::numeric_limits<int64_t>::max(), rowEnd = 0;
  for (const Target &target : targets) {
    row = std::min(row, target.packer.inside().row);
    rowEnd = std::max(rowEnd, target.packer.inside().rowEnd);
  }
  int64_t step = blockRows(pass.arenaBytes, pass.leastArena);
  while (row < rowEnd) {
    int64_t end = std::min(row + step, rowEnd);
    auto fits = computeBlock(pass, row, end, arena, targets);
    if (!fits)
      return fits.error();
    if (*fits)
      row = end;
    else
      step = (end - row + 1) / 2; // Rows may cost more where operands meet than elsewhere.
  }
  for (const Target &target : targets) {
    const PackedWeight &weight = weights[pass.members[target.member]];
    auto *bytes = reinterpret_cast<uint8_t *>(target.places);
    int64_t bits = elementBits(weight.element);
    if (weight.element == kI4)
      joinNibbles(bytes, bytes, target.tile.places);
    else if (hasPlanes(bits))
      joinPlanes(bytes, bytes, target.tile.places, planesOf(bits));
    auto count = static_cast<size_t>(weight.layout.bytesOf(target.tile.places));
    pieces.push_back({target.member, {target.places, count}});
  }
  return {};
}

Outcome TileRun::writePieces(const TilePass &pass, int64_t tile, const std::vector<Piece> &pieces) {
  for (const Piece &piece : pieces) {
    const PackedWeight &weight = weights[pass.members[piece.member]];
    int64_t place = plan.tile(pass, piece.member, tile)->firstPlace;
    uint64_t offset = weight.offset + static_cast<uint64_t>(weight.layout.bytesOf(place));
    if (auto done = (*sink)(offset, piece.bytes); !done)
      return done;
  }
  return {};
}

Outcome TileRun::hashPieces(size_t passIndex, int64_t tile, const std::vector<Piece> &pieces) {
  const TilePass &pass = plan.passes()[passIndex];
  Progressing &state = underWay[passIndex];
  {
    std::unique_lock lock(mutex);
    hashed.wait(lock, [&] { return state.nextToHash == tile || hasFailed(); });
    if (hasFailed())
      return {};
  }
  // Until nextToHash moves on, this thread alone uses the pass's hashes.
  if (tile == 0)
    for (size_t i = 0; i < pass.members.size(); ++i)
      state.hashes.push_back(std::make_unique<checkpoint::Sha256>());
  uint64_t bytes = 0;
  for (const Piece &piece : pieces) {
    state.hashes[piece.member]->update(piece.bytes);
    bytes += piece.bytes.size();
  }
  if (tile == pass.tiles - 1) {
    for (size_t i = 0; i < pass.members.size(); ++i) {
      auto digest = state.hashes[i]->finish();
      if (!digest)
        return digest.error();
      allDigests[pass.members[i]] = *digest;
    }
    state.hashes.clear();
  }
  std::lock_guard lock(mutex);
  ++state.nextToHash;
  hashed.notify_all();
  doneBytes += bytes;
  if (*progress)
    (*progress)(doneBytes, allBytes);
  return {};
}

} // namespace ingot::compiler
