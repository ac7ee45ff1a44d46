// SPDX-License-Identifier: Apache-2.0
// Comparisons and selections: setp, set, selp, slct, testp.
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/Rounding.h"

namespace ingot::simulator {

namespace {

enum class Relation : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Lo,
  Ls,
  Hi,
  Hs,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};
constexpr std::string_view relationNames[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                              "lo",  "ls",  "hi",  "hs",  "equ", "neu",
                                              "ltu", "leu", "gtu", "geu", "num", "nan"};

template <Relation R> struct Compare {
  template <class T> bool operator()(T a, T b) const {
    if constexpr (R == Relation::Eq)
      return a == b;
    else if constexpr (R == Relation::Ne)
      return a < b || a > b;
    else if constexpr (R == Relation::Lt || R == Relation::Lo)
      return a < b;
    else if constexpr (R == Relation::Le || R == Relation::Ls)
      return a <= b;
    else if constexpr (R == Relation::Gt || R == Relation::Hi)
      return a > b;
    else if constexpr (R == Relation::Ge || R == Relation::Hs)
      return a >= b;
    else if constexpr (R == Relation::Equ)
      return !(a < b || a > b);
    else if constexpr (R == Relation::Neu)
      return a != b;
    else if constexpr (R == Relation::Ltu)
      return !(a >= b);
    else if constexpr (R == Relation::Leu)
      return !(a > b);
    else if constexpr (R == Relation::Gtu)
      return !(a <= b);
    else if constexpr (R == Relation::Geu)
      return !(a < b);
    else if constexpr (R == Relation::Num)
      return a == a && b == b;
    else
      return a != a || b != b;
  }
};

/// Reads lanes as what they are compared as.
struct AsHalf {
  using Stored = uint32_t;
  static float read(uint32_t v) { return halfToFloat(uint16_t(v)); }
};
struct AsBfloat {
  using Stored = uint32_t;
  static float read(uint32_t v) { return bfloatToFloat(uint16_t(v)); }
};
template <class T> struct As {
  using Stored = Storage<T>;
  static T read(Stored v) { return unpack<T>(v); }
};
struct AsFlushed {
  using Stored = uint32_t;
  static float read(uint32_t v) { return flushed(std::bit_cast<float>(v)); }
};

enum Combine : uint16_t { CombineNone, CombineAnd, CombineOr, CombineXor };

uint32_t combined(Warp &warp, const Op &op, uint32_t value) {
  switch (op.flags) {
  case CombineAnd:
    return value & warp.predicate(op.slot[4]);
  case CombineOr:
    return value | warp.predicate(op.slot[4]);
  case CombineXor:
    return value ^ warp.predicate(op.slot[4]);
  default:
    return value;
  }
}

template <class C, class A> uint32_t compareLanes(Warp &warp, Slot left, Slot right) {
  const auto *a = warp.lanes<typename A::Stored>(left);
  const auto *b = warp.lanes<typename A::Stored>(right);
  uint8_t flags[warpSize];
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i)
    flags[i] = C()(A::read(a[i]), A::read(b[i]));
  uint32_t bits = 0;
  for (uint32_t i = 0; i < warpSize; ++i)
    bits |= uint32_t(flags[i]) << i;
  return bits;
}

/// slot[0] | slot[1] = compare(slot[2], slot[3]) combined with slot[4].
template <class C, class A> void executeSetp(Warp &warp, const Op &op) {
  uint32_t value = compareLanes<C, A>(warp, op.slot[2], op.slot[3]);
  uint32_t second = op.slot[1] == noSlot ? 0 : combined(warp, op, ~value);
  setPredicate(warp, op.slot[0], combined(warp, op, value));
  if (op.slot[1] != noSlot)
    setPredicate(warp, op.slot[1], second);
}

/// slot[0] = immediate where compare(slot[2], slot[3]), else 0.
template <class C, class A> void executeSet(Warp &warp, const Op &op) {
  uint32_t value = combined(warp, op, compareLanes<C, A>(warp, op.slot[2], op.slot[3]));
  auto *d = warp.lanes<uint32_t>(op.slot[0]);
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      d[i] = value >> i & 1 ? uint32_t(op.immediate) : 0;
}

template <class A, bool Set, Relation R> constexpr OpFunction entry() {
  if constexpr (Set)
    return executeSet<Compare<R>, A>;
  else
    return executeSetp<Compare<R>, A>;
}

template <class A, bool Set> OpFunction ordered(Relation relation) {
  switch (relation) {
  case Relation::Eq:
    return entry<A, Set, Relation::Eq>();
  case Relation::Ne:
    return entry<A, Set, Relation::Ne>();
  case Relation::Lt:
    return entry<A, Set, Relation::Lt>();
  case Relation::Le:
    return entry<A, Set, Relation::Le>();
  case Relation::Gt:
    return entry<A, Set, Relation::Gt>();
  case Relation::Ge:
    return entry<A, Set, Relation::Ge>();
  case Relation::Lo:
    return entry<A, Set, Relation::Lo>();
  case Relation::Ls:
    return entry<A, Set, Relation::Ls>();
  case Relation::Hi:
    return entry<A, Set, Relation::Hi>();
  case Relation::Hs:
    return entry<A, Set, Relation::Hs>();
  default:
    return nullptr;
  }
}

template <class A, bool Set> OpFunction unordered(Relation relation) {
  switch (relation) {
  case Relation::Equ:
    return entry<A, Set, Relation::Equ>();
  case Relation::Neu:
    return entry<A, Set, Relation::Neu>();
  case Relation::Ltu:
    return entry<A, Set, Relation::Ltu>();
  case Relation::Leu:
    return entry<A, Set, Relation::Leu>();
  case Relation::Gtu:
    return entry<A, Set, Relation::Gtu>();
  case Relation::Geu:
    return entry<A, Set, Relation::Geu>();
  case Relation::Num:
    return entry<A, Set, Relation::Num>();
  case Relation::Nan:
    return entry<A, Set, Relation::Nan>();
  default:
    return ordered<A, Set>(relation);
  }
}

template <bool Set> OpFunction comparison(Relation relation, Type type, bool ftz) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return ordered<As<uint16_t>, Set>(relation);
  case Type::S16:
    return ordered<As<int16_t>, Set>(relation);
  case Type::B32:
  case Type::U32:
    return ordered<As<uint32_t>, Set>(relation);
  case Type::S32:
    return ordered<As<int32_t>, Set>(relation);
  case Type::B64:
  case Type::U64:
    return ordered<As<uint64_t>, Set>(relation);
  case Type::S64:
    return ordered<As<int64_t>, Set>(relation);
  case Type::F16:
    return unordered<AsHalf, Set>(relation);
  case Type::Bf16:
    return unordered<AsBfloat, Set>(relation);
  case Type::F32:
    return ftz ? unordered<AsFlushed, Set>(relation) : unordered<As<float>, Set>(relation);
  case Type::F64:
    return unordered<As<double>, Set>(relation);
  default:
    return nullptr;
  }
}

Relation takeRelation(Decoder &d) {
  for (size_t i = 0; i < std::size(relationNames); ++i)
    if (d.take(relationNames[i]))
      return Relation(i);
  d.fail("an unknown comparison");
}

void takeCombination(Decoder &d, size_t at) {
  int combination = d.takeOneOf({"and", "or", "xor"});
  d.op.flags = uint16_t(combination + 1);
  if (combination >= 0)
    d.source(4, d.operand(at), Type::Pred);
}

void decodeSetp(Decoder &d) {
  Relation relation = takeRelation(d);
  takeCombination(d, 3);
  d.expectOperands(d.op.flags ? 4 : 3, d.op.flags ? 4 : 3);
  bool ftz = d.take("ftz");
  Type type = d.takeType();
  d.op.run = comparison<false>(relation, type, ftz);
  if (!d.op.run)
    d.failType();
  d.source(2, d.operand(1), type);
  d.source(3, d.operand(2), type);
  const Operand &target = d.operand(0);
  d.target(0, target, Type::Pred);
  if (!target.pair.empty())
    d.target(1, target.pair[0], Type::Pred);
  d.keepSources();
  d.emit();
}

void decodeSet(Decoder &d) {
  Relation relation = takeRelation(d);
  takeCombination(d, 3);
  bool ftz = d.take("ftz");
  Type result = d.takeType(), type = d.takeType();
  d.op.run = comparison<true>(relation, type, ftz);
  if (!d.op.run || (result != Type::U32 && result != Type::S32 && result != Type::F32))
    d.failType();
  d.op.immediate = result == Type::F32 ? 0x3f800000 : 0xffffffff;
  d.source(2, d.operand(1), type);
  d.source(3, d.operand(2), type);
  d.target(0, d.operand(0), result);
  d.keepSources();
  d.emit();
}

template <class T> void executeSelp(Warp &warp, const Op &op) {
  auto *d = warp.lanes<T>(op.slot[0]);
  const auto *a = warp.lanes<T>(op.slot[1]);
  const auto *b = warp.lanes<T>(op.slot[2]);
  const uint32_t choice = warp.predicate(op.slot[3]), mask = warp.mask;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    T value = choice >> i & 1 ? a[i] : b[i];
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

/// selp on predicates, which NVRTC emits for nested conditions.
void executeSelpPredicate(Warp &warp, const Op &op) {
  uint32_t choice = warp.predicate(op.slot[3]);
  setPredicate(warp, op.slot[0],
               (warp.predicate(op.slot[1]) & choice) | (warp.predicate(op.slot[2]) & ~choice));
}

void decodeSelp(Decoder &d) {
  Type type = d.takeType();
  OpFunction run = type == Type::Pred   ? executeSelpPredicate
                   : bitsOf(type) == 64 ? executeSelp<uint64_t>
                                        : executeSelp<uint32_t>;
  decodeMap(d, run, type, {type, type, Type::Pred});
}

struct SelectBySign {
  template <class T, class C> T operator()(T a, T b, C c) const { return c >= 0 ? a : b; }
};

void decodeSlct(Decoder &d) {
  bool ftz = d.take("ftz");
  Type type = d.takeType(), by = d.takeType();
  if (ftz || (by != Type::S32 && by != Type::F32))
    d.failType();
  bool wide = bitsOf(type) == 64, real = by == Type::F32;
  OpFunction run = wide ? (real ? map3<SelectBySign, uint64_t, uint64_t, uint64_t, float>
                                : map3<SelectBySign, uint64_t, uint64_t, uint64_t, int32_t>)
                        : (real ? map3<SelectBySign, uint32_t, uint32_t, uint32_t, float>
                                : map3<SelectBySign, uint32_t, uint32_t, uint32_t, int32_t>);
  decodeMap(d, run, type, {type, type, by});
}

template <class T> void executeTestp(Warp &warp, const Op &op) {
  const auto *a = warp.lanes<Storage<T>>(op.slot[1]);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < warpSize; ++i) {
    T value = unpack<T>(a[i]);
    int kind = std::fpclassify(value);
    bool holds[] = {kind != FP_NAN && kind != FP_INFINITE,
                    kind == FP_INFINITE,
                    kind != FP_NAN,
                    kind == FP_NAN,
                    kind == FP_NORMAL,
                    kind == FP_SUBNORMAL};
    bits |= uint32_t(holds[op.flags]) << i;
  }
  setPredicate(warp, op.slot[0], bits);
}

void decodeTestp(Decoder &d) {
  int which = d.takeOneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = d.takeType();
  if (which < 0 || (type != Type::F32 && type != Type::F64))
    d.failType();
  d.op.flags = uint16_t(which);
  decodeMap(d, type == Type::F32 ? executeTestp<float> : executeTestp<double>, Type::Pred, {type});
}

} // namespace

void addCompareInstructions(InstructionTable &table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = decodeSelp;
  table["slct"] = decodeSlct;
  table["testp"] = decodeTestp;
}

} // namespace ingot::simulator
