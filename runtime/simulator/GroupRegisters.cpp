// SPDX-License-Identifier: Apache-2.0
// The registers of wgmma between its issue and its wait: they keep their places, and whoever
// touches them is found.
#include "runtime/simulator/Decoder.h"
#include "runtime/simulator/Machine.h"

#include <algorithm>
#include <bit>

namespace ingot::simulator {

void executeGroupProduct(Warp &warp, const Op &op);
void executeGroupWait(Warp &warp, const Op &op);

namespace {

/// Bounds what a hostile text can make of waits times registers.
constexpr uint64_t maximumKept = uint64_t(1) << 22;

uint32_t laneOf(const Warp &warp) { return uint32_t(std::countr_zero(warp.mask)); }

/// Stands in for an instruction that touches registers of wgmma.
void executeFollowed(Warp &warp, const Op &op) {
  const Program &program = *warp.launch->program;
  const GroupAccess &access =
      program.groupAccesses[program.groupAccessOf[size_t(&op - warp.code)] - 1];
  GroupState &group = warp.group;
  const uint32_t *touched = &program.groupRegisters[access.first];
  const uint32_t *written = touched + access.reads, *end = written + access.writes;
  if (!group.products.empty()) {
    if (std::any_of(touched, written, [&](uint32_t reg) { return group.sums[reg] != 0; }))
      warp.report(laneOf(warp), FindingKind::AsyncRace,
                  "reads a register with sums of a wgmma, without a wgmma.wait_group since");
    if (std::any_of(written, end,
                    [&](uint32_t reg) { return group.sums[reg] || group.inputs[reg]; }))
      warp.report(laneOf(warp), FindingKind::AsyncRace,
                  "writes a register that a wgmma uses, without a wgmma.wait_group since");
  }
  // A copy is as old as what it copies: compilers move copies over fences.
  uint32_t time = access.moves ? 0 : ++group.clock;
  for (const uint32_t *reg = touched; access.moves && reg != written; ++reg)
    time = std::max(time, group.written[*reg]);
  for (const uint32_t *reg = written; reg != end; ++reg)
    group.written[*reg] = time;
  access.run(warp, op);
}

} // namespace

void GroupState::begin(const Program &program) {
  size_t registers = program.groupAccessOf.empty() ? 0 : program.registerBytes / 64;
  products.clear();
  committed = clock = fenced = 0;
  written.assign(registers, 0);
  sums.assign(registers, 0);
  inputs.assign(registers, 0);
}

bool GroupFollower::isProduct(uint32_t op) const {
  return decoder.program->ops[op].run == executeGroupProduct;
}

void GroupFollower::keepUntilWaits() {
  using Access = Decoder::Access;
  std::vector<uint32_t> registers, waits;
  for (const Access &access : decoder.accesses)
    if (isProduct(access.op) && bitsOf(decoder.registerTypes[access.reg]) == 32)
      registers.push_back(access.reg);
  std::sort(registers.begin(), registers.end());
  registers.erase(std::unique(registers.begin(), registers.end()), registers.end());
  for (uint32_t op = 0; op < decoder.program->ops.size(); ++op)
    if (decoder.program->ops[op].run == executeGroupWait)
      waits.push_back(op);
  if (registers.size() * waits.size() > maximumKept)
    throw PtxError(decoder.kernel.line, "too many products and waits");
  for (uint32_t op : waits)
    for (uint32_t reg : registers)
      decoder.accesses.push_back({op, reg, Decoder::noField, false, false});
  std::stable_sort(decoder.accesses.begin(), decoder.accesses.end(),
                   [](const Access &a, const Access &b) { return a.op < b.op; });
}

void GroupFollower::follow(const RegisterAllocator &places) {
  Program &program = *decoder.program;
  auto numberOf = [&](const Decoder::Access &access) {
    return registerNumber(places.slotOf(access.reg));
  };
  std::vector<bool> ofProducts(program.registerBytes / 64);
  bool any = false;
  for (const Decoder::Access &access : decoder.accesses)
    if (isProduct(access.op) && bitsOf(decoder.registerTypes[access.reg]) == 32)
      any = ofProducts[numberOf(access)] = true;
  if (!any)
    return;
  program.groupAccessOf.assign(program.ops.size(), 0);
  for (size_t i = 0; i < decoder.accesses.size();) {
    uint32_t op = decoder.accesses[i].op;
    size_t end = i;
    GroupAccess found;
    found.first = uint32_t(program.groupRegisters.size());
    while (end < decoder.accesses.size() && decoder.accesses[end].op == op)
      ++end;
    for (bool writes : {false, true})
      for (size_t k = i; k < end; ++k) {
        const Decoder::Access &access = decoder.accesses[k];
        if (access.writes != writes || access.field == Decoder::noField ||
            !ofProducts[numberOf(access)])
          continue;
        program.groupRegisters.push_back(numberOf(access));
        ++(writes ? found.writes : found.reads);
      }
    i = end;
    if (isProduct(op) || found.reads + found.writes == 0)
      continue;
    found.run = program.ops[op].run;
    found.moves = decoder.isMove[op];
    program.ops[op].run = executeFollowed;
    program.groupAccesses.push_back(found);
    program.groupAccessOf[op] = uint32_t(program.groupAccesses.size());
  }
}

} // namespace ingot::simulator
