// SPDX-License-Identifier: Apache-2.0
// Passes are joined by what they read and by layouts alone, never by the memory limit; the limit
// chooses how large tiles are, which no byte of the result depends on.
#include "compiler/weights/TilePlan.h"

#include <algorithm>
#include <set>

namespace ingot::compiler {

/// Larger tiles gain no speed: reads and writes are long enough, and blocks stay in the cache.
static constexpr int64_t tileTarget = int64_t{8} << 20;
static constexpr int64_t arenaTarget = int64_t{2} << 20;

/// Each member's tile starts at a multiple of this.
static constexpr int64_t tileAlignment = 64;

//===- Facts about expressions --------------------------------------------------------------===//

/// Every node that `value` depends on.
static std::set<uint32_t> nodesUnder(const WeightGraph &graph, WeightValue value) {
  std::set<uint32_t> seen{value.node};
  for (std::vector<uint32_t> open{value.node}; !open.empty();) {
    uint32_t index = open.back();
    open.pop_back();
    for (WeightValue operand : graph.nodes()[index].operands)
      if (seen.insert(operand.node).second)
        open.push_back(operand.node);
  }
  return seen;
}

/// Whether two weights that depend on `node` should be evaluated together: a norm's weight, of one
/// column, is cheap to read twice.
static bool isWorthSharing(const WeightNode &node) {
  return (node.kind == NodeKind::Source && node.results[0].columns > 1) ||
         (node.kind == NodeKind::Quantize && node.encoding.group != -1);
}

/// Adds rows of `value` such that every row is computed from the same nodes as one of them.
static void addSampleRows(const WeightGraph &graph, WeightValue value, std::set<int64_t> &rows) {
  const WeightNode &node = graph.node(value);
  rows.insert(0);
  if (node.kind == NodeKind::ConcatRows) {
    int64_t first = 0;
    for (WeightValue operand : node.operands) {
      std::set<int64_t> inner;
      addSampleRows(graph, operand, inner);
      for (int64_t row : inner)
        rows.insert(first + row);
      first += graph.shape(operand).rows;
    }
  } else if (node.kind == NodeKind::InterleaveRows) {
    for (int64_t i = 0; i < 2; ++i) {
      std::set<int64_t> inner;
      addSampleRows(graph, node.operands[i], inner);
      for (int64_t row : inner)
        rows.insert((row / node.block * 2 + i) * node.block + row % node.block);
    }
  } else if (node.kind == NodeKind::Reshape) {
    // A row of the operand lies in these, and the row that needs most of them comes within a width.
    int64_t columns = node.results[0].columns, width = graph.shape(node.operands[0]).columns;
    std::set<int64_t> inner;
    addSampleRows(graph, node.operands[0], inner);
    for (int64_t row : inner)
      rows.insert(row * width / columns);
    auto needed = [&](int64_t row) {
      return ((row + 1) * columns - 1) / width - row * columns / width;
    };
    int64_t most = 0;
    for (int64_t row = 0; row < std::min(node.results[0].rows, width); ++row)
      most = needed(row) > needed(most) ? row : most;
    rows.insert(most);
  } else if (node.kind == NodeKind::PermuteRows) {
    std::set<int64_t> inner;
    addSampleRows(graph, node.operands[0], inner);
    for (int64_t row : inner)
      rows.insert(permutedTo(node, row));
  } else if (!node.operands.empty()) {
    addSampleRows(graph, node.operands[0], rows);
  }
}

//===- TilePlan ---------------------------------------------------------------------------===//

TilePlan::TilePlan(const WeightGraph &graph, const std::vector<PackedWeight> &weights)
    : graph(graph), weights(weights), passesOfNode(graph.nodes().size()) {
  std::set<uint32_t> used;
  for (uint32_t i = 0; i < weights.size(); ++i) {
    used.merge(nodesUnder(graph, weights[i].value));
    addToPass(i);
  }
  for (uint32_t node : used) {
    const WeightNode &quantize = graph.nodes()[node];
    if (quantize.kind != NodeKind::Quantize || quantize.encoding.group != -1)
      continue;
    ranges.push_back(node);
    WeightValue operand = quantize.operands[0];
    least =
        std::max(least, arenaForRow({operand}) + graph.shape(operand).columns * 4 + tileAlignment);
  }
  for (TilePass &pass : allPasses) {
    findLeast(pass);
    least = std::max(least, pass.leastArena + pass.leastTiles);
  }
}

/// The rows that tiles of this weight in a joined pass are multiples of; 0: it cannot be joined.
static int64_t joinRows(const PackedWeight &weight) {
  const LayoutCut &cut = weight.layout.cuts().front();
  return cut.runs == 1 && cut.alongRows ? cut.unitRows * cut.granule : 0;
}

bool TilePlan::canJoin(const TilePass &pass, uint32_t weight) const {
  int64_t rows = joinRows(weights[weight]);
  if (rows == 0 || pass.unitRows == 0 ||
      weights[weight].layout.rows() != weights[pass.members[0]].layout.rows())
    return false;
  return rows % pass.unitRows == 0 || pass.unitRows % rows == 0;
}

void TilePlan::addToPass(uint32_t weight) {
  std::set<uint32_t> shared;
  for (uint32_t node : nodesUnder(graph, weights[weight].value))
    if (isWorthSharing(graph.nodes()[node]))
      shared.insert(node);
  auto index = static_cast<uint32_t>(allPasses.size());
  for (uint32_t node : shared)
    for (uint32_t pass : passesOfNode[node])
      if (canJoin(allPasses[pass], weight))
        index = std::min(index, pass);
  if (index == allPasses.size())
    allPasses.emplace_back();
  TilePass &pass = allPasses[index];
  pass.members.push_back(weight);
  pass.unitRows = std::max(pass.unitRows, joinRows(weights[weight]));
  for (uint32_t node : shared)
    passesOfNode[node].push_back(index);
}

int64_t TilePlan::memoryOf(const PackedWeight &weight, int64_t places) const {
  // Planes fill the last of their blocks.
  int64_t padding = hasPlanes(elementBits(weight.element)) ? kPlanePlaces : 0;
  return places * workingBytes(weight.element) + padding + tileAlignment +
         TilePacker::memory(weight.layout);
}

int64_t TilePlan::arenaForRow(const std::vector<WeightValue> &values) const {
  std::set<int64_t> rows;
  for (WeightValue value : values)
    addSampleRows(graph, value, rows);
  int64_t most = 0;
  for (int64_t row : rows) {
    BlockPlan plan(graph);
    for (WeightValue value : values)
      if (row < graph.shape(value).rows)
        plan.request(value, {row, row + 1, 0, graph.shape(value).columns});
    most = std::max(most, plan.memory());
  }
  return most;
}

void TilePlan::findLeast(TilePass &pass) const {
  std::vector<WeightValue> values;
  for (uint32_t member : pass.members)
    values.push_back(weights[member].value);
  pass.leastArena = arenaForRow(values);
  if (pass.members.size() > 1) {
    for (uint32_t member : pass.members) {
      const LayoutCut &cut = weights[member].layout.cuts().front();
      pass.leastTiles += memoryOf(weights[member], pass.unitRows / cut.unitRows * cut.unitPlaces);
    }
    return;
  }
  const PackedWeight &weight = weights[pass.members[0]];
  const LayoutCut &finest = weight.layout.cuts().back();
  pass.leastTiles = memoryOf(weight, finest.granule * finest.unitPlaces);
}

void TilePlan::size(int64_t limit) {
  chosen = least;
  for (TilePass &pass : allPasses) {
    pass.arenaBytes = std::min(std::max(pass.leastArena, arenaTarget), limit - pass.leastTiles);
    sizePass(pass, limit - pass.arenaBytes);
    chosen = std::max(chosen, pass.arenaBytes + pass.tileBytes);
  }
}

/// Chooses the tiles of a pass, which may take `limit` bytes.
void TilePlan::sizePass(TilePass &pass, int64_t limit) const {
  if (pass.members.size() > 1)
    sizeJoined(pass, std::min(limit, std::max(tileTarget, pass.leastTiles)));
  else
    sizeSingle(pass, limit);
}

void TilePlan::sizeJoined(TilePass &pass, int64_t limit) const {
  int64_t rows = 0, rowPlaceBytes = 0;
  for (uint32_t member : pass.members) {
    const PackedWeight &weight = weights[member];
    const LayoutCut &cut = weight.layout.cuts().front();
    rows = std::max(rows, cut.units * cut.unitRows);
    rowPlaceBytes += pass.unitRows / cut.unitRows * cut.unitPlaces * workingBytes(weight.element);
  }
  int64_t fixed = pass.leastTiles - rowPlaceBytes;
  int64_t units = std::max<int64_t>((limit - fixed) / rowPlaceBytes, 1);
  units = std::min(units, (rows + pass.unitRows - 1) / pass.unitRows);
  pass.rowsPerTile = units * pass.unitRows;
  pass.tiles = (rows + pass.rowsPerTile - 1) / pass.rowsPerTile;
  pass.tileBytes = fixed + units * rowPlaceBytes;
}

void TilePlan::sizeSingle(TilePass &pass, int64_t limit) const {
  const PackedWeight &weight = weights[pass.members[0]];
  const auto &cuts = weight.layout.cuts();
  pass.cut = 0;
  while (pass.cut + 1 < cuts.size() &&
         memoryOf(weight, cuts[pass.cut].granule * cuts[pass.cut].unitPlaces) > limit)
    ++pass.cut;
  const LayoutCut &cut = cuts[pass.cut];
  int64_t granuleBytes = cut.granule * cut.unitPlaces * workingBytes(weight.element);
  int64_t available = std::min(limit, tileTarget) - memoryOf(weight, 0);
  int64_t granules = std::max<int64_t>(available / granuleBytes, 1);
  pass.unitsPerTile = std::min(granules * cut.granule, cut.units);
  pass.tiles = cut.runs * ((cut.units + pass.unitsPerTile - 1) / pass.unitsPerTile);
  pass.tileBytes = memoryOf(weight, pass.unitsPerTile * cut.unitPlaces);
}

std::optional<PackedTile> TilePlan::tile(const TilePass &pass, size_t member, int64_t tile) const {
  const PackedLayout &layout = weights[pass.members[member]].layout;
  const LayoutCut &cut = layout.cuts()[pass.cut];
  if (pass.members.size() > 1) {
    int64_t unit = tile * (pass.rowsPerTile / cut.unitRows);
    int64_t end = std::min(unit + pass.rowsPerTile / cut.unitRows, cut.units);
    if (unit >= end)
      return std::nullopt;
    return layout.tile(cut, 0, unit, end);
  }
  int64_t tilesPerRun = (cut.units + pass.unitsPerTile - 1) / pass.unitsPerTile;
  int64_t unit = tile % tilesPerRun * pass.unitsPerTile;
  return layout.tile(cut, tile / tilesPerRun, unit, std::min(unit + pass.unitsPerTile, cut.units));
}

} // namespace ingot::compiler
