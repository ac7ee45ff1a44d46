// SPDX-License-Identifier: Apache-2.0
// Conversions against APFloat: every 8- and 16-bit pattern, and f32 values around every tie.
#include "compiler/weights/WeightNumerics.h"
#include "tests/unit/weights/PlainEvaluation.h"

#include "mlir/IR/Builders.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace ingot;
using namespace ingot::compiler;

namespace {

struct Case {
  ElementType element;
  mlir::Type type;
};

class Numerics : public testing::Test {
protected:
  mlir::MLIRContext context;
  mlir::Builder builder{&context};
  std::vector<Case> cases{{kF16, builder.getF16Type()},
                          {kBf16, builder.getBF16Type()},
                          {kE4m3, mlir::Float8E4M3FNType::get(&context)}};
};

float widened(ElementType element, uint32_t bits) {
  float value = 0;
  widen(element, reinterpret_cast<const std::byte *>(&bits), &value, 1);
  return value;
}

TEST_F(Numerics, WideningEveryPatternAndBackGivesThePattern) {
  for (auto [element, type] : cases) {
    auto bits = static_cast<uint32_t>(elementBits(element));
    for (uint32_t pattern = 0; pattern < (1u << bits); ++pattern) {
      float value = widened(element, pattern);
      if (std::isnan(value))
        continue;
      ASSERT_EQ(test::bitsOf(type, value), pattern) << value;
      uint32_t back = 0;
      narrow(element, &value, reinterpret_cast<std::byte *>(&back), 1);
      ASSERT_EQ(back, std::isinf(value) || std::isfinite(value) ? pattern : back);
    }
  }
}

TEST_F(Numerics, NarrowingRoundsToNearestEven) {
  std::mt19937 random(7);
  for (auto [element, type] : cases) {
    std::vector<float> values;
    auto bits = static_cast<uint32_t>(elementBits(element));
    for (uint32_t pattern = 0; pattern + 1 < (1u << bits); ++pattern) {
      float low = widened(element, pattern), high = widened(element, pattern + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      float tie = low + (high - low) / 2;
      for (float value : {tie, std::nextafter(tie, low), std::nextafter(tie, high)})
        values.push_back(value);
    }
    for (int i = 0; i < 200000; ++i)
      if (float value = std::bit_cast<float>(static_cast<uint32_t>(random())); !std::isnan(value))
        values.push_back(value);
    for (float value : {65504.0f, 65519.99f, 65520.0f, 448.0f, 464.0f, 465.0f, 1e30f, -1e30f, 0.0f,
                        -0.0f, INFINITY, -INFINITY})
      values.push_back(value);
    std::vector<std::byte> out(values.size() * 4);
    narrow(element, values.data(), out.data(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      uint64_t got = 0;
      std::memcpy(&got, out.data() + i * bits / 8, bits / 8);
      ASSERT_EQ(got, test::bitsOf(type, values[i])) << values[i];
    }
  }
}

TEST_F(Numerics, NotANumberStaysOne) {
  for (auto [element, type] : cases)
    for (uint32_t pattern : {0x7f800001u, 0x7fffffffu, 0xffc00000u}) {
      float value = std::bit_cast<float>(pattern);
      uint32_t out = 0;
      narrow(element, &value, reinterpret_cast<std::byte *>(&out), 1);
      EXPECT_TRUE(std::isnan(widened(element, out)));
    }
}

TEST_F(Numerics, NibblesJoinInPlace) {
  for (int64_t places : {1, 2, 63, 2048, 2049, 10001}) {
    std::vector<uint8_t> bytes(places);
    for (int64_t i = 0; i < places; ++i)
      bytes[i] = static_cast<uint8_t>((i * 7 + i / 16) % 16);
    std::vector<uint8_t> given = bytes;
    joinNibbles(bytes.data(), bytes.data(), places);
    for (int64_t i = 0; i < places; ++i)
      ASSERT_EQ(bytes[i / 2] >> (i % 2 * 4) & 15, given[i]) << i << " of " << places;
  }
}

/// In blocks of 128: the low plane, then the bits above it.
TEST_F(Numerics, PlanesJoinInPlace) {
  for (int64_t bits : {2, 3, 5, 6})
    for (int64_t places : {1, 127, 128, 129, 5000}) {
      int64_t stored = (places + 127) / 128 * 128, low = bits >= 4 ? 4 : 2, high = bits - low;
      std::vector<uint8_t> bytes(stored);
      for (int64_t i = 0; i < places; ++i)
        bytes[i] = static_cast<uint8_t>((i * 11 + i / 64) % (1 << bits));
      std::vector<uint8_t> given = bytes;
      joinPlanes(bytes.data(), bytes.data(), places, planesOf(bits));
      for (int64_t i = 0; i < stored; ++i) {
        const uint8_t *block = bytes.data() + i / 128 * 16 * bits;
        int64_t place = i % 128;
        int value = block[place * low / 8] >> (place * low % 8) & ((1 << low) - 1);
        if (high)
          value |= (block[16 * low + place * high / 8] >> (place * high % 8) & ((1 << high) - 1))
                   << low;
        ASSERT_EQ(value, given[i]) << i << " of " << places << ", " << bits << " bits";
      }
    }
}

TEST_F(Numerics, CodesOfScalesStandAroundTheirMiddle) {
  const std::byte codes[] = {std::byte(0), std::byte(31), std::byte(63), std::byte(0xff)};
  float numbers[4];
  widenCodes(kI6, codes, numbers, 3, 32);
  EXPECT_EQ(numbers[0], -32);
  EXPECT_EQ(numbers[1], -1);
  EXPECT_EQ(numbers[2], 31);
  widenCodes(kI8, codes, numbers, 4, 128);
  EXPECT_EQ(numbers[3], -1); // i8 has a sign and no middle
}

} // namespace
