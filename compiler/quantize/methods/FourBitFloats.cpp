// SPDX-License-Identifier: Apache-2.0
// Nearest codes, and scales that are tried one after the other.
#include "compiler/quantize/methods/FourBitFloats.h"
#include "compiler/quantize/methods/ParallelBlocks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ingot::quantize {

using checkpoint::Error;

namespace {

constexpr std::array<float, 16> kNf4 = {-1.0f,         -0.696192801f, -0.525073051f, -0.394917488f,
                                        -0.284441382f, -0.184773430f, -0.091050036f, 0.0f,
                                        0.079580300f,  0.160930201f,  0.246112302f,  0.337915242f,
                                        0.440709829f,  0.562617004f,  0.722956836f,  1.0f};
/// Thirds and their halves: e2m1 of 12, and a subnormal of its own.
constexpr std::array<float, 16> kFp4 = {
    0.0f, 0.005208333f,  0.666666667f,  1.0f,  0.333333333f,  0.5f,  0.166666667f,  0.25f,
    0.0f, -0.005208333f, -0.666666667f, -1.0f, -0.333333333f, -0.5f, -0.166666667f, -0.25f};
constexpr std::array<float, 8> kE2m1 = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
constexpr int64_t kBlocksAtATime = 256, kRows = 16;

/// The magnitude's code, to nearest even.
uint8_t e2m1Of(float value) {
  const float m = std::abs(value);
  const int code = (m > 0.25f) + (m >= 0.75f) + (m > 1.25f) + (m >= 1.75f) + (m > 2.5f) +
                   (m >= 3.5f) + (m > 5.0f);
  return static_cast<uint8_t>(code | (std::signbit(value) && code != 0 ? 8 : 0));
}

float valueOf(uint8_t code) { return (code & 8) != 0 ? -kE2m1[code & 7] : kE2m1[code & 7]; }

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
  float scaleOf(int32_t code) const {
    return matrix.isPowerOfTwo ? std::ldexp(1.0f, code - 127) : matrix.tensorScale * fromE4m3(code);
  }

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
      return most == 0 ? 1 : toE4m3(most / target / matrix.tensorScale);
    int exponent = -127;
    if (most > 0)
      std::frexp(most, &exponent); // absmax < 2^exponent
    return std::clamp(exponent - 1 - 2 + 127, 0, 254);
  }

  double errorOf(const float *in, int64_t first, int64_t count, float scale) const {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double error = static_cast<double>(valueOf(e2m1Of(in[i] / scale)) * scale - in[i]);
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
};

checkpoint::Outcome check(const float *weight, int64_t rows, int64_t columns,
                          std::span<const float> importance, const FloatBlockOptions &options) {
  if (auto fine = checkArguments(weight, rows, columns, {}, {}); !fine)
    return fine;
  if ((!importance.empty() && importance.size() != static_cast<size_t>(columns)) ||
      options.sweep < 0 || options.sweep > 254)
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

std::span<const float, 16> valuesOf(CodeBook book) { return book == CodeBook::NF4 ? kNf4 : kFp4; }

float FloatBlocks::scaleOf(int64_t row, int64_t index) const {
  const int32_t code = scales[static_cast<size_t>(row * blocks() + index)];
  return isPowerOfTwo ? std::ldexp(1.0f, code - 127) : tensorScale * fromE4m3(code);
}

void FloatBlocks::dequantize(float *out) const {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      out[row * columns + column] = valueOf(codes[static_cast<size_t>(row * columns + column)]) *
                                    scaleOf(row, column / block);
}

Expected<BookBlocks> roundToBook(const float *values, int64_t count, CodeBook book, int64_t block,
                                 unsigned threads) {
  if (count < 0 || block < 1)
    return Error{"INGOT-E2302", "blocks of no values", "", "take blocks of 64"};
  if (auto fine = checkFinite(values, count, "weights"); !fine)
    return fine.error();
  // Codes by rising values, and the middles between them.
  std::array<uint8_t, 16> order;
  for (uint8_t i = 0; i < 16; ++i)
    order[i] = i;
  const auto codes = valuesOf(book);
  std::sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) {
    return codes[a] != codes[b] ? codes[a] < codes[b] : a > b;
  });
  std::array<float, 15> middles;
  for (size_t i = 0; i < 15; ++i)
    middles[i] = (codes[order[i]] + codes[order[i + 1]]) / 2;
  BookBlocks result;
  const int64_t blocks = count / block + (count % block != 0);
  result.codes.resize(static_cast<size_t>(count));
  result.absmax.resize(static_cast<size_t>(blocks));
  forEachBlock((blocks + kBlocksAtATime - 1) / kBlocksAtATime, threads, [&](int64_t part) {
    for (int64_t at = part * kBlocksAtATime; at < std::min(blocks, (part + 1) * kBlocksAtATime);
         ++at) {
      const int64_t first = at * block, last = first + std::min(block, count - first);
      float most = 0;
      for (int64_t i = first; i < last; ++i)
        most = std::max(most, std::abs(values[i]));
      result.absmax[static_cast<size_t>(at)] = most;
      for (int64_t i = first; i < last; ++i) {
        const float value = most == 0 ? 0 : values[i] / most;
        size_t place = 0;
        for (float middle : middles)
          place += value > middle;
        result.codes[static_cast<size_t>(i)] = order[place];
      }
    }
  });
  return result;
}

Expected<FloatBlocks> roundToNvfp4(const float *weight, int64_t rows, int64_t columns,
                                   std::span<const float> importance,
                                   const FloatBlockOptions &options) {
  if (auto fine = check(weight, rows, columns, importance, options); !fine)
    return fine.error();
  FloatBlocks matrix = shaped(rows, columns, 16);
  float most = 0;
  for (int64_t i = 0; i < rows * columns; ++i)
    most = std::max(most, std::abs(weight[i]));
  const float largest = options.fourOverSix ? 6 * 256.0f : 6 * 448.0f;
  matrix.tensorScale =
      most == 0
          ? 1
          : roundScale(static_cast<double>(most) / static_cast<double>(largest), ScaleType::F32);
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
