// SPDX-License-Identifier: Apache-2.0
// Nearest codes of books.
#include "compiler/quantize/methods/CodeBooks.h"
#include "compiler/checkpoint/gguf/GgmlBlocks.h"
#include "compiler/quantize/methods/ParallelBlocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ingot::quantize {

using checkpoint::Error;

namespace {

constexpr std::array<float, 16> kNf4 = {-1.0f,         -0.696192801f, -0.525073051f, -0.394917488f,
                                        -0.284441382f, -0.184773430f, -0.091050036f, 0.0f,
                                        0.079580300f,  0.160930201f,  0.246112302f,  0.337915242f,
                                        0.440709829f,  0.562617004f,  0.722956836f,  1.0f};
/// Thirds and their halves: e2m1 of 12, and a subnormal of its own.
constexpr std::array<float, 16> kFp4 = {
    0.0f, 1 / 192.0f,  2 / 3.0f,  1.0f,  1 / 3.0f,  0.5f,  1 / 6.0f,  0.25f,
    0.0f, -1 / 192.0f, -2 / 3.0f, -1.0f, -1 / 3.0f, -0.5f, -1 / 6.0f, -0.25f};
constexpr int64_t kBlocksAtATime = 256;

/// ggml's book has twice the values.
std::array<float, 16> e2m1Values() {
  std::array<float, 16> values;
  const auto &doubled = checkpoint::ggmlEncoding(checkpoint::DType::MXFP4)->codeBook;
  std::transform(doubled.begin(), doubled.end(), values.begin(), [](float v) { return v / 2; });
  return values;
}

RisingBook rising(std::span<const float, 16> values) {
  RisingBook book;
  std::iota(book.codes.begin(), book.codes.end(), uint8_t{0});
  std::sort(book.codes.begin(), book.codes.end(), [&](uint8_t a, uint8_t b) {
    return values[a] != values[b] ? values[a] < values[b] : a > b;
  });
  for (size_t i = 0; i < 16; ++i)
    book.values[i] = values[book.codes[i]];
  return book;
}

/// Places between rising values, where the next one becomes nearer.
template <size_t count>
std::array<float, count - 1> middlesOf(std::span<const float, count> values) {
  std::array<float, count - 1> middles;
  for (size_t i = 0; i + 1 < count; ++i)
    middles[i] = (values[i] + values[i + 1]) / 2;
  return middles;
}

/// Quantizes `scales`, and makes them what their codes mean.
NestedScales nest(std::vector<float> &scales) {
  NestedScales nested;
  const auto book = dynamicBook();
  const auto middles = middlesOf(book);
  nested.offset = static_cast<float>(std::accumulate(scales.begin(), scales.end(), 0.0) /
                                     static_cast<double>(std::max<size_t>(scales.size(), 1)));
  for (size_t first = 0; first < scales.size(); first += NestedScales::kBlock) {
    const size_t last = std::min<size_t>(scales.size(), first + NestedScales::kBlock);
    float most = 0;
    for (size_t i = first; i < last; ++i)
      most = std::max(most, std::abs(scales[i] - nested.offset));
    nested.absmax.push_back(most);
    for (size_t i = first; i < last; ++i) {
      const float place = most == 0 ? 0 : (scales[i] - nested.offset) / most;
      const auto code = std::lower_bound(middles.begin(), middles.end(), place) - middles.begin();
      nested.codes.push_back(static_cast<uint8_t>(code));
      scales[i] = book[static_cast<size_t>(code)] * most + nested.offset;
    }
  }
  return nested;
}

} // namespace

std::span<const float, 16> valuesOf(CodeBook book) {
  static const std::array<float, 16> e2m1 = e2m1Values();
  return book == CodeBook::NF4 ? kNf4 : book == CodeBook::FP4 ? kFp4 : e2m1;
}

const RisingBook &risingBook(CodeBook book) {
  static const std::array<RisingBook, 3> books = {rising(kNf4), rising(kFp4),
                                                  rising(valuesOf(CodeBook::E2M1))};
  return books[static_cast<size_t>(book)];
}

std::span<const float, 256> dynamicBook() {
  static const std::array<float, 256> book = [] {
    std::array<float, 256> values{};
    size_t count = 0;
    double power = 1e-6;
    for (int bits = 0; bits < 7; ++bits, power *= 10) {
      // The middles of 2^bits equal parts of what lies between a tenth and one.
      const int parts = 1 << bits;
      for (int i = 0; i < parts; ++i) {
        const auto value = static_cast<float>(power * (0.1 + 0.9 * (i + 0.5) / parts));
        values[count++] = value;
        values[count++] = -value;
      }
    }
    values[count] = 1; // and 0
    std::sort(values.begin(), values.end());
    return values;
  }();
  return book;
}

void BookBlocks::dequantize(float *out) const {
  const auto values = valuesOf(book);
  for (size_t i = 0; i < codes.size(); ++i)
    out[i] = scales[i / static_cast<size_t>(block)] * values[codes[i]];
}

QuantizedMatrix BookBlocks::scaled() const {
  QuantizedMatrix matrix;
  matrix.grid = {.bits = 4, .group = block, .zeroPoints = false, .scales = ScaleType::F32};
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.codes.resize(codes.size());
  matrix.scales = scales;
  matrix.book = risingBook(book).values;
  return matrix;
}

void BookBlocks::take(const QuantizedMatrix &matrix) {
  const auto &stored = risingBook(book).codes;
  std::transform(matrix.codes.begin(), matrix.codes.end(), codes.begin(),
                 [&](uint8_t code) { return stored[code]; });
}

Expected<BookBlocks> roundToBook(const float *weight, int64_t rows, int64_t columns,
                                 const BookOptions &options) {
  if (options.block < 1)
    return Error{"INGOT-E2302", "blocks of no values", "", "take blocks of 64"};
  if (auto fine = checkArguments(weight, rows, columns, {}, {}); !fine)
    return fine.error();
  const RisingBook &book = risingBook(options.book);
  const auto middles = middlesOf(std::span(book.values));
  BookBlocks result{options.book, rows, columns, options.block, {}, {}, {}};
  const int64_t count = rows * columns, block = options.block,
                blocks = count / block + (count % block != 0);
  result.codes.resize(static_cast<size_t>(count));
  result.scales.resize(static_cast<size_t>(blocks));
  auto forEach = [&](auto &&work) {
    forEachBlock((blocks + kBlocksAtATime - 1) / kBlocksAtATime, options.threads,
                 [&](int64_t part) {
                   const int64_t last = std::min(blocks, (part + 1) * kBlocksAtATime);
                   for (int64_t at = part * kBlocksAtATime; at < last; ++at)
                     work(at, at * block, std::min(count, (at + 1) * block));
                 });
  };
  forEach([&](int64_t at, int64_t first, int64_t last) {
    float most = 0;
    for (int64_t i = first; i < last; ++i)
      most = std::max(most, std::abs(weight[i]));
    result.scales[static_cast<size_t>(at)] = most;
  });
  if (options.nested)
    result.nested = nest(result.scales);
  forEach([&](int64_t at, int64_t first, int64_t last) {
    const float scale = result.scales[static_cast<size_t>(at)];
    for (int64_t i = first; i < last; ++i) {
      const float value = scale == 0 ? 0 : weight[i] / scale;
      size_t place = 0;
      for (float middle : middles)
        place += value > middle;
      result.codes[static_cast<size_t>(i)] = book.codes[place];
    }
  });
  return result;
}

} // namespace ingot::quantize
