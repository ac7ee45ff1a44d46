// SPDX-License-Identifier: Apache-2.0
// Forms of wgmma: element types, operands in registers, transposed and negated ones. Shared memory
// holds core matrices of 8 rows of 16 bytes, without swizzle.
#include "tests/unit/simulator/Simulator.h"

#include <bit>
#include <random>

namespace ingot::test {
namespace {

/// Rows of a product and of the matrices; its depth takes 32 bytes.
constexpr uint32_t kRows = 64, kColumns = 8, kDepthBytes = 32;
/// Bytes from one core matrix to the next in depth, and to the next 8 rows.
constexpr uint32_t kLeading = 128, kStride = 256;
constexpr uint32_t kBytesA = kRows * kDepthBytes, kBytes = kBytesA + kColumns * kDepthBytes;

/// A matrix of small integers.
struct Matrix {
  uint32_t rows, depth;
  std::vector<int> values;

  Matrix(uint32_t rows, uint32_t depth, int least, int most, uint32_t seed)
      : rows(rows), depth(depth) {
    std::mt19937 random(seed);
    for (uint32_t i = 0; i < rows * depth; ++i)
      values.push_back(least + int(random() % uint32_t(most - least + 1)));
  }
  int at(uint32_t row, uint32_t k) const { return values[row * depth + k]; }
};

uint32_t bfloat(int value) { return std::bit_cast<uint32_t>(float(value)) >> 16; }

/// e4m3 of an integer of at most 4 bits.
uint32_t e4m3(int value) {
  if (value == 0)
    return 0;
  auto magnitude = uint32_t(std::abs(value));
  uint32_t exponent = uint32_t(std::bit_width(magnitude)) - 1;
  uint32_t mantissa = (magnitude << 3 >> exponent) & 7;
  return (value < 0 ? 0x80u : 0u) | (exponent + 7) << 3 | mantissa;
}

uint32_t byteOf(int value) { return uint32_t(value) & 0xff; }

class WarpGroupTest : public Simulator {
protected:
  using Encode = uint32_t (*)(int);

  /// Puts a matrix into shared memory's image. K-major: a core matrix has 8 rows and 16 bytes of
  /// depth. Transposed: 8 values of depth and 8 rows (of 16 bits).
  void store(const Matrix &matrix, Encode encode, uint32_t at, bool transposed) {
    uint32_t element = kDepthBytes / matrix.depth;
    for (uint32_t row = 0; row < matrix.rows; ++row)
      for (uint32_t k = 0; k < matrix.depth; ++k) {
        uint32_t byte = k * element;
        uint32_t place = transposed
                             ? row / 8 * kStride + k / 8 * kLeading + k % 8 * 16 + row % 8 * 2
                             : row / 8 * kStride + byte / 16 * kLeading + row % 8 * 16 + byte % 16;
        uint32_t code = encode(matrix.at(row, k));
        for (uint32_t i = 0; i < element; ++i)
          image[at + place + i] = uint8_t(code >> 8 * i);
      }
  }

  /// Runs one product twice into the same sums and returns them, row by row; `left` is the operand
  /// A, `rest` what follows the predicate.
  std::vector<uint32_t> run(const std::string &form, const std::string &left,
                            const std::string &rest, const std::vector<uint32_t> &registers = {}) {
    configure({.architecture = "sm_90a", .checks = SimulatorChecks::Full});
    auto descriptor = [](const std::string &to, uint32_t offset) {
      return "add.u32 %r3, %r20, " + std::to_string(offset) +
             "; shr.u32 %r3, %r3, 4; and.b32 %r3, %r3, 0x3fff; cvt.u64.u32 " + to +
             ", %r3; or.b64 " + to + ", " + to + ", " +
             std::to_string(uint64_t(kLeading / 16) << 16 | uint64_t(kStride / 16) << 32) + ";";
    };
    std::string product = "wgmma.mma_async.sync.aligned." + form + " {%r30, %r31, %r32, %r33}, " +
                          left + ", %d21, %p3" + rest + ";";
    Kernel test =
        load(kernel(".shared .align 128 .b8 s[" + std::to_string(kBytes) +
                        "]; mov.u32 %r20, s; mov.u32 %r1, %tid.x;"
                        "mov.u32 %r2, %r1; FILL: setp.ge.u32 %p1, %r2, " +
                        std::to_string(kBytes / 4) +
                        "; @%p1 bra FULL; mul.wide.u32 %d10, %r2, 4; add.u64 %d11, %d0, %d10;"
                        "ld.global.u32 %r3, [%d11]; shl.b32 %r4, %r2, 2; add.u32 %r4, %r4, %r20;"
                        "st.shared.u32 [%r4], %r3; add.u32 %r2, %r2, 128; bra FILL;"
                        "FULL: mul.wide.u32 %d12, %r1, 16; add.u64 %d2, %d2, %d12;"
                        "ld.global.v4.u32 {%r40, %r41, %r42, %r43}, [%d2];"
                        "fence.proxy.async; bar.sync 0;" +
                        descriptor("%d20", 0) + descriptor("%d21", kBytesA) +
                        "mov.u32 %r5, 1; setp.eq.u32 %p3, %r5, 0;"
                        "wgmma.fence.sync.aligned;" +
                        product + "setp.eq.u32 %p3, %r5, 1;" + product +
                        "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
                        "add.u64 %d1, %d1, %d12; st.global.v4.u32 [%d1], {%r30, %r31, %r32, %r33};",
                    3, "sm_90a"));
    if (!test)
      return {};
    DeviceArray<uint8_t> in(image);
    DeviceArray<uint32_t> out(std::vector<uint32_t>(128 * 4)),
        held(registers.empty() ? std::vector<uint32_t>(128 * 4) : registers);
    EXPECT_EQ(launch(test, {.block = 128}, {&in.address, &out.address, &held.address}),
              DriverResult::Success)
        << lastError();
    EXPECT_EQ(findings(), "");
    std::vector<uint32_t> words = out.read(), sums(kRows * kColumns);
    // Register i of lane l of warp w: row 16 w + l / 4 + 8 (i / 2), column 2 (l % 4) + i % 2.
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < 4; ++i)
        sums[(thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2)) * kColumns + 2 * (thread % 4) +
             i % 2] = words[thread * 4 + i];
    return sums;
  }

  /// Whether the sums are twice the product, in f32 or s32, times `sign`.
  static void compare(const std::vector<uint32_t> &sums, const Matrix &a, const Matrix &b,
                      bool integer, int sign = 1) {
    ASSERT_EQ(sums.size(), kRows * kColumns);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t column = 0; column < kColumns; ++column) {
        int expected = 0;
        for (uint32_t k = 0; k < a.depth; ++k)
          expected += 2 * sign * a.at(row, k) * b.at(column, k);
        uint32_t word = sums[row * kColumns + column];
        ASSERT_EQ(integer ? int(word) : int(std::bit_cast<float>(word)), expected)
            << "row " << row << ", column " << column;
      }
  }

  /// A row-major operand in registers: 4 bytes of depth in each, as the fragments of mma have them.
  static std::vector<uint32_t> fragments(const Matrix &matrix, Encode encode) {
    uint32_t element = kDepthBytes / matrix.depth, each = 4 / element;
    std::vector<uint32_t> registers(128 * 4);
    for (uint32_t thread = 0; thread < 128; ++thread)
      for (uint32_t i = 0; i < 4; ++i)
        for (uint32_t j = 0; j < each; ++j) {
          uint32_t row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i % 2);
          uint32_t k = thread % 4 * each + j + i / 2 * matrix.depth / 2;
          registers[thread * 4 + i] |= encode(matrix.at(row, k)) << 8 * element * j;
        }
    return registers;
  }

  std::vector<uint8_t> image = std::vector<uint8_t>(kBytes);
};

constexpr const char *kRegisters = "{%r40, %r41, %r42, %r43}";

TEST_F(WarpGroupTest, E4m3) {
  Matrix a(kRows, 32, -15, 15, 1), b(kColumns, 32, -15, 15, 2);
  store(a, e4m3, 0, false);
  store(b, e4m3, kBytesA, false);
  compare(run("m64n8k32.f32.e4m3.e4m3", "%d20", ", 1, 1"), a, b, false);
  compare(run("m64n8k32.f32.e4m3.e4m3", kRegisters, ", 1, 1", fragments(a, e4m3)), a, b, false);
}

TEST_F(WarpGroupTest, Integers) {
  Matrix a(kRows, 32, -128, 127, 3), b(kColumns, 32, -128, 127, 4), u(kColumns, 32, 0, 255, 5);
  store(a, byteOf, 0, false);
  store(b, byteOf, kBytesA, false);
  compare(run("m64n8k32.s32.s8.s8", "%d20", ""), a, b, true);
  compare(run("m64n8k32.s32.s8.s8.satfinite", kRegisters, "", fragments(a, byteOf)), a, b, true);
  store(u, byteOf, kBytesA, false);
  compare(run("m64n8k32.s32.s8.u8", "%d20", ""), a, u, true);
}

TEST_F(WarpGroupTest, RegistersOnTheLeft) {
  Matrix a(kRows, 16, -8, 8, 6), b(kColumns, 16, -8, 8, 7);
  store(b, bfloat, kBytesA, false);
  compare(run("m64n8k16.f32.bf16.bf16", kRegisters, ", 1, 1, 0", fragments(a, bfloat)), a, b,
          false);
}

TEST_F(WarpGroupTest, TransposedOperands) {
  Matrix a(kRows, 16, -8, 8, 8), b(kColumns, 16, -8, 8, 9);
  for (bool left : {false, true})
    for (bool right : {false, true}) {
      SCOPED_TRACE(std::string(left ? "A " : "") + (right ? "B" : ""));
      store(a, bfloat, 0, left);
      store(b, bfloat, kBytesA, right);
      compare(run("m64n8k16.f32.bf16.bf16", "%d20",
                  std::string(", 1, 1, ") + (left ? "1, " : "0, ") + (right ? "1" : "0")),
              a, b, false);
    }
  store(b, bfloat, kBytesA, true);
  compare(run("m64n8k16.f32.bf16.bf16", kRegisters, ", 1, 1, 1", fragments(a, bfloat)), a, b,
          false);
}

TEST_F(WarpGroupTest, NegatedOperands) {
  Matrix a(kRows, 16, -8, 8, 10), b(kColumns, 16, -8, 8, 11);
  store(a, bfloat, 0, false);
  store(b, bfloat, kBytesA, false);
  compare(run("m64n8k16.f32.bf16.bf16", "%d20", ", -1, 1, 0, 0"), a, b, false, -1);
  compare(run("m64n8k16.f32.bf16.bf16", "%d20", ", -1, -1, 0, 0"), a, b, false);
}

} // namespace
} // namespace ingot::test
