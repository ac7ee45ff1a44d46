// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f32 and f64, and the choice between integers, floats and halves for the opcodes
// that all of them share.
#include "runtime/simulator/Lanes.h"
#include "runtime/simulator/Rounding.h"

namespace ingot::simulator {

void decodeIntegerAdd(Decoder &d);
void decodeIntegerSub(Decoder &d);
void decodeIntegerMul(Decoder &d);
void decodeIntegerMad(Decoder &d);
void decodeIntegerDiv(Decoder &d);
void decodeIntegerMin(Decoder &d);
void decodeIntegerMax(Decoder &d);
void decodeIntegerAbs(Decoder &d);
void decodeIntegerNeg(Decoder &d);
bool decodeHalf(Decoder &d);

namespace {

template <bool Ftz, class T> inline T input(T value) {
  if constexpr (Ftz && sizeof(T) == 4)
    return flushed(value);
  return value;
}

template <bool Ftz, bool Sat, class T> inline T output(T value) {
  value = input<Ftz>(value);
  if constexpr (Sat)
    value = !(value > 0) ? T(0) : value > 1 ? T(1) : value;
  return value;
}

struct Add {
  template <class T> T operator()(T a, T b) const { return a + b; }
  template <class T> T operator()(T a, T b, Round mode) const {
    T sum = a + b;
    return roundDirected(sum, sumError(a, b, sum), mode);
  }
};
struct Sub {
  template <class T> T operator()(T a, T b) const { return a - b; }
  template <class T> T operator()(T a, T b, Round mode) const { return Add()(a, -b, mode); }
};
struct Mul {
  template <class T> T operator()(T a, T b) const { return a * b; }
  template <class T> T operator()(T a, T b, Round mode) const {
    T product = a * b;
    return roundDirected(product, std::fma(a, b, -product), mode);
  }
};
struct Div {
  template <class T> T operator()(T a, T b) const { return a / b; }
  template <class T> T operator()(T a, T b, Round mode) const {
    T quotient = a / b;
    T rest = std::fma(-quotient, b, a);
    return roundDirected(quotient, (b < 0) ? -rest : rest, mode);
  }
};
struct Fma {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
  float operator()(float a, float b, float c, Round mode) const {
    double product = double(a) * double(b), sum = product + double(c);
    double rest = sumError(product, double(c), sum);
    float nearest = float(sum);
    double beyond = sum - double(nearest);
    float direction = beyond != 0 ? (beyond < 0 ? -1.0f : 1.0f)
                                  : (rest < 0   ? -1.0f
                                     : rest > 0 ? 1.0f
                                                : 0.0f);
    return roundDirected(nearest, direction, mode);
  }
  double operator()(double a, double b, double c, Round mode) const {
    long double exact = (long double)a * (long double)b + (long double)c;
    double nearest = double(exact);
    return roundDirected(nearest, double(exact - (long double)nearest), mode);
  }
};
struct Min {
  template <class T> T operator()(T a, T b) const {
    T smaller = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : smaller;
  }
};
struct Max {
  template <class T> T operator()(T a, T b) const {
    T larger = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? b : b != b ? a : larger;
  }
};
struct MinNan {
  template <class T> T operator()(T a, T b) const { return a != a ? a : b != b ? b : Min()(a, b); }
};
struct MaxNan {
  template <class T> T operator()(T a, T b) const { return a != a ? a : b != b ? b : Max()(a, b); }
};
struct Abs {
  template <class T> T operator()(T a) const { return std::fabs(a); }
};
struct Neg {
  template <class T> T operator()(T a) const { return -a; }
};
struct Reciprocal {
  template <class T> T operator()(T a) const { return T(1) / a; }
  template <class T> T operator()(T a, Round mode) const { return Div()(T(1), a, mode); }
};
struct SquareRoot {
  template <class T> T operator()(T a) const { return std::sqrt(a); }
  template <class T> T operator()(T a, Round mode) const {
    T root = std::sqrt(a);
    return roundDirected(root, std::fma(-root, root, a), mode);
  }
};
struct ReciprocalRoot {
  float operator()(float a) const { return float(1.0 / std::sqrt(double(a))); }
  double operator()(double a) const { return 1.0 / std::sqrt(a); }
};
/// 2^a to about one unit in the last place: a polynomial on [-0.5, 0.5].
struct Exp2 {
  float operator()(float a) const {
    float clamped = a < -151.0f ? -151.0f : a > 129.0f ? 129.0f : a;
    clamped = a != a ? 0.0f : clamped;
    float whole = std::nearbyint(clamped);
    float x = clamped - whole;
    float p = 1.535336188319500e-4f;
    p = __builtin_fmaf(p, x, 1.339887440266574e-3f);
    p = __builtin_fmaf(p, x, 9.618437357674640e-3f);
    p = __builtin_fmaf(p, x, 5.550332471162809e-2f);
    p = __builtin_fmaf(p, x, 2.402264791363012e-1f);
    p = __builtin_fmaf(p, x, 6.931472028550421e-1f);
    p = __builtin_fmaf(p, x, 1.0f);
    int32_t exponent = int32_t(whole);
    int32_t half = exponent >> 1;
    float scaled = p * std::bit_cast<float>((half + 127) << 23) *
                   std::bit_cast<float>((exponent - half + 127) << 23);
    return a != a ? a : scaled;
  }
};
struct Log2 {
  float operator()(float a) const { return float(std::log2(double(a))); }
};
struct Sine {
  float operator()(float a) const { return float(std::sin(double(a))); }
};
struct Cosine {
  float operator()(float a) const { return float(std::cos(double(a))); }
};
struct HyperbolicTangent {
  float operator()(float a) const { return float(std::tanh(double(a))); }
};
struct CopySign {
  template <class T> T operator()(T sign, T value) const { return std::copysign(value, sign); }
};

/// F with the flushing and saturation that an instruction asks for.
template <class F, bool Ftz, bool Sat> struct Shaped {
  template <class T> T operator()(T a) const { return output<Ftz, Sat>(F()(input<Ftz>(a))); }
  template <class T> T operator()(T a, T b) const {
    return output<Ftz, Sat>(F()(input<Ftz>(a), input<Ftz>(b)));
  }
  template <class T> T operator()(T a, T b, T c) const {
    return output<Ftz, Sat>(F()(input<Ftz>(a), input<Ftz>(b), input<Ftz>(c)));
  }
};
template <class F, Round Mode, bool Ftz> struct Directed {
  template <class T> T operator()(T a) const { return input<Ftz>(F()(input<Ftz>(a), Mode)); }
  template <class T> T operator()(T a, T b) const {
    return input<Ftz>(F()(input<Ftz>(a), input<Ftz>(b), Mode));
  }
  template <class T> T operator()(T a, T b, T c) const {
    return input<Ftz>(F()(input<Ftz>(a), input<Ftz>(b), input<Ftz>(c), Mode));
  }
};

template <class F, class T, int N> constexpr OpFunction mapped() {
  if constexpr (N == 1)
    return map1<F, T, T>;
  else if constexpr (N == 2)
    return map2<F, T, T, T>;
  else
    return map3<F, T, T, T, T>;
}

struct Shape {
  Round mode = Round::Nearest;
  bool ftz = false, sat = false;
  Type type = Type::F32;
};

/// The modifiers that arithmetic of floats takes, in their order.
Shape takeShape(Decoder &d) {
  Shape shape;
  int mode = d.takeOneOf({"rn", "rz", "rm", "rp"});
  shape.mode = mode <= 0 ? Round::Nearest : Round(mode);
  shape.ftz = d.take("ftz");
  shape.sat = d.take("sat");
  shape.type = d.takeType();
  if (shape.type != Type::F32 && shape.type != Type::F64)
    d.failType();
  return shape;
}

template <class F, class T, int N> OpFunction nearest(const Shape &shape) {
  if (shape.ftz)
    return shape.sat ? mapped<Shaped<F, true, true>, T, N>()
                     : mapped<Shaped<F, true, false>, T, N>();
  return shape.sat ? mapped<Shaped<F, false, true>, T, N>()
                   : mapped<Shaped<F, false, false>, T, N>();
}

template <class F, class T, int N, bool Ftz> OpFunction directed(Round mode) {
  switch (mode) {
  case Round::Zero:
    return mapped<Directed<F, Round::Zero, Ftz>, T, N>();
  case Round::Down:
    return mapped<Directed<F, Round::Down, Ftz>, T, N>();
  default:
    return mapped<Directed<F, Round::Up, Ftz>, T, N>();
  }
}

void decodeSame(Decoder &d, OpFunction run, Type type, int sources) {
  if (sources == 1)
    decodeMap(d, run, type, {type});
  else if (sources == 2)
    decodeMap(d, run, type, {type, type});
  else
    decodeMap(d, run, type, {type, type, type});
}

/// Instructions that take a rounding mode.
template <class F, int N> void decodeRounded(Decoder &d) {
  Shape shape = takeShape(d);
  bool wide = shape.type == Type::F64;
  OpFunction run;
  if (shape.mode == Round::Nearest)
    run = wide ? nearest<F, double, N>(shape) : nearest<F, float, N>(shape);
  else if (shape.sat)
    d.fail("saturation with this rounding is not supported");
  else if (wide)
    run = directed<F, double, N, false>(shape.mode);
  else
    run = shape.ftz ? directed<F, float, N, true>(shape.mode)
                    : directed<F, float, N, false>(shape.mode);
  decodeSame(d, run, shape.type, N);
}

/// Instructions without a rounding mode.
template <class F, int N, bool Double = true> void decodePlain(Decoder &d) {
  Shape shape = takeShape(d);
  if (shape.type == Type::F64 && !Double)
    d.failType();
  OpFunction run = nearest<F, float, N>(shape);
  if constexpr (Double)
    if (shape.type == Type::F64)
      run = nearest<F, double, N>(shape);
  decodeSame(d, run, shape.type, N);
}

template <class F, class FNan> void decodeMinMax(Decoder &d) {
  bool ftz = d.take("ftz");
  bool nan = d.take("NaN");
  Type type = d.takeType();
  if (type != Type::F32 && type != Type::F64)
    d.failType();
  OpFunction run;
  if (type == Type::F64)
    run = nan ? mapped<FNan, double, 2>() : mapped<F, double, 2>();
  else if (ftz)
    run = nan ? mapped<Shaped<FNan, true, false>, float, 2>()
              : mapped<Shaped<F, true, false>, float, 2>();
  else
    run = nan ? mapped<FNan, float, 2>() : mapped<F, float, 2>();
  decodeSame(d, run, type, 2);
}

/// Functions that exist as .approx and, some, with a rounding mode.
template <class F> void decodeFunction(Decoder &d) {
  d.expect("approx");
  decodePlain<F, 1, false>(d);
}

template <class F> void decodeExactFunction(Decoder &d) {
  if (d.take("approx"))
    return decodePlain<F, 1>(d);
  decodeRounded<F, 1>(d);
}

void decodeReciprocalRoot(Decoder &d) {
  d.expect("approx");
  decodePlain<ReciprocalRoot, 1>(d);
}

void decodeDivision(Decoder &d) {
  if (d.take("approx") || d.take("full"))
    return decodePlain<Div, 2>(d);
  decodeRounded<Div, 2>(d);
}

Type lastType(Decoder &d) { return typeNamed(d.in().parts.back()); }
bool isFloat(Type type) { return type == Type::F32 || type == Type::F64; }

template <void (*Integer)(Decoder &), void (*Real)(Decoder &)> void decodeShared(Decoder &d) {
  if (isFloat(lastType(d)))
    return Real(d);
  if (!decodeHalf(d))
    Integer(d);
}

void noInteger(Decoder &d) { d.failType(); }

} // namespace

void addFloatInstructions(InstructionTable &table) {
  table["add"] = decodeShared<decodeIntegerAdd, decodeRounded<Add, 2>>;
  table["sub"] = decodeShared<decodeIntegerSub, decodeRounded<Sub, 2>>;
  table["mul"] = decodeShared<decodeIntegerMul, decodeRounded<Mul, 2>>;
  table["mad"] = decodeShared<decodeIntegerMad, decodeRounded<Fma, 3>>;
  table["fma"] = decodeShared<noInteger, decodeRounded<Fma, 3>>;
  table["div"] = decodeShared<decodeIntegerDiv, decodeDivision>;
  table["min"] = decodeShared<decodeIntegerMin, decodeMinMax<Min, MinNan>>;
  table["max"] = decodeShared<decodeIntegerMax, decodeMinMax<Max, MaxNan>>;
  table["abs"] = decodeShared<decodeIntegerAbs, decodePlain<Abs, 1>>;
  table["neg"] = decodeShared<decodeIntegerNeg, decodePlain<Neg, 1>>;
  table["copysign"] = decodePlain<CopySign, 2>;
  table["rcp"] = decodeExactFunction<Reciprocal>;
  table["sqrt"] = decodeExactFunction<SquareRoot>;
  table["rsqrt"] = decodeReciprocalRoot;
  table["ex2"] = [](Decoder &d) {
    if (!decodeHalf(d))
      decodeFunction<Exp2>(d);
  };
  table["tanh"] = [](Decoder &d) {
    if (!decodeHalf(d))
      decodeFunction<HyperbolicTangent>(d);
  };
  table["lg2"] = decodeFunction<Log2>;
  table["sin"] = decodeFunction<Sine>;
  table["cos"] = decodeFunction<Cosine>;
}

} // namespace ingot::simulator
