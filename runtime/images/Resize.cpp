// SPDX-License-Identifier: Apache-2.0
// Separable resampling. Both passes add whole vectors of samples that share a weight: rows of a
// block side by side in the horizontal one, a row's samples in the vertical one.
#include "runtime/images/Resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace ingot::runtime::images {
namespace {

constexpr int weightBits = 22;
constexpr int32_t half = 1 << (weightBits - 1);

double bilinear(double x) { return std::max(0.0, 1 - std::abs(x)); }

/// Keys' kernel with a = -0.5.
double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

double sinc(double x) {
  if (x == 0)
    return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Kernel {
  double (*value)(double);
  double support;
};

Kernel kernelOf(Filter filter) {
  switch (filter) {
  case Filter::Bilinear:
    return {bilinear, 1};
  case Filter::Bicubic:
    return {bicubic, 2};
  case Filter::Lanczos:
    return {lanczos, 3};
  }
  return {bilinear, 1};
}

/// Which samples make one of the result, and where its weights begin.
struct Taps {
  uint32_t first, count;
  size_t weights;
};

struct Pass {
  std::vector<Taps> taps; ///< one for each sample of the result
  std::vector<int32_t> weights;
};

Pass passOf(uint32_t from, uint32_t to, Filter filter) {
  const Kernel kernel = kernelOf(filter);
  const double scale = double(from) / to, widened = std::max(scale, 1.0), narrow = 1 / widened;
  const double support = kernel.support * widened;
  Pass pass;
  pass.taps.reserve(to);
  std::vector<double> values;
  for (uint32_t i = 0; i < to; ++i) {
    const double center = (i + 0.5) * scale;
    const auto first = uint32_t(std::max(0, int(center - support + 0.5)));
    const uint32_t end = std::min(from, uint32_t(int(center + support + 0.5)));
    values.clear();
    double sum = 0;
    for (uint32_t sample = first; sample < end; ++sample) {
      values.push_back(kernel.value((sample - center + 0.5) * narrow));
      sum += values.back();
    }
    pass.taps.push_back({first, uint32_t(values.size()), pass.weights.size()});
    for (double value : values) {
      if (sum != 0)
        value /= sum;
      pass.weights.push_back(
          int32_t((value < 0 ? -0.5 : 0.5) + value * double(int32_t(1) << weightBits)));
    }
  }
  return pass;
}

uint8_t rounded(int32_t sum) { return uint8_t(std::clamp(sum >> weightBits, 0, 255)); }

/// As many samples are computed at once.
constexpr uint32_t lanes = 16;

#ifdef __SSE2__
/// Two taps by one product of 16-bit numbers, which the low 11 bits of a weight and the rest are.
void addTaps(const uint8_t *samples, size_t stride, const int32_t *weights, uint32_t count,
             uint8_t *out) {
  const __m128i zero = _mm_setzero_si128();
  __m128i low[4] = {zero, zero, zero, zero}, high[4] = {zero, zero, zero, zero};
  for (uint32_t tap = 0; tap < count; tap += 2) {
    const bool pair = tap + 1 < count;
    const int32_t one = weights[tap], other = pair ? weights[tap + 1] : 0;
    const __m128i lowWeights = _mm_set1_epi32((one & 0x7ff) | (other & 0x7ff) << 16);
    const __m128i highWeights =
        _mm_set1_epi32(int32_t((uint32_t(one >> 11) & 0xffff) | uint32_t(other >> 11) << 16));
    const uint8_t *next = pair ? samples + stride : samples;
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i *>(samples));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i *>(next));
    const __m128i ab[2] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
    for (int i = 0; i < 4; ++i) {
      const __m128i pairs =
          i % 2 ? _mm_unpackhi_epi8(ab[i / 2], zero) : _mm_unpacklo_epi8(ab[i / 2], zero);
      low[i] = _mm_add_epi32(low[i], _mm_madd_epi16(pairs, lowWeights));
      high[i] = _mm_add_epi32(high[i], _mm_madd_epi16(pairs, highWeights));
    }
    samples += 2 * stride;
  }
  const __m128i start = _mm_set1_epi32(half);
  for (int i = 0; i < 4; ++i)
    low[i] = _mm_srai_epi32(
        _mm_add_epi32(_mm_add_epi32(_mm_slli_epi32(high[i], 11), low[i]), start), weightBits);
  _mm_storeu_si128(
      reinterpret_cast<__m128i *>(out),
      _mm_packus_epi16(_mm_packs_epi32(low[0], low[1]), _mm_packs_epi32(low[2], low[3])));
}
#else
/// `lanes` samples, each the sum of `count` taps that lie `stride` apart.
void addTaps(const uint8_t *samples, size_t stride, const int32_t *weights, uint32_t count,
             uint8_t *out) {
  int32_t sums[lanes];
  std::fill_n(sums, lanes, half);
  for (uint32_t tap = 0; tap < count; ++tap, samples += stride)
    for (uint32_t i = 0; i < lanes; ++i)
      sums[i] += samples[i] * weights[tap];
  for (uint32_t i = 0; i < lanes; ++i)
    out[i] = rounded(sums[i]);
}
#endif

/// Rows of a block side by side: sample i of row r at i * lanes + r.
void interleave(const Pixels &pixels, uint32_t top, uint32_t rows, uint8_t *block) {
  const size_t samples = size_t(pixels.width) * 3;
  constexpr size_t strip = 64;
  for (size_t begin = 0; begin < samples; begin += strip) {
    const size_t end = std::min(samples, begin + strip);
    for (uint32_t r = 0; r < rows; ++r) {
      const uint8_t *row = pixels.rgb.data() + (top + r) * samples;
      for (size_t i = begin; i < end; ++i)
        block[i * lanes + r] = row[i];
    }
  }
}

Pixels horizontal(const Pixels &pixels, uint32_t width, Filter filter) {
  const Pass pass = passOf(pixels.width, width, filter);
  Pixels result{width, pixels.height, std::vector<uint8_t>(size_t(width) * pixels.height * 3)};
  std::vector<uint8_t> block(size_t(pixels.width) * 3 * lanes);
  for (uint32_t top = 0; top < pixels.height; top += lanes) {
    const uint32_t rows = std::min(lanes, pixels.height - top);
    interleave(pixels, top, rows, block.data());
    for (uint32_t x = 0; x < width; ++x) {
      const Taps &taps = pass.taps[x];
      for (uint32_t channel = 0; channel < 3; ++channel) {
        uint8_t values[lanes];
        addTaps(block.data() + (size_t(taps.first) * 3 + channel) * lanes, 3 * lanes,
                pass.weights.data() + taps.weights, taps.count, values);
        uint8_t *out = result.rgb.data() + (size_t(top) * width + x) * 3 + channel;
        for (uint32_t r = 0; r < rows; ++r)
          out[size_t(r) * width * 3] = values[r];
      }
    }
  }
  return result;
}

Pixels vertical(const Pixels &pixels, uint32_t height, Filter filter) {
  const Pass pass = passOf(pixels.height, height, filter);
  Pixels result{pixels.width, height, std::vector<uint8_t>(size_t(pixels.width) * height * 3)};
  const size_t samples = size_t(pixels.width) * 3;
  for (uint32_t y = 0; y < height; ++y) {
    const Taps &taps = pass.taps[y];
    const int32_t *weights = pass.weights.data() + taps.weights;
    const uint8_t *row = pixels.rgb.data() + taps.first * samples;
    uint8_t *out = result.rgb.data() + y * samples;
    size_t i = 0;
    for (; i + lanes <= samples; i += lanes)
      addTaps(row + i, samples, weights, taps.count, out + i);
    for (; i < samples; ++i) {
      int32_t sum = half;
      for (uint32_t tap = 0; tap < taps.count; ++tap)
        sum += row[tap * samples + i] * weights[tap];
      out[i] = rounded(sum);
    }
  }
  return result;
}

} // namespace

Pixels resize(const Pixels &pixels, uint32_t width, uint32_t height, Filter filter) {
  // A pass that changes no size changes no sample.
  if (width == pixels.width)
    return height == pixels.height ? pixels : vertical(pixels, height, filter);
  Pixels narrowed = horizontal(pixels, width, filter);
  return height == pixels.height ? narrowed : vertical(narrowed, height, filter);
}

} // namespace ingot::runtime::images
