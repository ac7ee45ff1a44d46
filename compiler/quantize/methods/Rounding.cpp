// SPDX-License-Identifier: Apache-2.0
// Vectors of 8 floats, written out where a sum has an order of its own; else loops that compilers
// vectorise. Products and sums are fused only where it says so.
#include "compiler/quantize/methods/Rounding.h"

namespace ingot::quantize {

namespace {

using Floats = float __attribute__((vector_size(32)));
using Ints = int32_t __attribute__((vector_size(32)));

/// Adding and taking away 1.5 * 2^23 rounds to an integer, to nearest even.
constexpr float kRounder = 12582912.0f;
/// Vectors whose sum is kept in f32.
constexpr int64_t kRun = 64;

Floats load(const float *from) {
  Floats value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

Floats splat(float value) { return Floats{} + value; }

Floats nearest(Floats value, float scale, float low, float high) {
  Floats place = value / scale;
  place = place < low ? splat(low) : place;
  place = place > high ? splat(high) : place;
  return (place + kRounder) - kRounder;
}

float nearestOne(float value, float scale, float low, float high) {
  float place = value / scale;
  place = place < low ? low : place;
  place = place > high ? high : place;
  return (place + kRounder) - kRounder;
}

/// log2 of the mantissa m, in [sqrt(1/2), sqrt(2)), is a series in (m - 1) / (m + 1).
Floats logarithm(Floats value) {
  const Ints bits = (Ints)value, shifted = bits - 0x3f3504f3;
  const Ints exponent = shifted >> 23;
  const Floats mantissa = (Floats)(bits - (exponent << 23));
  const Floats t = (mantissa - 1.0f) / (mantissa + 1.0f), t2 = t * t;
  const Floats series =
      t * (2.8853900818f +
           t2 * (0.9617966939f + t2 * (0.5770780164f + t2 * (0.4121985831f + t2 * 0.3205988980f))));
  return __builtin_convertvector(exponent, Floats) + series;
}

Floats exponential(Floats value) {
  value = value < -126.0f ? splat(-126.0f) : value;
  value = value > 127.0f ? splat(127.0f) : value;
  const Floats whole = (value + kRounder) - kRounder, f = value - whole;
  const Floats series =
      1.0f + f * (0.6931471806f +
                  f * (0.2402265070f +
                       f * (0.0555041087f +
                            f * (0.0096181291f +
                                 f * (0.0013333558f + f * (0.0001540353f + f * 0.0000152527f))))));
  return (Floats)((Ints)series + (__builtin_convertvector(whole, Ints) << 23));
}

Floats magnitude(Floats value) { return (Floats)((Ints)value & 0x7fffffff); }

Floats powerOf(Floats value, float exponent) {
  const Floats result = exponential(logarithm(value) * exponent);
  return value > 0x1p-120f ? result : splat(0);
}

/// Sums of vectors: runs of kRun in f32, those in f64, then lanes in order.
class Sum {
public:
  void add(Floats value) {
    run += value;
    if (++count % kRun == 0)
      flush();
  }
  double total() {
    flush();
    double sum = 0;
    for (double lane : lanes)
      sum += lane;
    return sum;
  }

private:
  void flush() {
    for (int lane = 0; lane < 8; ++lane)
      lanes[lane] += static_cast<double>(run[lane]);
    run = Floats{};
  }

  Floats run = {};
  double lanes[8] = {};
  int64_t count = 0;
};

template <class Power>
double sumErrors(const float *values, const float *importance, int64_t count, float scale,
                 float low, float high, Power power) {
  Sum sum;
  for (int64_t i = 0; i < count; i += 8) {
    const Floats value = load(values + i);
    const Floats error = power(nearest(value, scale, low, high) * scale - value);
    sum.add(importance ? error * load(importance + i) : error);
  }
  return sum.total();
}

/// What a value over its scale is rounded to, and its code.
struct Place {
  float value;
  int32_t code;
};

/// Integers of a range.
struct Integers {
  RowGrids grids;

  Place nearest(float value, int64_t i) const {
    const float place = nearestOne(value, grids.scale[i], grids.low[i], grids.high[i]);
    return {place, static_cast<int32_t>(place - grids.low[i])};
  }
  float valueOf(uint8_t code, int64_t i) const { return static_cast<float>(code) + grids.low[i]; }
};

/// The 16 values of a book; of two as near the lower one.
struct Book {
  explicit Book(const RowGrids &grids) : grids(grids) {
    for (int i = 0; i < 15; ++i)
      middles[i] = (grids.book[i] + grids.book[i + 1]) / 2;
  }

  Place nearest(float value, int64_t i) const {
    const float place = value / grids.scale[i];
    Place found{grids.book[0], 0};
    for (int k = 0; k < 15; ++k) {
      const bool isAbove = place > middles[k];
      found.value = isAbove ? grids.book[k + 1] : found.value;
      found.code += isAbove;
    }
    return found;
  }
  float valueOf(uint8_t code, int64_t) const { return grids.book[code]; }

  RowGrids grids;
  float middles[15];
};

/// Likewise of a book of more values.
struct LongBook {
  explicit LongBook(const RowGrids &grids) : grids(grids) {
    const auto count = static_cast<int32_t>(grids.book.size());
    for (int32_t i = 0; i < 255; ++i)
      middles[i] = i + 1 < count ? (grids.book[i] + grids.book[i + 1]) / 2 : __builtin_inff();
  }

  Place nearest(float value, int64_t i) const {
    const float place = value / grids.scale[i];
    int32_t code = 0; // how many middles are below
    for (int32_t half = 128; half > 0; half /= 2)
      code += place > middles[code + half - 1] ? half : 0;
    return {grids.book[code], code};
  }
  float valueOf(uint8_t code, int64_t) const { return grids.book[code]; }

  RowGrids grids;
  float middles[255];
};

/// `work` with what the rows are rounded to.
template <class Work> auto withValues(const RowGrids &grids, Work work) {
  return grids.book.empty()        ? work(Integers{grids})
         : grids.book.size() == 16 ? work(Book(grids))
                                   : work(LongBook(grids));
}

template <class Values>
void roundColumnTo(const Values &values, const ColumnStep &step, int64_t rows) {
  const float *__restrict original = step.original, *__restrict feedback = step.feedback;
  const float *__restrict scale = step.grids.scale;
  float *__restrict left = step.left, *__restrict target = step.target;
  uint8_t *__restrict codes = step.codes;
  double *__restrict errors = step.errors;
  for (int64_t i = 0; i < rows; ++i) {
    target[i] = original[i] + feedback[i];
    const Place place = values.nearest(target[i], i);
    codes[i] = static_cast<uint8_t>(place.code);
    const float rounded = place.value * scale[i];
    left[i] = original[i] - rounded;
    const double miss = static_cast<double>(target[i] - rounded);
    errors[i] += step.weight * (miss * miss) -
                 step.distance * (static_cast<double>(left[i]) * static_cast<double>(left[i]));
  }
}

template <class Values>
bool descendColumnTo(const Values &values, const float *__restrict gradient, float curvature,
                     uint8_t *__restrict codes, float *__restrict changes, int64_t rows) {
  int32_t moved = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const float scale = values.grids.scale[i];
    const float old = values.valueOf(codes[i], i);
    const Place place = values.nearest(old * scale - gradient[i] / curvature, i);
    const float change = (place.value - old) * scale;
    // What rounding of the gradient alone could make of a tie is left.
    const bool better =
        change * (2 * gradient[i] + change * curvature) < -0x1p-16f * (change * change) * curvature;
    changes[i] = better ? change : 0.0f;
    codes[i] = better ? static_cast<uint8_t>(place.code) : codes[i];
    moved |= better;
  }
  return moved != 0;
}

} // namespace

bool allFinite(const float *values, int64_t count) {
  Ints found = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    found |= ((Ints)load(values + i) & 0x7f800000) == 0x7f800000;
  int32_t any = 0;
  for (int lane = 0; lane < 8; ++lane)
    any |= found[lane];
  for (; i < count; ++i) {
    int32_t bits;
    __builtin_memcpy(&bits, values + i, sizeof(bits));
    any |= (bits & 0x7f800000) == 0x7f800000;
  }
  return any == 0;
}

void rangeOf(const float *values, int64_t count, float &least, float &most) {
  Floats low = splat(least), high = splat(most);
  for (int64_t i = 0; i < count; i += 8) {
    const Floats value = load(values + i);
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  for (int lane = 0; lane < 8; ++lane) {
    least = low[lane] < least ? low[lane] : least;
    most = high[lane] > most ? high[lane] : most;
  }
}

double gridError(const float *values, const float *importance, int64_t count, float scale,
                 float low, float high, float power) {
  if (power == 2)
    return sumErrors(values, importance, count, scale, low, high,
                     [](Floats error) { return error * error; });
  return sumErrors(values, importance, count, scale, low, high,
                   [power](Floats error) { return powerOf(magnitude(error), power); });
}

void roundToGrid(const float *values, int64_t count, float scale, float low, float high,
                 uint8_t *codes) {
  for (int64_t i = 0; i < count; ++i)
    codes[i] =
        static_cast<uint8_t>(static_cast<int32_t>(nearestOne(values[i], scale, low, high) - low));
}

void roundThroughGrid(const float *values, int64_t count, float scale, float low, float high,
                      float *rounded) {
  for (int64_t i = 0; i < count; ++i)
    rounded[i] = nearestOne(values[i], scale, low, high) * scale;
}

void roundColumn(const ColumnStep &step, int64_t rows) {
  withValues(step.grids, [&](const auto &values) { roundColumnTo(values, step, rows); });
}

void addScaled(float *__restrict sums, const float *__restrict values, float factor,
               int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    sums[i] = __builtin_fmaf(factor, values[i], sums[i]);
}

bool descendColumn(const float *gradient, float curvature, RowGrids grids, uint8_t *codes,
                   float *changes, int64_t rows) {
  return withValues(grids, [&](const auto &values) {
    return descendColumnTo(values, gradient, curvature, codes, changes, rows);
  });
}

float power(float value, float exponent) { return powerOf(splat(value), exponent)[0]; }

double dotProduct(const float *a, const float *b, int64_t count) {
  Sum sum;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    sum.add(load(a + i) * load(b + i));
  double total = sum.total();
  for (; i < count; ++i)
    total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return total;
}

void widenMagnitudes(float *__restrict magnitudes, const float *__restrict values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float value = __builtin_fabsf(values[i]);
    magnitudes[i] = value > magnitudes[i] ? value : magnitudes[i];
  }
}

} // namespace ingot::quantize
