// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f16 and bf16, single and packed in pairs: computed in f32 so that the one rounding
// to the narrow type is exact.
#include "runtime/simulator/HalfVectors.h"
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/Rounding.h"

namespace ingot::simulator {

namespace {

struct F16 {
  static float widen(uint16_t bits) { return halfToFloat(bits); }
  static uint16_t narrow(float value) { return floatToHalf(value); }
};
struct Bf16 {
  static float widen(uint16_t bits) { return bfloatToFloat(bits); }
  static uint16_t narrow(float value) { return floatToBfloat(value); }
};

// Each returns a float whose rounding to 11 or 8 bits is the exact result's.
struct Add {
  float operator()(float a, float b) const {
    float sum = a + b;
    return roundToOdd(sum, sumError(a, b, sum));
  }
};
struct Sub {
  float operator()(float a, float b) const { return Add()(a, -b); }
};
struct Mul {
  float operator()(float a, float b) const { return a * b; }
};
struct Fma {
  float operator()(float a, float b, float c) const { return Add()(a * b, c); }
};
struct Min {
  float operator()(float a, float b) const {
    return a != a ? b : b != b ? a : a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
struct Max {
  float operator()(float a, float b) const {
    return a != a ? b : b != b ? a : a > b || (a == b && !std::signbit(a)) ? a : b;
  }
};
struct MinNan {
  float operator()(float a, float b) const { return a != a ? a : b != b ? b : Min()(a, b); }
};
struct MaxNan {
  float operator()(float a, float b) const { return a != a ? a : b != b ? b : Max()(a, b); }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct HyperbolicTangent {
  float operator()(float a) const { return std::tanh(a); }
};
struct FmaRelu {
  float operator()(float a, float b, float c) const {
    float value = Fma()(a, b, c);
    return value > 0 || value != value ? value : 0.0f;
  }
};
template <class F> struct Saturated {
  static float clamp(float value) { return !(value > 0) ? 0.0f : value > 1 ? 1.0f : value; }
  float operator()(float a, float b) const { return clamp(F()(a, b)); }
  float operator()(float a, float b, float c) const { return clamp(F()(a, b, c)); }
};

/// F on one number in the low half, or on a pair.
template <class H, class F> struct Single {
  template <class... A> uint16_t operator()(A... a) const { return H::narrow(F()(H::widen(a)...)); }
};
template <class H, class F> struct Packed {
  template <class... A> uint32_t operator()(A... a) const {
    uint32_t low = H::narrow(F()(H::widen(uint16_t(a))...));
    uint32_t high = H::narrow(F()(H::widen(uint16_t(a >> 16))...));
    return high << 16 | low;
  }
};
struct NegSingle {
  uint16_t operator()(uint16_t a) const { return a ^ 0x8000; }
};
struct NegPacked {
  uint32_t operator()(uint32_t a) const { return a ^ 0x80008000u; }
};
struct AbsSingle {
  uint16_t operator()(uint16_t a) const { return a & 0x7fff; }
};
struct AbsPacked {
  uint32_t operator()(uint32_t a) const { return a & 0x7fff7fffu; }
};

/// Pairs, without the lanes: 64 numbers in a row.
template <class H, class F, int N> void executePacked(Warp &warp, const Op &op) {
  const auto *a = warp.lanes<__m128i>(op.slot[1]);
  const auto *b = warp.lanes<__m128i>(op.slot[2]);
  const auto *c = warp.lanes<__m128i>(op.slot[N == 3 ? 3 : 2]);
  auto *d = warp.lanes<__m128i>(op.slot[0]);
  const __m128i bit = _mm_setr_epi32(1, 2, 4, 8);
  for (uint32_t i = 0; i < 8; ++i) {
    __m256 x = H::widen(_mm_loadu_si128(a + i)), y = H::widen(_mm_loadu_si128(b + i));
    __m256 z = H::widen(_mm_loadu_si128(c + i));
    __m256 value = F::quick(x, y, z);
    if (H::rounding(value))
      value = F::apply(x, y, z);
    __m128i lanes = _mm_and_si128(_mm_set1_epi32(int32_t(warp.mask >> 4 * i)), bit);
    __m128i writes = _mm_cmpeq_epi32(lanes, bit);
    _mm_storeu_si128(d + i, _mm_blendv_epi8(_mm_loadu_si128(d + i), H::narrow(value), writes));
  }
}

template <class F, int N> OpFunction packedVector(Type type) {
  return type == Type::F16x2 ? executePacked<F16Vector, F, N> : executePacked<Bf16Vector, F, N>;
}

template <template <class, class> class Shape, class H, class F, class T, int N>
constexpr OpFunction mapped() {
  using G = Shape<H, F>;
  if constexpr (N == 1)
    return map1<G, T, T>;
  else if constexpr (N == 2)
    return map2<G, T, T, T>;
  else
    return map3<G, T, T, T, T>;
}

template <class F, int N> OpFunction choose(Type type) {
  switch (type) {
  case Type::F16:
    return mapped<Single, F16, F, uint16_t, N>();
  case Type::Bf16:
    return mapped<Single, Bf16, F, uint16_t, N>();
  case Type::F16x2:
    return mapped<Packed, F16, F, uint32_t, N>();
  default:
    return mapped<Packed, Bf16, F, uint32_t, N>();
  }
}

OpFunction chooseFunction(Decoder &d, const std::string &name, Type type, int &sources) {
  bool sat = d.take("sat");
  bool relu = !sat && d.take("relu");
  bool nan = d.take("NaN");
  sources = 2;
  bool packed = bitsOf(type) == 32;
  if (relu && name != "fma")
    d.fail("modifier .relu is not supported");
  if (packed && !sat && !relu) {
    sources = name == "fma" ? 3 : 2;
    if (name == "add")
      return packedVector<VectorAdd, 2>(type);
    if (name == "sub")
      return packedVector<VectorSub, 2>(type);
    if (name == "mul")
      return packedVector<VectorMul, 2>(type);
    if (name == "fma")
      return packedVector<VectorFma, 3>(type);
    sources = 2;
  }
  if (name == "add")
    return sat ? choose<Saturated<Add>, 2>(type) : choose<Add, 2>(type);
  if (name == "sub")
    return sat ? choose<Saturated<Sub>, 2>(type) : choose<Sub, 2>(type);
  if (name == "mul")
    return sat ? choose<Saturated<Mul>, 2>(type) : choose<Mul, 2>(type);
  if (name == "min")
    return nan ? choose<MinNan, 2>(type) : choose<Min, 2>(type);
  if (name == "max")
    return nan ? choose<MaxNan, 2>(type) : choose<Max, 2>(type);
  if (name == "fma") {
    sources = 3;
    return relu  ? choose<FmaRelu, 3>(type)
           : sat ? choose<Saturated<Fma>, 3>(type)
                 : choose<Fma, 3>(type);
  }
  sources = 1;
  if (name == "neg")
    return packed ? OpFunction(map1<NegPacked, uint32_t, uint32_t>)
                  : OpFunction(map1<NegSingle, uint16_t, uint16_t>);
  if (name == "abs")
    return packed ? OpFunction(map1<AbsPacked, uint32_t, uint32_t>)
                  : OpFunction(map1<AbsSingle, uint16_t, uint16_t>);
  if (name == "ex2")
    return choose<Exp2, 1>(type);
  if (name == "tanh")
    return choose<HyperbolicTangent, 1>(type);
  return nullptr;
}

} // namespace

/// Decodes an instruction on f16 or bf16; false where it is of another type.
bool decodeHalf(Decoder &d) {
  Type type = typeNamed(d.in().parts.back());
  if (type != Type::F16 && type != Type::Bf16 && type != Type::F16x2 && type != Type::Bf16x2)
    return false;
  d.take("approx");
  d.take("rn");
  bool ftz = d.take("ftz");
  if (ftz && d.in().parts[0] != "ex2")
    d.fail("modifier .ftz is not supported for this type");
  int sources = 0;
  OpFunction run = chooseFunction(d, d.in().parts[0], type, sources);
  if (!run)
    d.failType();
  d.takeType();
  if (sources == 1)
    decodeMap(d, run, type, {type});
  else if (sources == 2)
    decodeMap(d, run, type, {type, type});
  else
    decodeMap(d, run, type, {type, type, type});
  return true;
}

} // namespace ingot::simulator
