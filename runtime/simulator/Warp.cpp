// SPDX-License-Identifier: Apache-2.0
// A warp: the instruction loop, and lanes that go separate ways and meet again. Of the groups of
// lanes the one with the smallest program counter runs, so that others wait where paths join.
#include "runtime/simulator/AsyncCopies.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

namespace ingot::simulator {

namespace {

/// Instructions after which a diverged warp lets another group run, so that spinning lanes do not
/// starve those they wait for.
constexpr int64_t divergedTurn = 20000;

} // namespace

void Warp::run(int64_t turn) {
  if (!groups.empty())
    turn = std::min(turn, divergedTurn);
  int64_t before = turn;
  budget = turn;
  turnBudget = turn;
  polled = false;
  // `budget` is set to 0 by whatever ends the turn early; `spent` counts what really ran.
  uint64_t spent = 0;
  while (budget > 0) {
    --budget;
    ++spent;
    const Op &op = code[pc++];
    if (op.guard != noSlot) {
      uint32_t guard = predicate(op.guard);
      mask = active & (op.guardNegated ? ~guard : guard);
      if (mask == 0)
        continue;
    } else {
      mask = active;
    }
    op.run(*this, op);
  }
  executed += spent;
  launch->instructions.fetch_add(spent, std::memory_order_relaxed);
  launch->tensorInstructions.fetch_add(std::exchange(tensorInstructions, 0),
                                       std::memory_order_relaxed);
  if (launch->failed.load(std::memory_order_relaxed))
    return;
  if (state == WarpState::Ready && !groups.empty() && (polled || int64_t(spent) >= before))
    rotateGroups();
  if (executed > launch->modes.maxInstructionsPerWarp)
    fault(uint32_t(std::countr_zero(active)), FindingKind::Livelock,
          "executed more than " + std::to_string(launch->modes.maxInstructionsPerWarp) +
              " instructions");
}

void Warp::branch(uint32_t taken, uint32_t target) {
  uint32_t rest = active & ~taken;
  if (taken == 0)
    return;
  if (rest == 0) {
    pc = target;
    return;
  }
  uint32_t other = std::max(target, pc);
  uint32_t otherMask = target > pc ? taken : rest;
  active = active & ~otherMask;
  pc = std::min(target, pc);
  groups.push_back({other, otherMask, false});
  mergePc = std::min(mergePc, other);
  join();
}

void Warp::join() {
  // Called with pc at the join itself (or just behind it, by the join instruction).
  for (size_t i = 0; i < groups.size();) {
    if (groups[i].pc == pc && !groups[i].blocked) {
      active |= groups[i].mask;
      groups.erase(groups.begin() + long(i));
    } else {
      ++i;
    }
  }
  size_t least = groups.size();
  for (size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].blocked && (least == groups.size() || groups[i].pc < groups[least].pc))
      least = i;
  mergePc = least == groups.size() ? ~0u : groups[least].pc;
  if (mergePc < pc) {
    std::swap(groups[least].pc, pc);
    std::swap(groups[least].mask, active);
    join();
  }
}

void Warp::nextGroup() {
  size_t least = groups.size();
  for (size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].blocked && (least == groups.size() || groups[i].pc < groups[least].pc))
      least = i;
  if (least == groups.size()) {
    active = 0;
    yield();
    return;
  }
  pc = groups[least].pc;
  active = groups[least].mask;
  groups.erase(groups.begin() + long(least));
  join();
}

void Warp::rotateGroups() {
  for (size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].blocked) {
      LaneGroup next = groups[i];
      groups.erase(groups.begin() + long(i));
      groups.push_back({pc, active, false});
      pc = next.pc;
      active = next.mask;
      // The others stay behind for now: nothing is joined below this group's pc.
      mergePc = ~0u;
      for (const LaneGroup &group : groups)
        if (!group.blocked && group.pc >= pc)
          mergePc = std::min(mergePc, group.pc);
      return;
    }
}

bool Warp::converged(uint32_t wanted) {
  wanted &= alive;
  if ((mask & wanted) == wanted)
    return true;
  uint32_t here = pc - 1;
  if ((active & wanted) == wanted) {
    fault(uint32_t(std::countr_zero(wanted & ~mask)), FindingKind::Divergence,
          "a predicate keeps this thread from an instruction that needs it");
    return false;
  }
  // Lanes that already wait here come along.
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].pc == here && groups[i].blocked) {
      active |= groups[i].mask;
      groups.erase(groups.begin() + long(i));
      pc = here;
      return false;
    }
  groups.push_back({here, active, true});
  nextGroup();
  if (active == 0) {
    uint32_t missing = wanted;
    for (const LaneGroup &group : groups)
      if (group.pc == here)
        missing &= ~group.mask;
    pc = here + 1;
    std::string elsewhere;
    for (const LaneGroup &group : groups)
      if (group.pc != here && (group.mask & missing))
        elsewhere = "; it waits at line " + std::to_string(launch->program->lines[group.pc]);
    fault(missing ? uint32_t(std::countr_zero(missing)) : 0, FindingKind::Divergence,
          "this thread never comes to an instruction that others of its warp wait at" + elsewhere);
  }
  return false;
}

void Warp::exitLanes(uint32_t leaving) {
  if (!bulkStores.empty())
    completeBulkStores(*this, leaving, 0, true);
  alive &= ~leaving;
  active &= ~leaving;
  if (active != 0)
    return;
  if (alive == 0) {
    state = WarpState::Exited;
    // From now on it counts as arrived.
    block->clusterArrived -= clusterArrived && clusterPhase == block->clusterPhase;
    yield();
    block->warpExited();
    if (block->warpsAlive == 0 && block->heldUntil > block->clusterPhase)
      fault(
          0, FindingKind::Race,
          "ends its block while nothing says that others of the cluster have read and written its "
          "shared memory");
    return;
  }
  // Groups that waited for the leaving lanes look again.
  for (LaneGroup &group : groups)
    group.blocked = false;
  nextGroup();
}

std::string Warp::position(uint32_t lane) const {
  const Launch &run = *launch;
  uint32_t thread = index * warpSize + lane;
  char text[160];
  std::snprintf(text, sizeof text, "block (%u,%u,%u) thread (%u,%u,%u)", block->id[0], block->id[1],
                block->id[2], thread % run.block.x, thread / run.block.x % run.block.y,
                thread / run.block.x / run.block.y);
  return text;
}

void Warp::report(uint32_t lane, FindingKind kind, const std::string &what, uint64_t address) {
  const Program &program = *launch->program;
  uint32_t line = program.lines[std::min<size_t>(pc ? pc - 1 : 0, program.lines.size() - 1)];
  std::string text;
  if (line >= 1 && line <= program.text->lines.size()) {
    text = program.text->lines[line - 1];
    text.erase(0, text.find_first_not_of(" \t"));
    std::replace(text.begin(), text.end(), '\t', ' ');
    if (text.size() > 100)
      text = text.substr(0, 97) + "...";
  }
  std::string place = "kernel " + program.name + ", PTX line " + std::to_string(line);
  char where[32] = "";
  if (address)
    std::snprintf(where, sizeof where, ", address 0x%llx", (unsigned long long)address);
  launch->log->add(kind, place, place + " `" + text + "`, " + position(lane) + where + ": " + what);
}

void Warp::fault(uint32_t lane, FindingKind kind, const std::string &what, uint64_t address) {
  report(lane, kind, what, address);
  uint32_t result = kind == FindingKind::Misaligned    ? 716
                    : kind == FindingKind::OutOfBounds ? 700
                    : kind == FindingKind::Livelock    ? 702
                                                       : 719;
  uint32_t none = 0;
  launch->failure.compare_exchange_strong(none, result);
  launch->failed = true;
  yield();
}

} // namespace ingot::simulator
