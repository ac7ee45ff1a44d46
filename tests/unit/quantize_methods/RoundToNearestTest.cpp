// SPDX-License-Identifier: Apache-2.0
// Scales, codes, the search of ranges, and refusals.
#include "compiler/quantize/methods/RoundToNearest.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <cmath>
#include <limits>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

struct Shape {
  int64_t rows, columns, group;
};
constexpr Shape kShapes[] = {{1, 1, 0},   {1, 7, 0},    {3, 130, 0},  {5, 130, 128},
                             {17, 64, 8}, {2, 100, 33}, {33, 40, 100}};

QuantizedMatrix rounded(const Floats &weight, int64_t rows, const Grid &grid,
                        const ClipSearch &clip = {}, const Floats &importance = {},
                        unsigned threads = 1) {
  const int64_t columns = static_cast<int64_t>(weight.size()) / rows;
  auto matrix = roundToNearest(weight.data(), rows, columns, grid, clip, importance, threads);
  EXPECT_TRUE(bool(matrix));
  return std::move(*matrix);
}

double squaredError(const QuantizedMatrix &matrix, const Floats &weight,
                    const Floats &importance = {}) {
  Floats values(weight.size());
  matrix.dequantize(values.data());
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i)
    sum += std::pow(double(values[i]) - double(weight[i]), 2) *
           (importance.empty() ? 1.0 : double(importance[i % static_cast<size_t>(matrix.columns)]));
  return sum;
}

std::string refusal(const Floats &weight, int64_t rows, int64_t columns, const Grid &grid,
                    const ClipSearch &clip = {}, const Floats &importance = {}) {
  auto matrix = roundToNearest(weight.data(), rows, columns, grid, clip, importance, 1);
  return matrix ? "" : matrix.error().code;
}

} // namespace

TEST(RoundToNearest, ErrorIsHalfAStepForEveryGrid) {
  ASSERT_TRUE(isSupportedHere());
  for (const Shape &shape : kShapes)
    for (int32_t bits = 2; bits <= 8; ++bits)
      for (bool zeroPoints : {false, true}) {
        SCOPED_TRACE(std::to_string(shape.columns) + " columns, bits " + std::to_string(bits));
        const Floats weight = randomFloats(shape.rows * shape.columns, 3);
        const Grid grid{bits, shape.group, zeroPoints, ScaleType::F32};
        const QuantizedMatrix matrix = rounded(weight, shape.rows, grid);
        Floats values(weight.size());
        matrix.dequantize(values.data());
        for (int64_t row = 0; row < shape.rows; ++row)
          for (int64_t column = 0; column < shape.columns; ++column) {
            const size_t place = static_cast<size_t>(row * shape.columns + column);
            const float scale = matrix.scales[static_cast<size_t>(row * matrix.groups() +
                                                                  matrix.groupOfColumn(column))];
            ASSERT_GT(scale, 0);
            ASSERT_LE(matrix.codes[place], grid.most());
            // A zero point that was rounded moves both ends of the range by half a step.
            ASSERT_LE(std::abs(values[place] - weight[place]),
                      scale * (zeroPoints ? 1.001f : 0.501f));
          }
      }
}

TEST(RoundToNearest, SymmetricScalesCoverTheRange) {
  const Floats weight{-3, 1, 0.5f, 2};
  const QuantizedMatrix matrix = rounded(weight, 1, {4, 0, false, ScaleType::F32});
  EXPECT_EQ(matrix.scales, Floats{3 / 7.5f});
  EXPECT_EQ(matrix.codes, (std::vector<uint8_t>{0, 10, 9, 13}));
}

TEST(RoundToNearest, ZeroPointsCoverRangesOfOneSign) {
  const Floats weight{1, 2, 3, 7.5f};
  const QuantizedMatrix matrix = rounded(weight, 1, {4, 0, true, ScaleType::F32});
  EXPECT_EQ(matrix.scales, Floats{0.5f});
  EXPECT_EQ(matrix.zeros, std::vector<uint8_t>{0});
  EXPECT_EQ(matrix.codes, (std::vector<uint8_t>{2, 4, 6, 15}));
}

TEST(RoundToNearest, ZerosStayZeros) {
  for (bool zeroPoints : {false, true}) {
    const QuantizedMatrix matrix = rounded(Floats(20), 2, {3, 4, zeroPoints, ScaleType::F16});
    EXPECT_EQ(matrix.scales, Floats(6, 1.0f));
    Floats values(20, 1.0f);
    matrix.dequantize(values.data());
    EXPECT_EQ(values, Floats(20));
  }
}

TEST(RoundToNearest, ScalesAreOfTheirType) {
  EXPECT_EQ(roundScale(1.0 / 3, ScaleType::F16), 0x1.554p-2f);
  EXPECT_EQ(roundScale(1.0 / 3, ScaleType::BF16), 0x1.56p-2f);
  EXPECT_EQ(roundScale(1.0 / 3, ScaleType::F32), 1.0f / 3);
  EXPECT_EQ(roundScale(1 + 0x1p-11, ScaleType::F16), 1); // ties to even
  EXPECT_EQ(roundScale(1 + 0x1.8p-10, ScaleType::F16), 1 + 0x1p-9f);
  EXPECT_EQ(roundScale(0x1.8p-24, ScaleType::F16), 0x1p-23f);
  for (ScaleType type : {ScaleType::F16, ScaleType::BF16, ScaleType::F32}) {
    EXPECT_GT(roundScale(1e-300, type), 0);
    EXPECT_TRUE(std::isfinite(roundScale(1e300, type)));
  }
  EXPECT_EQ(roundScale(1e300, ScaleType::F16), 65504);
  EXPECT_EQ(roundScale(65504, ScaleType::F16), 65504);
}

TEST(RoundToNearest, ExtremeWeightsAreRounded) {
  const float most = std::numeric_limits<float>::max(), least = 0x1p-149f;
  for (ScaleType type : {ScaleType::F16, ScaleType::BF16, ScaleType::F32})
    for (bool zeroPoints : {false, true})
      for (int32_t steps : {0, 10}) {
        const QuantizedMatrix matrix = rounded({most, -most, least, 0, least, -least, 0, 0}, 2,
                                               {4, 0, zeroPoints, type}, {steps});
        for (float scale : matrix.scales)
          EXPECT_TRUE(scale > 0 && std::isfinite(scale));
      }
}

TEST(RoundToNearest, SearchLowersTheErrorItWeighs) {
  const Floats weight = randomFloats(24 * 96, 5), importance = [] {
    Floats values = randomFloats(96, 6);
    for (float &value : values)
      value = value * value + 0.01f;
    return values;
  }();
  for (bool zeroPoints : {false, true})
    for (int32_t bits : {2, 3, 4}) {
      const Grid grid{bits, 32, zeroPoints, ScaleType::F16};
      const ClipSearch clip{20, 0.4f, 2};
      const double plain = squaredError(rounded(weight, 24, grid), weight);
      const double searched = squaredError(rounded(weight, 24, grid, clip), weight);
      const QuantizedMatrix weighed = rounded(weight, 24, grid, clip, importance);
      EXPECT_LT(searched, plain);
      EXPECT_LE(squaredError(weighed, weight, importance),
                squaredError(rounded(weight, 24, grid, clip), weight, importance));
      EXPECT_GE(squaredError(weighed, weight), searched);
    }
}

TEST(RoundToNearest, ThreadsChangeNoByte) {
  const Floats weight = randomFloats(37 * 130, 7);
  for (int32_t steps : {0, 10}) {
    const Grid grid{4, 32, true, ScaleType::BF16};
    const QuantizedMatrix one = rounded(weight, 37, grid, {steps}, {}, 1);
    for (unsigned threads : {2u, 3u})
      expectEqual(one, rounded(weight, 37, grid, {steps}, {}, threads));
  }
}

TEST(RoundToNearest, NoRowsOrColumnsAreAMatrixToo) {
  EXPECT_TRUE(rounded({}, 1, {}).codes.empty());
  auto none = roundToNearest(nullptr, 0, 5, {}, {}, {}, 2);
  ASSERT_TRUE(bool(none));
  EXPECT_TRUE(none->scales.empty());
}

TEST(RoundToNearest, RefusesWhatIsNotFinite) {
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()})
    for (size_t place : {0, 8, 10}) {
      Floats weight(11, 1.0f);
      EXPECT_EQ(refusal(weight, 1, 11, {}, {}, Floats(11, 1.0f)), "");
      weight[place] = bad;
      EXPECT_EQ(refusal(weight, 1, 11, {}), "INGOT-E2301");
      EXPECT_EQ(refusal(Floats(11), 1, 11, {}, {}, weight), "INGOT-E2301");
    }
}

TEST(RoundToNearest, RefusesOptionsOutOfRange) {
  const Floats weight(8, 1.0f);
  EXPECT_EQ(refusal(weight, 2, 4, {.bits = 1}), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 2, 4, {.bits = 9}), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 2, 4, {.group = -1}), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, -1, 4, {}), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 2, 4, {}, {.steps = -1}), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 2, 4, {}, {.steps = 5, .least = 0}), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 2, 4, {}, {}, Floats(3)), "INGOT-E2302");
}
