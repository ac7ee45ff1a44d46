// SPDX-License-Identifier: Apache-2.0
// Exchange between the lanes of a warp: shfl, vote, match, redux, elect, activemask.
#include "runtime/simulator/Lanes.h"

namespace ingot::simulator {

namespace {

/// The member mask of a .sync instruction, and whether all its lanes are here.
bool gathered(Warp &warp, Slot members, uint32_t &wanted) {
  uint32_t lane = uint32_t(std::countr_zero(warp.mask));
  wanted = warp.lanes<uint32_t>(members)[lane];
  if (!(wanted >> lane & 1)) {
    warp.fault(lane, FindingKind::Divergence,
               "the thread executes this instruction but is not in its member mask");
    return false;
  }
  return warp.converged(wanted);
}

enum class Shuffle : uint16_t { Up, Down, Butterfly, Index };

/// slot[0]|slot[1] = value of another lane; slots 2.. are value, lane, clamp, members.
void executeShuffle(Warp &warp, const Op &op) {
  uint32_t wanted;
  if (!gathered(warp, op.slot[5], wanted))
    return;
  uint32_t values[warpSize];
  const auto *a = warp.lanes<uint32_t>(op.slot[2]);
  for (uint32_t i = 0; i < warpSize; ++i)
    values[i] = a[i];
  const auto *b = warp.lanes<uint32_t>(op.slot[3]);
  const auto *c = warp.lanes<uint32_t>(op.slot[4]);
  uint32_t valid = 0, result[warpSize];
  for (uint32_t i = 0; i < warpSize; ++i) {
    uint32_t segment = c[i] >> 8 & 31, clamp = c[i] & 31, by = b[i] & 31;
    uint32_t last = (i & segment) | (clamp & ~segment), first = i & segment;
    int32_t from = int32_t(i);
    bool inside = false;
    switch (Shuffle(op.flags)) {
    case Shuffle::Up:
      from = int32_t(i) - int32_t(by);
      inside = from >= int32_t(last);
      break;
    case Shuffle::Down:
      from = int32_t(i + by);
      inside = from <= int32_t(last);
      break;
    case Shuffle::Butterfly:
      from = int32_t(i ^ by);
      inside = from <= int32_t(last);
      break;
    case Shuffle::Index:
      from = int32_t(first | (by & ~segment));
      inside = from <= int32_t(last);
      break;
    }
    if (!inside)
      from = int32_t(i);
    valid |= uint32_t(inside) << i;
    result[i] = values[from & 31];
    if (warp.fullChecks && (warp.mask >> i & 1) && !(warp.alive >> (from & 31) & 1))
      warp.report(i, FindingKind::Divergence, "reads the value of a thread that has exited");
  }
  if (op.slot[0] != noSlot) {
    auto *d = warp.lanes<uint32_t>(op.slot[0]);
    const uint32_t mask = warp.mask;
    for (uint32_t i = 0; i < warpSize; ++i)
      d[i] = mask >> i & 1 ? result[i] : d[i];
  }
  if (op.slot[1] != noSlot)
    setPredicate(warp, op.slot[1], valid);
}

void decodeShuffle(Decoder &d) {
  if (!d.take("sync"))
    d.fail("only the .sync form is supported");
  int mode = d.takeOneOf({"up", "down", "bfly", "idx"});
  if (mode < 0 || d.takeType() != Type::B32)
    d.fail("unknown form");
  d.expectOperands(5, 5);
  d.op.flags = uint16_t(mode);
  d.op.run = executeShuffle;
  for (uint32_t field = 2; field < 6; ++field)
    d.source(field, d.operand(field - 1), Type::B32);
  const Operand &target = d.operand(0);
  d.target(0, target, Type::B32);
  if (!target.pair.empty())
    d.target(1, target.pair[0], Type::Pred);
  d.keepSources();
  d.emit();
}

enum class Vote : uint16_t { All, Any, Uniform, Ballot };

void executeVote(Warp &warp, const Op &op) {
  uint32_t wanted;
  if (!gathered(warp, op.slot[2], wanted))
    return;
  uint32_t members = wanted & warp.alive;
  uint32_t votes = warp.predicate(op.slot[1]) & members;
  if (Vote(op.flags) == Vote::Ballot) {
    auto *d = warp.lanes<uint32_t>(op.slot[0]);
    for (uint32_t i = 0; i < warpSize; ++i)
      d[i] = warp.mask >> i & 1 ? votes : d[i];
    return;
  }
  bool holds = Vote(op.flags) == Vote::All   ? votes == members
               : Vote(op.flags) == Vote::Any ? votes != 0
                                             : votes == members || votes == 0;
  setPredicate(warp, op.slot[0], holds ? fullMask : 0);
}

void decodeVote(Decoder &d) {
  if (!d.take("sync"))
    d.fail("only the .sync form is supported");
  int mode = d.takeOneOf({"all", "any", "uni", "ballot"});
  Type type = d.takeType();
  if (mode < 0 || type != (mode == 3 ? Type::B32 : Type::Pred))
    d.fail("unknown form");
  d.expectOperands(3, 3);
  d.op.flags = uint16_t(mode);
  d.op.run = executeVote;
  d.source(1, d.operand(1), Type::Pred);
  d.source(2, d.operand(2), Type::B32);
  d.target(0, d.operand(0), type);
  d.keepSources();
  d.emit();
}

/// slot[0]|slot[1] = match(slot[2]) among slot[3]; flags: 1 all, 2 of 64 bits.
void executeMatch(Warp &warp, const Op &op) {
  uint32_t wanted;
  if (!gathered(warp, op.slot[3], wanted))
    return;
  uint32_t members = wanted & warp.alive, result[warpSize];
  auto value = [&](uint32_t lane) {
    return op.flags & 2 ? warp.lanes<uint64_t>(op.slot[2])[lane]
                        : warp.lanes<uint32_t>(op.slot[2])[lane];
  };
  for (uint32_t i = 0; i < warpSize; ++i) {
    result[i] = 0;
    for (uint32_t k = 0; k < warpSize; ++k)
      if ((members >> k & 1) && value(k) == value(i))
        result[i] |= 1u << k;
  }
  uint32_t all = result[std::countr_zero(warp.mask)] == members ? fullMask : 0;
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      warp.lanes<uint32_t>(op.slot[0])[i] = op.flags & 1 ? members & all : result[i];
  if (op.slot[1] != noSlot)
    setPredicate(warp, op.slot[1], all);
}

void decodeMatch(Decoder &d) {
  int mode = d.takeOneOf({"any", "all"});
  d.expect("sync");
  Type type = d.takeType();
  if (mode < 0 || (type != Type::B32 && type != Type::B64))
    d.fail("unknown form");
  d.expectOperands(3, 3);
  d.op.flags = uint16_t(mode | (type == Type::B64 ? 2 : 0));
  d.op.run = executeMatch;
  d.source(2, d.operand(1), type);
  d.source(3, d.operand(2), Type::B32);
  const Operand &target = d.operand(0);
  d.target(0, target, Type::B32);
  if (!target.pair.empty())
    d.target(1, target.pair[0], Type::Pred);
  d.keepSources();
  d.emit();
}

enum class Reduction : uint16_t { Add, Min, Max, And, Or, Xor };

template <class T> T reduced(Reduction kind, T a, T b) {
  switch (kind) {
  case Reduction::Add:
    return T(uint32_t(a) + uint32_t(b));
  case Reduction::Min:
    return b < a ? b : a;
  case Reduction::Max:
    return b > a ? b : a;
  case Reduction::And:
    return a & b;
  case Reduction::Or:
    return a | b;
  default:
    return a ^ b;
  }
}

template <class T> void executeReduction(Warp &warp, const Op &op) {
  uint32_t wanted;
  if (!gathered(warp, op.slot[2], wanted))
    return;
  const auto *a = warp.lanes<uint32_t>(op.slot[1]);
  uint32_t left = wanted & warp.mask;
  T value = T(a[std::countr_zero(left)]);
  for (left &= left - 1; left; left &= left - 1)
    value = reduced<T>(Reduction(op.flags), value, T(a[std::countr_zero(left)]));
  auto *d = warp.lanes<uint32_t>(op.slot[0]);
  for (uint32_t i = 0; i < warpSize; ++i)
    d[i] = warp.mask >> i & 1 ? uint32_t(value) : d[i];
}

void decodeReduction(Decoder &d) {
  d.expect("sync");
  int kind = d.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = d.takeType();
  bool bits = kind >= 3;
  if (kind < 0 || (bits ? type != Type::B32 : type != Type::U32 && type != Type::S32))
    d.fail("unknown form");
  d.expectOperands(3, 3);
  d.op.flags = uint16_t(kind);
  d.op.run = type == Type::S32 ? executeReduction<int32_t> : executeReduction<uint32_t>;
  d.source(1, d.operand(1), type);
  d.source(2, d.operand(2), Type::B32);
  d.target(0, d.operand(0), type);
  d.keepSources();
  d.emit();
}

/// slot[0]|slot[1]: the lowest member lane, and the predicate that is true there.
void executeElect(Warp &warp, const Op &op) {
  uint32_t wanted;
  if (!gathered(warp, op.slot[2], wanted))
    return;
  uint32_t leader = uint32_t(std::countr_zero(wanted & warp.alive));
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      warp.lanes<uint32_t>(op.slot[0])[i] = leader;
  setPredicate(warp, op.slot[1], 1u << leader);
}

void decodeElect(Decoder &d) {
  d.expect("sync");
  d.expectOperands(2, 2);
  const Operand &target = d.operand(0);
  if (target.pair.empty())
    d.fail("two targets are needed");
  d.op.run = executeElect;
  d.source(2, d.operand(1), Type::B32);
  d.target(0, target, Type::B32);
  d.target(1, target.pair[0], Type::Pred);
  d.keepSources();
  d.emit();
}

void executeActiveMask(Warp &warp, const Op &op) {
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      warp.lanes<uint32_t>(op.slot[0])[i] = warp.mask;
}

} // namespace

void addWarpInstructions(InstructionTable &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeReduction;
  table["elect"] = decodeElect;
  table["activemask"] = [](Decoder &d) {
    if (d.takeType() != Type::B32)
      d.failType();
    d.op.run = executeActiveMask;
    d.target(0, d.operand(0), Type::B32);
    d.emit();
  };
}

} // namespace ingot::simulator
