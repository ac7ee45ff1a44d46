// SPDX-License-Identifier: Apache-2.0
// Logic and bits: and to lop3, shifts, prmt, bit fields, counts.
#include "runtime/simulator/Lanes.h"

namespace ingot::simulator {

void executeNotPredicate(Warp &warp, const Op &op) {
  setPredicate(warp, op.slot[0], ~warp.predicate(op.slot[1]));
}

namespace {

struct And {
  template <class T> T operator()(T a, T b) const { return T(a & b); }
};
struct Or {
  template <class T> T operator()(T a, T b) const { return T(a | b); }
};
struct Xor {
  template <class T> T operator()(T a, T b) const { return T(a ^ b); }
};
struct Not {
  template <class T> T operator()(T a) const { return T(~a); }
};
struct Cnot {
  template <class T> T operator()(T a) const { return T(a == 0); }
};
struct ShiftLeft {
  template <class T> T operator()(T a, uint32_t by) const {
    return by >= 8 * sizeof(T) ? T(0) : T(uint64_t(a) << by);
  }
};
struct ShiftRight {
  template <class T> T operator()(T a, uint32_t by) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
      return T(a >> (by >= bits ? bits - 1 : by));
    else
      return by >= bits ? T(0) : T(a >> by);
  }
};
struct FunnelLeftWrap {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t by) const {
    return uint32_t(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
  }
};
struct FunnelLeftClamp {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t by) const {
    return uint32_t(((uint64_t(high) << 32 | low) << (by > 32 ? 32 : by)) >> 32);
  }
};
struct FunnelRightWrap {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t by) const {
    return uint32_t((uint64_t(high) << 32 | low) >> (by & 31));
  }
};
struct FunnelRightClamp {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t by) const {
    return uint32_t((uint64_t(high) << 32 | low) >> (by > 32 ? 32 : by));
  }
};
struct PopCount {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::popcount(a)); }
};
struct LeadingZeros {
  template <class T> uint32_t operator()(T a) const { return uint32_t(std::countl_zero(a)); }
};
struct Reverse {
  template <class T> T operator()(T a) const {
    T result = 0;
    for (uint32_t bit = 0; bit < 8 * sizeof(T); ++bit)
      result |= T(a >> bit & 1) << (8 * sizeof(T) - 1 - bit);
    return result;
  }
};
template <bool ShiftAmount> struct FindBit {
  template <class T> uint32_t operator()(T a) const {
    std::make_unsigned_t<T> bits = std::make_unsigned_t<T>(a);
    if (std::is_signed_v<T> && a < 0)
      bits = ~bits;
    uint32_t zeros = uint32_t(std::countl_zero(bits));
    return bits == 0 ? ~0u : ShiftAmount ? zeros : uint32_t(8 * sizeof(T)) - 1 - zeros;
  }
};
struct ExtractField {
  template <class T> T operator()(T a, uint32_t position, uint32_t length) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (length == 0)
      return 0;
    uint32_t last = std::min(position + length - 1, bits - 1);
    std::make_unsigned_t<T> sign = 0, value = std::make_unsigned_t<T>(a);
    if (std::is_signed_v<T>)
      sign = value >> last & 1;
    std::make_unsigned_t<T> field = position >= bits ? 0 : value >> position;
    std::make_unsigned_t<T> keep =
        length >= bits ? ~std::make_unsigned_t<T>(0) : (std::make_unsigned_t<T>(1) << length) - 1;
    // Bits beyond the top of the value take its sign.
    std::make_unsigned_t<T> valid = position >= bits ? 0 : ~std::make_unsigned_t<T>(0) >> position;
    std::make_unsigned_t<T> extension = sign ? ~(keep & valid) : 0;
    return T((field & keep) | extension);
  }
};
struct InsertField {
  template <class T> T operator()(T a, T b, uint32_t position, uint32_t length) const {
    constexpr uint32_t bits = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (position >= bits || length == 0)
      return b;
    T keep = length >= bits ? ~T(0) : T((T(1) << length) - 1);
    keep = T(keep << position);
    return T((b & ~keep) | ((a << position) & keep));
  }
};
struct Permute {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t selector) const {
    uint64_t all = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (int byte = 0; byte < 4; ++byte) {
      uint32_t which = selector >> 4 * byte & 15;
      uint32_t value = uint32_t(all >> 8 * (which & 7)) & 255;
      if (which & 8)
        value = value & 128 ? 255 : 0;
      result |= value << 8 * byte;
    }
    return result;
  }
};

/// The eight minterms of lop3's table, selected by masks that are constant over the lanes.
void executeLop3(Warp &warp, const Op &op) {
  auto *d = warp.lanes<uint32_t>(op.slot[0]);
  const auto *a = warp.lanes<uint32_t>(op.slot[1]);
  const auto *b = warp.lanes<uint32_t>(op.slot[2]);
  const auto *c = warp.lanes<uint32_t>(op.slot[3]);
  uint32_t table[8];
  for (int i = 0; i < 8; ++i)
    table[i] = op.immediate >> i & 1 ? ~0u : 0;
  const uint32_t mask = warp.mask;
  INGOT_LANES
  for (uint32_t i = 0; i < warpSize; ++i) {
    uint32_t x = a[i], y = b[i], z = c[i];
    uint32_t low =
        (~y & ((~z & table[0]) | (z & table[1]))) | (y & ((~z & table[2]) | (z & table[3])));
    uint32_t high =
        (~y & ((~z & table[4]) | (z & table[5]))) | (y & ((~z & table[6]) | (z & table[7])));
    uint32_t value = (~x & low) | (x & high);
    d[i] = mask >> i & 1 ? value : d[i];
  }
}

template <class F> OpFunction bitwise(Type type) {
  switch (bitsOf(type)) {
  case 16:
    return map2<F, uint16_t, uint16_t, uint16_t>;
  case 32:
    return map2<F, uint32_t, uint32_t, uint32_t>;
  case 64:
    return map2<F, uint64_t, uint64_t, uint64_t>;
  default:
    return nullptr;
  }
}

template <class F> void predicateLogic(Warp &warp, const Op &op) {
  setPredicate(warp, op.slot[0], F()(warp.predicate(op.slot[1]), warp.predicate(op.slot[2])));
}

template <class F> void decodeLogic(Decoder &d) {
  Type type = d.takeType();
  if (type == Type::Pred)
    return decodeMap(d, predicateLogic<F>, type, {type, type});
  OpFunction run = bitwise<F>(type);
  if (!run)
    d.failType();
  decodeMap(d, run, type, {type, type});
}

template <class F> void decodeUnaryLogic(Decoder &d) {
  Type type = d.takeType();
  if (type == Type::Pred)
    decodeMap(d, executeNotPredicate, type, {type});
  else if (bitsOf(type) == 16)
    decodeMap(d, map1<F, uint16_t, uint16_t>, type, {type});
  else if (bitsOf(type) == 32)
    decodeMap(d, map1<F, uint32_t, uint32_t>, type, {type});
  else if (bitsOf(type) == 64)
    decodeMap(d, map1<F, uint64_t, uint64_t>, type, {type});
  else
    d.failType();
}

void decodeShiftLeft(Decoder &d) {
  Type type = d.takeType();
  OpFunction run = bitsOf(type) == 16   ? map2<ShiftLeft, uint16_t, uint16_t, uint32_t>
                   : bitsOf(type) == 32 ? map2<ShiftLeft, uint32_t, uint32_t, uint32_t>
                                        : map2<ShiftLeft, uint64_t, uint64_t, uint32_t>;
  decodeMap(d, run, type, {type, Type::U32});
}

void decodeShiftRight(Decoder &d) {
  Type type = d.takeType();
  bool isSigned = type == Type::S16 || type == Type::S32 || type == Type::S64;
  OpFunction run = nullptr;
  if (bitsOf(type) == 16)
    run = isSigned ? map2<ShiftRight, int16_t, int16_t, uint32_t>
                   : map2<ShiftRight, uint16_t, uint16_t, uint32_t>;
  else if (bitsOf(type) == 32)
    run = isSigned ? map2<ShiftRight, int32_t, int32_t, uint32_t>
                   : map2<ShiftRight, uint32_t, uint32_t, uint32_t>;
  else
    run = isSigned ? map2<ShiftRight, int64_t, int64_t, uint32_t>
                   : map2<ShiftRight, uint64_t, uint64_t, uint32_t>;
  decodeMap(d, run, type, {type, Type::U32});
}

void decodeFunnelShift(Decoder &d) {
  int direction = d.takeOneOf({"l", "r"});
  int mode = d.takeOneOf({"wrap", "clamp"});
  if (direction < 0 || mode < 0 || d.takeType() != Type::B32)
    d.fail("unknown form");
  constexpr OpFunction runs[2][2] = {
      {map3<FunnelLeftWrap, uint32_t, uint32_t, uint32_t, uint32_t>,
       map3<FunnelLeftClamp, uint32_t, uint32_t, uint32_t, uint32_t>},
      {map3<FunnelRightWrap, uint32_t, uint32_t, uint32_t, uint32_t>,
       map3<FunnelRightClamp, uint32_t, uint32_t, uint32_t, uint32_t>}};
  decodeMap(d, runs[direction][mode], Type::B32, {Type::B32, Type::B32, Type::U32});
}

template <class F> void decodeCount(Decoder &d) {
  Type type = d.takeType();
  OpFunction run = type == Type::B32   ? map1<F, uint32_t, uint32_t>
                   : type == Type::B64 ? map1<F, uint32_t, uint64_t>
                                       : nullptr;
  if (!run)
    d.failType();
  decodeMap(d, run, Type::U32, {type});
}

void decodeFindBit(Decoder &d) {
  bool shift = d.take("shiftamt");
  Type type = d.takeType();
  OpFunction run = nullptr;
  if (type == Type::U32)
    run =
        shift ? map1<FindBit<true>, uint32_t, uint32_t> : map1<FindBit<false>, uint32_t, uint32_t>;
  else if (type == Type::S32)
    run = shift ? map1<FindBit<true>, uint32_t, int32_t> : map1<FindBit<false>, uint32_t, int32_t>;
  else if (type == Type::U64)
    run =
        shift ? map1<FindBit<true>, uint32_t, uint64_t> : map1<FindBit<false>, uint32_t, uint64_t>;
  else if (type == Type::S64)
    run = shift ? map1<FindBit<true>, uint32_t, int64_t> : map1<FindBit<false>, uint32_t, int64_t>;
  else
    d.failType();
  decodeMap(d, run, Type::U32, {type});
}

void decodeReverse(Decoder &d) {
  Type type = d.takeType();
  if (type == Type::B32)
    decodeMap(d, map1<Reverse, uint32_t, uint32_t>, type, {type});
  else if (type == Type::B64)
    decodeMap(d, map1<Reverse, uint64_t, uint64_t>, type, {type});
  else
    d.failType();
}

void decodeExtract(Decoder &d) {
  Type type = d.takeType();
  OpFunction run = nullptr;
  if (type == Type::U32)
    run = map3<ExtractField, uint32_t, uint32_t, uint32_t, uint32_t>;
  else if (type == Type::S32)
    run = map3<ExtractField, int32_t, int32_t, uint32_t, uint32_t>;
  else if (type == Type::U64)
    run = map3<ExtractField, uint64_t, uint64_t, uint32_t, uint32_t>;
  else if (type == Type::S64)
    run = map3<ExtractField, int64_t, int64_t, uint32_t, uint32_t>;
  else
    d.failType();
  decodeMap(d, run, type, {type, Type::U32, Type::U32});
}

template <class T> void executeInsert(Warp &warp, const Op &op) {
  auto *d = warp.lanes<T>(op.slot[0]);
  const auto *a = warp.lanes<T>(op.slot[1]);
  const auto *b = warp.lanes<T>(op.slot[2]);
  const auto *position = warp.lanes<uint32_t>(op.slot[3]);
  const auto *length = warp.lanes<uint32_t>(op.slot[4]);
  for (uint32_t i = 0; i < warpSize; ++i)
    if (warp.mask >> i & 1)
      d[i] = InsertField()(a[i], b[i], position[i], length[i]);
}

void decodeInsert(Decoder &d) {
  Type type = d.takeType();
  if (type != Type::B32 && type != Type::B64)
    d.failType();
  decodeMap(d, type == Type::B32 ? executeInsert<uint32_t> : executeInsert<uint64_t>, type,
            {type, type, Type::U32, Type::U32});
}

void decodeLop3(Decoder &d) {
  if (d.takeType() != Type::B32)
    d.failType();
  d.expectOperands(5, 5);
  d.op.run = executeLop3;
  for (uint32_t field = 1; field < 4; ++field)
    d.source(field, d.operand(field), Type::B32);
  d.op.immediate = d.constant(d.operand(4), "the table");
  d.target(0, d.operand(0), Type::B32);
  d.emit();
}

void decodePermute(Decoder &d) {
  if (d.takeType() != Type::B32)
    d.failType();
  decodeMap(d, map3<Permute, uint32_t, uint32_t, uint32_t, uint32_t>, Type::B32,
            {Type::B32, Type::B32, Type::B32});
}

} // namespace

void addLogicInstructions(InstructionTable &table) {
  table["and"] = decodeLogic<And>;
  table["or"] = decodeLogic<Or>;
  table["xor"] = decodeLogic<Xor>;
  table["not"] = decodeUnaryLogic<Not>;
  table["cnot"] = decodeUnaryLogic<Cnot>;
  table["shl"] = decodeShiftLeft;
  table["shr"] = decodeShiftRight;
  table["shf"] = decodeFunnelShift;
  table["popc"] = decodeCount<PopCount>;
  table["clz"] = decodeCount<LeadingZeros>;
  table["bfind"] = decodeFindBit;
  table["brev"] = decodeReverse;
  table["bfe"] = decodeExtract;
  table["bfi"] = decodeInsert;
  table["lop3"] = decodeLop3;
  table["prmt"] = decodePermute;
}

} // namespace ingot::simulator
