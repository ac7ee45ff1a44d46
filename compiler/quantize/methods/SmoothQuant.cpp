// SPDX-License-Identifier: Apache-2.0
// Strengths one after the other, blocks of rows of weights side by side.
#include "compiler/quantize/methods/SmoothQuant.h"
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>

namespace ingot::quantize {

using checkpoint::Error;

static constexpr int64_t kRows = 64;
static constexpr float kLeast = 1e-5f;

std::vector<float> smoothScale(std::span<const float> maxInput, std::span<const float> maxWeight,
                               float strength) {
  std::vector<float> scales(maxInput.size());
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = std::max(kLeast, power(std::max(kLeast, maxInput[i]), strength) /
                                     power(std::max(kLeast, maxWeight[i]), 1 - strength));
  return scales;
}

/// A row as int8 holds it.
static void roundRow(float *row, int64_t columns) {
  float least = 0, most = 0;
  for (int64_t i = 0; i < columns; ++i) {
    least = std::min(least, row[i]);
    most = std::max(most, row[i]);
  }
  const float magnitude = std::max(-least, most);
  if (magnitude > 0)
    roundThroughGrid(row, columns, roundScale(static_cast<double>(magnitude) / 127, ScaleType::F32),
                     -127, 127, row);
}

namespace {

struct Block {
  const float *weight;
  int64_t rows;
};

/// The mean squared error with these scales.
double errorOf(const std::vector<Block> &blocks, int64_t columns, const float *inputs,
               int64_t count, const std::vector<float> &scales, unsigned threads) {
  std::vector<float> rounded(inputs, inputs + count * columns);
  forEachBlock((count + kRows - 1) / kRows, threads, [&](int64_t block) {
    for (int64_t at = block * kRows; at < std::min(count, (block + 1) * kRows); ++at) {
      float *row = rounded.data() + at * columns;
      for (int64_t i = 0; i < columns; ++i)
        row[i] /= scales[static_cast<size_t>(i)];
      roundRow(row, columns);
    }
  });
  std::vector<double> errors(blocks.size());
  forEachBlock(static_cast<int64_t>(blocks.size()), threads, [&](int64_t index) {
    const auto [weight, rows] = blocks[static_cast<size_t>(index)];
    std::vector<float> scaled(weight, weight + rows * columns);
    for (int64_t row = 0; row < rows; ++row) {
      float *to = scaled.data() + row * columns;
      for (int64_t i = 0; i < columns; ++i)
        to[i] *= scales[static_cast<size_t>(i)];
      roundRow(to, columns);
    }
    std::vector<float> outputs(static_cast<size_t>(rows * count));
    addProduct(outputs.data(), count, rows, count, columns, {scaled.data(), columns},
               {rounded.data(), columns, true});
    addProduct(outputs.data(), count, rows, count, columns, {weight, columns},
               {inputs, columns, true}, -1);
    errors[static_cast<size_t>(index)] =
        dotProduct(outputs.data(), outputs.data(), rows * count) / static_cast<double>(count);
  });
  double sum = 0;
  for (double error : errors)
    sum += error;
  return sum;
}

} // namespace

Expected<SmoothScale> searchStrength(std::span<const AwqMatrix> matrices, int64_t columns,
                                     const float *inputs, int64_t count,
                                     std::span<const float> maxInput,
                                     const SmoothOptions &options) {
  std::vector<float> maxWeight(static_cast<size_t>(std::max<int64_t>(columns, 0)));
  std::vector<Block> blocks;
  for (const AwqMatrix &matrix : matrices) {
    if (auto fine = checkArguments(matrix.weight, matrix.rows, columns, {}, {}); !fine)
      return fine.error();
    for (int64_t row = 0; row < matrix.rows; ++row)
      widenMagnitudes(maxWeight.data(), matrix.weight + row * columns, columns);
    for (int64_t first = 0; first < matrix.rows; first += kRows)
      blocks.push_back({matrix.weight + first * columns, std::min(kRows, matrix.rows - first)});
  }
  if (matrices.empty() || options.steps < 1 || options.steps > 1000 || count < 1 ||
      count >= int64_t{1} << 31 || maxInput.size() != maxWeight.size() ||
      std::any_of(maxInput.begin(), maxInput.end(), [](float most) { return most < 0; }))
    return Error{"INGOT-E2302", "SmoothQuant's arguments are out of range", "",
                 "take 1 to 1000 steps, some inputs, and a maximum of at least 0 for each column"};
  if (auto fine = checkFinite(inputs, count * columns, "sampled inputs"); !fine)
    return fine.error();
  if (auto fine = checkFinite(maxInput.data(), columns, "maxima of inputs"); !fine)
    return fine.error();

  SmoothScale best;
  best.scales.assign(static_cast<size_t>(columns), 1.0f);
  best.isNone = true;
  best.errorWithout = errorOf(blocks, columns, inputs, count, best.scales, options.threads);
  best.error = best.errorWithout;
  for (int32_t step = 0; step <= options.steps; ++step) {
    const float strength = static_cast<float>(step) / static_cast<float>(options.steps);
    std::vector<float> scales = smoothScale(maxInput, maxWeight, strength);
    const double error = errorOf(blocks, columns, inputs, count, scales, options.threads);
    if (error < best.error) {
      best.error = error;
      best.strength = strength;
      best.isNone = false;
      best.scales = std::move(scales);
    }
  }
  return best;
}

} // namespace ingot::quantize
