// SPDX-License-Identifier: Apache-2.0
// llm.encoder_attention of bf16, two columns at a time: keys and values of a segment are laid out
// once for a tile of rows, and blocks of these go through both products and softmax while their
// scores are in the nearest caches. Softmax is in powers of two; its weights are split into two
// parts of bf16, whose sum is a weight up to 2^-17.
#pragma once

#include "codegen/x86/kernels/EncoderRun.h"
#include "codegen/x86/kernels/PairProducts.h"

namespace ingot::x86 {

/// 2^x within a unit in the last place; 0 where it is too small.
[[gnu::always_inline]] inline Floats powerOfTwo(Floats x) {
#ifdef __AVX512DQ__
  Floats rest = (Floats)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
  Floats rest = x - __builtin_elementwise_floor(x);
#endif
  // The minimax polynomial of degree 5 on [0, 1].
  Floats p = fma(rest, splat(0.0018775766948238015f), splat(0.00898933969438076f));
  p = fma(p, rest, splat(0.05582631751894951f));
  p = fma(p, rest, splat(0.24015361070632935f));
  p = fma(p, rest, splat(0.6931530833244324f));
  p = fma(p, rest, splat(0.9999999403953552f));
#ifdef __AVX512F__
  return (Floats)_mm512_scalef_ps((__m512)p, (__m512)x); // which takes the whole part
#else
  return RegionMath<lanes>::scale(p, x - rest);
#endif
}

class EncoderPairs {
public:
  explicit EncoderPairs(const EncoderRun &run) : run(run), tiles(amxRows, amxRowBytes) {}

  void attend() {
    copyQueries();
    for (int64_t row = 0; row < run.rows(); ++row)
      for (int64_t i = 0; i < layout().valueStride(); i += lanes)
        storeVector(total(row) + i, Floats{});
    for (int64_t row = 0; row < layout().rows(); row += lanes)
      storeVector(floats(layout().totalMaxima()) + row, splat(-__builtin_inff()));
    for (int64_t from = run.begin; from < run.end; from += attentionSegment) {
      size = run.end - from < attentionSegment ? run.end - from : attentionSegment;
      takeSegment(from);
      for (int64_t row = 0; row < run.rows(); row += layout().blockRows()) {
        prefetch(from + attentionSegment, row);
        int64_t left = run.rows() - row;
        attendBlock(row, left < layout().blockRows() ? left : layout().blockRows());
      }
    }
    for (int64_t row = 0; row < run.rows(); ++row)
      storeQuotients(total(row), ingot_const_value_dim, ingot_const_result_type,
                     run.launch->buffers[5], run.place(row) * ingot_const_value_dim);
  }

private:
  static EncoderScratch layout() {
    return {ingot_const_tile_rows * headsPerKvHead(), ingot_const_key_dim, ingot_const_value_dim,
            AttentionMethod(ingot_const_method)};
  }
  float *floats(int64_t offset) const { return reinterpret_cast<float *>(run.scratch + offset); }
  float *total(int64_t row) const {
    return floats(layout().total()) + row * layout().valueStride();
  }

  /// Zeros behind a head's columns.
  void copyQueries() const {
    for (int64_t row = 0; row < run.rows(); ++row)
      for (int64_t d = 0; d < layout().keyColumns(); d += lanes)
        storeVector(
            run.scratch + (row * layout().keyColumns() + d) * 2,
            firstOf(ingot_const_key_dim - d,
                    loadVector<Shorts>(element(0, run.place(row) * ingot_const_key_dim + d))));
  }

  /// The first `count` lanes, zeros behind them.
  [[gnu::always_inline]] static Shorts firstOf(int64_t count, Shorts value) {
    return count >= lanes ? value
                          : __builtin_convertvector(laneIndex() < int32_t(count), Shorts) & value;
  }

  /// Element `index` of a buffer of bf16.
  const char *element(int buffer, int64_t index) const {
    return static_cast<const char *>(run.launch->buffers[buffer]) + index * 2;
  }

  /// Keys and values of `size` rows of the batch from `from` on.
  void takeSegment(int64_t from) const {
    auto place = [&](int64_t i) __attribute__((always_inline)) { return run.kvPlace(from + i); };
    tileKeys(
        size, ingot_const_key_dim, place,
        [&](int64_t place, int64_t d) __attribute__((always_inline)) {
          return loadVector<Floats>(element(1, place * ingot_const_key_dim + d));
        },
        run.scratch + layout().keys());
    tileValues(
        size, ingot_const_value_dim, place,
        [&](int64_t place, int64_t d) __attribute__((always_inline)) {
          return loadVector<Shorts>(element(2, place * ingot_const_value_dim + d));
        },
        run.scratch + layout().values());
  }

  /// Takes a share of the keys and values of the segment from row `from` of the batch on nearer,
  /// while the block of rows from `row` on is computed: rows of keys are far from each other.
  void prefetch(int64_t from, int64_t row) const {
    const int64_t blocks = (run.rows() + layout().blockRows() - 1) / layout().blockRows();
    const int64_t share = (attentionSegment + blocks - 1) / blocks;
    int64_t first = from + row / layout().blockRows() * share, end = first + share;
    end = end < from + attentionSegment ? end : from + attentionSegment;
    end = end < run.end ? end : run.end;
    for (int64_t i = first; i < end; ++i) {
      const char *keys = element(1, run.kvPlace(i) * ingot_const_key_dim);
      const char *values = element(2, run.kvPlace(i) * ingot_const_value_dim);
      for (int64_t at = 0; at < ingot_const_key_dim * 2 + 63; at += 64)
        __builtin_prefetch(keys + at, 0, 2);
      for (int64_t at = 0; at < ingot_const_value_dim * 2 + 63; at += 64)
        __builtin_prefetch(values + at, 0, 2);
    }
  }

  /// `rows` rows from `row` on over the segment.
  void attendBlock(int64_t row, int64_t rows) {
    const int64_t keyBytes = layout().keyColumns() * 2;
    const PairTerm scored = {run.scratch + row * keyBytes, keyBytes, amxRowBytes,
                             run.scratch + layout().keys(), keyBytes * lanes};
    multiply<1>(rows, {scored}, layout().keyColumns() / tileDepth, (size + lanes - 1) / lanes,
                floats(layout().scores()), layout().scoreStride());
    for (int64_t r = 0; r < rows; r += lanes)
      findMaxima(r);
    float *segment = floats(layout().segment());
    float sums[encoderBlockRows(PairAttention)];
    for (int64_t r = 0; r < rows; ++r)
      sums[r] = weighRow(r);
    const PairTerm weighed = {run.scratch + layout().scores(), layout().scoreStride() * 4,
                              2 * amxRowBytes, run.scratch + layout().values(),
                              attentionSegment / tileDepth * tileBytes};
    PairTerm rest = weighed;
    rest.rows += amxRowBytes;
    multiply<2>(rows, {weighed, rest}, (size + tileDepth - 1) / tileDepth,
                (ingot_const_value_dim + lanes - 1) / lanes, segment, layout().segmentStride());
    for (int64_t r = 0; r < rows; ++r)
      segment[r * layout().segmentStride() + ingot_const_value_dim] = sums[r];
    for (int64_t r = 0; r < rows; r += lanes)
      mergeRows(row, r, rows - r < lanes ? rows - r : lanes);
  }

  template <int Terms>
  void multiply(int64_t rows, const PairTerm (&terms)[Terms], int64_t depth, int64_t panels,
                float *result, int64_t stride) {
    if (ingot_const_method == TileAttention)
      multiplyTiles(tiles, rows, terms, depth, panels, result, stride);
    else
      multiplyPairs(rows, layout().blockRows(), terms, depth, panels, result, stride);
  }

  const float *scoresOf(int64_t row) const {
    return floats(layout().scores()) + row * layout().scoreStride();
  }
  static Floats factor() { return splat(float(ingot_real_scale * 1.4426950408889634)); }

  /// Scores of positions [i, i + 16) of a row; of those behind the last one minus infinity.
  [[gnu::always_inline]] Floats scoresAt(const float *scores, int64_t i) const {
    Floats score = loadVector<Floats>(scores + i);
    return i + lanes <= size                 ? score
           : laneIndex() < int32_t(size - i) ? score
                                             : splat(-__builtin_inff());
  }

  /// The maxima of sixteen rows from `row` of the block on.
  void findMaxima(int64_t row) const {
    Floats largest[lanes];
#pragma clang loop unroll(full)
    for (int r = 0; r < lanes; ++r)
      largest[r] = scoresAt(scoresOf(row + r), 0);
    for (int64_t i = lanes; i < size; i += lanes)
#pragma clang loop unroll(full)
      for (int r = 0; r < lanes; ++r)
        largest[r] = larger(scoresAt(scoresOf(row + r), i), largest[r]);
    transpose(largest);
    for (int r = 1; r < lanes; ++r)
      largest[0] = larger(largest[r], largest[0]);
    storeVector(floats(layout().segmentMaxima()) + row, largest[0] * factor());
  }

  /// Weights of a row of the block, up to whole tiles, in place of its scores; their sum.
  float weighRow(int64_t row) const {
    float *scores = floats(layout().scores()) + row * layout().scoreStride();
    const Floats maximum = splat(floats(layout().segmentMaxima())[row]);
    Floats sums[2] = {};
    int64_t i = 0;
    for (; i + tileDepth <= size; i += tileDepth) {
      Floats weights[2];
#pragma clang loop unroll(full)
      for (int j = 0; j < 2; ++j) {
        Floats score = loadVector<Floats>(scores + i + j * lanes);
        weights[j] = powerOfTwo(fma(score, factor(), -maximum));
        sums[j] += weights[j];
      }
      splitWeights(weights, scores + i);
    }
    if (i < size) {
      Floats weights[2];
#pragma clang loop unroll(full)
      for (int j = 0; j < 2; ++j) {
        Floats score = loadVector<Floats>(scores + i + j * lanes);
        score = powerOfTwo(fma(score, factor(), -maximum));
        weights[j] = laneIndex() < int32_t(size - i - j * lanes) ? score : Floats{};
        sums[j] += weights[j];
      }
      splitWeights(weights, scores + i);
    }
    return sumLanes(sums[0] + sums[1]);
  }

  /// Stores 32 weights as two parts, one behind the other: what bf16 has of their bits, and the
  /// rest, rounded.
  [[gnu::always_inline]] static void splitWeights(const Floats (&weights)[2], void *to) {
    Floats upper[2], lower[2];
#pragma clang loop unroll(full)
    for (int j = 0; j < 2; ++j) {
      upper[j] = (Floats)((UInts)weights[j] & 0xffff0000u);
      lower[j] = weights[j] - upper[j];
    }
    storePairOfBf16(upper, to);
    storePairOfBf16(lower, static_cast<char *>(to) + amxRowBytes);
  }
  [[gnu::always_inline]] static void storePairOfBf16(const Floats (&numbers)[2], void *to) {
#ifdef __AVX512BF16__
    storeVector(to, _mm512_cvtne2ps_pbh((__m512)numbers[1], (__m512)numbers[0]));
#else
    storeVector(to, narrowBf16(numbers[0]));
    storeVector(static_cast<char *>(to) + sizeof(Shorts), narrowBf16(numbers[1]));
#endif
  }

  /// Takes the segment's weighted values of `count` rows into their totals.
  void mergeRows(int64_t first, int64_t row, int64_t count) const {
    float *maxima = floats(layout().totalMaxima()) + first + row;
    Floats own = loadVector<Floats>(floats(layout().segmentMaxima()) + row);
    Floats before = loadVector<Floats>(maxima), both = larger(own, before);
    storeVector(maxima, both);
    alignas(64) float factors[2][lanes];
    storeVector(factors[0], powerOfTwo(larger(before - both, splat(-150.0f))));
    storeVector(factors[1], powerOfTwo(own - both));
    for (int64_t r = 0; r < count; ++r) {
      const float *segment = floats(layout().segment()) + (row + r) * layout().segmentStride();
      float *to = total(first + row + r);
      for (int64_t i = 0; i < layout().valueStride(); i += lanes)
        storeVector(to + i, fma(loadVector<Floats>(segment + i), splat(factors[1][r]),
                                loadVector<Floats>(to + i) * factors[0][r]));
    }
  }

  const EncoderRun &run;
  AmxTiles tiles;
  int64_t size = 0; ///< of the segment
};

} // namespace ingot::x86
