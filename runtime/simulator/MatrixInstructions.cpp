// SPDX-License-Identifier: Apache-2.0
// ldmatrix and stmatrix: 8x8 matrices of 16-bit elements between shared memory and fragments.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/Lanes.h"

#include <cstring>

namespace ingot::simulator {

namespace {

constexpr uint16_t transposed = 1;

/// Pointers to the rows that lanes 0 to 8 * count - 1 name.
bool rowPointers(Warp &warp, const Op &op, AccessKind kind, LanePointers &rows) {
  if (!warp.converged(fullMask))
    return false;
  if (warp.alive != fullMask) {
    warp.fault(uint32_t(std::countr_one(warp.alive)), FindingKind::Divergence,
               "all threads of the warp must execute this instruction");
    return false;
  }
  Access access;
  access.space = Space(op.small[0] & 7);
  access.wide = op.small[0] >> 3;
  access.bytes = 16;
  access.kind = kind;
  uint32_t mask = warp.mask, addressed = op.count * 8u;
  warp.mask = addressed >= warpSize ? fullMask : (1u << addressed) - 1;
  bool good = resolve(warp, op.slot[1], op.immediate, access, rows);
  warp.mask = mask;
  return good;
}

void executeLoadMatrix(Warp &warp, const Op &op) {
  LanePointers rows;
  if (!rowPointers(warp, op, AccessKind::Read, rows))
    return;
  const Slot *targets = &warp.launch->program->lists[op.list];
  for (uint32_t k = 0; k < op.count; ++k) {
    auto *d = warp.lanes<uint32_t>(targets[k]);
    uint8_t *const *row = rows + 8 * k;
    if (!(op.flags & transposed)) {
      // Lane 4r + c holds columns 2c and 2c + 1 of row r: rows follow one another.
      for (uint32_t r = 0; r < 8; ++r)
        std::memcpy(d + 4 * r, row[r], 16);
      continue;
    }
    uint16_t matrix[8][8];
    for (uint32_t r = 0; r < 8; ++r)
      std::memcpy(matrix[r], row[r], 16);
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t column = lane / 4, r = lane % 4 * 2;
      d[lane] = uint32_t(matrix[r + 1][column]) << 16 | matrix[r][column];
    }
  }
}

void executeStoreMatrix(Warp &warp, const Op &op) {
  LanePointers rows;
  if (!rowPointers(warp, op, AccessKind::Write, rows))
    return;
  ++warp.block->progress;
  const Slot *sources = &warp.launch->program->lists[op.list];
  for (uint32_t k = 0; k < op.count; ++k) {
    const auto *s = warp.lanes<uint32_t>(sources[k]);
    uint8_t *const *row = rows + 8 * k;
    if (!(op.flags & transposed)) {
      for (uint32_t r = 0; r < 8; ++r)
        std::memcpy(row[r], s + 4 * r, 16);
      continue;
    }
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      uint32_t column = lane / 4, r = lane % 4 * 2;
      uint16_t low = uint16_t(s[lane]), high = uint16_t(s[lane] >> 16);
      std::memcpy(row[r] + 2 * column, &low, 2);
      std::memcpy(row[r + 1] + 2 * column, &high, 2);
    }
  }
}

void decodeMatrix(Decoder &d, bool load) {
  d.expect("sync");
  d.expect("aligned");
  d.expect("m8n8");
  int count = d.takeOneOf({"x1", "x2", "x4"});
  bool trans = d.take("trans");
  Space space = Space::Generic;
  if (d.take("shared") || d.take("shared::cta"))
    space = Space::Shared;
  if (count < 0 || d.takeType() != Type::B16)
    d.fail("unknown form");
  d.expectOperands(2, 2);
  const Operand &value = d.operand(load ? 0 : 1);
  bool wide = d.address(1, d.operand(load ? 1 : 0), space);
  d.op.small[0] = uint8_t(uint8_t(space) | (wide ? 8 : 0));
  d.op.flags = trans ? transposed : 0;
  std::vector<Operand> elements =
      value.kind == Operand::Kind::Vector ? value.elements : std::vector<Operand>{value};
  if (elements.size() != size_t(1) << count)
    d.fail("the vector has another number of registers");
  for (const Operand &element : elements)
    load ? d.targetToList(element, Type::B32) : d.sourceToList(element, Type::B32);
  d.op.run = load ? executeLoadMatrix : executeStoreMatrix;
  d.keepSources();
  d.emit();
}

} // namespace

void addMatrixInstructions(InstructionTable &table) {
  table["ldmatrix"] = [](Decoder &d) { decodeMatrix(d, true); };
  table["stmatrix"] = [](Decoder &d) { decodeMatrix(d, false); };
}

} // namespace ingot::simulator
