// SPDX-License-Identifier: Apache-2.0
// cvt: fast paths for the conversions of our kernels, one exact and slow path for all others.
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/Rounding.h"

namespace ingot::simulator {

namespace {

bool isInteger(Type type) { return type >= Type::U8 && type <= Type::S64; }
bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }

const Format *formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return &f16Format;
  case Type::Bf16:
  case Type::Bf16x2:
    return &bf16Format;
  case Type::F32:
    return &f32Format;
  case Type::F64:
    return &f64Format;
  case Type::E4m3:
  case Type::E4m3x2:
    return &e4m3Format;
  case Type::E5m2:
  case Type::E5m2x2:
    return &e5m2Format;
  case Type::Tf32:
    return &tf32Format;
  default:
    return nullptr;
  }
}

/// What a cvt asks for, packed into Op::immediate.
struct Request {
  Type to = Type::None, from = Type::None;
  Round mode = Round::Nearest;
  bool integerRounding = false; // rni, rzi, rmi, rpi
  bool away = false;            // rna
  bool ftz = false, sat = false, satfinite = false, relu = false;
  bool wideTarget = false, wideSource = false;
};
static_assert(sizeof(Request) <= 16);

int64_t packRequest(const Request &request) {
  return int64_t(request.to) | int64_t(request.from) << 8 | int64_t(request.mode) << 16 |
         int64_t(request.integerRounding) << 20 | int64_t(request.away) << 21 |
         int64_t(request.ftz) << 22 | int64_t(request.sat) << 23 |
         int64_t(request.satfinite) << 24 | int64_t(request.relu) << 25 |
         int64_t(request.wideTarget) << 26 | int64_t(request.wideSource) << 27;
}

Request unpackRequest(int64_t bits) {
  Request request;
  request.to = Type(bits & 255);
  request.from = Type(bits >> 8 & 255);
  request.mode = Round(bits >> 16 & 15);
  request.integerRounding = bits >> 20 & 1;
  request.away = bits >> 21 & 1;
  request.ftz = bits >> 22 & 1;
  request.sat = bits >> 23 & 1;
  request.satfinite = bits >> 24 & 1;
  request.relu = bits >> 25 & 1;
  request.wideTarget = bits >> 26 & 1;
  request.wideSource = bits >> 27 & 1;
  return request;
}

long double rounded(long double value, Round mode) {
  switch (mode) {
  case Round::Nearest:
    return nearbyintl(value);
  case Round::Zero:
    return truncl(value);
  case Round::Down:
    return floorl(value);
  default:
    return ceill(value);
  }
}

uint64_t toInteger(long double value, Type type) {
  if (std::isnan(value))
    return type == Type::S64 || type == Type::U64 ? uint64_t(1) << 63 : 0;
  uint32_t bits = bitsOf(type);
  long double low = isSigned(type) ? -ldexpl(1, int(bits) - 1) : 0;
  long double high = ldexpl(1, int(bits) - (isSigned(type) ? 1 : 0)) - 1;
  value = value < low ? low : value > high ? high : value;
  return value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
}

uint64_t integerToInteger(uint64_t bits, const Request &r) {
  uint32_t from = bitsOf(r.from), to = bitsOf(r.to);
  bool negative = isSigned(r.from) && from < 64 && (bits >> (from - 1) & 1);
  uint64_t value = from < 64 ? bits & ((uint64_t(1) << from) - 1) : bits;
  if (negative)
    value |= ~uint64_t(0) << from;
  negative = isSigned(r.from) && int64_t(value) < 0;
  if (r.sat) {
    long double exact = negative ? (long double)int64_t(value) : (long double)value;
    return toInteger(exact, r.to);
  }
  if (to < 64) {
    value &= (uint64_t(1) << to) - 1;
    if (isSigned(r.to) && value >> (to - 1) & 1)
      value |= ~uint64_t(0) << to;
  }
  return value;
}

uint64_t convertOne(uint64_t bits, const Request &r) {
  const Format *from = formatOf(r.from), *to = formatOf(r.to);
  if (!from && !to)
    return integerToInteger(bits, r);
  long double value;
  if (from) {
    value = decodeFloat(bits, *from);
    if (r.ftz && r.from == Type::F32)
      value = flushed(float(value));
  } else {
    Request wide = r;
    wide.sat = false;
    wide.to = isSigned(r.from) ? Type::S64 : Type::U64;
    uint64_t whole = integerToInteger(bits, wide);
    value = isSigned(r.from) ? (long double)int64_t(whole) : (long double)whole;
  }
  if (!to)
    return toInteger(rounded(value, r.mode), r.to);
  if (r.integerRounding)
    value = std::copysign(rounded(value, r.mode), value);
  if (r.sat)
    value = !(value > 0) ? 0 : value > 1 ? 1 : value;
  if (r.relu && value < 0)
    value = 0;
  uint64_t result = encodeFloat(value, *to, r.mode, r.satfinite, r.away);
  if (r.ftz && r.to == Type::F32)
    result = std::bit_cast<uint32_t>(flushed(std::bit_cast<float>(uint32_t(result))));
  return r.to == Type::Tf32 ? result << 13 : result;
}

/// slot[0] = convert(slot[1]), any types.
void executeConvert(Warp &warp, const Op &op) {
  const Request r = unpackRequest(op.immediate);
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t bits =
        r.wideSource ? warp.lanes<uint64_t>(op.slot[1])[i] : warp.lanes<uint32_t>(op.slot[1])[i];
    if (uint32_t width = bitsOf(r.from); width < 64)
      bits &= (uint64_t(1) << width) - 1;
    uint64_t value = convertOne(bits, r);
    if (r.wideTarget)
      warp.lanes<uint64_t>(op.slot[0])[i] = value;
    else
      warp.lanes<uint32_t>(op.slot[0])[i] = uint32_t(value);
  }
}

/// Two numbers at once: from slot[1] (high) and slot[2] (low), or from the pair in slot[1].
void executeConvertPair(Warp &warp, const Op &op) {
  Request r = unpackRequest(op.immediate);
  uint32_t width = formatOf(r.to)->bits();
  uint32_t sourceWidth = formatOf(r.from)->bits();
  for (uint32_t i = 0; i < warpSize; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint64_t high, low;
    if (op.slot[2] != noSlot) {
      high = warp.lanes<uint32_t>(op.slot[1])[i];
      low = warp.lanes<uint32_t>(op.slot[2])[i];
    } else {
      uint32_t both = warp.lanes<uint32_t>(op.slot[1])[i];
      uint32_t mask = (1u << sourceWidth) - 1;
      high = both >> sourceWidth & mask;
      low = both & mask;
    }
    warp.lanes<uint32_t>(op.slot[0])[i] =
        uint32_t(convertOne(high, r) << width | convertOne(low, r));
  }
}

template <class To> struct CastTo {
  template <class T> To operator()(T a) const { return To(a); }
};
/// The NaN that encodeFloat gives.
template <class To> To noNumber() {
  using Bits = std::conditional_t<sizeof(To) == 8, uint64_t, uint32_t>;
  return std::bit_cast<To>(Bits(~Bits(0) >> 1));
}
/// Between f32 and f64, to nearest.
template <class To> struct Resize {
  template <class T> To operator()(T a) const { return a != a ? noNumber<To>() : To(a); }
};
struct FloatToHalf {
  uint16_t operator()(float a) const { return floatToHalf(a); }
};
struct FloatToBfloat {
  uint16_t operator()(float a) const { return floatToBfloat(a); }
};
struct HalfToFloat {
  float operator()(uint16_t a) const { return halfToFloat(a); }
};
struct BfloatToFloat {
  float operator()(uint16_t a) const { return bfloatToFloat(a); }
};
struct FloatsToHalves {
  uint32_t operator()(float high, float low) const {
    return uint32_t(floatToHalf(high)) << 16 | floatToHalf(low);
  }
};
struct FloatsToBfloats {
  uint32_t operator()(float high, float low) const {
    return uint32_t(floatToBfloat(high)) << 16 | floatToBfloat(low);
  }
};
struct E4m3PairToHalves {
  uint32_t operator()(uint16_t pair) const {
    return one(uint8_t(pair >> 8)) << 16 | one(uint8_t(pair));
  }
  // e4m3 has the exponent bias 7, f16 15: the bits moved up by 7 are the value over 2^8.
  static uint32_t one(uint8_t code) {
    float scaled = halfToFloat(uint16_t((code & 0x80) << 8 | (code & 0x7f) << 7)) * 256.0f;
    return (code & 0x7f) == 0x7f ? 0x7fffu : uint32_t(floatToHalf(scaled));
  }
};
template <Round Mode> struct FloatToInt {
  int32_t operator()(float a) const {
    float whole = Mode == Round::Zero   ? std::trunc(a)
                  : Mode == Round::Down ? std::floor(a)
                  : Mode == Round::Up   ? std::ceil(a)
                                        : std::nearbyint(a);
    return whole != whole          ? 0
           : whole >= 2147483648.f ? INT32_MAX
           : whole < -2147483648.f ? INT32_MIN
                                   : int32_t(whole);
  }
};
template <Round Mode> struct DoubleToLong {
  int64_t operator()(double a) const {
    const double whole = Mode == Round::Zero   ? std::trunc(a)
                         : Mode == Round::Down ? std::floor(a)
                         : Mode == Round::Up   ? std::ceil(a)
                                               : std::nearbyint(a);
    return whole != whole    ? INT64_MIN
           : whole >= 0x1p63 ? INT64_MAX
           : whole < -0x1p63 ? INT64_MIN
                             : int64_t(whole);
  }
};
/// Two numbers to nearest as e4m3, the largest one for what lies beyond.
struct FloatsToE4m3 {
  uint32_t operator()(float high, float low) const { return one(high) << 8 | one(low); }
  static uint32_t one(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), size = bits & 0x7fffffffu;
    const float magnitude = std::bit_cast<float>(size);
    // Three bits of the fraction stay; the bias goes from 127 to 7. Below 2^-6 steps are of 2^-9.
    const uint32_t normal = ((size + 0x7ffffu + (size >> 20 & 1)) >> 20) - (120u << 3);
    const uint32_t small =
        uint32_t(int32_t(std::nearbyint((magnitude < 0x1p-6f ? magnitude : 0.0f) * 0x1p9f)));
    const uint32_t code = magnitude < 0x1p-6f ? small : normal < 0x7e ? normal : 0x7e;
    return magnitude != magnitude ? 0x7fu : (bits >> 24 & 0x80) | code;
  }
};
template <Round Mode> struct RoundFloat {
  float operator()(float a) const {
    return Mode == Round::Zero   ? std::trunc(a)
           : Mode == Round::Down ? std::floor(a)
           : Mode == Round::Up   ? std::ceil(a)
                                 : std::nearbyint(a);
  }
};

/// Sources of 8 and 16 bits, extended; a narrower target is cut by whoever reads it.
OpFunction fastNarrow(Type to, Type from) {
  if (to != Type::U32 && to != Type::S32 && to != Type::U16 && to != Type::S16)
    return nullptr;
  switch (from) {
  case Type::S8:
    return map1<CastTo<uint32_t>, uint32_t, int8_t>;
  case Type::U8:
    return map1<CastTo<uint32_t>, uint32_t, uint8_t>;
  case Type::S16:
    return map1<CastTo<uint32_t>, uint32_t, int16_t>;
  case Type::U16:
    return map1<CastTo<uint32_t>, uint32_t, uint16_t>;
  default:
    return bitsOf(to) == 16 && bitsOf(from) == 32 ? map1<CastTo<uint32_t>, uint32_t, uint32_t>
                                                  : nullptr;
  }
}

OpFunction fastInteger(Type to, Type from, bool exactTarget) {
  bool wide = bitsOf(to) == 64;
  if (!wide && exactTarget && bitsOf(from) <= 32)
    return fastNarrow(to, from);
  switch (from) {
  case Type::S32:
    return wide ? OpFunction(map1<CastTo<uint64_t>, uint64_t, int32_t>) : nullptr;
  case Type::U32:
    return wide ? OpFunction(map1<CastTo<uint64_t>, uint64_t, uint32_t>) : nullptr;
  case Type::U64:
  case Type::S64:
    return bitsOf(to) == 32 ? OpFunction(map1<CastTo<uint32_t>, uint32_t, uint64_t>) : nullptr;
  default:
    break;
  }
  return nullptr;
}

OpFunction fastFloatToInt(Round mode) {
  switch (mode) {
  case Round::Nearest:
    return map1<FloatToInt<Round::Nearest>, int32_t, float>;
  case Round::Zero:
    return map1<FloatToInt<Round::Zero>, int32_t, float>;
  case Round::Down:
    return map1<FloatToInt<Round::Down>, int32_t, float>;
  default:
    return map1<FloatToInt<Round::Up>, int32_t, float>;
  }
}

OpFunction fastDoubleToLong(Round mode) {
  switch (mode) {
  case Round::Nearest:
    return map1<DoubleToLong<Round::Nearest>, int64_t, double>;
  case Round::Zero:
    return map1<DoubleToLong<Round::Zero>, int64_t, double>;
  case Round::Down:
    return map1<DoubleToLong<Round::Down>, int64_t, double>;
  default:
    return map1<DoubleToLong<Round::Up>, int64_t, double>;
  }
}

/// To f64, to nearest.
OpFunction fastToDouble(Type from) {
  switch (from) {
  case Type::F32:
    return map1<Resize<double>, double, float>;
  case Type::S32:
    return map1<CastTo<double>, double, int32_t>;
  case Type::U32:
    return map1<CastTo<double>, double, uint32_t>;
  case Type::S64:
    return map1<CastTo<double>, double, int64_t>;
  default:
    return nullptr;
  }
}

OpFunction fastRoundFloat(Round mode) {
  switch (mode) {
  case Round::Nearest:
    return map1<RoundFloat<Round::Nearest>, float, float>;
  case Round::Zero:
    return map1<RoundFloat<Round::Zero>, float, float>;
  case Round::Down:
    return map1<RoundFloat<Round::Down>, float, float>;
  default:
    return map1<RoundFloat<Round::Up>, float, float>;
  }
}

/// A vectorised function for the request, or null.
OpFunction fastPath(const Request &r, bool exactTarget) {
  if (r.ftz || r.sat || r.satfinite || r.relu || r.away)
    return nullptr;
  if (isInteger(r.to) && isInteger(r.from))
    return r.wideTarget == (bitsOf(r.to) == 64) && r.wideSource == (bitsOf(r.from) == 64)
               ? fastInteger(r.to, r.from, exactTarget)
               : nullptr;
  if (r.to == Type::S32 && r.from == Type::F32)
    return fastFloatToInt(r.mode);
  if (r.to == Type::F32 && r.from == Type::F32)
    return r.integerRounding ? fastRoundFloat(r.mode) : nullptr;
  if (r.to == Type::S64 && r.from == Type::F64)
    return fastDoubleToLong(r.mode);
  if (r.mode != Round::Nearest || r.integerRounding || r.wideSource != (bitsOf(r.from) == 64))
    return nullptr;
  if (r.to == Type::F64)
    return fastToDouble(r.from);
  if (r.to == Type::F32) {
    switch (r.from) {
    case Type::F64:
      return map1<Resize<float>, float, double>;
    case Type::S8:
      return map1<CastTo<float>, float, int8_t>;
    case Type::U8:
      return map1<CastTo<float>, float, uint8_t>;
    case Type::S16:
      return map1<CastTo<float>, float, int16_t>;
    case Type::U16:
      return map1<CastTo<float>, float, uint16_t>;
    case Type::S32:
      return map1<CastTo<float>, float, int32_t>;
    case Type::U32:
      return map1<CastTo<float>, float, uint32_t>;
    case Type::F16:
      return map1<HalfToFloat, float, uint16_t>;
    case Type::Bf16:
      return map1<BfloatToFloat, float, uint16_t>;
    default:
      return nullptr;
    }
  }
  if (r.from == Type::F32 && r.to == Type::F16)
    return map1<FloatToHalf, uint16_t, float>;
  if (r.from == Type::F32 && r.to == Type::Bf16)
    return map1<FloatToBfloat, uint16_t, float>;
  return nullptr;
}

bool isPair(Type type) {
  return type == Type::F16x2 || type == Type::Bf16x2 || type == Type::E4m3x2 ||
         type == Type::E5m2x2;
}

void decodePair(Decoder &d, const Request &r) {
  d.op.immediate = packRequest(r);
  d.op.run = executeConvertPair;
  bool fromFloats = r.from == Type::F32;
  if (!fromFloats && !isPair(r.from))
    d.failType();
  bool known = fromFloats ||
               ((r.to == Type::E4m3x2 || r.to == Type::E5m2x2)
                    ? r.from == Type::F16x2 || r.from == Type::Bf16x2
                    : r.to == Type::F16x2 && (r.from == Type::E4m3x2 || r.from == Type::E5m2x2));
  if (!known)
    d.failType();
  if (fromFloats) {
    d.expectOperands(3, 3);
    d.source(1, d.operand(1), Type::F32);
    d.source(2, d.operand(2), Type::F32);
    bool plain = !r.satfinite && !r.relu && !r.sat && r.mode == Round::Nearest;
    if (plain && r.to == Type::F16x2)
      d.op.run = map2<FloatsToHalves, uint32_t, float, float>;
    if (plain && r.to == Type::Bf16x2)
      d.op.run = map2<FloatsToBfloats, uint32_t, float, float>;
    if (r.to == Type::E4m3x2 && r.satfinite && !r.relu && r.mode == Round::Nearest)
      d.op.run = map2<FloatsToE4m3, uint32_t, float, float>;
  } else {
    d.expectOperands(2, 2);
    d.source(1, d.operand(1), r.from);
    if (r.from == Type::E4m3x2 && !r.relu)
      d.op.run = map1<E4m3PairToHalves, uint32_t, uint16_t>;
  }
  d.target(0, d.operand(0), r.to);
  d.emit();
}

void decodeConvert(Decoder &d) {
  Request r;
  int mode = d.takeOneOf({"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna"});
  bool explicitMode = mode >= 0;
  r.integerRounding = mode >= 4 && mode < 8;
  r.away = mode == 8;
  r.mode = mode < 0 || r.away ? Round::Nearest : Round(mode & 3);
  r.ftz = d.take("ftz");
  r.sat = d.take("sat");
  r.satfinite = d.take("satfinite");
  r.relu = d.take("relu");
  r.satfinite |= d.take("satfinite");
  r.to = d.takeType();
  r.from = d.takeType();
  if (isPair(r.to))
    return decodePair(d, r);
  bool known = (isInteger(r.to) || formatOf(r.to)) && (isInteger(r.from) || formatOf(r.from));
  if (!known || bitsOf(r.from) == 0 || isPair(r.from) || r.from == Type::E4m3 ||
      r.to == Type::E4m3 || r.from == Type::E5m2 || r.to == Type::E5m2 || r.from == Type::Tf32)
    d.failType();
  if (!explicitMode && formatOf(r.from) && isInteger(r.to))
    d.fail("a rounding is missing");
  d.expectOperands(2, 2);
  r.wideTarget = d.widthOf(d.operand(0), r.to) == 64;
  r.wideSource = d.widthOf(d.operand(1), r.from) == 64;
  d.op.immediate = packRequest(r);
  d.op.run = fastPath(r, d.widthOf(d.operand(0), r.to) == bitsOf(r.to));
  if (!d.op.run)
    d.op.run = executeConvert;
  d.source(1, d.operand(1), r.from, false);
  d.target(0, d.operand(0), r.to == Type::Tf32 ? Type::B32 : r.to, false);
  d.emit();
}

} // namespace

void addConversionInstructions(InstructionTable &table) { table["cvt"] = decodeConvert; }

} // namespace ingot::simulator
