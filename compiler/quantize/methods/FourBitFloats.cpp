// SPDX-License-Identifier: Apache-2.0
// Nearest codes, and scales that are tried one after the other.
#include "compiler/quantize/methods/FourBitFloats.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/quantize/methods/ParallelBlocks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ingot::quantize {

using checkpoint::Error;

namespace {

constexpr int64_t kRows = 16;

/// The magnitude's code, to nearest even.
uint8_t e2m1Of(float value) {
  const float m = std::abs(value);
  const int code = (m > 0.25f) + (m >= 0.75f) + (m > 1.25f) + (m >= 1.75f) + (m > 2.5f) +
                   (m >= 3.5f) + (m > 5.0f);
  return static_cast<uint8_t>(code | (std::signbit(value) && code != 0 ? 8 : 0));
}

/// Powers of two from 2^-127 on; ggml's table has half of them.
float fromE8m0(uint8_t code) {
  return 2 * checkpoint::ggmlEncoding(checkpoint::DType::MXFP4)->scaleTable[code];
}

float fromE4m3(int32_t code) {
  const int32_t exponent = code >> 3, mantissa = code & 7;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

/// The code of a positive value, to nearest even, 1 ... 126 (448).
int32_t toE4m3(float value) {
  if (!(value < 448))
    return 126;
  int exponent;
  std::frexp(value, &exponent);                    // value < 2^exponent
  const int32_t unit = std::max(exponent - 4, -9); // of the last place
  const int32_t places = static_cast<int32_t>(std::nearbyint(std::ldexp(value, -unit)));
  // 16 places are the first of the next exponent, which is the next code.
  return std::clamp(places + (unit + 9) * 8, 1, 126);
}

float blockScale(const FloatBlocks &matrix, uint8_t code) {
  return matrix.isPowerOfTwo ? fromE8m0(code) : fromE4m3(code) / matrix.globalScale;
}

class Blocks {
public:
  Blocks(FloatBlocks &matrix, const float *weight, std::span<const float> importance,
         const FloatBlockOptions &options)
      : matrix(matrix), weight(weight), importance(importance), options(options) {}

  void run() {
    forEachBlock((matrix.rows + kRows - 1) / kRows, options.threads, [&](int64_t part) {
      for (int64_t row = part * kRows; row < std::min(matrix.rows, (part + 1) * kRows); ++row)
        for (int64_t index = 0; index < matrix.blocks(); ++index)
          round(row, index);
    });
  }

private:
  float scaleOf(int32_t code) const { return blockScale(matrix, static_cast<uint8_t>(code)); }

  void round(int64_t row, int64_t index) const {
    const int64_t first = index * matrix.block,
                  count = std::min(matrix.block, matrix.columns - first);
    const float *in = weight + row * matrix.columns + first;
    float most = 0;
    for (int64_t i = 0; i < count; ++i)
      most = std::max(most, std::abs(in[i]));
    int32_t best = 0;
    double bestError = -1;
    for (int32_t target : {6, 4}) {
      if (target == 4 && !options.fourOverSix)
        continue;
      const int32_t middle = usualCode(most, static_cast<float>(target));
      for (int32_t code = middle - options.sweep; code <= middle + options.sweep; ++code) {
        if (code != middle && (code < 1 || code > (matrix.isPowerOfTwo ? 254 : 126)))
          continue;
        const double error = errorOf(in, first, count, scaleOf(code));
        if (bestError < 0 || error < bestError) {
          bestError = error;
          best = code;
        }
      }
    }
    matrix.scales[static_cast<size_t>(row * matrix.blocks() + index)] = static_cast<uint8_t>(best);
    const float scale = scaleOf(best);
    for (int64_t i = 0; i < count; ++i)
      matrix.codes[static_cast<size_t>(row * matrix.columns + first + i)] = e2m1Of(in[i] / scale);
  }

  int32_t usualCode(float most, float target) const {
    if (!matrix.isPowerOfTwo)
      return most == 0 ? 1 : toE4m3(most / target * matrix.globalScale);
    int exponent = -127;
    if (most > 0)
      std::frexp(most, &exponent); // absmax < 2^exponent
    return std::clamp(exponent - 1 - 2 + 127, 0, 254);
  }

  double errorOf(const float *in, int64_t first, int64_t count, float scale) const {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double error = static_cast<double>(values[e2m1Of(in[i] / scale)] * scale - in[i]);
      sum += error * error *
             (importance.empty() ? 1.0
                                 : static_cast<double>(importance[static_cast<size_t>(first + i)]));
    }
    return sum;
  }

  FloatBlocks &matrix;
  const float *const weight;
  const std::span<const float> importance;
  const FloatBlockOptions &options;
  const std::span<const float, 16> values = valuesOf(CodeBook::E2M1);
};

checkpoint::Outcome check(const float *weight, int64_t rows, int64_t columns,
                          std::span<const float> importance, const FloatBlockOptions &options) {
  if (auto fine = checkArguments(weight, rows, columns, {}, {}); !fine)
    return fine;
  if ((!importance.empty() && importance.size() != static_cast<size_t>(columns)) ||
      options.sweep < 0 || options.sweep > 254 || !(options.largest >= 0) ||
      !std::isfinite(options.largest))
    return Error{"INGOT-E2302", "an option of a format of 4-bit floats is out of range", "",
                 "sweep over at most 254 scales, and give each column an importance"};
  return checkFinite(importance.data(), static_cast<int64_t>(importance.size()),
                     "importances of columns");
}

FloatBlocks shaped(int64_t rows, int64_t columns, int64_t block) {
  FloatBlocks matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.block = block;
  matrix.codes.resize(static_cast<size_t>(rows * columns));
  matrix.scales.resize(static_cast<size_t>(rows * matrix.blocks()));
  return matrix;
}

} // namespace

float FloatBlocks::scaleOf(int64_t row, int64_t index) const {
  return blockScale(*this, scales[static_cast<size_t>(row * blocks() + index)]);
}

void FloatBlocks::dequantize(float *out) const {
  const auto values = valuesOf(CodeBook::E2M1);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      out[row * columns + column] =
          values[codes[static_cast<size_t>(row * columns + column)]] * scaleOf(row, column / block);
}

QuantizedMatrix FloatBlocks::scaled() const {
  QuantizedMatrix matrix;
  matrix.grid = {.bits = 4, .group = block, .zeroPoints = false, .scales = ScaleType::F32};
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.codes.resize(codes.size());
  for (uint8_t code : scales)
    matrix.scales.push_back(blockScale(*this, code));
  matrix.book = risingBook(CodeBook::E2M1).values;
  return matrix;
}

void FloatBlocks::take(const QuantizedMatrix &matrix) {
  const auto &stored = risingBook(CodeBook::E2M1).codes;
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = stored[matrix.codes[i]] == 8 ? 0 : stored[matrix.codes[i]]; // no minus zero
}

Expected<FloatBlocks> roundToNvfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options) {
  if (auto fine = check(weight, rows, columns, importance, options); !fine)
    return fine.error();
  FloatBlocks matrix = shaped(rows, columns, 16);
  float most = options.largest;
  for (int64_t i = 0; i < rows * columns; ++i)
    most = std::max(most, std::abs(weight[i]));
  const double largest = options.fourOverSix ? 6 * 256 : 6 * 448;
  if (most > 0)
    matrix.globalScale = roundScale(largest / static_cast<double>(most), ScaleType::F32);
  Blocks(matrix, weight, importance, options).run();
  return matrix;
}

Expected<FloatBlocks> roundToMxfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options) {
  if (auto fine = check(weight, rows, columns, importance, options); !fine)
    return fine.error();
  FloatBlockOptions powers = options;
  powers.fourOverSix = false;
  FloatBlocks matrix = shaped(rows, columns, 32);
  matrix.isPowerOfTwo = true;
  Blocks(matrix, weight, importance, powers).run();
  return matrix;
}

} // namespace ingot::quantize
