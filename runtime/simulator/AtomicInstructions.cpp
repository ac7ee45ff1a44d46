// SPDX-License-Identifier: Apache-2.0
// atom and red, one lane after the other, atomic also between the threads of the host.
#include "runtime/simulator/Addressing.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/Rounding.h"

namespace ingot::simulator {

namespace {

struct Add {
  template <class T> T operator()(T a, T b, T) const { return T(a + b); }
};
struct Min {
  template <class T> T operator()(T a, T b, T) const { return b < a ? b : a; }
};
struct Max {
  template <class T> T operator()(T a, T b, T) const { return b > a ? b : a; }
};
struct And {
  template <class T> T operator()(T a, T b, T) const { return a & b; }
};
struct Or {
  template <class T> T operator()(T a, T b, T) const { return a | b; }
};
struct Xor {
  template <class T> T operator()(T a, T b, T) const { return a ^ b; }
};
struct Exchange {
  template <class T> T operator()(T, T b, T) const { return b; }
};
struct CompareSwap {
  template <class T> T operator()(T a, T b, T c) const { return a == b ? c : a; }
};
struct Increment {
  template <class T> T operator()(T a, T b, T) const { return a >= b ? 0 : a + 1; }
};
struct Decrement {
  template <class T> T operator()(T a, T b, T) const { return a == 0 || a > b ? b : a - 1; }
};

/// Pairs of halves as one 32-bit word.
template <bool Bfloat> struct HalfPair {
  uint32_t bits;
  static float widen(uint32_t half) {
    return Bfloat ? bfloatToFloat(uint16_t(half)) : halfToFloat(uint16_t(half));
  }
  static uint32_t narrow(float value) { return Bfloat ? floatToBfloat(value) : floatToHalf(value); }
  friend HalfPair operator+(HalfPair a, HalfPair b) {
    uint32_t low = narrow(widen(a.bits & 0xffff) + widen(b.bits & 0xffff));
    uint32_t high = narrow(widen(a.bits >> 16) + widen(b.bits >> 16));
    return {high << 16 | low};
  }
};
template <bool Bfloat> struct HalfOne {
  uint16_t bits;
  friend HalfOne operator+(HalfOne a, HalfOne b) {
    using Pair = HalfPair<Bfloat>;
    return {uint16_t(Pair::narrow(Pair::widen(a.bits) + Pair::widen(b.bits)))};
  }
};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;

template <class F, class T> void executeAtomic(Warp &warp, const Op &op) {
  Access access;
  access.space = Space(op.small[0] & 7);
  access.wide = op.small[0] >> 3;
  access.bytes = sizeof(T);
  access.kind = AccessKind::Atomic;
  LanePointers pointers;
  if (!resolve(warp, op.slot[1], op.immediate, access, pointers))
    return;
  ++warp.block->progress;
  const auto *b = warp.lanes<Storage<T>>(op.slot[2]);
  const auto *c = warp.lanes<Storage<T>>(op.slot[op.slot[3] == noSlot ? 2 : 3]);
  Storage<T> old[warpSize] = {};
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    auto *memory = reinterpret_cast<Bits<T> *>(pointers[i]);
    Bits<T> seen = __atomic_load_n(memory, __ATOMIC_RELAXED), wanted;
    do
      wanted = std::bit_cast<Bits<T>>(F()(std::bit_cast<T>(seen), std::bit_cast<T>(Bits<T>(b[i])),
                                          std::bit_cast<T>(Bits<T>(c[i]))));
    while (!__atomic_compare_exchange_n(memory, &seen, wanted, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
    old[i] = seen;
  }
  if (op.slot[0] == noSlot)
    return;
  auto *d = warp.lanes<Storage<T>>(op.slot[0]);
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      d[i] = old[i];
}

template <class T> OpFunction integerAtomic(int which) {
  constexpr OpFunction functions[] = {executeAtomic<Add, T>, executeAtomic<Min, T>,
                                      executeAtomic<Max, T>};
  return functions[which];
}

template <class T> OpFunction bitAtomic(int which) {
  constexpr OpFunction functions[] = {executeAtomic<And, T>,         executeAtomic<Or, T>,
                                      executeAtomic<Xor, T>,         executeAtomic<Exchange, T>,
                                      executeAtomic<CompareSwap, T>, executeAtomic<Increment, T>,
                                      executeAtomic<Decrement, T>};
  return functions[which];
}

OpFunction functionOf(int which, Type type, bool noFtz) {
  if (which >= 3) {
    bool counts = which >= 8;
    if (bitsOf(type) == 32 && (!counts || type == Type::U32))
      return bitAtomic<uint32_t>(which - 3);
    if (bitsOf(type) == 64 && !counts)
      return bitAtomic<uint64_t>(which - 3);
    return bitsOf(type) == 16 && which == 7 ? executeAtomic<CompareSwap, uint16_t> : nullptr;
  }
  switch (type) {
  case Type::U32:
    return integerAtomic<uint32_t>(which);
  case Type::S32:
    return integerAtomic<int32_t>(which);
  case Type::U64:
    return integerAtomic<uint64_t>(which);
  case Type::S64:
    return integerAtomic<int64_t>(which);
  case Type::F32:
    return which == 0 ? executeAtomic<Add, float> : nullptr;
  case Type::F64:
    return which == 0 ? executeAtomic<Add, double> : nullptr;
  case Type::F16x2:
    return which == 0 && noFtz ? executeAtomic<Add, HalfPair<false>> : nullptr;
  case Type::Bf16x2:
    return which == 0 && noFtz ? executeAtomic<Add, HalfPair<true>> : nullptr;
  case Type::F16:
    return which == 0 && noFtz ? executeAtomic<Add, HalfOne<false>> : nullptr;
  case Type::Bf16:
    return which == 0 && noFtz ? executeAtomic<Add, HalfOne<true>> : nullptr;
  default:
    return nullptr;
  }
}

void decodeAtomic(Decoder &d, bool returns) {
  Space space = Space::Generic;
  int which = -1;
  bool noFtz = false;
  while (typeNamed(d.peek()) == Type::None) {
    int found = d.takeOneOf({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
    if (found >= 0)
      which = found;
    else if (d.take("global"))
      space = Space::Global;
    else if (d.take("shared") || d.take("shared::cta"))
      space = Space::Shared;
    else if (d.take("noftz"))
      noFtz = true;
    else if (d.takeOneOf({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu",
                          "sys", "L2::cache_hint"}) < 0)
      d.fail("modifier ." + std::string(d.peek()) + " is not supported");
  }
  Type type = d.takeType();
  if (which < 0)
    d.fail("an operation is missing");
  d.op.run = functionOf(which, type, noFtz);
  if (!d.op.run)
    d.failType();
  size_t at = returns ? 1 : 0;
  bool wide = d.address(1, d.operand(at), space);
  d.op.small[0] = uint8_t(uint8_t(space) | (wide ? 8 : 0));
  d.source(2, d.operand(at + 1), type);
  if (which == 7)
    d.source(3, d.operand(at + 2), type);
  if (returns)
    d.target(0, d.operand(0), type);
  d.keepSources();
  d.emit();
}

} // namespace

void addAtomicInstructions(InstructionTable &table) {
  table["atom"] = [](Decoder &d) { decodeAtomic(d, true); };
  table["red"] = [](Decoder &d) { decodeAtomic(d, false); };
}

} // namespace ingot::simulator
