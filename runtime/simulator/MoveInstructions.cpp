// SPDX-License-Identifier: Apache-2.0
// Moves: mov with packing and unpacking, cvta, isspacep, and instructions that only advise.
#include "runtime/simulator/Lanes.h"

namespace ingot::simulator {

void decodeMapPrefetch(Decoder &d);

void executeClock(Warp &warp, const Op &op) {
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1) {
      if (op.flags)
        warp.lanes<uint64_t>(op.slot[0])[i] = warp.clock();
      else
        warp.lanes<uint32_t>(op.slot[0])[i] = uint32_t(warp.clock());
    }
}

namespace {

struct Same {
  template <class T> T operator()(T a) const { return a; }
};

/// Parts of 8, 16 or 32 bits (flags) from a list become one value.
void executePack(Warp &warp, const Op &op) {
  const Slot *parts = &warp.launch->program->lists[op.list];
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t value = 0;
    for (uint32_t k = 0; k < op.count; ++k) {
      uint64_t part = warp.lanes<uint32_t>(parts[k])[i];
      if (op.flags < 32)
        part &= (uint64_t(1) << op.flags) - 1;
      value |= part << k * op.flags;
    }
    if (op.immediate == 64)
      warp.lanes<uint64_t>(op.slot[0])[i] = value;
    else
      warp.lanes<uint32_t>(op.slot[0])[i] = uint32_t(value);
  }
}

void executePack2(Warp &warp, const Op &op) {
  const Slot *parts = &warp.launch->program->lists[op.list];
  const auto *low = warp.lanes<uint32_t>(parts[0]);
  const auto *high = warp.lanes<uint32_t>(parts[1]);
  auto *d = warp.lanes<uint32_t>(op.slot[0]);
  const uint32_t mask = warp.mask;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    uint32_t value = (low[i] & 0xffff) | high[i] << 16;
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

void executeUnpack(Warp &warp, const Op &op) {
  const Slot *parts = &warp.launch->program->lists[op.list];
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t value = op.immediate == 64 ? warp.lanes<uint64_t>(op.slot[1])[i]
                                        : warp.lanes<uint32_t>(op.slot[1])[i];
    for (uint32_t k = 0; k < op.count; ++k) {
      uint64_t part = value >> k * op.flags;
      if (op.flags < 32)
        part &= (uint64_t(1) << op.flags) - 1;
      warp.lanes<uint32_t>(parts[k])[i] = uint32_t(part);
    }
  }
}

void movePredicate(Warp &warp, const Op &op) {
  setPredicate(warp, op.slot[0], warp.predicate(op.slot[1]));
}

Type partType(Decoder &d, Type whole, size_t parts) {
  uint32_t bits = bitsOf(whole) / uint32_t(parts ? parts : 1);
  if (bits * parts != bitsOf(whole) || bits < 8 || bits > 32)
    d.fail("the vector does not fit the type");
  return bits == 8 ? Type::B8 : bits == 16 ? Type::B16 : Type::B32;
}

void decodeMove(Decoder &d) {
  Type type = d.takeType();
  d.expectOperands(2, 2);
  const Operand &to = d.operand(0), &from = d.operand(1);
  bool wide = bitsOf(type) == 64;
  if (type == Type::B128)
    d.failType();
  if (from.kind == Operand::Kind::Vector) {
    Type part = partType(d, type, from.elements.size());
    d.op.run = from.elements.size() == 2 && bitsOf(type) == 32 ? executePack2 : executePack;
    d.op.flags = uint16_t(bitsOf(part));
    d.op.immediate = wide ? 64 : 32;
    for (const Operand &element : from.elements)
      d.sourceToList(element, part);
    d.target(0, to, type);
    d.keepSources();
    return d.emit();
  }
  if (to.kind == Operand::Kind::Vector) {
    Type part = partType(d, type, to.elements.size());
    d.op.run = executeUnpack;
    d.op.flags = uint16_t(bitsOf(part));
    d.op.immediate = wide ? 64 : 32;
    d.source(1, from, type);
    for (const Operand &element : to.elements)
      d.targetToList(element, part);
    d.keepSources();
    return d.emit();
  }
  if (from.kind == Operand::Kind::Special && from.name.find("clock") != std::string::npos) {
    d.op.run = executeClock;
    d.op.flags = wide;
    d.target(0, to, type);
    return d.emit();
  }
  d.op.run = type == Type::Pred ? movePredicate
             : wide             ? OpFunction(map1<Same, uint64_t, uint64_t>)
                                : OpFunction(map1<Same, uint32_t, uint32_t>);
  d.source(1, from, type);
  d.target(0, to, type);
  d.emit();
}

// cvta adds or removes the window of a state space.
void executeToGeneric(Warp &warp, const Op &op) {
  const auto *a = warp.lanes<uint64_t>(op.slot[1]);
  auto *d = warp.lanes<uint64_t>(op.slot[0]);
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      d[i] = a[i] | uint64_t(op.immediate);
}

void executeFromGeneric(Warp &warp, const Op &op) {
  const auto *a = warp.lanes<uint64_t>(op.slot[1]);
  auto *d = warp.lanes<uint64_t>(op.slot[0]);
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      d[i] = a[i] & ~uint64_t(op.immediate);
}

uint64_t windowOf(Decoder &d) {
  int space = d.takeOneOf({"global", "shared", "shared::cta", "shared::cluster", "local", "param",
                           "param::entry", "const"});
  if (space < 0)
    d.fail("a state space is missing");
  constexpr uint64_t windows[] = {0,           sharedWindow,    sharedWindow,    sharedWindow,
                                  localWindow, parameterWindow, parameterWindow, 0};
  return windows[space];
}

void decodeCvta(Decoder &d) {
  bool from = d.take("to");
  uint64_t window = windowOf(d);
  Type type = d.takeType();
  if (type != Type::U64)
    d.failType();
  d.op.immediate = int64_t(window);
  d.op.run = from ? executeFromGeneric : executeToGeneric;
  d.expectOperands(2, 2);
  d.source(1, d.operand(1), type);
  d.target(0, d.operand(0), type);
  d.emit();
}

void executeIsSpace(Warp &warp, const Op &op) {
  const auto *a = warp.lanes<uint64_t>(op.slot[1]);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < warpSize; ++i)
    bits |= uint32_t((a[i] & windowMask) == uint64_t(op.immediate)) << i;
  setPredicate(warp, op.slot[0], bits);
}

void decodeIsSpace(Decoder &d) {
  d.op.immediate = int64_t(windowOf(d));
  decodeMap(d, executeIsSpace, Type::Pred, {Type::U64});
}

void executeNothing(Warp &, const Op &) {}

/// Advice to caches has no meaning here; all of its forms are accepted.
void decodeAdvice(Decoder &d) {
  while (!d.atEnd())
    d.skip();
  d.op.run = executeNothing;
  d.emit();
}

void decodePrefetch(Decoder &d) { d.take("tensormap") ? decodeMapPrefetch(d) : decodeAdvice(d); }

struct Zero {
  uint64_t operator()(uint64_t) const { return 0; }
};

void decodePolicy(Decoder &d) {
  while (!d.atEnd())
    d.skip();
  d.op.run = map1<Zero, uint64_t, uint64_t>;
  d.constantTo(1, 0, Type::U64);
  d.target(0, d.operand(0), Type::B64);
  d.emit();
}

} // namespace

void addMoveInstructions(InstructionTable &table) {
  table["mov"] = decodeMove;
  table["cvta"] = decodeCvta;
  table["isspacep"] = decodeIsSpace;
  table["prefetch"] = decodePrefetch;
  table["prefetchu"] = decodeAdvice;
  table["applypriority"] = decodeAdvice;
  table["discard"] = decodeAdvice;
  table["createpolicy"] = decodePolicy;
  table["nanosleep"] = [](Decoder &d) {
    d.takeType();
    d.op.run = [](Warp &warp, const Op &) { warp.yield(); };
    d.emit();
  };
}

} // namespace ingot::simulator
