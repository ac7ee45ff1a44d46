// SPDX-License-Identifier: Apache-2.0
// Live ranges of virtual registers, and slots that ranges which do not meet share: a kernel of
// thousands of registers then works in a few kilobytes of cache.
#include "runtime/simulator/Decoder.h"
#include "runtime/simulator/Machine.h"

#include <algorithm>

namespace ingot::simulator {

void executeBranch(Warp &warp, const Op &op);
void executeIndexedBranch(Warp &warp, const Op &op);

namespace {
/// Bounds on what a hostile text can make the analysis cost: memory, then time.
constexpr uint64_t maximumLivenessWords = uint64_t(1) << 23, maximumLivenessWork = uint64_t(1)
                                                                                   << 31;
} // namespace

void RegisterAllocator::findBlocks() {
  const std::vector<Op> &ops = decoder.program->ops;
  std::vector<bool> begins(ops.size() + 1, false);
  begins[0] = true;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].run == executeBranch)
      begins[size_t(ops[i].immediate)] = begins[i + 1] = true;
    if (ops[i].run == executeIndexedBranch) {
      begins[i + 1] = true;
      for (uint32_t place : decoder.program->branchTables[size_t(ops[i].immediate)])
        begins[place] = true;
    }
  }
  std::vector<uint32_t> blockOf(ops.size() + 1);
  for (size_t i = 0; i < ops.size(); ++i) {
    if (begins[i])
      blockBegin.push_back(uint32_t(i));
    blockOf[i] = uint32_t(blockBegin.size() - 1);
  }
  successors.resize(blockBegin.size());
  blockBegin.push_back(uint32_t(ops.size()));
  for (size_t b = 0; b + 1 < blockBegin.size(); ++b) {
    const Op &last = ops[blockBegin[b + 1] - 1];
    bool falls = blockBegin[b + 1] < ops.size();
    if (last.run == executeBranch)
      successors[b].push_back(blockOf[size_t(last.immediate)]);
    if (last.run == executeIndexedBranch)
      for (uint32_t place : decoder.program->branchTables[size_t(last.immediate)])
        successors[b].push_back(blockOf[place]);
    if (falls)
      successors[b].push_back(uint32_t(b + 1));
  }
}

void RegisterAllocator::findLiveness() {
  size_t words = (decoder.registerTypes.size() + 63) / 64;
  size_t blocks = successors.size();
  if (blocks * words > maximumLivenessWords)
    throw PtxError(decoder.kernel.line, "too many registers and branches");
  uint64_t work = 0;
  std::vector<std::vector<uint64_t>> uses(blocks, std::vector<uint64_t>(words));
  std::vector<std::vector<uint64_t>> kills = uses;
  liveIn = uses;
  size_t block = 0;
  for (size_t i = 0; i < decoder.accesses.size();) {
    uint32_t op = decoder.accesses[i].op;
    while (blockBegin[block + 1] <= op)
      ++block;
    size_t end = i;
    while (end < decoder.accesses.size() && decoder.accesses[end].op == op)
      ++end;
    for (size_t k = i; k < end; ++k) {
      const Decoder::Access &access = decoder.accesses[k];
      if (!access.writes && !(kills[block][access.reg / 64] >> access.reg % 64 & 1))
        uses[block][access.reg / 64] |= uint64_t(1) << access.reg % 64;
    }
    for (size_t k = i; k < end; ++k) {
      const Decoder::Access &access = decoder.accesses[k];
      if (access.writes && decoder.program->ops[op].guard == noSlot)
        kills[block][access.reg / 64] |= uint64_t(1) << access.reg % 64;
    }
    i = end;
  }
  for (bool changed = true; changed;) {
    changed = false;
    if ((work += blocks * words) > maximumLivenessWork)
      throw PtxError(decoder.kernel.line, "branches too intricate to follow");
    for (size_t b = blocks; b-- > 0;)
      for (size_t word = 0; word < words; ++word) {
        uint64_t live = 0;
        for (uint32_t next : successors[b])
          live |= liveIn[next][word];
        live = uses[b][word] | (live & ~kills[b][word]);
        changed |= live != liveIn[b][word];
        liveIn[b][word] = live;
      }
  }
}

void RegisterAllocator::findRanges() {
  ranges.resize(decoder.registerTypes.size());
  auto extend = [&](size_t reg, uint32_t at) {
    ranges[reg].begin = std::min(ranges[reg].begin, at);
    ranges[reg].end = std::max(ranges[reg].end, at);
  };
  for (size_t b = 0; b < successors.size(); ++b) {
    auto liveAt = [&](size_t from, uint32_t at) {
      for (size_t word = 0; word < liveIn[from].size(); ++word)
        for (uint64_t bits = liveIn[from][word]; bits; bits &= bits - 1)
          extend(word * 64 + size_t(__builtin_ctzll(bits)), at);
    };
    liveAt(b, 2 * blockBegin[b]);
    for (uint32_t next : successors[b])
      liveAt(next, 2 * blockBegin[b + 1]);
  }
  for (const Decoder::Access &access : decoder.accesses) {
    if (access.writes) {
      extend(access.reg, 2 * access.op + 1);
      extend(access.reg, 2 * access.op + 2);
      if (access.keeps)
        extend(access.reg, 2 * access.op);
    } else {
      extend(access.reg, 2 * access.op);
      if (access.keeps)
        extend(access.reg, 2 * access.op + 1);
    }
  }
  for (const SpecialUse &use : decoder.program->specials) {
    extend(use.slot, 0);
    extend(use.slot, ~0u);
  }
}

void RegisterAllocator::assign() {
  std::vector<uint32_t> order;
  for (uint32_t reg = 0; reg < ranges.size(); ++reg)
    if (ranges[reg].begin <= ranges[reg].end)
      order.push_back(reg);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return ranges[a].begin < ranges[b].begin; });
  slots.assign(ranges.size(), 0);
  uint64_t end = 0;
  std::vector<Slot> free[3];
  std::multimap<uint32_t, uint32_t> active; // end -> register
  auto classOf = [&](uint32_t reg) {
    uint32_t bits = bitsOf(decoder.registerTypes[reg]);
    return bits == 1 ? 0 : bits <= 32 ? 1 : 2;
  };
  constexpr uint32_t bytes[3] = {64, 128, 256};
  for (uint32_t reg : order) {
    while (!active.empty() && active.begin()->first < ranges[reg].begin) {
      uint32_t gone = active.begin()->second;
      free[classOf(gone)].push_back(slots[gone]);
      active.erase(active.begin());
    }
    int kind = classOf(reg);
    if (free[kind].empty()) {
      slots[reg] = Slot(end);
      end += bytes[kind];
    } else {
      slots[reg] = free[kind].back();
      free[kind].pop_back();
    }
    active.emplace(ranges[reg].end, reg);
  }
  decoder.program->registerBytes = end;
}

void RegisterAllocator::patch() {
  Program &program = *decoder.program;
  for (const Decoder::Access &access : decoder.accesses) {
    Slot slot = slots[access.reg];
    if (access.field < 6)
      program.ops[access.op].slot[access.field] = slot;
    else if (access.field == 6)
      program.ops[access.op].guard = slot;
    else if (access.field != Decoder::noField)
      program.lists[access.field - 7] = slot;
  }
  for (SpecialUse &use : program.specials)
    use.slot = slots[use.slot];
}

void RegisterAllocator::run() {
  findBlocks();
  findLiveness();
  findRanges();
  assign();
  patch();
}

} // namespace ingot::simulator
