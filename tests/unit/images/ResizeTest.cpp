// SPDX-License-Identifier: Apache-2.0
// Resampling against its definition in doubles, and what follows from it.
#include "runtime/images/Resize.h"
#include "tests/unit/images/SmallPictures.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace ingot::runtime::images {
namespace {

using test::slopes;

double weightOf(Filter filter, double x) {
  x = std::abs(x);
  const auto sinc = [](double v) {
    v *= std::numbers::pi;
    return v == 0 ? 1 : std::sin(v) / v;
  };
  switch (filter) {
  case Filter::Bilinear:
    return std::max(0.0, 1 - x);
  case Filter::Bicubic:
    return x < 1   ? 1.5 * x * x * x - 2.5 * x * x + 1
           : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2
                   : 0;
  case Filter::Lanczos:
    return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
  return 0;
}

/// One line, sample by sample in doubles, over all samples that the filter reaches.
std::vector<double> resampled(const std::vector<double> &line, uint32_t to, Filter filter) {
  const double scale = double(line.size()) / to, widened = std::max(scale, 1.0);
  std::vector<double> result;
  for (uint32_t i = 0; i < to; ++i) {
    double sum = 0, weights = 0;
    for (size_t k = 0; k < line.size(); ++k) {
      const double weight = weightOf(filter, (double(k) + 0.5 - (i + 0.5) * scale) / widened);
      sum += weight * line[k];
      weights += weight;
    }
    result.push_back(std::clamp(std::floor(sum / weights + 0.5), 0.0, 255.0));
  }
  return result;
}

/// Horizontally first, and rounded between the passes.
std::vector<double> resampled(const Pixels &pixels, uint32_t channel, uint32_t width,
                              uint32_t height, Filter filter) {
  std::vector<std::vector<double>> rows;
  for (uint32_t y = 0; y < pixels.height; ++y) {
    std::vector<double> row;
    for (uint32_t x = 0; x < pixels.width; ++x)
      row.push_back(pixels.rgb[(size_t(y) * pixels.width + x) * 3 + channel]);
    rows.push_back(resampled(row, width, filter));
  }
  std::vector<double> result(size_t(width) * height);
  for (uint32_t x = 0; x < width; ++x) {
    std::vector<double> column;
    for (const std::vector<double> &row : rows)
      column.push_back(row[x]);
    column = resampled(column, height, filter);
    for (uint32_t y = 0; y < height; ++y)
      result[size_t(y) * width + x] = column[y];
  }
  return result;
}

TEST(Resize, IsTheSumOfItsDefinition) {
  for (const Filter filter : {Filter::Bilinear, Filter::Bicubic, Filter::Lanczos})
    for (const auto &[from, to] :
         std::vector<std::array<std::array<uint32_t, 2>, 2>>{{{{31, 17}, {12, 9}}},
                                                             {{{31, 17}, {70, 40}}},
                                                             {{{40, 9}, {7, 33}}},
                                                             {{{9, 40}, {33, 7}}},
                                                             {{{1, 1}, {5, 3}}},
                                                             {{{64, 64}, {1, 1}}},
                                                             {{{3, 50}, {3, 20}}},
                                                             {{{50, 3}, {20, 3}}}}) {
      const Pixels pixels = slopes(from[0], from[1]);
      const Pixels result = resize(pixels, to[0], to[1], filter);
      ASSERT_EQ(result.rgb.size(), size_t(to[0]) * to[1] * 3);
      size_t unequal = 0;
      for (uint32_t channel = 0; channel < 3; ++channel) {
        const std::vector<double> expected = resampled(pixels, channel, to[0], to[1], filter);
        for (size_t i = 0; i < expected.size(); ++i) {
          const double difference = std::abs(result.rgb[i * 3 + channel] - expected[i]);
          // Weights of 22 bits may round a half the other way, once in each pass.
          ASSERT_LE(difference, 2) << from[0] << "x" << from[1] << " to " << to[0] << "x" << to[1]
                                   << ", filter " << int(filter) << ", value " << i;
          unequal += difference != 0;
        }
      }
      EXPECT_LE(unequal, result.rgb.size() / 10) << from[0] << "x" << from[1] << " to " << to[0]
                                                 << "x" << to[1] << ", filter " << int(filter);
    }
}

TEST(Resize, OneColourStaysThatColour) {
  Pixels pixels{37, 23, std::vector<uint8_t>(37 * 23 * 3)};
  for (size_t i = 0; i < pixels.rgb.size(); ++i)
    pixels.rgb[i] = std::array<uint8_t, 3>{255, 0, 77}[i % 3];
  for (const Filter filter : {Filter::Bilinear, Filter::Bicubic, Filter::Lanczos}) {
    const Pixels result = resize(pixels, 101, 5, filter);
    for (size_t i = 0; i < result.rgb.size(); ++i)
      ASSERT_EQ(result.rgb[i], pixels.rgb[i % 3]) << i;
  }
}

TEST(Resize, TheSameSizeIsTheSamePicture) {
  const Pixels pixels = slopes(33, 19);
  EXPECT_EQ(resize(pixels, 33, 19, Filter::Lanczos).rgb, pixels.rgb);
}

TEST(Resize, LongSidesShrinkToOne) {
  const Pixels wide = resize(slopes(60000, 1), 1, 1, Filter::Lanczos);
  const Pixels tall = resize(slopes(1, 60000), 1, 1, Filter::Lanczos);
  for (const Pixels &pixels : {wide, tall}) // the mean of all values
    EXPECT_NEAR(pixels.rgb[0], 127, 3);
}

} // namespace
} // namespace ingot::runtime::images
