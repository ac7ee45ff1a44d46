// SPDX-License-Identifier: Apache-2.0
// Encoded rows, read back by the decoders: odd rows, importance, and plain rounding as the bound.
#include "compiler/quantize/ggml/BlockEncoder.h"
#include "tests/unit/quantize_ggml/Encoded.h"
#include "tests/unit/quantize_ggml/PlainRounding.h"

#include <limits>

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::quantize;
using namespace ingot::test;

static constexpr uint64_t columns = 256;

static std::vector<float> roundTrip(DType dtype, const std::vector<float> &rows) {
  return decoded(dtype, encoded(dtype, rows, columns));
}

TEST(BlockEncoder, ZerosStayZeros) {
  for (const DType dtype : encodedTypes)
    for (const float value : roundTrip(dtype, std::vector<float>(2 * columns, 0.0f)))
      ASSERT_EQ(value, 0.0f) << dtypeName(dtype);
}

/// The relative squared error of normal numbers, a little above what each type reaches.
TEST(BlockEncoder, NormalNumbersComeBack) {
  const std::vector<std::pair<DType, double>> bounds = {
      {DType::Q4_0, 8e-3},   {DType::Q4_1, 6e-3},   {DType::Q5_0, 2e-3},   {DType::Q5_1, 1.5e-3},
      {DType::Q8_0, 3.5e-5}, {DType::Q2_K, 8e-2},   {DType::Q3_K, 2.6e-2}, {DType::Q4_K, 6.5e-3},
      {DType::Q5_K, 1.6e-3}, {DType::Q6_K, 4.5e-4}, {DType::IQ4_NL, 7e-3}, {DType::IQ4_XS, 7e-3}};
  const auto rows = normals(64 * columns, 0.02f);
  const std::vector<float> zeros(rows.size());
  for (const auto &[dtype, bound] : bounds)
    EXPECT_LT(squaredError(rows, roundTrip(dtype, rows)) / squaredError(rows, zeros), bound)
        << dtypeName(dtype);
}

/// The smallest of these has scales among the few subnormal f16 numbers.
TEST(BlockEncoder, ConstantRows) {
  for (const DType dtype : encodedTypes)
    for (const float constant : {1.0f, -1.0f, 0.37f, -12345.0f, 1e-4f}) {
      const auto values = roundTrip(dtype, std::vector<float>(columns, constant));
      for (const float value : values)
        ASSERT_NEAR(value / constant, 1.0f, 2e-2f) << dtypeName(dtype) << ' ' << constant;
    }
}

/// One number far from the others is kept, whatever becomes of these: code books, which have no
/// zero, make it smaller for their sake.
TEST(BlockEncoder, OneOutlier) {
  for (const DType dtype : encodedTypes)
    for (const float outlier : {100.0f, -100.0f}) {
      auto rows = normals(columns, 0.01f);
      rows[77] = outlier;
      const auto values = roundTrip(dtype, rows);
      EXPECT_NEAR(values[77], outlier, 0.3f) << dtypeName(dtype) << ' ' << outlier;
    }
}

/// Too small for f16 scales: zeros, or at most the size of the smallest steps.
TEST(BlockEncoder, DenormalNumbers) {
  for (const DType dtype : encodedTypes)
    for (const float size : {1e-44f, 1e-38f, 1e-20f, 1e-8f}) {
      const auto rows = normals(columns, size);
      const auto values = roundTrip(dtype, rows);
      const std::vector<float> zeros(columns);
      EXPECT_LE(squaredError(rows, values), squaredError(rows, zeros) * 1.0001)
          << dtypeName(dtype) << ' ' << size;
    }
}

/// Too large for f16 scales: finite, and the nearest that there is.
TEST(BlockEncoder, HugeNumbers) {
  for (const DType dtype : encodedTypes)
    for (const float size : {1e5f, 1e10f, 3e38f}) {
      std::vector<float> rows(columns);
      for (size_t i = 0; i < columns; ++i)
        rows[i] = size * (i % 3 == 0 ? -1.0f : 0.5f);
      const auto values = roundTrip(dtype, rows);
      for (size_t i = 0; i < columns; ++i) {
        ASSERT_TRUE(std::isfinite(values[i])) << dtypeName(dtype) << ' ' << size;
        if (size > 1e5f)
          ASSERT_LT(values[i] / rows[i], 1.2f) << dtypeName(dtype) << ' ' << size;
      }
    }
}

TEST(BlockEncoder, NeverWorseThanPlainRounding) {
  std::mt19937 random(7);
  for (const PlainType &type : plainTypes) {
    const int block = static_cast<int>(dtypeUnit(type.dtype).elements);
    for (int trial = 0; trial < 200; ++trial) {
      const float size = std::ldexp(1.0f, static_cast<int>(random() % 12) - 8);
      auto x = normals(static_cast<size_t>(block), size, random());
      if (trial % 4 == 1)
        for (float &number : x)
          number = std::fabs(number);
      if (trial % 4 == 2)
        x[random() % x.size()] *= 30;
      std::vector<float> weights(x.size());
      for (float &weight : weights)
        weight = std::exp(static_cast<float>(random() % 1000) / 200.0f);
      for (const bool isWeighted : {false, true}) {
        const auto importance = isWeighted ? weights : std::vector<float>();
        const auto y = decoded(type.dtype, encoded(type.dtype, x, x.size(), importance));
        const double plain =
            plainError(type, x.data(), block, isWeighted ? weights.data() : nullptr);
        EXPECT_LE(squaredError(x, y, importance), plain * 1.00001)
            << dtypeName(type.dtype) << " trial " << trial;
      }
    }
  }
}

TEST(BlockEncoder, ImportanceLowersTheWeightedError) {
  const auto rows = normals(32 * columns, 0.05f);
  std::vector<float> importance(columns);
  for (size_t i = 0; i < columns; ++i)
    importance[i] = i % 7 == 0 ? 50.0f : 0.5f;
  for (const DType dtype : encodedTypes) {
    const auto with = decoded(dtype, encoded(dtype, rows, columns, importance));
    const auto without = roundTrip(dtype, rows);
    EXPECT_LT(squaredError(rows, with, importance), squaredError(rows, without, importance))
        << dtypeName(dtype);
    EXPECT_LT(squaredError(rows, without), squaredError(rows, with)) << dtypeName(dtype);
  }
}

TEST(BlockEncoder, OnlyTheProportionsOfImportanceCount) {
  const auto rows = normals(4 * columns);
  for (const DType dtype : encodedTypes) {
    const auto plain = encoded(dtype, rows, columns);
    EXPECT_EQ(encoded(dtype, rows, columns, std::vector<float>(columns, 0.0f)), plain);
    EXPECT_EQ(encoded(dtype, rows, columns, std::vector<float>(columns, 3e-42f)), plain);
    EXPECT_EQ(encoded(dtype, rows, columns, std::vector<float>(columns, 2e38f)), plain);
  }
}

/// A row's bytes do not depend on its neighbours.
TEST(BlockEncoder, RowsAreIndependent) {
  const auto rows = normals(3 * columns);
  for (const DType dtype : encodedTypes) {
    const auto all = encoded(dtype, rows, columns);
    const auto second =
        encoded(dtype, {rows.begin() + columns, rows.begin() + 2 * columns}, columns);
    EXPECT_TRUE(std::equal(second.begin(), second.end(),
                           all.begin() + static_cast<ptrdiff_t>(second.size())))
        << dtypeName(dtype);
  }
}

TEST(BlockEncoder, PlainTypes) {
  const std::vector<float> rows = {1, -2.5f, 1e30f, 65520, 1.00390625f, 3.3961775e38f};
  EXPECT_EQ(decoded(DType::F32, encoded(DType::F32, rows, 6)), rows);
  const auto halves = decoded(DType::F16, encoded(DType::F16, rows, 6));
  EXPECT_EQ(halves, (std::vector<float>{1, -2.5f, 65504, 65504, 1.00390625f, 65504}));
  const auto brains = decoded(DType::BF16, encoded(DType::BF16, rows, 6));
  EXPECT_EQ(brains[1], -2.5f);
  EXPECT_EQ(brains[4], 1.0f);
  EXPECT_TRUE(std::isfinite(brains[5]));
}

TEST(BlockEncoder, RefusesWhatIsNoNumber) {
  std::vector<float> rows(2 * columns, 1.0f), importance(columns, 1.0f);
  std::vector<std::byte> out(2 * 144);
  rows[columns + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(failsWith(encodeRows(DType::Q4_K, rows.data(), 2, columns, {}, out), "INGOT-E1130",
                        {"row 1, column 3"}));
  rows[columns + 3] = -std::numeric_limits<float>::infinity();
  EXPECT_TRUE(failsWith(encodeRows(DType::Q4_K, rows.data(), 2, columns, {}, out), "INGOT-E1130"));
  rows[columns + 3] = 0;
  for (const float bad :
       {-1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    importance[9] = bad;
    EXPECT_TRUE(failsWith(encodeRows(DType::Q4_K, rows.data(), 2, columns, importance, out),
                          "INGOT-E1130", {"column 9"}));
  }
}

TEST(BlockEncoder, RefusesSizesThatDoNotFit) {
  const std::vector<float> rows(columns, 1.0f);
  std::vector<std::byte> out(144);
  auto encode = [&](DType dtype, uint64_t count, uint64_t width, size_t importances, size_t bytes) {
    return encodeRows(dtype, rows.data(), count, width, std::vector<float>(importances, 1.0f),
                      std::span(out).first(bytes));
  };
  EXPECT_TRUE(succeeds(encode(DType::Q4_K, 1, columns, columns, 144)));
  EXPECT_TRUE(failsWith(encode(DType::Q4_K, 1, 128, 0, 72), "INGOT-E1131"));
  EXPECT_TRUE(failsWith(encode(DType::Q4_K, 1, columns, 0, 143), "INGOT-E1131"));
  EXPECT_TRUE(failsWith(encode(DType::Q4_K, 1, columns, 255, 144), "INGOT-E1131"));
  EXPECT_TRUE(failsWith(encode(DType::Q8_0, 1, 33, 0, 34), "INGOT-E1131"));
  EXPECT_TRUE(failsWith(encode(DType::IQ2_S, 1, columns, 0, 82), "INGOT-E1131", {"IQ2_S"}));
}
