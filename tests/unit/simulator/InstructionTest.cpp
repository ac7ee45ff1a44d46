// SPDX-License-Identifier: Apache-2.0
// Memory, warp, control, barrier, atomic and tensor-core instructions.
#include "tests/unit/simulator/Simulator.h"

#include <bit>
#include <cmath>
#include <random>

namespace ingot::test {
namespace {

using Words = std::vector<uint32_t>;

class InstructionTest : public Simulator {
protected:
  /// Runs a body of `threads` threads whose p0 is an input and p1 an output of words; %r1 is the
  /// thread, %d10 its offset of 4 bytes, %d11 of 16 bytes, and s 4 KiB of shared memory.
  Words run(const std::string &body, const Words &input, size_t outputs, uint32_t threads = 32,
            SimulatorOptions options = {}) {
    options.architecture = "sm_90a";
    configure(options);
    Kernel test = load(kernel(".shared .align 128 .b8 s[4096]; mov.u32 %r1, %tid.x;"
                              "mul.wide.u32 %d10, %r1, 4; mul.wide.u32 %d11, %r1, 16;" +
                                  body,
                              2, "sm_90a"));
    if (!test)
      return Words(outputs);
    DeviceArray<uint32_t> in(input.empty() ? Words(1) : input), out(Words(outputs, 0));
    EXPECT_EQ(launch(test, {.grid = 1, .block = threads}, {&in.address, &out.address}),
              DriverResult::Success)
        << lastError();
    return out.read();
  }
  static Words sequence(size_t count, uint32_t step = 1) {
    Words words(count);
    for (size_t i = 0; i < count; ++i)
      words[i] = uint32_t(i) * step;
    return words;
  }
};

TEST_F(InstructionTest, VectorsAndWidths) {
  Words in = sequence(128, 0x01030507);
  Words out = run("add.u64 %d0, %d0, %d11; add.u64 %d1, %d1, %d11;"
                  "ld.global.nc.L1::no_allocate.v4.u32 {%r2, %r3, %r4, %r5}, [%d0];"
                  "mov.u32 %r20, s; cvt.u32.u64 %r21, %d11; add.u32 %r20, %r20, %r21;"
                  "st.shared.v2.u32 [%r20], {%r2, %r3}; st.shared.v2.b32 [%r20+8], {%r4, %r5};"
                  "ld.shared.v2.u64 {%d20, %d21}, [%r20]; st.global.v2.u64 [%d1], {%d20, %d21};",
                  in, 128);
  EXPECT_EQ(out, in);
  out = run("add.u64 %d0, %d0, %d10; add.u64 %d1, %d1, %d10; ld.global.s8 %r2, [%d0+1];"
            "ld.global.u16 %h1, [%d0+2]; cvt.u32.u16 %r3, %h1; shl.b32 %r3, %r3, 8;"
            "add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2;",
            in, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], uint32_t(int8_t(in[i] >> 8)) + (in[i] >> 16 << 8));
}

TEST_F(InstructionTest, GenericAddressesAndLocalMemory) {
  Words out = run(".local .align 8 .b8 l[32]; .reg .b64 %lp; mov.u64 %lp, l;"
                  "cvta.local.u64 %d20, %lp; st.u32 [%d20+4], %r1; ld.local.u32 %r2, [%lp+4];"
                  "mov.u32 %r20, s; cvt.u64.u32 %d21, %r20; cvta.shared.u64 %d22, %d21;"
                  "add.u64 %d22, %d22, %d10; st.u32 [%d22], %r2; ld.u32 %r3, [%d22];"
                  "setp.lt.u32 %p1, %r1, 16; selp.b64 %d23, %d22, %d20, %p1;"
                  "@!%p1 add.u64 %d23, %d23, 4; ld.u32 %r4, [%d23];"
                  "add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r4;",
                  {}, 32);
  EXPECT_EQ(out, sequence(32));
}

TEST_F(InstructionTest, DivergenceAndLoops) {
  // The number of Collatz steps: every lane leaves the loop at its own time.
  Words out = run("mov.u32 %r2, 0; add.u32 %r3, %r1, 1;"
                  "LOOP: setp.eq.u32 %p1, %r3, 1; @%p1 bra DONE; and.b32 %r4, %r3, 1;"
                  "setp.eq.u32 %p2, %r4, 0; @%p2 bra EVEN; mad.lo.u32 %r3, %r3, 3, 1; bra.uni NEXT;"
                  "EVEN: shr.u32 %r3, %r3, 1; NEXT: add.u32 %r2, %r2, 1; bra LOOP;"
                  "DONE: activemask.b32 %r5; vote.sync.ballot.b32 %r6, 1, -1;"
                  "add.u32 %r2, %r2, %r6; add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r2;",
                  {}, 32);
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t steps = 0;
    for (uint32_t n = i + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
      ++steps;
    EXPECT_EQ(out[i], steps - 1) << "all lanes must have met again";
  }
  out = run("T: .branchtargets A, B, C; rem.u32 %r2, %r1, 3; brx.idx %r2, T;"
            "A: mov.u32 %r3, 10; bra E; B: mov.u32 %r3, 20; bra E; C: mov.u32 %r3, 30;"
            "E: add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r3;",
            {}, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], 10 + 10 * (i % 3));
}

TEST_F(InstructionTest, SpinningLanesDoNotStarveOthers) {
  Words out = run("setp.eq.u32 %p1, %r1, 31; @%p1 bra SET; W: ld.volatile.global.u32 %r2, [%d1];"
                  "setp.eq.u32 %p2, %r2, 0; @%p2 bra W; ret;"
                  "SET: mov.u32 %r3, 9; st.volatile.global.u32 [%d1], %r3;",
                  {}, 1);
  EXPECT_EQ(out[0], 9u);
}

TEST_F(InstructionTest, ExchangeBetweenLanes) {
  auto lanes = [&](const std::string &code) {
    return run(code + "add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r2;", {}, 32);
  };
  Words up = lanes("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, -1; @!%p1 add.u32 %r2, %r2, 100;");
  Words down = lanes("shfl.sync.down.b32 %r2, %r1, 3, 31, -1;");
  Words butterfly = lanes("shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1;");
  Words quarters = lanes("shfl.sync.idx.b32 %r2, %r1, 1, 0x181f, -1;");
  Words match = lanes("and.b32 %r3, %r1, 3; match.any.sync.b32 %r2, %r3, -1;");
  Words sum = lanes("redux.sync.add.u32 %r2, %r1, -1;");
  Words least = lanes("sub.s32 %r3, 5, %r1; redux.sync.min.s32 %r2, %r3, -1;");
  Words elected = lanes("elect.sync %r3|%p1, -1; selp.b32 %r2, 1, 0, %p1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 3 ? i + 100 : i - 3);
    EXPECT_EQ(down[i], i + 3 > 31 ? i : i + 3);
    EXPECT_EQ(butterfly[i], i ^ 5);
    EXPECT_EQ(quarters[i], i / 8 * 8 + 1);
    EXPECT_EQ(match[i], 0x11111111u << i % 4);
    EXPECT_EQ(sum[i], 496u);
    EXPECT_EQ(least[i], uint32_t(-26));
  }
  EXPECT_EQ(elected[0], 1u);
  EXPECT_EQ(elected[1], 0u);
}

TEST_F(InstructionTest, BarriersAndReductions) {
  Words out = run("setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r2, 0, %p1;"
                  "bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, %p1;"
                  "selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 10000, 0, %p3;"
                  "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;"
                  "add.u64 %d1, %d1, %d10; st.global.u32 [%d1], %r2;",
                  {}, 96, 96);
  for (uint32_t value : out)
    EXPECT_EQ(value, 10040u);
}

TEST_F(InstructionTest, Atomics) {
  Words in(8, 5);
  Words out =
      run("setp.eq.u32 %p1, %r1, 0; @%p1 st.global.v4.u32 [%d1], {7, 100, 0, 3};"
          "bar.sync 0; atom.global.add.u32 %r2, [%d1], %r1; red.global.max.s32 [%d1+4], %r1;"
          "red.relaxed.gpu.global.or.b32 [%d1+8], %r1;"
          "atom.global.cas.b32 %r3, [%d1+12], 3, %r1; mov.f32 %f1, 0f3F800000;"
          "red.global.add.f32 [%d1+16], %f1; mov.b32 %r5, 0x3f803f80;"
          "red.global.add.noftz.bf16x2 [%d1+20], %r5; atom.global.exch.b32 %r4, [%d1+24], 9;"
          "atom.global.inc.u32 %r6, [%d1+28], 9;",
          in, 8, 96);
  EXPECT_EQ(out[0], 7u + 96 * 95 / 2);
  EXPECT_EQ(out[1], 100u);
  EXPECT_EQ(out[2], 127u);
  EXPECT_LT(out[3], 96u);
  EXPECT_EQ(std::bit_cast<float>(out[4]), 96.0f);
  EXPECT_EQ(out[5], 0x42c042c0u);
  EXPECT_EQ(out[6], 9u);
  EXPECT_EQ(out[7], 96u % 10);
}

TEST_F(InstructionTest, AsynchronousCopiesFillWithZeros) {
  for (AsyncCompletion completion : {AsyncCompletion::Late, AsyncCompletion::Early}) {
    Words out = run("mov.u32 %r20, s; cvt.u32.u64 %r21, %d11; add.u32 %r20, %r20, %r21;"
                    "add.u64 %d0, %d0, %d11; and.b32 %r2, %r1, 15;"
                    "cp.async.ca.shared.global [%r20], [%d0], 16, %r2; cp.async.commit_group;"
                    "cp.async.wait_group 0; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r20];"
                    "add.u64 %d1, %d1, %d11; st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};",
                    Words(128, 0xffffffff), 128, 32, {.asyncCompletion = completion});
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t byte = 0; byte < 16; ++byte)
        EXPECT_EQ(out[lane * 4 + byte / 4] >> byte % 4 * 8 & 255, byte < lane % 16 ? 255u : 0u);
  }
}

TEST_F(InstructionTest, MatrixLoadsAndStores) {
  // Element (row, column) of matrix m is 64 m + 8 row + column, as 16-bit numbers.
  Words in(128);
  for (uint32_t i = 0; i < 128; ++i)
    in[i] = (2 * i + 1) << 16 | 2 * i;
  std::string place = "mov.u32 %r20, s; cvt.u32.u64 %r21, %d11; add.u32 %r20, %r20, %r21;"
                      "add.u64 %d0, %d0, %d11; add.u64 %d1, %d1, %d11;"
                      "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d0];"
                      "st.shared.v4.u32 [%r20], {%r2, %r3, %r4, %r5}; bar.warp.sync -1;";
  std::string store = "st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};";
  Words plain =
      run(place + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r20];" + store,
          in, 128);
  Words turned = run(place +
                         "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r2, %r3, %r4, %r5}, "
                         "[%r20];" +
                         store,
                     in, 128);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t m = 0; m < 4; ++m) {
      uint32_t row = lane / 4, column = lane % 4 * 2;
      EXPECT_EQ(plain[lane * 4 + m] & 0xffff, 64 * m + 8 * row + column);
      EXPECT_EQ(plain[lane * 4 + m] >> 16, 64 * m + 8 * row + column + 1);
      EXPECT_EQ(turned[lane * 4 + m] & 0xffff, 64 * m + 8 * column + row);
      EXPECT_EQ(turned[lane * 4 + m] >> 16, 64 * m + 8 * (column + 1) + row);
    }
  for (std::string trans : {"", ".trans"}) {
    Words back = run(place + "ldmatrix.sync.aligned.m8n8.x4" + trans +
                         ".shared.b16 {%r2, %r3, %r4, %r5}, [%r20]; bar.warp.sync -1;"
                         "stmatrix.sync.aligned.m8n8.x4" +
                         trans +
                         ".shared.b16 [%r20], {%r2, %r3, %r4, %r5}; bar.warp.sync -1;"
                         "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r20];" +
                         store,
                     in, 128);
    EXPECT_EQ(back, in) << trans;
  }
}

/// One kind of mma: how its operands are spelled and read.
struct MmaCase {
  const char *types; // "f32.bf16.bf16.f32"
  int depth, bytes;  // of an element of A and B
  double (*element)(uint32_t bits);
};

double asF16(uint32_t bits) { return double(std::bit_cast<_Float16>(uint16_t(bits))); }
double asBf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
double asS8(uint32_t bits) { return int8_t(bits); }
double asU8(uint32_t bits) { return uint8_t(bits); }
double asE4m3(uint32_t bits) {
  int exponent = bits >> 3 & 15;
  double magnitude =
      exponent ? std::ldexp(8 + (bits & 7), exponent - 10) : std::ldexp(bits & 7, -9);
  return bits & 128 ? -magnitude : magnitude;
}
double asE5m2(uint32_t bits) { return asF16(bits << 8); }

class MmaTest : public InstructionTest, public testing::WithParamInterface<MmaCase> {};

TEST_P(MmaTest, MatchesTheFragmentLayout) {
  const MmaCase &mma = GetParam();
  const int perRegister = 4 / mma.bytes, halves = mma.depth * mma.bytes / 16;
  const bool integer = std::string(mma.types).find("s32") == 0;
  std::mt19937 random(2);
  // Small numbers: all sums are exact in f32.
  std::vector<uint32_t> a(16 * size_t(mma.depth)), b(8 * size_t(mma.depth));
  auto draw = [&]() -> uint32_t {
    if (mma.element == asF16)
      return std::bit_cast<uint16_t>(_Float16(int(random() % 9) - 4));
    if (mma.element == asBf16)
      return std::bit_cast<uint32_t>(float(int(random() % 9) - 4)) >> 16;
    if (mma.element == asE4m3)
      return (random() % 2 << 7) | (0x30 + random() % 16);
    if (mma.element == asE5m2)
      return (random() % 2 << 7) | (0x38 + random() % 8);
    return random() % 256;
  };
  for (uint32_t &element : a)
    element = draw();
  for (uint32_t &element : b)
    element = draw();
  // Registers of lane 4g + t: A has rows g and g + 8, B column g; k runs over t and the halves.
  Words in(32 * 8);
  for (int lane = 0; lane < 32; ++lane)
    for (int half = 0; half < halves; ++half)
      for (int e = 0; e < perRegister; ++e) {
        int g = lane / 4, k = half * 4 * perRegister + lane % 4 * perRegister + e;
        int shift = 8 * mma.bytes * e;
        in[lane * 8 + 2 * half] |= a[size_t(g * mma.depth + k)] << shift;
        in[lane * 8 + 2 * half + 1] |= a[size_t((g + 8) * mma.depth + k)] << shift;
        in[lane * 8 + 4 + half] |= b[size_t(g * mma.depth + k)] << shift;
      }
  std::string name =
      "mma.sync.aligned.m16n8k" + std::to_string(mma.depth) + ".row.col." + mma.types;
  std::string body = "shl.b64 %d12, %d11, 1; add.u64 %d0, %d0, %d12; add.u64 %d1, %d1, %d11;"
                     "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d0];"
                     "ld.global.v4.u32 {%r14, %r15, %r16, %r17}, [%d0+16];"
                     "cvt.rn.f32.u32 %f1, %r1; mov.b32 %r20, %f1;";
  if (integer)
    body += "mov.u32 %r20, %r1;";
  body += name + " {%r20, %r21, %r22, %r23}, " +
          (halves == 2 ? "{%r10, %r11, %r12, %r13}, {%r14, %r15}" : "{%r10, %r11}, {%r14}") +
          ", {%r20, %r20, %r20, %r20}; st.global.v4.u32 [%d1], {%r20, %r21, %r22, %r23};";
  for (uint32_t exact : {0, 1}) {
    Words out = run(body, in, 128, 32, {.exactTensorCores = exact});
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r) {
        int row = lane / 4 + r / 2 * 8, column = lane % 4 * 2 + r % 2;
        double expected = lane;
        for (int k = 0; k < mma.depth; ++k)
          expected += mma.element(a[size_t(row * mma.depth + k)]) *
                      mma.element(b[size_t(column * mma.depth + k)]);
        uint32_t bits = out[size_t(lane * 4 + r)];
        EXPECT_EQ(integer ? double(int32_t(bits)) : double(std::bit_cast<float>(bits)), expected)
            << "row " << row << " column " << column;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MmaTest,
                         testing::Values(MmaCase{"f32.f16.f16.f32", 16, 2, asF16},
                                         MmaCase{"f32.f16.f16.f32", 8, 2, asF16},
                                         MmaCase{"f32.bf16.bf16.f32", 16, 2, asBf16},
                                         MmaCase{"f32.bf16.bf16.f32", 8, 2, asBf16},
                                         MmaCase{"f32.e4m3.e4m3.f32", 32, 1, asE4m3},
                                         MmaCase{"f32.e5m2.e5m2.f32", 32, 1, asE5m2},
                                         MmaCase{"s32.s8.s8.s32", 32, 1, asS8},
                                         MmaCase{"s32.u8.u8.s32", 32, 1, asU8},
                                         MmaCase{"s32.s8.s8.s32", 16, 1, asS8}));

TEST_F(InstructionTest, ExactTensorCoreSums) {
  // 2^25 + 1 - 2^25 in one product group: the one is cut off when aligned to 2^25 with 24 bits of
  // fraction only if it lies below them; on Ampere 2^-24 relative to the largest survives.
  uint32_t large = std::bit_cast<uint16_t>(_Float16(8192)), one = 0x3c00;
  uint32_t negative = large | 0x8000;
  auto sum = [&](const char *architecture, float addend) {
    configure({.architecture = architecture, .exactTensorCores = 1});
    Kernel test =
        load(kernel("mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 0; mov.f32 %f1, 0f00000000;"
                    "mov.b32 %r10, " +
                        std::to_string(one << 16 | large) +
                        "; selp.b32 %r10, %r10, 0, %p1;"
                        "mov.b32 %r11, " +
                        std::to_string(one << 16 | large) +
                        "; selp.b32 %r11, %r11, 0, %p1;"
                        "mov.b32 %f1, " +
                        std::to_string(std::bit_cast<uint32_t>(addend)) +
                        "; mov.u32 %r12, 0;"
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},"
                        "{%r10, %r12, %r12, %r12}, {%r11, %r12}, {%f1, %f1, %f1, %f1};"
                        "@%p1 st.global.f32 [%d0], %f1;",
                    1));
    DeviceArray<float> out(1);
    EXPECT_EQ(launch(test, {}, {&out.address}), DriverResult::Success) << lastError();
    return out.read()[0];
  };
  (void)negative;
  // 2^26 + 1 - 2^26: 24 fraction bits below 2^26 end at 4, 25 bits at 2: the one is lost in both;
  // with f32 steps it is lost as well. 2^26 + 1 - (2^26 - 8) keeps what is a multiple of 4.
  EXPECT_EQ(sum("sm_80", -67108864.0f), 0.0f);
  EXPECT_EQ(sum("sm_80", -67108856.0f), 8.0f);
}

TEST_F(InstructionTest, ClustersReachEachOther) {
  configure({.architecture = "sm_90"});
  Kernel test = load(kernel(
      ".shared .align 8 .b8 s[64]; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, s;"
      "mov.u32 %r9, %ctaid.x; st.shared.u32 [%r2], %r9; barrier.cluster.arrive.aligned;"
      "barrier.cluster.wait.aligned; xor.b32 %r3, %r1, 1; mapa.shared::cluster.u32 %r4, %r2, %r3;"
      "ld.shared::cluster.u32 %r5, [%r4]; barrier.cluster.arrive; barrier.cluster.wait;"
      "mul.wide.u32 %d1, %r9, 4; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r5;",
      1, "sm_90"));
  DeviceArray<uint32_t> out(4);
  ASSERT_EQ(launch(test, {.grid = 4, .block = 64, .cluster = 2}, {&out.address}),
            DriverResult::Success)
      << lastError();
  EXPECT_THAT(out.read(), testing::ElementsAre(1u, 0u, 3u, 2u));
}

TEST_F(InstructionTest, BlocksMayWaitForOneAnother) {
  // The first block waits for what the last one writes.
  configure({.workerThreads = 2});
  Kernel test = load(kernel("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 39; @%p1 bra LAST;"
                            "W: ld.acquire.gpu.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0;"
                            "@%p2 bra W; red.global.add.u32 [%d0+4], 1; ret;"
                            "LAST: st.release.gpu.global.u32 [%d0], 1;",
                            1));
  DeviceArray<uint32_t> out(Words{0, 0});
  ASSERT_EQ(launch(test, {.grid = 40}, {&out.address}), DriverResult::Success) << lastError();
  EXPECT_EQ(out.read()[1], 39u * 32);
}

TEST_F(InstructionTest, BulkCopiesBothWays) {
  Words in = sequence(64, 3);
  for (AsyncCompletion completion : {AsyncCompletion::Late, AsyncCompletion::Early}) {
    Words out =
        run(".shared .align 8 .b64 bar; mov.u32 %r20, s; mov.u32 %r21, bar;"
            "setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT; mbarrier.init.shared.b64 [%r21], 1;"
            "fence.proxy.async.shared::cta;"
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r21], 256;"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%d0],"
            " 256, [%r21]; WAIT: bar.sync 0;"
            "TRY: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0; @!%p2 bra TRY;"
            "bar.sync 0; @%p1 bra END; fence.proxy.async;"
            "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r20], 256;"
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; END: ",
            in, 64, 64, {.asyncCompletion = completion, .checks = SimulatorChecks::Full});
    EXPECT_EQ(out, in);
    EXPECT_EQ(findings(), "");
  }
}

} // namespace
} // namespace ingot::test
