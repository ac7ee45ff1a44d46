// SPDX-License-Identifier: Apache-2.0
// Which algorithm a method is for each encoding.
#include "compiler/quantize/EncodedMatrix.h"

#include "compiler/quantize/methods/Awq.h"
#include "compiler/quantize/methods/Gptq.h"
#include "compiler/quantize/methods/RoundToNearest.h"
#include "compiler/weights/WeightNumerics.h"

#include <algorithm>
#include <array>

using namespace ingot;
using namespace ingot::quantize;
using checkpoint::Expected;
using recipe::Method;
using recipe::NumberFormat;

void Float8Matrix::dequantize(float *out) const {
  compiler::widen(kE4m3, reinterpret_cast<const std::byte *>(codes.data()), out, rows * columns);
  for (int64_t i = 0; i < rows * columns; ++i)
    out[i] *= scales[scales.size() == 1 ? 0 : static_cast<size_t>(i / columns)];
}

namespace {

/// e4m3's finite numbers by rising values.
struct RisingE4m3 {
  RisingE4m3() {
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<uint8_t>(i < kBelowZero ? 0xfe - i : i - kBelowZero);
    compiler::widen(kE4m3, reinterpret_cast<const std::byte *>(codes.data()), values.data(),
                    static_cast<int64_t>(codes.size()));
  }

  static constexpr size_t kBelowZero = 126;
  std::array<uint8_t, 2 * kBelowZero + 1> codes;
  std::array<float, 2 * kBelowZero + 1> values;
};

const RisingE4m3 &risingE4m3() {
  static const RisingE4m3 book;
  return book;
}

} // namespace

QuantizedMatrix Float8Matrix::scaled() const {
  QuantizedMatrix matrix;
  matrix.grid = {.bits = 8, .group = 0, .zeroPoints = false, .scales = ScaleType::F32};
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.codes.resize(codes.size());
  matrix.scales = scales;
  matrix.scales.resize(static_cast<size_t>(rows), scales.front());
  matrix.book = risingE4m3().values;
  return matrix;
}

void Float8Matrix::take(const QuantizedMatrix &matrix) {
  std::ranges::transform(matrix.codes, codes.begin(),
                         [](uint8_t code) { return risingE4m3().codes[code]; });
}

std::optional<Grid> quantize::gridOf(const recipe::WeightFormat &format, ScaleType scales) {
  switch (format.type) {
  case NumberFormat::Int3:
    return Grid{3, format.group, format.zeroPoints, scales};
  case NumberFormat::Int4:
    return Grid{4, format.group, format.zeroPoints, scales};
  case NumberFormat::Int5:
    return Grid{5, format.group, format.zeroPoints, scales};
  case NumberFormat::Int6:
    return Grid{6, format.group, format.zeroPoints, scales};
  case NumberFormat::Int8:
    return Grid{8, 0, false, scales};
  case NumberFormat::NVFP4:
    return Grid{4, 16, false, ScaleType::F32};
  case NumberFormat::MXFP4:
    return Grid{4, 32, false, ScaleType::F32};
  case NumberFormat::NF4:
  case NumberFormat::FP4:
    return Grid{4, 64, false, ScaleType::F32};
  default:
    return std::nullopt;
  }
}

namespace {

class Encoder {
public:
  Encoder(const float *weight, int64_t rows, int64_t columns, const EncodingRequest &request,
          const InputStatistics *statistics)
      : weight(weight), rows(rows), columns(columns), request(request), statistics(statistics) {
    if (!statistics && recipe::isCalibrated(request.method))
      this->request.method = Method::RoundMse;
  }

  Expected<EncodedResult> run() const {
    switch (request.format.type) {
    case NumberFormat::E4M3:
      return float8();
    case NumberFormat::NVFP4:
    case NumberFormat::MXFP4:
      return floatBlocks();
    case NumberFormat::NF4:
    case NumberFormat::FP4:
      return books();
    default:
      return integers(*gridOf(request.format, request.scales));
    }
  }

private:
  bool searches() const {
    return request.method != Method::Round && request.method != Method::SmoothQuant;
  }
  GptqOptions gptqOptions() const {
    GptqOptions options;
    options.sweeps = request.method == Method::Best ? 20 : 0;
    options.threads = request.threads;
    return options;
  }

  Expected<EncodedResult> integers(const Grid &grid) const {
    ClipSearch clip;
    clip.steps = searches() ? 20 : 0;
    if (recipe::usesGptq(request.method)) {
      GptqOptions options = gptqOptions();
      options.clip = clip;
      auto result = gptq(weight, rows, columns, grid, statistics->moments, options);
      if (!result)
        return result.error();
      return EncodedResult{std::move(result->matrix), result->error};
    }
    std::vector<float> clipped;
    if (request.method == Method::Awq) {
      AwqClipOptions options;
      options.threads = request.threads;
      auto result = clipWeights(weight, rows, columns, statistics->sampled.data(),
                                statistics->sampledRows(), grid, options);
      if (!result)
        return result.error();
      clipped = *std::move(result);
      clip = {};
    }
    auto matrix = roundToNearest(clipped.empty() ? weight : clipped.data(), rows, columns, grid,
                                 clip, {}, request.threads);
    if (!matrix)
      return matrix.error();
    return EncodedResult{*std::move(matrix)};
  }

  /// Decides codes again, with the scales of `matrix`, where the method does so.
  template <class Matrix> Expected<EncodedResult> withFeedback(Matrix matrix) const {
    if (!recipe::usesGptq(request.method))
      return EncodedResult{std::move(matrix)};
    auto result = gptqWithScales(weight, matrix.scaled(), statistics->moments, gptqOptions());
    if (!result)
      return result.error();
    matrix.take(result->matrix);
    return EncodedResult{std::move(matrix), result->error};
  }

  Expected<EncodedResult> floatBlocks() const {
    const bool isNvfp4 = request.format.type == NumberFormat::NVFP4;
    FloatBlockOptions options;
    options.largest = request.largest;
    options.threads = request.threads;
    std::vector<float> importance;
    if (searches()) {
      options.fourOverSix = true;
      options.sweep = isNvfp4 ? 4 : 1;
      if (statistics)
        importance = statistics->moments.meanSquares();
    }
    auto matrix =
        (isNvfp4 ? roundToNvfp4 : roundToMxfp4)(weight, rows, columns, importance, options);
    if (!matrix)
      return matrix.error();
    return withFeedback(*std::move(matrix));
  }

  Expected<EncodedResult> books() const {
    BookOptions options;
    options.book = request.format.type == NumberFormat::NF4 ? CodeBook::NF4 : CodeBook::FP4;
    options.nested = true;
    options.threads = request.threads;
    auto matrix = roundToBook(weight, rows, columns, options);
    if (!matrix)
      return matrix.error();
    if (!matrix->isByRow())
      return EncodedResult{*std::move(matrix)};
    return withFeedback(*std::move(matrix));
  }

  /// With the scales, and by rounding also the codes, that builds make of a weight.
  Expected<EncodedResult> float8() const {
    if (auto fine = checkArguments(weight, rows, columns, {}, {}); !fine)
      return fine.error();
    Float8Matrix matrix{rows, columns, {}, {}};
    matrix.codes.resize(static_cast<size_t>(rows * columns));
    const Encoding encoding{EncodingKind::Fp8, request.format.group};
    const int64_t runs = request.format.group == recipe::kWholeTensor ? 1 : rows;
    const int64_t length = rows * columns / std::max<int64_t>(runs, 1);
    for (int64_t run = 0; run < runs; ++run) {
      compiler::ValueRange range;
      range.include(weight + run * length, length);
      const auto quantizer = compiler::Quantizer::choose(encoding, kF32, range);
      quantizer.quantize(weight + run * length, matrix.codes.data() + run * length, length);
      matrix.scales.push_back(quantizer.scale);
    }
    return withFeedback(std::move(matrix));
  }

  const float *const weight;
  const int64_t rows, columns;
  EncodingRequest request;
  const InputStatistics *const statistics;
};

} // namespace

Expected<EncodedResult> quantize::encodeMatrix(const float *weight, int64_t rows, int64_t columns,
                                               const EncodingRequest &request,
                                               const InputStatistics *statistics) {
  return Encoder(weight, rows, columns, request, statistics).run();
}
