// SPDX-License-Identifier: Apache-2.0
// AWQ: scales and clipping are never worse than none.
#include "compiler/quantize/methods/Awq.h"
#include "compiler/quantize/methods/RoundToNearest.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <cmath>
#include <limits>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

Floats meanMagnitudes(const Floats &inputs, int64_t columns) {
  Floats means(static_cast<size_t>(columns));
  for (size_t i = 0; i < inputs.size(); ++i)
    means[i % means.size()] +=
        std::abs(inputs[i]) * static_cast<float>(columns) / static_cast<float>(inputs.size());
  return means;
}

/// || (A - B) Xᵀ ||² / rows of X
double outputError(const Floats &a, const Floats &b, const Floats &inputs, int64_t columns) {
  const size_t n = static_cast<size_t>(columns);
  double sum = 0;
  for (size_t row = 0; row < a.size(); row += n)
    for (size_t at = 0; at < inputs.size(); at += n) {
      double output = 0;
      for (size_t i = 0; i < n; ++i)
        output += (double(a[row + i]) - double(b[row + i])) * double(inputs[at + i]);
      sum += output * output;
    }
  return sum * static_cast<double>(columns) / static_cast<double>(inputs.size());
}

/// Q(W s) / s
Floats scaledAndRounded(const Floats &weight, int64_t columns, const Floats &scales,
                        const Grid &grid) {
  Floats values = weight;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] *= scales[i % scales.size()];
  auto matrix = roundToNearest(values.data(), static_cast<int64_t>(values.size()) / columns,
                               columns, grid, {}, {}, 1);
  matrix->dequantize(values.data());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] /= scales[i % scales.size()];
  return values;
}

} // namespace

TEST(Awq, ScalesAreNeverWorseThanNone) {
  int better = 0;
  for (int64_t columns : {1, 40, 130})
    for (int64_t group : {0, 32})
      for (bool zeroPoints : {false, true})
        for (bool weightScales : {false, true}) {
          const Floats inputs = correlatedInputs(60, columns), one = randomFloats(70 * columns, 2),
                       two = randomFloats(3 * columns, 3, 0.2f);
          const AwqMatrix matrices[] = {{one.data(), 70}, {two.data(), 3}};
          const Grid grid{3, group, zeroPoints, ScaleType::F16};
          auto scale =
              searchScale(matrices, columns, inputs.data(), 60, meanMagnitudes(inputs, columns),
                          grid, {.weightScales = weightScales});
          ASSERT_TRUE(bool(scale));
          EXPECT_LE(scale->error, scale->errorWithout);
          better += scale->error < scale->errorWithout;
          const double error = outputError(scaledAndRounded(one, columns, scale->scales, grid), one,
                                           inputs, columns) +
                               outputError(scaledAndRounded(two, columns, scale->scales, grid), two,
                                           inputs, columns);
          EXPECT_NEAR(scale->error, error, 1e-3 * error);
          for (float factor : scale->scales)
            EXPECT_TRUE(factor > 0 && std::isfinite(factor));
        }
  EXPECT_GE(better, 8); // of 24, a third of which have nothing to gain
}

TEST(Awq, AQuarterOfManyInputsChoosesWhatAllDecide) {
  constexpr int64_t columns = 130, rows = 70, count = 700;
  const Floats inputs = correlatedInputs(count, columns), weight = randomFloats(rows * columns, 2);
  const AwqMatrix matrices[] = {{weight.data(), rows}};
  const Grid grid{3, 32, false, ScaleType::F16};
  const Floats magnitudes = meanMagnitudes(inputs, columns);
  auto errorOn = [&](int64_t tried) {
    auto scale = searchScale(matrices, columns, inputs.data(), tried, magnitudes, grid,
                             {.weightScales = true});
    const double all = outputError(scaledAndRounded(weight, columns, scale->scales, grid), weight,
                                   inputs, columns);
    if (tried == count) {
      EXPECT_NEAR(scale->error, all, 1e-3 * all);
      EXPECT_LT(scale->error, scale->errorWithout);
    }
    return all;
  };
  EXPECT_LE(errorOn(count), 1.02 * errorOn(500)); // the latter tries every candidate on all
}

TEST(Awq, UnusedInputsHaveFiniteScales) {
  Floats inputs = correlatedInputs(30, 20);
  for (size_t i = 4; i < inputs.size(); i += 20)
    inputs[i] = 0;
  const Floats weight = randomFloats(100, 2);
  const AwqMatrix matrix{weight.data(), 5};
  auto scale = searchScale({&matrix, 1}, 20, inputs.data(), 30, meanMagnitudes(inputs, 20), {}, {});
  ASSERT_TRUE(bool(scale));
  for (float factor : scale->scales)
    EXPECT_TRUE(factor > 0 && std::isfinite(factor));
}

TEST(Awq, ClippedWeightsAreNotWorse) {
  const int64_t columns = 100;
  const Floats inputs = correlatedInputs(50, columns), weight = randomFloats(70 * columns, 4);
  for (int64_t group : {0, 32})
    for (bool zeroPoints : {false, true}) {
      const Grid grid{2, group, zeroPoints, ScaleType::F16};
      auto clipped = clipWeights(weight.data(), 70, columns, inputs.data(), 50, grid, {});
      ASSERT_TRUE(bool(clipped));
      for (size_t i = 0; i < weight.size(); ++i)
        EXPECT_LE(std::abs((*clipped)[i]), std::abs(weight[i]));
      const Floats ones(static_cast<size_t>(columns), 1.0f);
      EXPECT_LT(
          outputError(scaledAndRounded(*clipped, columns, ones, grid), weight, inputs, columns),
          outputError(scaledAndRounded(weight, columns, ones, grid), weight, inputs, columns));
    }
}

TEST(Awq, ThreadsChangeNoByte) {
  const Floats inputs = correlatedInputs(40, 130), weight = randomFloats(200 * 130, 2);
  const AwqMatrix matrix{weight.data(), 200};
  auto one = searchScale({&matrix, 1}, 130, inputs.data(), 40, meanMagnitudes(inputs, 130), {}, {});
  auto clippedOne = clipWeights(weight.data(), 200, 130, inputs.data(), 40, {}, {});
  for (unsigned threads : {2u, 3u}) {
    auto other = searchScale({&matrix, 1}, 130, inputs.data(), 40, meanMagnitudes(inputs, 130), {},
                             {.threads = threads});
    EXPECT_EQ(one->scales, other->scales);
    EXPECT_EQ(one->error, other->error);
    auto clippedOther =
        clipWeights(weight.data(), 200, 130, inputs.data(), 40, {}, {.threads = threads});
    EXPECT_EQ(*clippedOne, *clippedOther);
  }
}

TEST(Awq, RefusesBadArguments) {
  const Floats inputs = correlatedInputs(10, 8), weight = randomFloats(16, 2);
  const AwqMatrix matrix{weight.data(), 2};
  auto code = [&](std::span<const AwqMatrix> matrices, const Floats &rows, const Floats &means,
                  int32_t steps) -> std::string {
    auto scale = searchScale(matrices, 8, rows.data(), static_cast<int64_t>(rows.size()) / 8, means,
                             {}, {.steps = steps});
    return scale ? "" : scale.error().code;
  };
  const Floats means(8, 1.0f);
  EXPECT_EQ(code({&matrix, 1}, inputs, means, 4), "");
  EXPECT_EQ(code({}, inputs, means, 4), "INGOT-E2302");
  EXPECT_EQ(code({&matrix, 1}, {}, means, 4), "INGOT-E2302");
  EXPECT_EQ(code({&matrix, 1}, inputs, Floats(7, 1.0f), 4), "INGOT-E2302");
  EXPECT_EQ(code({&matrix, 1}, inputs, Floats(8, -1.0f), 4), "INGOT-E2302");
  EXPECT_EQ(code({&matrix, 1}, inputs, means, 0), "INGOT-E2302");
  Floats bad = inputs;
  bad[3] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(code({&matrix, 1}, bad, means, 4), "INGOT-E2301");
  EXPECT_FALSE(bool(clipWeights(weight.data(), 2, 8, bad.data(), 10, {}, {})));
  EXPECT_FALSE(bool(clipWeights(weight.data(), 2, 8, inputs.data(), 0, {}, {})));
}
