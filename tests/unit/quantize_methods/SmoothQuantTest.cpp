// SPDX-License-Identifier: Apache-2.0
// SmoothQuant: scales, and strengths that are never worse than none.
#include "compiler/quantize/methods/SmoothQuant.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <cmath>
#include <limits>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

Floats maxima(const Floats &inputs, size_t columns) {
  Floats most(columns);
  for (size_t i = 0; i < inputs.size(); ++i)
    most[i % columns] = std::max(most[i % columns], std::abs(inputs[i]));
  return most;
}

/// A row as int8 holds it.
void roundRow(float *row, size_t columns) {
  float most = 0;
  for (size_t i = 0; i < columns; ++i)
    most = std::max(most, std::abs(row[i]));
  for (size_t i = 0; i < columns; ++i)
    row[i] = most == 0 ? 0 : std::nearbyint(row[i] / (most / 127)) * (most / 127);
}

double errorOf(Floats weight, Floats inputs, const Floats &scales) {
  const size_t n = scales.size();
  const Floats weightBefore = weight, inputsBefore = inputs;
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] *= scales[i % n];
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] /= scales[i % n];
  for (size_t at = 0; at < weight.size(); at += n)
    roundRow(weight.data() + at, n);
  for (size_t at = 0; at < inputs.size(); at += n)
    roundRow(inputs.data() + at, n);
  double sum = 0;
  for (size_t row = 0; row < weight.size(); row += n)
    for (size_t at = 0; at < inputs.size(); at += n) {
      double output = 0;
      for (size_t i = 0; i < n; ++i)
        output += double(weight[row + i]) * double(inputs[at + i]) -
                  double(weightBefore[row + i]) * double(inputsBefore[at + i]);
      sum += output * output;
    }
  return sum * double(n) / double(inputs.size());
}

} // namespace

TEST(SmoothQuant, ScalesBalanceMaxima) {
  const Floats scales = smoothScale(Floats{4, 9, 0}, Floats{1, 0.25f, 2}, 0.5f);
  EXPECT_NEAR(scales[0], 2, 1e-5);
  EXPECT_NEAR(scales[1], 6, 1e-5);
  EXPECT_GT(scales[2], 0);
  EXPECT_NEAR(smoothScale(Floats{4}, Floats{0.5f}, 1)[0], 4, 1e-5);
  EXPECT_NEAR(smoothScale(Floats{4}, Floats{0.5f}, 0)[0], 2, 1e-5);
}

TEST(SmoothQuant, StrengthsAreNeverWorseThanNone) {
  for (int64_t columns : {1, 33, 100}) {
    const Floats inputs = correlatedInputs(40, columns), weight = randomFloats(70 * columns, 2);
    const AwqMatrix matrix{weight.data(), 70};
    auto found = searchStrength({&matrix, 1}, columns, inputs.data(), 40,
                                maxima(inputs, size_t(columns)), {});
    ASSERT_TRUE(bool(found));
    EXPECT_LE(found->error, found->errorWithout);
    if (columns > 1) {
      EXPECT_LT(found->error, 0.7 * found->errorWithout); // some inputs are large
      EXPECT_FALSE(found->isNone);
    }
    const double error = errorOf(weight, inputs, found->scales);
    EXPECT_NEAR(found->error, error, 1e-2 * error + 1e-9);
    for (unsigned threads : {2u, 3u}) {
      auto other = searchStrength({&matrix, 1}, columns, inputs.data(), 40,
                                  maxima(inputs, size_t(columns)), {20, threads});
      EXPECT_EQ(other->scales, found->scales);
      EXPECT_EQ(other->error, found->error);
    }
  }
}

TEST(SmoothQuant, RefusesBadArguments) {
  Floats inputs = correlatedInputs(10, 8);
  const Floats weight = randomFloats(16, 2);
  const AwqMatrix matrix{weight.data(), 2};
  auto code = [&](int64_t count, const Floats &most, int32_t steps) -> std::string {
    auto found = searchStrength({&matrix, 1}, 8, inputs.data(), count, most, {steps});
    return found ? "" : found.error().code;
  };
  EXPECT_EQ(code(10, Floats(8, 1.0f), 4), "");
  EXPECT_EQ(code(0, Floats(8, 1.0f), 4), "INGOT-E2302");
  EXPECT_EQ(code(10, Floats(7, 1.0f), 4), "INGOT-E2302");
  EXPECT_EQ(code(10, Floats(8, -1.0f), 4), "INGOT-E2302");
  EXPECT_EQ(code(10, Floats(8, 1.0f), 0), "INGOT-E2302");
  inputs[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(code(10, Floats(8, 1.0f), 4), "INGOT-E2301");
}
