// SPDX-License-Identifier: Apache-2.0
// Code books, NVFP4 and MXFP4: nearest codes, scales, and searches that never raise the error.
#include "compiler/quantize/methods/FourBitFloats.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <cmath>
#include <limits>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

double errorOf(const FloatBlocks &matrix, const Floats &weight, const Floats &importance = {}) {
  Floats values(weight.size());
  matrix.dequantize(values.data());
  double sum = 0;
  for (size_t i = 0; i < weight.size(); ++i)
    sum += std::pow(double(values[i]) - double(weight[i]), 2) *
           (importance.empty() ? 1.0 : double(importance[i % importance.size()]));
  return sum;
}

} // namespace

TEST(CodeBooks, GiveTheNearestValue) {
  for (CodeBook book : {CodeBook::NF4, CodeBook::FP4}) {
    const auto codes = valuesOf(book);
    const Floats values = randomFloats(1000, 3, 5);
    auto rounded = roundToBook(values.data(), 10, 100, {.book = book, .threads = 2});
    ASSERT_TRUE(bool(rounded));
    EXPECT_EQ(rounded->scales.size(), 16u);
    EXPECT_FALSE(rounded->isByRow());
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = rounded->scales[i / 64];
      const float error = std::abs(codes[rounded->codes[i]] * scale - values[i]);
      for (float code : codes)
        ASSERT_LE(error, std::abs(code * scale - values[i]) + 1e-6f);
    }
    // Each value of the book is its own nearest.
    auto own = roundToBook(codes.data(), 1, 16, {.book = book, .block = 16});
    for (size_t i = 0; i < 16; ++i)
      EXPECT_EQ(codes[own->codes[i]], codes[i]);
    const Floats zeros(5);
    auto none = roundToBook(zeros.data(), 1, 5, {.book = book});
    EXPECT_EQ(none->scales, Floats{0});
    EXPECT_EQ(codes[none->codes[4]], 0);
  }
}

TEST(CodeBooks, ScalesAreQuantizedFirst) {
  const auto book = dynamicBook();
  EXPECT_TRUE(std::is_sorted(book.begin(), book.end()));
  EXPECT_EQ(book[255], 1);
  EXPECT_EQ(book[127], 0);
  EXPECT_FLOAT_EQ(book[128], 0.55e-6f);
  EXPECT_FLOAT_EQ(book[254], 0.99296875f);
  const int64_t rows = 20, columns = 1024; // 320 blocks, so two of scales
  const Floats weight = randomFloats(rows * columns, 11);
  auto plain = roundToBook(weight.data(), rows, columns, {});
  auto nested = roundToBook(weight.data(), rows, columns, {.nested = true, .threads = 3});
  ASSERT_TRUE(bool(plain) && bool(nested));
  ASSERT_EQ(nested->nested.codes.size(), 320u);
  ASSERT_EQ(nested->nested.absmax.size(), 2u);
  const auto codes = valuesOf(CodeBook::NF4);
  for (size_t i = 0; i < 320; ++i) {
    const float scale = nested->scales[i];
    EXPECT_EQ(scale, book[nested->nested.codes[i]] * nested->nested.absmax[i / 256] +
                         nested->nested.offset);
    EXPECT_NEAR(scale, plain->scales[i], 0.02f * plain->scales[i]);
  }
  // Codes are nearest with the scales that are left.
  for (size_t i = 0; i < weight.size(); ++i) {
    const float scale = nested->scales[i / 64];
    for (float code : codes)
      ASSERT_LE(std::abs(codes[nested->codes[i]] * scale - weight[i]),
                std::abs(code * scale - weight[i]) + 1e-6f);
  }
}

TEST(FourBitFloats, ElementsRoundToEven) {
  // The block's largest value is 6, so MXFP4 has scale 1.
  const Floats weight{6, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, -0.25f, -5, 0.26f, -0.5f};
  auto matrix = roundToMxfp4(weight.data(), 1, 12, {}, {});
  ASSERT_TRUE(bool(matrix));
  EXPECT_EQ(matrix->scales, std::vector<uint8_t>{127});
  Floats values(12);
  matrix->dequantize(values.data());
  EXPECT_EQ(values, (Floats{6, 0, 1, 1, 2, 2, 4, 4, 0, -4, 0.5f, -0.5f}));
}

TEST(FourBitFloats, Nvfp4ScalesAreE4m3OfTheTensors) {
  // The largest block has scale 448; one of half its size 224, one of 2^-17 of it the smallest.
  Floats weight(48);
  weight[0] = 6;
  weight[17] = -3;
  weight[40] = 6 * 0x1p-17f;
  auto matrix = roundToNvfp4(weight.data(), 1, 48, {}, {});
  ASSERT_TRUE(bool(matrix));
  EXPECT_EQ(matrix->globalScale, 448);
  EXPECT_EQ(matrix->scales, (std::vector<uint8_t>{126, 118, 2}));
  EXPECT_FLOAT_EQ(matrix->scaleOf(0, 1), 0.5f);
  EXPECT_LT(errorOf(*matrix, weight), 1e-6);
}

TEST(FourBitFloats, SearchesNeverRaiseTheError) {
  const int64_t rows = 33, columns = 100;
  const Floats weight = randomFloats(rows * columns, 7);
  Floats importance = randomFloats(columns, 8);
  for (float &value : importance)
    value = value * value;
  auto nv = [&](const FloatBlockOptions &options, const Floats &weights) {
    return *roundToNvfp4(weight.data(), rows, columns, weights, options);
  };
  auto mx = [&](const FloatBlockOptions &options, const Floats &weights) {
    return *roundToMxfp4(weight.data(), rows, columns, weights, options);
  };
  for (const Floats &weights : {Floats(), importance}) {
    EXPECT_LT(errorOf(nv({.sweep = 3}, weights), weight, weights),
              errorOf(nv({}, weights), weight, weights));
    EXPECT_LT(errorOf(nv({.fourOverSix = true}, weights), weight, weights),
              errorOf(nv({}, weights), weight, weights));
    EXPECT_LT(errorOf(nv({.sweep = 2, .fourOverSix = true}, weights), weight, weights),
              errorOf(nv({.fourOverSix = true}, weights), weight, weights));
    EXPECT_LT(errorOf(mx({.sweep = 1}, weights), weight, weights),
              errorOf(mx({}, weights), weight, weights));
  }
  const FloatBlocks one = nv({2, true, 0, 1}, {});
  for (unsigned threads : {2u, 3u}) {
    const FloatBlocks other = nv({2, true, 0, threads}, {});
    EXPECT_EQ(one.codes, other.codes);
    EXPECT_EQ(one.scales, other.scales);
  }
}

TEST(FourBitFloats, ExtremesAndZerosAreRounded) {
  const float most = std::numeric_limits<float>::max(), least = 0x1p-149f;
  for (const Floats &weight : {Floats(40), Floats{most, -most, 0, least}, Floats{least, -least}}) {
    const int64_t columns = static_cast<int64_t>(weight.size());
    for (int32_t sweep : {0, 2})
      for (bool power : {false, true}) {
        auto matrix = power ? roundToMxfp4(weight.data(), 1, columns, {}, {.sweep = sweep})
                            : roundToNvfp4(weight.data(), 1, columns, {}, {.sweep = sweep});
        ASSERT_TRUE(bool(matrix));
        Floats values(weight.size());
        matrix->dequantize(values.data());
        for (float value : values)
          EXPECT_TRUE(std::isfinite(value));
      }
  }
}

TEST(FourBitFloats, RefuseBadArguments) {
  const Floats weight{1, std::numeric_limits<float>::infinity()}, fine{1, 2};
  EXPECT_EQ(roundToNvfp4(weight.data(), 1, 2, {}, {}).error().code, "INGOT-E2301");
  EXPECT_EQ(roundToMxfp4(weight.data(), 1, 2, {}, {}).error().code, "INGOT-E2301");
  EXPECT_EQ(roundToBook(weight.data(), 1, 2, {}).error().code, "INGOT-E2301");
  EXPECT_EQ(roundToBook(fine.data(), 1, 2, {.block = 0}).error().code, "INGOT-E2302");
  EXPECT_EQ(roundToNvfp4(fine.data(), 1, 2, Floats(1), {}).error().code, "INGOT-E2302");
  EXPECT_EQ(roundToMxfp4(fine.data(), 1, 2, {}, {.sweep = -1}).error().code, "INGOT-E2302");
}
