// SPDX-License-Identifier: Apache-2.0
// Integer, float, half and conversion instructions, lane by lane, against plain C++.
#include "tests/unit/simulator/Simulator.h"

#include <bit>
#include <cmath>
#include <functional>
#include <random>

namespace ingot::test {
namespace {

using Words = std::vector<uint32_t>;
using Expected = std::function<uint32_t(uint32_t, uint32_t, uint32_t)>;

float f(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t u(float value) { return std::bit_cast<uint32_t>(value); }

/// Runs an instruction on three words a thread: %r10, %r11, %r12 and, as floats, %f10 to %f12; the
/// result is %r13.
class ArithmeticTest : public Simulator {
protected:
  Words run(const std::string &code, const Words &a, const Words &b, const Words &c,
            const std::string &target = "sm_90") {
    configure({.architecture = "sm_90"});
    std::string body = "mov.u32 %r1, %tid.x; mul.wide.u32 %d10, %r1, 4;"
                       "add.u64 %d0, %d0, %d10; add.u64 %d1, %d1, %d10; add.u64 %d2, %d2, %d10;"
                       "add.u64 %d3, %d3, %d10;\n"
                       "ld.global.u32 %r10, [%d0]; ld.global.u32 %r11, [%d1];"
                       "ld.global.u32 %r12, [%d2];"
                       "mov.b32 %f10, %r10; mov.b32 %f11, %r11; mov.b32 %f12, %r12;"
                       "cvt.u16.u32 %h10, %r10; cvt.u16.u32 %h11, %r11; cvt.u16.u32 %h12, %r12;"
                       "mov.b64 %d20, {%r10, %r11}; mov.u32 %r13, 0;\n" +
                       code + "\nst.global.u32 [%d3], %r13;";
    Kernel test = load(kernel(body, 4, target));
    if (!test)
      return Words(a.size());
    DeviceArray<uint32_t> da(a), db(b), dc(c), result(a.size());
    EXPECT_EQ(launch(test, {.grid = 1, .block = uint32_t(a.size())},
                     {&da.address, &db.address, &dc.address, &result.address}),
              DriverResult::Success)
        << lastError();
    return result.read();
  }

  void check(const std::string &code, const Expected &expected, bool floats = false) {
    SCOPED_TRACE(code);
    std::mt19937 random(7);
    Words a(96), b(96), c(96);
    const uint32_t corners[] = {0, 1, 2, 31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x00ff00ff};
    for (size_t i = 0; i < a.size(); ++i) {
      auto value = [&]() -> uint32_t {
        if (floats)
          return u(float(int32_t(random())) * std::exp2(float(int(random() % 40) - 50)));
        return random() % 3 ? random() : corners[random() % std::size(corners)];
      };
      a[i] = value();
      b[i] = value();
      c[i] = value();
    }
    Words result = run(code, a, b, c);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(result[i], expected(a[i], b[i], c[i]))
          << "of " << std::hex << a[i] << " " << b[i] << " " << c[i];
  }
  void checkFloat(const std::string &code, const std::function<float(float, float, float)> &e) {
    check(code, [&](uint32_t a, uint32_t b, uint32_t c) { return u(e(f(a), f(b), f(c))); }, true);
  }
};

TEST_F(ArithmeticTest, Integers) {
  using W = uint32_t;
  check("add.s32 %r13, %r10, %r11;", [](W a, W b, W) { return a + b; });
  check("sub.s32 %r13, %r10, %r11;", [](W a, W b, W) { return a - b; });
  check("mul.lo.s32 %r13, %r10, %r11;", [](W a, W b, W) { return a * b; });
  check("mul.hi.u32 %r13, %r10, %r11;", [](W a, W b, W) { return W(uint64_t(a) * b >> 32); });
  check("mul.hi.s32 %r13, %r10, %r11;",
        [](W a, W b, W) { return W(int64_t(int32_t(a)) * int32_t(b) >> 32); });
  check("mad.lo.s32 %r13, %r10, %r11, %r12;", [](W a, W b, W c) { return a * b + c; });
  check("div.u32 %r13, %r10, %r11;", [](W a, W b, W) { return b ? a / b : ~0u; });
  check("rem.s32 %r13, %r10, 7;", [](W a, W, W) { return W(int32_t(a) % 7); });
  check("min.s32 %r13, %r10, %r11;",
        [](W a, W b, W) { return W(std::min(int32_t(a), int32_t(b))); });
  check("max.u32 %r13, %r10, %r11;", [](W a, W b, W) { return std::max(a, b); });
  check("add.sat.s32 %r13, %r10, %r11;", [](W a, W b, W) {
    int64_t sum = int64_t(int32_t(a)) + int32_t(b);
    return W(int32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)));
  });
  check("mul.wide.u32 %d1, %r10, %r11; mad.wide.u32 %d1, %r10, %r12, %d1;"
        "mov.b64 {%r20, %r13}, %d1;",
        [](W a, W b, W c) { return W((uint64_t(a) * b + uint64_t(a) * c) >> 32); });
  check("mul.hi.u64 %d1, %d20, %d20; cvt.u32.u64 %r13, %d1;", [](W a, W b, W) {
    uint64_t x = uint64_t(b) << 32 | a;
    return W(uint64_t((unsigned __int128)(x)*x >> 64));
  });
  check("neg.s32 %r20, %r10; abs.s32 %r13, %r20;",
        [](W a, W, W) { return int32_t(a) < 0 ? -a : a; });
  check("add.u16 %h13, %h10, %h11; cvt.u32.u16 %r13, %h13;",
        [](W a, W b, W) { return W(uint16_t(a + b)); });
  check("mul.wide.s16 %r13, %h10, %h11;",
        [](W a, W b, W) { return W(int32_t(int16_t(a)) * int16_t(b)); });
  check("dp4a.s32.u32 %r13, %r10, %r11, %r12;", [](W a, W b, W c) {
    for (int i = 0; i < 4; ++i)
      c += W(int(int8_t(a >> 8 * i)) * int(uint8_t(b >> 8 * i)));
    return c;
  });
}

TEST_F(ArithmeticTest, Bits) {
  using W = uint32_t;
  check("and.b32 %r20, %r10, %r11; or.b32 %r21, %r20, %r12; xor.b32 %r22, %r21, %r10;"
        "not.b32 %r13, %r22;",
        [](W a, W b, W c) { return ~(((a & b) | c) ^ a); });
  check("shl.b32 %r13, %r10, %r11;", [](W a, W b, W) { return b > 31 ? 0 : a << b; });
  check("shr.u32 %r13, %r10, %r11;", [](W a, W b, W) { return b > 31 ? 0 : a >> b; });
  check("shr.s32 %r13, %r10, %r11;", [](W a, W b, W) { return W(int32_t(a) >> std::min(b, 31u)); });
  check("shl.b64 %d1, %d20, 13; shr.u64 %d1, %d1, 30; cvt.u32.u64 %r13, %d1;",
        [](W a, W b, W) { return W(((uint64_t(b) << 32 | a) << 13) >> 30); });
  for (int table : {0x00, 0xff, 0x96, 0xe8, 0xca, 0x6a, 0xea, 0x1b})
    check("lop3.b32 %r13, %r10, %r11, %r12, " + std::to_string(table) + ";",
          [table](W a, W b, W c) {
            W result = 0;
            for (int bit = 0; bit < 32; ++bit)
              result |= W(table >> ((a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)) & 1)
                        << bit;
            return result;
          });
  check("prmt.b32 %r13, %r10, %r11, %r12;", [](W a, W b, W c) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; ++i)
      bytes[i] = uint8_t((i < 4 ? a : b) >> 8 * (i % 4));
    W result = 0;
    for (int i = 0; i < 4; ++i) {
      uint8_t byte = bytes[c >> 4 * i & 7];
      result |= W(c >> 4 * i & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * i;
    }
    return result;
  });
  check("bfi.b32 %r13, %r10, %r11, 5, 9;",
        [](W a, W b, W) { return (b & ~(0x1ffu << 5)) | (a & 0x1ff) << 5; });
  check("bfe.u32 %r13, %r10, 7, 11;", [](W a, W, W) { return a >> 7 & 0x7ff; });
  check("bfe.s32 %r13, %r10, 24, 8;", [](W a, W, W) { return W(int32_t(a) >> 24); });
  check("bfe.s32 %r13, %r10, 28, 8;", [](W a, W, W) { return W(int32_t(a) >> 28); });
  check("shf.l.wrap.b32 %r13, %r10, %r11, %r12;",
        [](W a, W b, W c) { return W((uint64_t(b) << 32 | a) << (c & 31) >> 32); });
  check("shf.r.clamp.b32 %r13, %r10, %r11, %r12;",
        [](W a, W b, W c) { return W((uint64_t(b) << 32 | a) >> std::min(c, 32u)); });
  check("popc.b32 %r13, %r10;", [](W a, W, W) { return W(std::popcount(a)); });
  check("clz.b32 %r13, %r10;", [](W a, W, W) { return W(std::countl_zero(a)); });
  check("bfind.u32 %r13, %r10;", [](W a, W, W) { return a ? 31 - W(std::countl_zero(a)) : ~0u; });
  check("brev.b32 %r13, %r10; brev.b32 %r13, %r13; add.u32 %r13, %r13, 1;",
        [](W a, W, W) { return a + 1; });
}

TEST_F(ArithmeticTest, ComparisonsAndSelection) {
  using W = uint32_t;
  check("setp.lt.s32 %p1, %r10, %r11; selp.b32 %r13, 1, 2, %p1;",
        [](W a, W b, W) { return int32_t(a) < int32_t(b) ? 1u : 2u; });
  check("setp.ge.u32 %p1, %r10, %r11; setp.ne.and.b32 %p2|%p3, %r11, %r12, %p1;"
        "selp.u32 %r13, 4, 0, %p2; selp.u32 %r14, 1, 0, %p3; add.u32 %r13, %r13, %r14;",
        [](W a, W b, W c) { return (a >= b && b != c ? 4u : 0u) + (a >= b && b == c ? 1u : 0u); });
  check(
      "setp.gt.f32 %p1, %f10, %f11; @%p1 mov.u32 %r13, 3; @!%p1 mov.u32 %r13, 5;",
      [](W a, W b, W) { return f(a) > f(b) ? 3u : 5u; }, true);
  check("mov.f32 %f20, 0f7fc00000; setp.ltu.f32 %p1, %f10, %f20; setp.lt.f32 %p2, %f10, %f20;"
        "not.pred %p3, %p2; and.pred %p1, %p1, %p3; selp.b32 %r13, 1, 0, %p1;",
        [](W, W, W) { return 1u; });
  check("setp.eq.s32 %p1, %r10, 0; setp.lt.or.s32 %p2, %r11, 0, !%p1; selp.b32 %r13, 1, 0, %p2;",
        [](W a, W b, W) { return int32_t(b) < 0 || a != 0 ? 1u : 0u; });
}

TEST_F(ArithmeticTest, Floats) {
  checkFloat("add.f32 %f1, %f10, %f11; mov.b32 %r13, %f1;",
             [](float a, float b, float) { return a + b; });
  checkFloat("fma.rn.f32 %f1, %f10, %f11, %f12; mov.b32 %r13, %f1;",
             [](float a, float b, float c) { return std::fma(a, b, c); });
  checkFloat("mul.rn.f32 %f1, %f10, %f11; sub.rn.f32 %f1, %f1, %f12; mov.b32 %r13, %f1;",
             [](float a, float b, float c) {
               volatile float product = a * b;
               return product - c;
             });
  checkFloat("div.rn.f32 %f1, %f10, %f11; mov.b32 %r13, %f1;",
             [](float a, float b, float) { return a / b; });
  checkFloat("sqrt.rn.f32 %f1, %f10; max.f32 %f1, %f1, %f11; mov.b32 %r13, %f1;",
             [](float a, float b, float) { return a < 0 ? b : std::fmax(std::sqrt(a), b); });
  checkFloat("min.NaN.f32 %f1, %f10, %f11; abs.f32 %f1, %f1; neg.f32 %f1, %f1; mov.b32 %r13, %f1;",
             [](float a, float b, float) { return -std::fabs(std::fmin(a, b)); });
  checkFloat("add.rz.f32 %f1, %f10, %f11; mov.b32 %r13, %f1;", [](float a, float b, float) {
    double sum = double(a) + double(b);
    float near = float(sum);
    return std::fabs(double(near)) > std::fabs(sum) ? std::nextafter(near, 0.0f) : near;
  });
  checkFloat("mul.rp.f32 %f1, %f10, %f11; mov.b32 %r13, %f1;", [](float a, float b, float) {
    double product = double(a) * double(b);
    float near = float(product);
    return double(near) < product ? std::nextafter(near, INFINITY) : near;
  });
  checkFloat(
      "cvt.f64.f32 %fd1, %f10; cvt.f64.f32 %fd2, %f11; fma.rn.f64 %fd3, %fd1, %fd2, %fd1;"
      "cvt.rn.f32.f64 %f1, %fd3; mov.b32 %r13, %f1;",
      [](float a, float b, float) { return float(std::fma(double(a), double(b), double(a))); });
}

TEST_F(ArithmeticTest, Approximations) {
  auto near = [&](const std::string &code, const std::function<double(double)> &expected, float low,
                  float high) {
    SCOPED_TRACE(code);
    Words a(64), none(64);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = u(low + (high - low) * float(i) / 63.0f);
    Words result = run(code + " mov.b32 %r13, %f1;", a, none, none);
    for (size_t i = 0; i < a.size(); ++i) {
      double wanted = expected(double(f(a[i])));
      EXPECT_NEAR(f(result[i]), wanted, std::fabs(wanted) * 3e-7 + 1e-7) << f(a[i]);
    }
  };
  near("ex2.approx.ftz.f32 %f1, %f10;", [](double x) { return std::exp2(x); }, -20, 15);
  near("lg2.approx.f32 %f1, %f10;", [](double x) { return std::log2(x); }, 0.01f, 100);
  near("rcp.approx.ftz.f32 %f1, %f10;", [](double x) { return 1 / x; }, 0.5f, 9);
  near("rsqrt.approx.f32 %f1, %f10;", [](double x) { return 1 / std::sqrt(x); }, 0.5f, 9);
  near("tanh.approx.f32 %f1, %f10;", [](double x) { return std::tanh(x); }, -4, 4);
  near(
      "sin.approx.f32 %f1, %f10; mul.f32 %f1, %f1, %f1; cos.approx.f32 %f2, %f10;"
      "fma.rn.f32 %f1, %f2, %f2, %f1;",
      [](double) { return 1.0; }, -3, 3);
  Words extremes =
      run("ex2.approx.f32 %f1, %f10; mov.b32 %r13, %f1;",
          {u(200), u(-200), u(-INFINITY), u(INFINITY), u(0), u(-140)}, Words(6), Words(6));
  EXPECT_EQ(f(extremes[0]), INFINITY);
  EXPECT_EQ(f(extremes[1]), 0);
  EXPECT_EQ(f(extremes[2]), 0);
  EXPECT_EQ(f(extremes[3]), INFINITY);
  EXPECT_EQ(f(extremes[4]), 1);
  EXPECT_GT(f(extremes[5]), 0);
}

/// The value of a small float format, written out independently.
double valueOf(uint32_t bits, int exponentBits, int fractionBits) {
  int exponent = int(bits >> fractionBits) & ((1 << exponentBits) - 1);
  double fraction = double(bits & ((1u << fractionBits) - 1)) / double(1 << fractionBits);
  int bias = (1 << (exponentBits - 1)) - 1;
  double magnitude =
      exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias);
  return bits >> (exponentBits + fractionBits) & 1 ? -magnitude : magnitude;
}

/// The nearest value of a format, ties to even, by search over all codes.
uint32_t nearestCode(double value, int exponentBits, int fractionBits, uint32_t codes) {
  uint32_t best = 0;
  double distance = INFINITY;
  for (uint32_t code = 0; code < codes; ++code) {
    double d = std::fabs(valueOf(code, exponentBits, fractionBits) - std::fabs(value));
    if (d < distance || (d == distance && code % 2 == 0)) {
      distance = d;
      best = code;
    }
  }
  return best | (std::signbit(value) ? 1u << (exponentBits + fractionBits) : 0);
}

TEST_F(ArithmeticTest, ConversionsToSmallFloats) {
  std::mt19937 random(3);
  Words a(128), b(128), none(128);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = u(float(int(random() % 2001) - 1000) * std::exp2(float(int(random() % 20) - 17)));
    b[i] = u(float(valueOf(random() % 126, 4, 3)) * (random() % 2 ? 1.0625f : 1.0f));
  }
  Words e4m3 = run("cvt.rn.satfinite.e4m3x2.f32 %h1, %f10, %f11; cvt.u32.u16 %r13, %h1;", a, b,
                   none, "sm_90");
  Words e5m2 = run("cvt.rn.satfinite.e5m2x2.f32 %h1, %f10, %f11; cvt.u32.u16 %r13, %h1;", a, b,
                   none, "sm_90");
  Words halves = run("cvt.rn.f16x2.f32 %r13, %f10, %f11;", a, b, none);
  Words bfloats = run("cvt.rn.bf16x2.f32 %r13, %f10, %f11;", a, b, none);
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(std::to_string(f(a[i])) + " " + std::to_string(f(b[i])));
    EXPECT_EQ(e4m3[i], nearestCode(f(a[i]), 4, 3, 0x7f) << 8 | nearestCode(f(b[i]), 4, 3, 0x7f));
    EXPECT_EQ(e5m2[i], nearestCode(f(a[i]), 5, 2, 0x7c) << 8 | nearestCode(f(b[i]), 5, 2, 0x7c));
    EXPECT_EQ(halves[i],
              nearestCode(f(a[i]), 5, 10, 0x7c00) << 16 | nearestCode(f(b[i]), 5, 10, 0x7c00));
    EXPECT_EQ(bfloats[i],
              nearestCode(f(a[i]), 8, 7, 0x7f80) << 16 | nearestCode(f(b[i]), 8, 7, 0x7f80));
  }
}

TEST_F(ArithmeticTest, ConversionsFromSmallFloats) {
  Words codes(256), none(256);
  for (uint32_t i = 0; i < 256; ++i)
    codes[i] = i << 8 | (255 - i);
  Words result = run("cvt.rn.f16x2.e4m3x2 %r13, %h10;", codes, none, none);
  Words fromE5 = run("cvt.rn.f16x2.e5m2x2 %r13, %h10;", codes, none, none);
  for (uint32_t i = 0; i < 256; ++i) {
    if ((i & 0x7f) != 0x7f)
      EXPECT_EQ(valueOf(result[i] >> 16, 5, 10), valueOf(i, 4, 3)) << i;
    else
      EXPECT_GT(result[i] >> 16 & 0x7fff, 0x7c00u) << "not a number";
    if ((i & 0x7f) <= 0x7c) // e5m2 is the upper half of f16; NaNs need not keep their bits
      EXPECT_EQ(fromE5[i] >> 16 & 0xff00, i << 8 & 0xff00) << i;
  }
}

TEST_F(ArithmeticTest, IntegerConversions) {
  using W = uint32_t;
  check("cvt.s32.s8 %r13, %r10;", [](W a, W, W) { return W(int32_t(int8_t(a))); });
  check("cvt.u32.u8 %r13, %r10;", [](W a, W, W) { return W(uint8_t(a)); });
  check("cvt.s64.s32 %d1, %r10; shr.s64 %d1, %d1, 31; cvt.u32.u64 %r13, %d1;",
        [](W a, W, W) { return int32_t(a) < 0 ? ~0u : 0u; });
  check("cvt.sat.s8.s32 %r13, %r10;",
        [](W a, W, W) { return W(std::clamp(int32_t(a), -128, 127)); });
  check("cvt.rn.f32.s32 %f1, %r10; mov.b32 %r13, %f1;",
        [](W a, W, W) { return u(float(int32_t(a))); });
  check("cvt.u16.u32 %h1, %r10; cvt.rn.f32.s16 %f1, %h1; mov.b32 %r13, %f1;",
        [](W a, W, W) { return u(float(int16_t(a))); });
  check("cvt.s64.s32 %d1, %r10; shl.b64 %d1, %d1, 20; cvt.rn.f64.s64 %fd1, %d1;"
        "cvt.rzi.s64.f64 %d1, %fd1; shr.s64 %d1, %d1, 20; cvt.u32.u64 %r13, %d1;",
        [](W a, W, W) { return a; });
  check("cvt.rz.f32.u32 %f1, %r10; mov.b32 %r13, %f1;", [](W a, W, W) {
    float near = float(a);
    return u(double(near) > double(a) ? std::nextafter(near, 0.0f) : near);
  });
  auto rounded = [](double value) {
    return W(int32_t(std::clamp(value, -2147483648.0, 2147483647.0)));
  };
  check(
      "cvt.rni.s32.f32 %r13, %f10;",
      [&](W a, W, W) { return rounded(std::nearbyint(double(f(a)))); }, true);
  check(
      "cvt.rzi.s32.f32 %r13, %f10;", [&](W a, W, W) { return rounded(std::trunc(double(f(a)))); },
      true);
  check(
      "cvt.rmi.f32.f32 %f1, %f10; mov.b32 %r13, %f1;",
      [](W a, W, W) { return u(std::floor(f(a))); }, true);
  check(
      "cvt.rni.sat.s8.f32 %r13, %f10;",
      [](W a, W, W) { return W(int32_t(std::clamp(std::nearbyint(double(f(a))), -128.0, 127.0))); },
      true);
}

TEST_F(ArithmeticTest, Halves) {
  std::mt19937 random(11);
  Words a(128), b(128), c(128);
  auto half = [&] { return random() % 0x5000 | (random() & 0x80008000); };
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = half() | uint32_t(random() % 0x5000) << 16;
    b[i] = half() | uint32_t(random() % 0x5000) << 16;
    c[i] = half() | uint32_t(random() % 0x5000) << 16;
  }
  Words fused = run("fma.rn.f16x2 %r13, %r10, %r11, %r12;", a, b, c);
  Words sums = run("add.f16x2 %r13, %r10, %r11;", a, b, c);
  Words products = run("mul.rn.f16 %h1, %h10, %h11; cvt.u32.u16 %r13, %h1;", a, b, c);
  for (size_t i = 0; i < a.size(); ++i) {
    auto value = [](uint32_t bits) { return valueOf(bits & 0xffff, 5, 10); };
    EXPECT_EQ(value(fused[i]),
              valueOf(nearestCode(value(a[i]) * value(b[i]) + value(c[i]), 5, 10, 0x7c01), 5, 10));
    EXPECT_EQ(value(sums[i] >> 16),
              valueOf(nearestCode(value(a[i] >> 16) + value(b[i] >> 16), 5, 10, 0x7c01), 5, 10));
    EXPECT_EQ(value(products[i]),
              valueOf(nearestCode(value(a[i]) * value(b[i]), 5, 10, 0x7c01), 5, 10));
  }
  // bf16: 1 + 2^-8 is a tie and goes to even; the fused form keeps what the product alone loses.
  Words bfloat = run("fma.rn.bf16x2 %r13, %r10, %r11, %r12;", {0x3f803f80, 0x3f813f81},
                     {0x3f803f80, 0x3f813f81}, {0x3b803b80, 0x00000000});
  EXPECT_EQ(bfloat[0], 0x3f803f80u);
  EXPECT_EQ(bfloat[1], 0x3f823f82u);
}

} // namespace
} // namespace ingot::test
