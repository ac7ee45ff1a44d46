// SPDX-License-Identifier: Apache-2.0
// Weights that the loader makes: every element against the formula of Engine.fbs, and what is
// refused.
#include "runtime/engine/WeightFill.h"
#include "runtime/devices/host/HostDevice.h"
#include "tests/unit/engine/ToyEngine.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace ingot::runtime;
using namespace ingot::test;
using namespace ingot::schema;

namespace {

/// A weight with a fill, as a FlatBuffer of its own.
struct Made {
  DType dtype = DType::F32;
  double low = -1, high = 1;
  std::vector<FillPart> parts = {{7, 200}};
  uint64_t block = 0, period = 64, columns = 24;
  std::vector<LayoutDigit> digits = {{1, 200, 0}, {1, 24, 1}};
  uint8_t padding = 0;
  uint64_t bytes = 200 * 24 * 4;

  const Weight &table() {
    builder.Clear();
    auto fill =
        CreateFillDirect(builder, low, high, &parts, block, period, columns, &digits, padding);
    builder.Finish(
        CreateWeightDirect(builder, "w", dtype, "", nullptr, "", 0, 0, bytes, nullptr, fill));
    return *flatbuffers::GetRoot<Weight>(builder.GetBufferPointer());
  }

  std::vector<uint8_t> fill() {
    const Weight &weight = table();
    EXPECT_TRUE(verifyFill(weight).ok()) << verifyFill(weight).toString();
    HostDevice device(1);
    std::vector<uint8_t> memory(bytes, 0xee), byOne(bytes, 0xee);
    WeightFiller(device, 3).fill(memory.data(), weight);
    WeightFiller(device, 1).fill(byOne.data(), weight);
    EXPECT_EQ(memory, byOne);
    return memory;
  }

  std::string refusal() {
    Status status = verifyFill(table());
    EXPECT_TRUE(status.ok() || status.code() == "INGOT-E5006");
    return std::string(status.message());
  }

  flatbuffers::FlatBufferBuilder builder;
};

/// The number u of the schema's formula.
uint64_t numberAt(uint64_t key, uint64_t row, uint64_t column, uint64_t period, uint64_t columns) {
  uint64_t n = row % period * ((columns + 3) / 4) + column / 4;
  uint64_t h = key + n * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
  h ^= h >> 31;
  return (h >> (16 * (column % 4))) & 0xffff;
}

/// Row and column of the element at `place` in memory.
std::pair<uint64_t, uint64_t> indexOf(const std::vector<LayoutDigit> &digits, uint64_t place) {
  uint64_t index[2] = {0, 0};
  for (size_t i = digits.size(); i-- > 0; place /= digits[i].radix())
    index[digits[i].axis()] += place % digits[i].radix() * digits[i].stride();
  return {index[0], index[1]};
}

float floatAt(const std::vector<uint8_t> &memory, uint64_t place) {
  float value;
  std::memcpy(&value, memory.data() + 4 * place, 4);
  return value;
}

uint16_t halfAt(const std::vector<uint8_t> &memory, uint64_t place) {
  return uint16_t(memory[2 * place] | memory[2 * place + 1] << 8);
}

TEST(WeightFillTest, FloatsFollowTheFormulaAndRepeatAfterThePeriod) {
  Made made;
  std::vector<uint8_t> memory = made.fill();
  for (uint64_t place = 0; place < 200 * 24; ++place) {
    auto u = double(numberAt(7, place / 24, place % 24, 64, 24));
    ASSERT_EQ(floatAt(memory, place), float(-1 + 2 * (u + 0.5) / 65536)) << place;
  }
  EXPECT_EQ(floatAt(memory, 3), floatAt(memory, 3 + 64 * 24));
  EXPECT_NE(floatAt(memory, 3), floatAt(memory, 3 + 63 * 24));
}

TEST(WeightFillTest, EveryOrderInMemoryHoldsTheSameRowsOfEachPart) {
  // Parts that end within tiles, rows and columns beyond the weight, codes of 4 bits.
  Made made;
  made.dtype = DType::I4;
  made.low = 0;
  made.high = 15;
  made.parts = {{1, 200}, {2, 90}, {3, 9}};
  made.columns = 40;
  made.digits = {{16, 20, 0}, {16, 3, 1}, {8, 2, 0}, {1, 16, 1}, {1, 8, 0}};
  made.padding = 8;
  made.bytes = 320 * 48 / 2;
  std::vector<uint8_t> memory = made.fill();
  for (uint64_t place = 0; place < 320 * 48; ++place) {
    auto [row, column] = indexOf(made.digits, place);
    uint64_t part = row < 200   ? 0
                    : row < 290 ? 1
                                : 2,
             own = row - (part ? part == 1 ? 200 : 290 : 0);
    uint64_t expected = 8;
    if (row < 299 && column < 40)
      expected = numberAt(part + 1, own, column, 64, 40) * 16 / 65536;
    ASSERT_EQ(memory[place / 2] >> (place % 2 * 4) & 15, expected) << row << ", " << column;
  }
}

TEST(WeightFillTest, PartsInTurnAreTheSameRowsAsAlone) {
  Made made;
  made.dtype = DType::BF16;
  made.parts = {{1, 150}, {2, 150}};
  made.block = 8;
  made.digits = {{16, 19, 0}, {1, 24, 1}, {1, 16, 0}};
  made.bytes = 304 * 24 * 2;
  std::vector<uint8_t> memory = made.fill();
  for (uint64_t place = 0; place < 304 * 24; ++place) {
    auto [row, column] = indexOf(made.digits, place);
    uint64_t own = row / 16 * 8 + row % 8, key = row / 8 % 2 + 1;
    double value = -1 + 2 * (double(numberAt(key, own, column, 64, 24)) + 0.5) / 65536;
    uint16_t bits = halfAt(memory, place);
    if (own >= 150) {
      ASSERT_EQ(bits, 0) << row;
      continue;
    }
    // To nearest even: no neighbour is nearer.
    auto valueOf = [](uint16_t half) { return double(std::bit_cast<float>(uint32_t(half) << 16)); };
    double error = std::fabs(valueOf(bits) - value);
    ASSERT_LE(error, std::fabs(valueOf(uint16_t(bits + 1)) - value)) << row << ", " << column;
    ASSERT_LE(error, std::fabs(valueOf(uint16_t(bits - 1)) - value)) << row << ", " << column;
  }
}

TEST(WeightFillTest, NarrowFloatsCoverTheirRangeWithoutSpecialValues) {
  Made made;
  made.dtype = DType::E4M3;
  made.low = -448;
  made.high = 448;
  made.digits = {{1, 200, 0}, {1, 24, 1}};
  made.bytes = 200 * 24;
  std::vector<uint8_t> memory = made.fill();
  std::set<uint8_t> codes(memory.begin(), memory.end());
  EXPECT_FALSE(codes.contains(0x7f));
  EXPECT_FALSE(codes.contains(0xff));
  EXPECT_TRUE(codes.contains(0x7e)); // 448
  EXPECT_TRUE(codes.contains(0xfe));
  made.dtype = DType::F16;
  made.low = made.high = 0x1p-24; // the smallest subnormal
  made.bytes *= 2;
  EXPECT_EQ(halfAt(made.fill(), 5), 1);
  made.low = made.high = -65504;
  EXPECT_EQ(halfAt(made.fill(), 5), 0xfbff);
  made.low = made.high = 1 + 0x1p-11; // half way: to even
  EXPECT_EQ(halfAt(made.fill(), 5), 0x3c00);
  made.low = made.high = 2 - 0x1p-12; // rounds into the next power of two
  EXPECT_EQ(halfAt(made.fill(), 5), 0x4000);
}

TEST(WeightFillTest, ManyTilesAreMadeByThreadsAsByOne) {
  // A pattern of 4 MiB, in which every thread makes several runs of tiles.
  Made made;
  made.dtype = DType::I4;
  made.low = 0;
  made.high = 15;
  made.parts = {{1, 4096}};
  made.period = 4096;
  made.columns = 2048;
  made.digits = {{16, 256, 0}, {1, 2048, 1}, {1, 16, 0}};
  made.bytes = 4096 * 2048 / 2;
  std::vector<uint8_t> memory = made.fill();
  for (uint64_t place = 0; place < 4096 * 2048; place += 997) {
    auto [row, column] = indexOf(made.digits, place);
    ASSERT_EQ(memory[place / 2] >> (place % 2 * 4) & 15,
              numberAt(1, row, column, 4096, 2048) * 16 / 65536)
        << row << ", " << column;
  }
}

TEST(WeightFillTest, RowsOfValuesAreFilledInTheirRange) {
  HostDevice device(1);
  WeightFiller filler(device, 2);
  std::vector<float> values(37 * 20 + 1, 7);
  ASSERT_TRUE(filler.fillRows(values.data(), DType::F32, 20, 37 * 20 * 4, {-1, 1}, 5).ok());
  std::set<float> different(values.begin(), values.end() - 1);
  EXPECT_GT(different.size(), 720u);
  EXPECT_GE(*different.begin(), -1);
  EXPECT_LE(*different.rbegin(), 1);
  EXPECT_EQ(values.back(), 7);
  Status refused = filler.fillRows(values.data(), DType::I32, 20, 37 * 20 * 4, {-1, 1}, 5);
  EXPECT_EQ(refused.code(), "INGOT-E5006");
}

TEST(WeightFillTest, ImpossibleFillsAreRefused) {
  EXPECT_EQ(Made().refusal(), "");
  auto refused = [](auto change) {
    Made made;
    change(made);
    return made.refusal();
  };
  EXPECT_NE(refused([](Made &m) { m.low = 2; }), "");
  EXPECT_NE(refused([](Made &m) { m.high = INFINITY; }), "");
  EXPECT_NE(refused([](Made &m) { m.low = NAN; }), "");
  EXPECT_NE(refused([](Made &m) { m.high = 1e39; }), "");
  EXPECT_NE(refused([](Made &m) { m.dtype = DType::I64; }), "");
  EXPECT_NE(refused([](Made &m) { m.parts.clear(); }), "");
  EXPECT_NE(refused([](Made &m) { m.parts = {{1, 0}}; }), "");
  EXPECT_NE(refused([](Made &m) { m.parts = {{1, ~0ull}}; }), "");
  EXPECT_NE(refused([](Made &m) { m.period = 0; }), "");
  EXPECT_NE(refused([](Made &m) { m.period = ~0ull; }), "");
  EXPECT_NE(refused([](Made &m) { m.block = 8; }), ""); // of one part
  EXPECT_NE(refused([](Made &m) { m.columns = 0; }), "");
  EXPECT_NE(refused([](Made &m) { m.columns = 25; }), "");
  EXPECT_NE(refused([](Made &m) { m.bytes += 4; }), "");
  EXPECT_NE(refused([](Made &m) { m.digits.clear(); }), "");
  EXPECT_NE(refused([](Made &m) { m.digits[0] = {1, 200, 1}; }), "");
  EXPECT_NE(refused([](Made &m) { m.digits[1] = {1, 24, 2}; }), "");
  EXPECT_NE(refused([](Made &m) { m.digits[1] = {0, 24, 1}; }), "");
  EXPECT_NE(refused([](Made &m) { m.digits[1] = {1, 1ull << 62, 1}; }), "");
  EXPECT_NE(refused([](Made &m) { m.digits[0] = {48, 200, 0}; }), ""); // 64 is no multiple
  EXPECT_NE(refused([](Made &m) {                                      // a pattern of 24 MiB
              m.digits = {{1, 1 << 20, 0}, {1, 24, 1}};
              m.period = 1 << 18;
              m.bytes = (uint64_t{24} << 20) * 4;
            }),
            "");
}

TEST(WeightFillTest, ThePlanCountsAWeightOfTwoBuffersOnce) {
  ToyOptions options;
  options.randomWeight = true;
  ToySession toy = openToy(options);
  ASSERT_TRUE(toy.session);
  const MemoryPlan &plan = toy->memoryPlan();
  EXPECT_EQ(plan.madeBytes, uint64_t(toyRandomBytes));
  EXPECT_EQ(plan.weightBytes, uint64_t(toyVocabulary) * 4 + uint64_t(toyRandomBytes));
}

} // namespace
