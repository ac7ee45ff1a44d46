// SPDX-License-Identifier: Apache-2.0
// Candidates and blocks of rows are independent; their errors are added in order.
#include "compiler/quantize/methods/Awq.h"
#include "compiler/quantize/methods/LinearAlgebra.h"
#include "compiler/quantize/methods/ParallelBlocks.h"
#include "compiler/quantize/methods/Rounding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingot::quantize {

using checkpoint::Error;
using checkpoint::message;

namespace {

constexpr int64_t kRows = 64;
constexpr float kLeastScale = 1e-4f;
/// All candidates are tried on a part of the inputs, a row out of so many, and the best on all.
constexpr int64_t kScreenStride = 4, kLeastScreened = 128;
constexpr size_t kFinalists = 8;

struct Candidate {
  std::vector<float> scales;
  float exponent = 0;
  bool usesWeights = false;
};

Candidate candidateOf(std::span<const float> magnitudes, std::span<const float> weightMost,
                      float exponent) {
  Candidate candidate{.scales = {}, .exponent = exponent, .usesWeights = !weightMost.empty()};
  candidate.scales.resize(magnitudes.size(), 1.0f);
  if (exponent == 0 && weightMost.empty())
    return candidate;
  float least = 0, most = 0;
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    float scale = exponent == 0 ? 1.0f : power(magnitudes[i], exponent);
    if (!weightMost.empty())
      scale /= power(weightMost[i], 1 - exponent) + kLeastScale;
    // No further from 1 than inputs in f16 allow.
    scale = std::clamp(scale, kLeastScale, 1 / kLeastScale);
    candidate.scales[i] = scale;
    least = i == 0 ? scale : std::min(least, scale);
    most = std::max(most, scale);
  }
  const float middle = std::sqrt(most * least);
  for (float &scale : candidate.scales)
    scale /= middle;
  return candidate;
}

/// The squared error of a block of rows with scaled columns, for `count` of the inputs, each
/// `stride` rows behind the last.
double errorOf(const float *weight, int64_t rows, int64_t columns, const Grid &grid,
               const std::vector<float> &scales, const float *inputs, int64_t count,
               int64_t stride) {
  GroupFitter fitter(grid, {}, columns, false);
  std::vector<float> differences(static_cast<size_t>(rows * columns));
  const int64_t length = grid.group == 0 ? columns : grid.group;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t first = 0; first < columns; first += length) {
      const int64_t width = std::min(length, columns - first);
      const float *in = weight + row * columns + first, *scale = scales.data() + first;
      float *out = differences.data() + row * columns + first, *values = fitter.values();
      for (int64_t i = 0; i < width; ++i)
        values[i] = in[i] * scale[i];
      const GroupFit fit = fitter.fit(width);
      roundThroughGrid(values, width, fit.scale, static_cast<float>(-fit.zero),
                       static_cast<float>(grid.most() - fit.zero), out);
      for (int64_t i = 0; i < width; ++i)
        out[i] = out[i] / scale[i] - in[i];
    }
  std::vector<float> outputs(static_cast<size_t>(rows * count));
  addProduct(outputs.data(), count, rows, count, columns, {differences.data(), columns},
             {inputs, columns * stride, true});
  return dotProduct(outputs.data(), outputs.data(), rows * count);
}

/// Mean squared errors of a row of outputs of all matrices.
struct ScaleErrors {
  std::span<const AwqMatrix> matrices;
  int64_t columns;
  const float *inputs;
  int64_t count;
  const Grid &grid;
  unsigned threads;

  /// Of the candidates `which`, on every `stride`-th row of the inputs.
  std::vector<double> operator()(std::span<const Candidate> candidates,
                                 std::span<const size_t> which, int64_t stride) const {
    struct Place {
      size_t index, matrix;
      int64_t first;
    };
    std::vector<Place> places;
    for (size_t i = 0; i < which.size(); ++i)
      for (size_t matrix = 0; matrix < matrices.size(); ++matrix)
        for (int64_t first = 0; first < matrices[matrix].rows; first += kRows)
          places.push_back({i, matrix, first});
    const int64_t read = (count + stride - 1) / stride;
    std::vector<double> partial(places.size());
    forEachBlock(static_cast<int64_t>(places.size()), threads, [&](int64_t index) {
      const Place &place = places[static_cast<size_t>(index)];
      const AwqMatrix &matrix = matrices[place.matrix];
      partial[static_cast<size_t>(index)] =
          errorOf(matrix.weight + place.first * columns, std::min(kRows, matrix.rows - place.first),
                  columns, grid, candidates[which[place.index]].scales, inputs, read, stride);
    });
    std::vector<double> errors(which.size());
    for (size_t i = 0; i < places.size(); ++i)
      errors[places[i].index] += partial[i] / static_cast<double>(read);
    return errors;
  }
};

checkpoint::Outcome checkInputs(const float *inputs, int64_t count, int64_t columns) {
  if (count < 1 || count >= int64_t{1} << 31)
    return Error{"INGOT-E2302", message(count, " rows of inputs"), "", "sample some"};
  return checkFinite(inputs, count * columns, "sampled inputs");
}

/// Clamps the groups of one place in a block of rows.
class GroupClip {
public:
  GroupClip(const Grid &grid, const AwqClipOptions &options, int64_t width, int64_t count)
      : grid(grid), options(options), width(width), count(count), fitter(grid, {}, width, false),
        differences(static_cast<size_t>(kRows * width)),
        outputs(static_cast<size_t>(kRows * count)), bests(kRows), bestErrors(kRows) {}

  void run(float *weight, int64_t stride, int64_t rows, const float *inputs) {
    for (int32_t step = 0; step <= options.steps; ++step) {
      const float share = shareOf(step);
      for (int64_t row = 0; row < rows; ++row)
        round(weight + row * stride, share, differences.data() + row * width);
      std::fill(outputs.begin(), outputs.end(), 0.0f);
      addProduct(outputs.data(), count, rows, count, width, {differences.data(), width},
                 {inputs, stride, true});
      for (int64_t row = 0; row < rows; ++row) {
        const float *out = outputs.data() + row * count;
        const double error = dotProduct(out, out, count);
        const size_t place = static_cast<size_t>(row);
        if (step == 0 || error < bestErrors[place]) {
          bestErrors[place] = error;
          bests[place] = share;
        }
      }
    }
    for (int64_t row = 0; row < rows; ++row)
      clamp(weight + row * stride, bests[static_cast<size_t>(row)], weight + row * stride);
  }

private:
  float shareOf(int32_t step) const {
    return step == 0 ? 1
                     : 1 - (1 - options.least) * static_cast<float>(step) /
                               static_cast<float>(options.steps);
  }

  void clamp(const float *in, float share, float *out) const {
    float most = 0;
    for (int64_t i = 0; i < width; ++i)
      most = std::max(most, std::abs(in[i]));
    most *= share;
    for (int64_t i = 0; i < width; ++i)
      out[i] = std::clamp(in[i], -most, most);
  }

  void round(const float *in, float share, float *difference) {
    clamp(in, share, fitter.values());
    const GroupFit fit = fitter.fit(width);
    roundThroughGrid(fitter.values(), width, fit.scale, static_cast<float>(-fit.zero),
                     static_cast<float>(grid.most() - fit.zero), difference);
    for (int64_t i = 0; i < width; ++i)
      difference[i] -= in[i];
  }

  const Grid &grid;
  const AwqClipOptions &options;
  const int64_t width, count;
  GroupFitter fitter;
  std::vector<float> differences, outputs, bests;
  std::vector<double> bestErrors;
};

} // namespace

Expected<AwqScale> searchScale(std::span<const AwqMatrix> matrices, int64_t columns,
                               const float *inputs, int64_t count,
                               std::span<const float> meanMagnitudes, const Grid &grid,
                               const AwqOptions &options) {
  std::vector<float> weightMost(static_cast<size_t>(std::max<int64_t>(columns, 0)));
  for (const AwqMatrix &matrix : matrices) {
    if (auto fine = checkArguments(matrix.weight, matrix.rows, columns, grid, {}); !fine)
      return fine.error();
    for (int64_t row = 0; row < matrix.rows; ++row)
      widenMagnitudes(weightMost.data(), matrix.weight + row * columns, columns);
  }
  if (matrices.empty() || options.steps < 1 || options.steps > 1000 ||
      meanMagnitudes.size() != weightMost.size())
    return Error{"INGOT-E2302", "AWQ's arguments are out of range", "",
                 "take 1 to 1000 steps, and a magnitude for each column"};
  if (auto fine = checkInputs(inputs, count, columns); !fine)
    return fine.error();
  if (auto fine = checkFinite(meanMagnitudes.data(), columns, "magnitudes of inputs"); !fine)
    return fine.error();
  if (std::any_of(meanMagnitudes.begin(), meanMagnitudes.end(), [](float m) { return m < 0; }))
    return Error{"INGOT-E2302", "a magnitude of inputs is below 0", "", ""};

  std::vector<Candidate> candidates;
  for (int form = 0; form <= (options.weightScales ? 1 : 0); ++form)
    for (int32_t step = 0; step < options.steps; ++step)
      candidates.push_back(
          candidateOf(meanMagnitudes, form == 0 ? std::span<const float>() : weightMost,
                      static_cast<float>(step) / static_cast<float>(options.steps)));
  const ScaleErrors errorsOf{matrices, columns, inputs, count, grid, options.threads};
  std::vector<size_t> all(candidates.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (count >= kScreenStride * kLeastScreened && all.size() > kFinalists) {
    const std::vector<double> screened = errorsOf(candidates, all, kScreenStride);
    // The first, which is no scale, is always among them.
    std::stable_sort(all.begin() + 1, all.end(),
                     [&](size_t a, size_t b) { return screened[a] < screened[b]; });
    all.resize(kFinalists);
    std::sort(all.begin(), all.end());
  }
  const std::vector<double> errors = errorsOf(candidates, all, 1);
  const size_t place =
      static_cast<size_t>(std::min_element(errors.begin(), errors.end()) - errors.begin());
  const size_t best = all[place];
  return AwqScale{std::move(candidates[best].scales), errors[place], errors[0],
                  candidates[best].exponent, candidates[best].usesWeights};
}

Expected<std::vector<float>> clipWeights(const float *weight, int64_t rows, int64_t columns,
                                         const float *inputs, int64_t count, const Grid &grid,
                                         const AwqClipOptions &options) {
  if (auto fine = checkArguments(weight, rows, columns, grid, {options.steps, options.least});
      !fine)
    return fine.error();
  if (auto fine = checkInputs(inputs, count, columns); !fine)
    return fine.error();
  std::vector<float> clipped(weight, weight + rows * columns);
  const int64_t length = grid.group == 0 ? columns : grid.group, groups = grid.groups(columns);
  const int64_t blocks = (rows + kRows - 1) / kRows;
  forEachBlock(blocks * groups, options.threads, [&](int64_t index) {
    const int64_t first = index % groups * length, row = index / groups * kRows;
    GroupClip(grid, options, std::min(length, columns - first), count)
        .run(clipped.data() + row * columns + first, columns, std::min(kRows, rows - row),
             inputs + first);
  });
  return clipped;
}

} // namespace ingot::quantize
