// SPDX-License-Identifier: Apache-2.0
// Moments, GPTQ, GPTAQ and coordinate descent: errors that they lower, bytes, and refusals.
#include "compiler/quantize/methods/Gptq.h"
#include "compiler/quantize/methods/FourBitFloats.h"
#include "compiler/quantize/methods/RoundToNearest.h"
#include "tests/unit/quantize_methods/Inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace ingot::quantize;
using namespace ingot::test;

namespace {

GptqOptions with(bool actOrder, int64_t block = 128, int32_t sweeps = 0, double asymmetry = 0.25) {
  GptqOptions options;
  options.actOrder = actOrder;
  options.block = block;
  options.sweeps = sweeps;
  options.asymmetry = asymmetry;
  return options;
}

GptqOptions damped(double damping) {
  GptqOptions options;
  options.damping = damping;
  return options;
}

GptqResult quantized(const Floats &weight, int64_t rows, const Grid &grid, const Moments &moments,
                     const GptqOptions &options = {}) {
  auto result = gptq(weight.data(), rows, moments.columns(), grid, moments, options);
  EXPECT_TRUE(bool(result)) << (result ? "" : result.error().str());
  return result ? std::move(*result) : GptqResult{};
}

/// tr(dW H dWᵀ) / count, plainly.
template <class Matrix>
double errorOf(const Matrix &matrix, const Floats &weight, const Moments &moments) {
  const size_t n = static_cast<size_t>(matrix.columns);
  Floats values(weight.size());
  matrix.dequantize(values.data());
  double sum = 0;
  for (size_t row = 0; row < static_cast<size_t>(matrix.rows); ++row)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        sum += (double(values[row * n + i]) - double(weight[row * n + i])) *
               (double(values[row * n + j]) - double(weight[row * n + j])) *
               double(moments.second()[i * n + j]);
  return sum / static_cast<double>(moments.count());
}

/// || Q Xᵀ - W X0ᵀ ||²
double asymmetricError(const QuantizedMatrix &matrix, const Floats &weight, const Floats &inputs,
                       const Floats &originals) {
  const size_t n = static_cast<size_t>(matrix.columns);
  Floats values(weight.size());
  matrix.dequantize(values.data());
  double sum = 0;
  for (size_t row = 0; row < static_cast<size_t>(matrix.rows); ++row)
    for (size_t at = 0; at < inputs.size(); at += n) {
      double output = 0;
      for (size_t i = 0; i < n; ++i)
        output += double(values[row * n + i]) * double(inputs[at + i]) -
                  double(weight[row * n + i]) * double(originals[at + i]);
      sum += output * output;
    }
  return sum;
}

std::string refusal(const Floats &weight, int64_t columns, const Moments &moments,
                    const GptqOptions &options = {}) {
  auto result = gptq(weight.data(), static_cast<int64_t>(weight.size()) / columns, columns, {},
                     moments, options);
  return result ? "" : result.error().code;
}

} // namespace

TEST(Moments, AreSumsOfProducts) {
  const int64_t columns = 300, count = 70;
  const Floats rows = correlatedInputs(count, columns),
               originals = correlatedInputs(count, columns, 2);
  Moments moments(columns, CrossSums::Whole);
  moments.add(rows.data(), originals.data(), 50, 1);
  moments.add(rows.data() + 50 * columns, originals.data() + 50 * columns, 20, 2);
  EXPECT_EQ(moments.count(), count);
  EXPECT_EQ(moments.bytes(), 2u * 4 * columns * columns);
  for (int64_t i = 0; i < columns; i += 7)
    for (int64_t j = 0; j < columns; j += 5) {
      double second = 0, cross = 0;
      for (int64_t row = 0; row < count; ++row) {
        const float x = rows[static_cast<size_t>(row * columns + j)];
        const float y = rows[static_cast<size_t>(row * columns + i)];
        second += double(x) * double(y);
        cross +=
            double(x) * (double(originals[static_cast<size_t>(row * columns + i)]) - double(y));
      }
      EXPECT_NEAR(moments.second()[i * columns + j], second, 2e-2);
      EXPECT_NEAR(moments.cross()[i * columns + j], cross, 2e-2);
      EXPECT_EQ(moments.second()[i * columns + j], moments.second()[j * columns + i]);
    }
  EXPECT_FLOAT_EQ(moments.meanSquares()[3], moments.second()[3 * 301] / 70);
}

TEST(Moments, OfSquaresAreTheDiagonal) {
  const int64_t columns = 37;
  const Floats rows = correlatedInputs(41, columns), scales(static_cast<size_t>(columns), 2.0f);
  Moments whole = momentsOf(rows, columns), squares = Moments::ofSquares(columns);
  squares.add(rows.data(), 41, 1);
  EXPECT_EQ(squares.second(), nullptr);
  for (Moments *moments : {&whole, &squares})
    moments->divideColumns(scales);
  const Floats expected = whole.meanSquares(), found = squares.meanSquares();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5f * expected[i]);
}

TEST(Moments, ThreadsAndCallsChangeNoByte) {
  const int64_t columns = 330, count = 4700;
  const Floats rows = correlatedInputs(count, columns),
               originals = correlatedInputs(count, columns, 2);
  for (CrossSums kind : {CrossSums::Whole, CrossSums::Ordered}) {
    Moments one(columns, kind);
    one.add(rows.data(), originals.data(), count, 1);
    for (unsigned threads : {2u, 3u}) {
      Moments other(columns, kind);
      for (int64_t first = 0; first < count; first += 37)
        other.add(rows.data() + first * columns, originals.data() + first * columns,
                  std::min<int64_t>(37, count - first), threads);
      EXPECT_EQ(0, std::memcmp(one.second(), other.second(), one.bytes() / 2));
      EXPECT_EQ(0, std::memcmp(one.cross(), other.cross(), one.bytes() / 2));
    }
  }
}

TEST(Moments, OrderedCrossSumsAreTheUpperOnes) {
  const int64_t columns = 330, count = 5200, first = 4096;
  const Floats rows = correlatedInputs(count, columns),
               originals = correlatedInputs(count, columns, 2);
  for (int64_t some : {count, first - 9}) {
    Moments whole(columns, CrossSums::Whole), ordered(columns, CrossSums::Ordered);
    whole.add(rows.data(), originals.data(), some, 1);
    ordered.add(rows.data(), originals.data(), some, 1);
    EXPECT_TRUE(whole.order().empty());
    const auto order = ordered.order();
    const Floats begin(rows.begin(), rows.begin() + std::min(some, first) * columns);
    const Floats squares = momentsOf(begin, columns).meanSquares();
    EXPECT_TRUE(std::ranges::is_sorted(order, std::ranges::greater(),
                                       [&](int32_t column) { return squares[size_t(column)]; }));
    EXPECT_EQ(std::set<int32_t>(order.begin(), order.end()).size(), size_t(columns));
    Floats scales = randomFloats(columns, 3, 0.5f);
    for (float &scale : scales)
      scale += 1;
    for (bool divides : {false, true}) {
      for (Moments *moments : {&whole, &ordered})
        if (divides)
          moments->divideColumns(scales);
      EXPECT_EQ(0, std::memcmp(whole.second(), ordered.second(), whole.bytes() / 2));
      for (int64_t i = 0; i < columns; ++i)
        for (int64_t j = i; j < columns; ++j) {
          const float expected = whole.cross()[order[size_t(i)] * columns + order[size_t(j)]];
          ASSERT_NEAR(ordered.cross()[i * columns + j], expected,
                      1e-4f * std::abs(expected) + 2e-2f);
        }
    }
  }
}

TEST(Gptq, OrderedCrossSumsSayTheSame) {
  const int64_t columns = 130, count = 5200;
  const Floats originals = correlatedInputs(count, columns),
               noise = randomFloats(count * columns, 4), weight = randomFloats(24 * columns, 6);
  Floats inputs = originals;
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = 0.9f * inputs[i] + 0.2f * noise[i];
  const Grid grid{4, 26, false, ScaleType::F32};
  auto error = [&](CrossSums kind) {
    Moments moments(columns, kind);
    moments.add(inputs.data(), originals.data(), count, 1);
    return asymmetricError(quantized(weight, 24, grid, moments, with(true, 128)).matrix, weight,
                           inputs, originals);
  };
  const double whole = error(CrossSums::Whole);
  EXPECT_NEAR(error(CrossSums::Ordered), whole, 0.02 * whole);
  Moments moments(columns, CrossSums::Ordered);
  moments.add(inputs.data(), originals.data(), count, 1);
  EXPECT_EQ(refusal(weight, columns, moments, with(false, 128)), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, columns, moments, with(true, 128, 1)), "INGOT-E2302");
}

TEST(Gptq, IsBetterThanRoundToNearest) {
  for (int64_t columns : {40, 270})
    for (int64_t group : {0, 32, 100})
      for (int32_t bits : {2, 4, 8})
        for (bool zeroPoints : {false, true})
          for (bool actOrder : {false, true}) {
            SCOPED_TRACE(std::to_string(columns) + " columns, group " + std::to_string(group) +
                         ", bits " + std::to_string(bits) + (zeroPoints ? ", zeros" : "") +
                         (actOrder ? ", order" : ""));
            const Moments moments = momentsOf(correlatedInputs(400, columns), columns);
            const Floats weight = randomFloats(5 * columns, 9);
            const Grid grid{bits, group, zeroPoints, ScaleType::F16};
            auto nearest = roundToNearest(weight.data(), 5, columns, grid, {}, {}, 1);
            const GptqResult result = quantized(weight, 5, grid, moments, with(actOrder, 64));
            const double error = errorOf(result.matrix, weight, moments);
            EXPECT_LE(error, errorOf(*nearest, weight, moments));
            EXPECT_NEAR(result.error, error, 1e-3 * error);
            EXPECT_EQ(result.damping, 0.01);
          }
}

TEST(Gptq, OneRowAndOneColumn) {
  for (int64_t columns : {1, 2, 9}) {
    const Moments moments = momentsOf(correlatedInputs(50, columns), columns);
    const Floats weight = randomFloats(columns, 3);
    const GptqResult result = quantized(weight, 1, {4, 4}, moments, with(true, 128, 2));
    EXPECT_EQ(result.matrix.codes.size(), weight.size());
  }
}

TEST(Gptq, BlocksChangeLittle) {
  const Moments moments = momentsOf(correlatedInputs(500, 200), 200);
  const Floats weight = randomFloats(20 * 200, 4);
  const Grid grid{4, 40, false, ScaleType::F16};
  for (bool actOrder : {false, true}) {
    const double error = quantized(weight, 20, grid, moments, with(actOrder, 200)).error;
    for (int64_t block : {1, 7, 64, 128})
      EXPECT_NEAR(quantized(weight, 20, grid, moments, with(actOrder, block)).error, error,
                  error * 0.05);
  }
}

TEST(Gptq, SweepsNeverRaiseTheError) {
  const Moments moments = momentsOf(correlatedInputs(400, 290), 290);
  const Floats weight = randomFloats(140 * 290, 8);
  for (bool zeroPoints : {false, true})
    for (int32_t bits : {2, 4}) {
      const Grid grid{bits, 64, zeroPoints, ScaleType::BF16};
      double before = 1e30;
      for (int32_t sweeps : {0, 1, 2, 5}) {
        const GptqResult result = quantized(weight, 140, grid, moments, with(true, 128, sweeps));
        EXPECT_LE(result.error, before * (1 + 1e-6));
        EXPECT_NEAR(result.error, errorOf(result.matrix, weight, moments), 1e-4 * result.error);
        before = result.error;
      }
      // From round to nearest they gain much.
      auto nearest = roundToNearest(weight.data(), 140, 290, grid, {}, {}, 1);
      const double first = errorOf(*nearest, weight, moments);
      EXPECT_LT(refine(*nearest, weight.data(), moments, with(true, 128, 3)), first * 0.7);
    }
}

TEST(Gptq, SearchedRangesAreBetter) {
  const Moments moments = momentsOf(correlatedInputs(400, 128), 128);
  Floats weight = randomFloats(32 * 128, 8);
  for (float &value : weight) // most are small, as those of models are
    value = value * value * value;
  for (bool actOrder : {false, true}) {
    GptqOptions options = with(actOrder);
    const double plain = quantized(weight, 32, {3, 64}, moments, options).error;
    options.clip = {20, 0.5f, 2};
    EXPECT_LT(quantized(weight, 32, {3, 64}, moments, options).error, plain);
  }
}

TEST(Gptq, AsymmetricMomentsComeNearerToTheOriginal) {
  const int64_t columns = 150, count = 600;
  const Floats originals = correlatedInputs(count, columns),
               noise = randomFloats(count * columns, 4);
  Floats inputs = originals;
  // What earlier quantized layers do: something of the size of the inputs, not centred.
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = 0.9f * inputs[i] + 0.2f * noise[i];
  Moments asymmetric(columns, CrossSums::Whole), symmetric(columns);
  asymmetric.add(inputs.data(), originals.data(), count, 1);
  symmetric.add(inputs.data(), count, 1);
  const Floats weight = randomFloats(24 * columns, 6);
  const Grid grid{4, 50, false, ScaleType::F32};
  for (bool actOrder : {false, true}) {
    auto error = [&](const Moments &moments, double asymmetry, int32_t sweeps) {
      const GptqResult result =
          quantized(weight, 24, grid, moments, with(actOrder, 128, sweeps, asymmetry));
      return asymmetricError(result.matrix, weight, inputs, originals);
    };
    const double plain = error(symmetric, 0.25, 0), quarter = error(asymmetric, 0.25, 0);
    EXPECT_LT(quarter, plain);
    EXPECT_LT(error(asymmetric, 0.25, 3), quarter);
    // Without its share nothing of the cross sums is used.
    EXPECT_DOUBLE_EQ(error(asymmetric, 0, 0), plain);
  }
}

TEST(Gptq, ThreadsChangeNoByte) {
  const int64_t columns = 530;
  const Floats inputs = correlatedInputs(700, columns),
               originals = correlatedInputs(700, columns, 2);
  Moments moments(columns, CrossSums::Whole);
  moments.add(inputs.data(), originals.data(), 700, 2);
  const Floats weight = randomFloats(300 * columns, 6);
  for (bool actOrder : {false, true}) {
    GptqOptions options = with(actOrder, 128, 1);
    options.clip.steps = 5;
    const GptqResult one = quantized(weight, 300, {4, 64, true}, moments, options);
    for (unsigned threads : {2u, 3u}) {
      options.threads = threads;
      const GptqResult other = quantized(weight, 300, {4, 64, true}, moments, options);
      expectEqual(one.matrix, other.matrix);
      EXPECT_EQ(one.error, other.error);
    }
  }
}

TEST(Gptq, BytesAreThoseOfEveryMachine) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the bytes of x86-64";
#endif
  const int64_t columns = 530;
  const Floats inputs = correlatedInputs(700, columns), weight = randomFloats(40 * columns, 6);
  Moments moments(columns, CrossSums::Whole);
  moments.add(inputs.data(), correlatedInputs(700, columns, 2).data(), 700, 1);
  GptqOptions options = with(true, 128, 1);
  options.clip.steps = 10;
  const GptqResult result = quantized(weight, 40, {4, 64}, moments, options);
  uint64_t digest = 14695981039346656037u; // FNV-1a
  for (uint8_t code : result.matrix.codes)
    digest = (digest ^ code) * 1099511628211u;
  for (float scale : result.matrix.scales)
    digest = (digest ^ std::bit_cast<uint32_t>(scale)) * 1099511628211u;
  for (int64_t i = 0; i < columns * columns; ++i)
    digest = (digest ^ std::bit_cast<uint32_t>(moments.second()[i])) * 1099511628211u;
  EXPECT_EQ(digest, 15073198855618681410u);
}

TEST(Gptq, UnusedInputsAreRoundedToNearest) {
  const int64_t columns = 24;
  Floats inputs = correlatedInputs(100, columns);
  for (size_t i = 5; i < inputs.size(); i += columns)
    inputs[i] = 0;
  const Floats weight = randomFloats(3 * columns, 2);
  const Grid grid{4, 8, false, ScaleType::F32};
  auto nearest = roundToNearest(weight.data(), 3, columns, grid, {}, {}, 1);
  const Moments moments = momentsOf(inputs, columns);
  const GptqResult result = quantized(weight, 3, grid, moments, with(true, 128, 2));
  for (size_t row = 0; row < 3; ++row)
    EXPECT_EQ(result.matrix.codes[row * columns + 5], nearest->codes[row * columns + 5]);
  const Moments none = momentsOf(Floats(static_cast<size_t>(columns)), columns);
  expectEqual(quantized(weight, 3, grid, none).matrix, *nearest);
}

TEST(Gptq, FewRowsNeedDampingAlone) {
  const int64_t columns = 64;
  const Moments moments = momentsOf(correlatedInputs(3, columns), columns);
  const GptqResult result = quantized(randomFloats(4 * columns, 2), 4, {4, 16}, moments);
  EXPECT_EQ(result.damping, 0.01);
  const GptqResult raised = quantized(randomFloats(4 * columns, 2), 4, {4, 16}, moments, damped(0));
  EXPECT_GT(raised.damping, 0);
  EXPECT_LE(raised.damping, 0.01);
}

TEST(Gptq, RefusesWhatIsNotFinite) {
  const Moments fine = momentsOf(correlatedInputs(40, 16), 16);
  Floats weight = randomFloats(32, 1);
  EXPECT_EQ(refusal(weight, 16, fine), "");
  weight[20] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(weight, 16, fine), "INGOT-E2301");
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), 1e30f}) {
    Floats inputs = correlatedInputs(40, 16);
    inputs[77] = bad;
    EXPECT_EQ(refusal(randomFloats(32, 1), 16, momentsOf(inputs, 16)), "INGOT-E2301");
    Moments asymmetric(16, CrossSums::Whole);
    asymmetric.add(correlatedInputs(40, 16).data(), inputs.data(), 40, 1);
    EXPECT_EQ(refusal(randomFloats(32, 1), 16, asymmetric), bad == 1e30f ? "" : "INGOT-E2301");
  }
}

TEST(Gptq, RefusesMomentsThatAreNone) {
  Moments moments = momentsOf(correlatedInputs(40, 16), 16);
  float *sums = const_cast<float *>(moments.second());
  sums[1] = sums[16] = 1e6f; // more than both squares
  EXPECT_EQ(refusal(randomFloats(32, 1), 16, moments), "INGOT-E2303");
}

TEST(Gptq, RefusesOptionsOutOfRange) {
  const Moments moments = momentsOf(correlatedInputs(40, 16), 16);
  const Floats weight = randomFloats(48, 1);
  EXPECT_EQ(refusal(weight, 12, moments), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 16, moments, with(true, 0)), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 16, moments, damped(-1)), "INGOT-E2302");
  EXPECT_EQ(refusal(weight, 16, moments, with(true, 128, -1)), "INGOT-E2302");
  GptqOptions wide;
  wide.clip = {2, 2.0f};
  EXPECT_EQ(refusal(weight, 16, moments, wide), "INGOT-E2302");
}

TEST(Gptq, TakesScalesAndBooksThatAreGiven) {
  const int64_t rows = 40, columns = 96;
  const Floats weight = randomFloats(rows * columns, 31);
  const Moments moments = momentsOf(correlatedInputs(400, columns), columns);
  for (bool isPowerOfTwo : {false, true}) {
    auto nearest = isPowerOfTwo ? roundToMxfp4(weight.data(), rows, columns, {}, {})
                                : roundToNvfp4(weight.data(), rows, columns, {}, {});
    ASSERT_TRUE(bool(nearest));
    double last = 0.8 * errorOf(*nearest, weight, moments);
    for (int32_t sweeps : {0, 5}) {
      FloatBlocks blocks = *nearest;
      auto result = gptqWithScales(weight.data(), blocks.scaled(), moments, with(true, 64, sweeps));
      ASSERT_TRUE(bool(result));
      EXPECT_EQ(result->matrix.scales, nearest->scaled().scales);
      blocks.take(result->matrix);
      EXPECT_EQ(blocks.scales, nearest->scales);
      const double error = errorOf(blocks, weight, moments);
      EXPECT_NEAR(result->error, error, 1e-3 * error);
      EXPECT_LT(error, last);
      last = error;
    }
  }
}
