// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: add to div, mad, dp4a, carry-free forms.
#include "runtime/simulator/Lanes.h"

#include <limits>

namespace ingot::simulator {

namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

struct Add {
  template <class T> T operator()(T a, T b) const { return T(Unsigned<T>(a) + Unsigned<T>(b)); }
};
struct Sub {
  template <class T> T operator()(T a, T b) const { return T(Unsigned<T>(a) - Unsigned<T>(b)); }
};
struct AddSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t sum = int64_t(a) + b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : int32_t(sum);
  }
};
struct SubSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t sum = int64_t(a) - b;
    return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : int32_t(sum);
  }
};
struct MulLow {
  template <class T> T operator()(T a, T b) const {
    return T(uint64_t(Unsigned<T>(a)) * uint64_t(Unsigned<T>(b)));
  }
};
struct MulHigh {
  template <class T> T operator()(T a, T b) const {
    return T((Double<T>(a) * Double<T>(b)) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <class T> Double<T> operator()(T a, T b) const {
    using Wide = std::make_unsigned_t<Double<T>>;
    return Double<T>(Wide(Double<T>(a)) * Wide(Double<T>(b)));
  }
};
struct MadLow {
  template <class T> T operator()(T a, T b, T c) const { return Add()(MulLow()(a, b), c); }
};
struct MadHigh {
  template <class T> T operator()(T a, T b, T c) const { return Add()(MulHigh()(a, b), c); }
};
struct MadWide {
  template <class T> Double<T> operator()(T a, T b, Double<T> c) const {
    return Add()(MulWide()(a, b), c);
  }
};
struct Div {
  template <class T> T operator()(T a, T b) const {
    if (b == 0)
      return T(~T(0));
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1))
        return T(-Unsigned<T>(a));
    return T(a / b);
  }
};
struct Rem {
  template <class T> T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1))
        return 0;
    return T(a % b);
  }
};
struct Min {
  template <class T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Max {
  template <class T> T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Abs {
  template <class T> T operator()(T a) const { return a < 0 ? T(-Unsigned<T>(a)) : a; }
};
struct Neg {
  template <class T> T operator()(T a) const { return T(-Unsigned<T>(a)); }
};
struct Sad {
  template <class T> T operator()(T a, T b, T c) const {
    return Add()(c, a < b ? Sub()(b, a) : Sub()(a, b));
  }
};
struct Mul24 {
  template <class T> T operator()(T a, T b) const {
    constexpr int unused = 8;
    return MulLow()(T(T(Unsigned<T>(a) << unused) >> unused),
                    T(T(Unsigned<T>(b) << unused) >> unused));
  }
};
template <class A, class B> struct Dp4a {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (int byte = 0; byte < 4; ++byte)
      c += uint32_t(int32_t(A(a >> 8 * byte)) * int32_t(B(b >> 8 * byte)));
    return c;
  }
};
template <class F> OpFunction binary(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return map2<F, uint16_t, uint16_t, uint16_t>;
  case Type::S16:
    return map2<F, int16_t, int16_t, int16_t>;
  case Type::U32:
  case Type::B32:
    return map2<F, uint32_t, uint32_t, uint32_t>;
  case Type::S32:
    return map2<F, int32_t, int32_t, int32_t>;
  case Type::U64:
  case Type::B64:
    return map2<F, uint64_t, uint64_t, uint64_t>;
  case Type::S64:
    return map2<F, int64_t, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

template <class F> OpFunction unarySigned(Type type) {
  switch (type) {
  case Type::S16:
    return map1<F, int16_t, int16_t>;
  case Type::S32:
    return map1<F, int32_t, int32_t>;
  case Type::S64:
    return map1<F, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

template <class F> OpFunction ternary(Type type) {
  switch (type) {
  case Type::U16:
    return map3<F, uint16_t, uint16_t, uint16_t, uint16_t>;
  case Type::S16:
    return map3<F, int16_t, int16_t, int16_t, int16_t>;
  case Type::U32:
    return map3<F, uint32_t, uint32_t, uint32_t, uint32_t>;
  case Type::S32:
    return map3<F, int32_t, int32_t, int32_t, int32_t>;
  case Type::U64:
    return map3<F, uint64_t, uint64_t, uint64_t, uint64_t>;
  case Type::S64:
    return map3<F, int64_t, int64_t, int64_t, int64_t>;
  default:
    return nullptr;
  }
}

Type twice(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  case Type::S32:
    return Type::S64;
  default:
    return Type::None;
  }
}

OpFunction wideProduct(Type type) {
  switch (type) {
  case Type::U16:
    return map2<MulWide, uint32_t, uint16_t, uint16_t>;
  case Type::S16:
    return map2<MulWide, int32_t, int16_t, int16_t>;
  case Type::U32:
    return map2<MulWide, uint64_t, uint32_t, uint32_t>;
  case Type::S32:
    return map2<MulWide, int64_t, int32_t, int32_t>;
  default:
    return nullptr;
  }
}

OpFunction wideMad(Type type) {
  switch (type) {
  case Type::U16:
    return map3<MadWide, uint32_t, uint16_t, uint16_t, uint32_t>;
  case Type::S16:
    return map3<MadWide, int32_t, int16_t, int16_t, int32_t>;
  case Type::U32:
    return map3<MadWide, uint64_t, uint32_t, uint32_t, uint64_t>;
  case Type::S32:
    return map3<MadWide, int64_t, int32_t, int32_t, int64_t>;
  default:
    return nullptr;
  }
}

void decodeTernary(Decoder &d, OpFunction run, Type type) {
  if (!run)
    d.failType();
  decodeMap(d, run, type, {type, type, type});
}

void decodeSad(Decoder &d) {
  Type type = d.takeType();
  decodeTernary(d, ternary<Sad>(type), type);
}

void decodeMul24(Decoder &d) {
  d.expect("lo");
  Type type = d.takeType();
  if (type == Type::U32)
    decodeMap(d, map2<Mul24, uint32_t, uint32_t, uint32_t>, type, {type, type});
  else if (type == Type::S32)
    decodeMap(d, map2<Mul24, int32_t, int32_t, int32_t>, type, {type, type});
  else
    d.failType();
}

void decodeDp4a(Decoder &d) {
  Type a = d.takeType(), b = d.takeType();
  if ((a != Type::U32 && a != Type::S32) || (b != Type::U32 && b != Type::S32))
    d.failType();
  bool signedA = a == Type::S32, signedB = b == Type::S32;
  OpFunction run =
      signedA ? (signedB ? map3<Dp4a<int8_t, int8_t>, uint32_t, uint32_t, uint32_t, uint32_t>
                         : map3<Dp4a<int8_t, uint8_t>, uint32_t, uint32_t, uint32_t, uint32_t>)
              : (signedB ? map3<Dp4a<uint8_t, int8_t>, uint32_t, uint32_t, uint32_t, uint32_t>
                         : map3<Dp4a<uint8_t, uint8_t>, uint32_t, uint32_t, uint32_t, uint32_t>);
  decodeMap(d, run, Type::B32, {Type::B32, Type::B32, Type::B32});
}

void decodeBinaryOp(Decoder &d, OpFunction run, Type type) {
  if (!run)
    d.failType();
  decodeMap(d, run, type, {type, type});
}

} // namespace

void decodeIntegerAdd(Decoder &d) {
  bool saturated = d.take("sat");
  Type type = d.takeType();
  if (saturated && type != Type::S32)
    d.failType();
  decodeBinaryOp(d, saturated ? map2<AddSaturated, int32_t, int32_t, int32_t> : binary<Add>(type),
                 type);
}

void decodeIntegerSub(Decoder &d) {
  bool saturated = d.take("sat");
  Type type = d.takeType();
  if (saturated && type != Type::S32)
    d.failType();
  decodeBinaryOp(d, saturated ? map2<SubSaturated, int32_t, int32_t, int32_t> : binary<Sub>(type),
                 type);
}

void decodeIntegerMul(Decoder &d) {
  int which = d.takeOneOf({"lo", "hi", "wide"});
  Type type = d.takeType();
  if (which == 2) {
    OpFunction run = wideProduct(type);
    if (!run)
      d.failType();
    return decodeMap(d, run, twice(type), {type, type});
  }
  decodeBinaryOp(d, which == 1 ? binary<MulHigh>(type) : binary<MulLow>(type), type);
}

void decodeIntegerMad(Decoder &d) {
  int which = d.takeOneOf({"lo", "hi", "wide"});
  Type type = d.takeType();
  if (which == 2) {
    OpFunction run = wideMad(type);
    if (!run)
      d.failType();
    return decodeMap(d, run, twice(type), {type, type, twice(type)});
  }
  decodeTernary(d, which == 1 ? ternary<MadHigh>(type) : ternary<MadLow>(type), type);
}

void decodeIntegerDiv(Decoder &d) {
  Type type = d.takeType();
  decodeBinaryOp(d, binary<Div>(type), type);
}

void decodeIntegerMin(Decoder &d) {
  Type type = d.takeType();
  decodeBinaryOp(d, binary<Min>(type), type);
}

void decodeIntegerMax(Decoder &d) {
  Type type = d.takeType();
  decodeBinaryOp(d, binary<Max>(type), type);
}

void decodeIntegerAbs(Decoder &d) {
  Type type = d.takeType();
  if (OpFunction run = unarySigned<Abs>(type))
    return decodeMap(d, run, type, {type});
  d.failType();
}

void decodeIntegerNeg(Decoder &d) {
  Type type = d.takeType();
  if (OpFunction run = unarySigned<Neg>(type))
    return decodeMap(d, run, type, {type});
  d.failType();
}

void addIntegerInstructions(InstructionTable &table) {
  table["rem"] = [](Decoder &d) {
    Type type = d.takeType();
    decodeBinaryOp(d, binary<Rem>(type), type);
  };
  table["sad"] = decodeSad;
  table["mul24"] = decodeMul24;
  table["dp4a"] = decodeDp4a;
}

} // namespace ingot::simulator
