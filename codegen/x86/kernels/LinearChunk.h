// SPDX-License-Identifier: Apache-2.0
// The chunk that linear attention (LinearRun.h) computes in, in scratch memory: what it takes from
// state and leaves there, the rows of the step, and S before the next chunk.
#pragma once

#include "codegen/native/kernels/LinearRun.h"
#include "codegen/x86/kernels/Epilogue.h"
#include "codegen/x86/kernels/LinearScratch.h"
#include "codegen/x86/kernels/RegisterTile.h"
#include "codegen/x86/kernels/Transpose.h"

namespace ingot::x86 {

constexpr int64_t groupColumns = tilePanels * lanes;

inline LinearScratch linearScratch() {
  return {ingot_const_key_dim, ingot_const_value_dim, ingot_const_chunk};
}

/// A matrix in row-major order, of which a register tile takes `tilePanels` panels of columns.
struct RowMajorPanels {
  static constexpr int64_t step = 1;
  const float *first;
  int64_t stride;

  [[gnu::always_inline]] Floats column(int64_t i, int64_t, int p) const {
    return loadVector<Floats>(first + i * stride + p * lanes);
  }
};

/// sums[v] += row[v] * factor for both sums, or for A alone, over `Rows` rows of a matrix in order.
template <int Rows>
[[gnu::always_inline]] inline void addRows(const float *matrix, int64_t stride, int64_t columns,
                                           const float *a, const float *b, float *sumA,
                                           float *sumB) {
  for (int64_t v = 0; v < columns; v += lanes) {
    Floats first = loadVector<Floats>(sumA + v), second = loadVector<Floats>(sumB + v);
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r) {
      Floats row = loadVector<Floats>(matrix + r * stride + v);
      first = fma(row, splat(a[r]), first);
      if (ingot_const_corrects)
        second = fma(row, splat(b[r]), second);
    }
    storeVector(sumA + v, first);
    if (ingot_const_corrects)
      storeVector(sumB + v, second);
  }
}

inline void copyMatrix(const float *from, int64_t fromStride, int64_t rows, int64_t columns,
                       float *to, int64_t toStride) {
  for (int64_t row = 0; row < rows; ++row, from += fromStride, to += toStride) {
    int64_t i = 0;
    for (; i + lanes <= columns; i += lanes)
      storeVector(to + i, loadVector<Floats>(from + i));
    for (; i < columns; ++i)
      to[i] = from[i];
  }
}

/// exp(x) for x <= 0, and 0 where that is below 2^-100 (LinearRun.h's least share).
[[gnu::always_inline]] inline Floats shareOf(Floats x) {
  Floats share = RegionMath<lanes>::exponential(x);
  return share < splat(kLeastShare) ? Floats{} : share;
}

struct LinearChunk {
  const LinearRun &run;
  float *state, *keys, *updates;    ///< S, k' transposed, u
  float *queryRows, *keyRows;       ///< q' and k' of the step's rows
  float *queryWeights, *keyWeights; ///< D_ij (q'_i . k'_j), D_ij (k'_i . k'_j)
  float *decays, *growths, *gates;  ///< G, exp(G), and of the step's rows beta

  LinearChunk(const LinearRun &run, float *scratch)
      : run(run), state(scratch + linearScratch().state()), keys(scratch + linearScratch().keys()),
        updates(scratch + linearScratch().updates()),
        queryRows(scratch + linearScratch().queryRows()),
        keyRows(scratch + linearScratch().keyRows()),
        queryWeights(scratch + linearScratch().queryWeights()),
        keyWeights(scratch + linearScratch().keyWeights()),
        decays(scratch + linearScratch().decays()), growths(scratch + linearScratch().growths()),
        gates(scratch + linearScratch().gates()) {}

  static int64_t keyStride() { return linearScratch().keyStride(); }
  static int64_t valueStride() { return linearScratch().valueStride(); }
  static int64_t chunkStride() { return linearScratch().chunkStride(); }

  //===- Between scratch and state ----------------------------------------------------------===//

  /// What an earlier step left of the first `count` positions, in whole vectors. Lanes behind them
  /// are read while another head may write there, and are overwritten before they are used.
  void load(int64_t chunk, int64_t count) const {
    auto whole = [](int64_t columns) { return (columns + lanes - 1) / lanes * lanes; };
    LinearState from = run.stateOf(chunk);
    int64_t values = whole(ingot_const_value_dim);
    copyMatrix(from.state, ingot_const_value_dim, ingot_const_key_dim, values, state,
               valueStride());
    copyMatrix(from.keys, ingot_const_chunk, ingot_const_key_dim, whole(count), keys,
               chunkStride());
    copyMatrix(from.decays, 0, 1, count, decays, 0);
    copyMatrix(from.updates, ingot_const_value_dim, count, values, updates, valueStride());
  }

  void clearState() const {
    for (int64_t i = 0; i < ingot_const_key_dim * valueStride(); i += lanes)
      storeVector(state + i, Floats{});
  }

  void storeState(int64_t chunk) const {
    copyMatrix(state, valueStride(), ingot_const_key_dim, ingot_const_value_dim,
               run.stateOf(chunk).state, ingot_const_value_dim);
  }

  /// Leaves k', G and u of positions [begin, begin + count).
  void storeRows(int64_t chunk, int64_t begin, int64_t count) const {
    LinearState to = run.stateOf(chunk);
    if (run.writesKeys())
      copyMatrix(keys + begin, chunkStride(), ingot_const_key_dim, count, to.keys + begin,
                 ingot_const_chunk);
    copyMatrix(decays + begin, 0, 1, count, to.decays + begin, 0);
    copyMatrix(updates + begin * valueStride(), valueStride(), count, ingot_const_value_dim,
               to.updates + begin * ingot_const_value_dim, ingot_const_value_dim);
  }

  /// Goes on to S before the next chunk; k' is used up.
  void advance() const {
    float last = decays[ingot_const_chunk - 1];
    Floats decay = splat(shareOf(splat(last))[0]);
    for (int64_t j = 0; j < ingot_const_chunk; j += lanes) {
      Floats share = shareOf(splat(last) - loadVector<Floats>(decays + j));
      for (int64_t c = 0; c < ingot_const_key_dim; ++c) {
        float *key = keys + c * chunkStride() + j;
        storeVector(key, loadVector<Floats>(key) * share);
      }
    }
    for (int64_t v = 0; v < ingot_const_value_dim; v += groupColumns)
      forRowTiles(ingot_const_key_dim, [&]<int Rows>(int64_t c) __attribute__((always_inline)) {
        Floats sum[Rows][tilePanels];
        forTile<Rows>([&](int r, int p) __attribute__((always_inline)) {
          sum[r][p] = loadVector<Floats>(state + (c + r) * valueStride() + v + p * lanes) * decay;
        });
        addToTile(keys + c * chunkStride(), chunkStride(),
                  RowMajorPanels{updates + v, valueStride()}, ingot_const_chunk, sum);
        forTile<Rows>([&](int r, int p) __attribute__((always_inline)) {
          storeVector(state + (c + r) * valueStride() + v + p * lanes, sum[r][p]);
        });
      });
  }

  /// Calls use(r, p) for the rows and panels of a register tile.
  template <int Rows, class Use> [[gnu::always_inline]] static void forTile(Use use) {
#pragma clang loop unroll(full)
    for (int r = 0; r < Rows; ++r)
#pragma clang loop unroll(full)
      for (int p = 0; p < tilePanels; ++p)
        use(r, p);
  }

  //===- The rows of the step ---------------------------------------------------------------===//

  /// G, exp(G) and beta of `count` tokens, the first of them the run's `done`-th, at `begin`.
  void takeDecays(int64_t done, int64_t begin, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      float before = begin + i > 0 ? decays[begin + i - 1] : 0;
      decays[begin + i] = before + run.logDecay(done + i);
      gates[i] = run.gate(done + i);
    }
    for (int64_t i = begin; i < begin + count; i += lanes)
      storeVector(growths + i, shareOf(loadVector<Floats>(decays + i)));
  }

  /// What the length of heads of q or k is divided by, from the sums of their squares.
  template <class Number>
  [[gnu::always_inline]] static Number factorOf(Number squares, bool query) {
    Number factor = 1.0f / __builtin_elementwise_sqrt(squares + float(ingot_real_epsilon));
    return query ? factor * (1.0f / __builtin_sqrtf(float(ingot_const_key_dim))) : factor;
  }

  Floats inputAt(int64_t element) const {
    return x86::load(ingot_const_input_type, run.launch->buffers[0], element);
  }

  /// q' or k' of `count` tokens as rows, and k' as columns from `begin` on too. element(i) is where
  /// the i-th token's head is in the input.
  template <bool Query, class Element>
  [[gnu::always_inline]] void takeHeads(int64_t count, Element element, float *rows,
                                        float *columns) const {
    for (int64_t first = 0; first < count; first += lanes) {
      auto place = [&](int i) __attribute__((always_inline)) {
        return element(first + i < count ? first + i : count - 1);
      };
      Floats squares = {};
      for (int64_t c = 0; c < ingot_const_key_dim; c += lanes) {
        Floats block[lanes];
#pragma clang loop unroll(full)
        for (int i = 0; i < lanes; ++i)
          block[i] = inputAt(place(i) + c);
        transpose(block);
#pragma clang loop unroll(full)
        for (int i = 0; i < lanes; ++i)
          if (c + i < ingot_const_key_dim) {
            squares = fma(block[i], block[i], squares);
            if (!Query)
              storeVector(columns + (c + i) * chunkStride() + first, block[i]);
          }
      }
      Floats factors = ingot_const_corrects ? factorOf(squares, Query) : splat(1);
      for (int64_t c = 0; !Query && c < ingot_const_key_dim; ++c) {
        float *column = columns + c * chunkStride() + first;
        storeVector(column, loadVector<Floats>(column) * factors);
      }
      alignas(64) float factor[lanes];
      storeVector(factor, factors);
      for (int i = 0; i < lanes && first + i < count; ++i)
        for (int64_t c = 0; c < ingot_const_key_dim; c += lanes)
          storeVector(rows + (first + i) * keyStride() + c,
                      inputAt(place(i) + c) * splat(factor[i]));
    }
  }

  /// The same of one token, as a row.
  void takeHead(int64_t element, bool query, float *row) const {
    for (int64_t c = 0; c < ingot_const_key_dim; c += lanes)
      storeVector(row + c, inputAt(element + c));
    float squares = 0;
    for (int64_t c = 0; c < ingot_const_key_dim; ++c)
      squares = __builtin_elementwise_fma(row[c], row[c], squares);
    Floats factor = splat(ingot_const_corrects ? factorOf(squares, query) : 1);
    for (int64_t c = 0; c < ingot_const_key_dim; c += lanes)
      storeVector(row + c, loadVector<Floats>(row + c) * factor);
  }

  /// Scores with the positions up to that of row `i`, at `place`, become weights.
  [[gnu::always_inline]] void decayScores(int64_t i, int64_t place) const {
    float *query = queryWeights + i * chunkStride(), *key = keyWeights + i * chunkStride();
    for (int64_t j = 0; j <= place; j += lanes) {
      Floats decay = shareOf(splat(decays[place]) - loadVector<Floats>(decays + j));
      storeVector(query + j, loadVector<Floats>(query + j) * decay);
      if (ingot_const_corrects)
        storeVector(key + j, loadVector<Floats>(key + j) * decay);
    }
  }

  /// 16 columns of a token's v from `column` on; zeros where it has none.
  [[gnu::always_inline]] Floats valueAt(int64_t token, int64_t column) const {
    return column < ingot_const_value_dim ? inputAt(run.value(token) + column) : Floats{};
  }
  [[gnu::always_inline]] void storeResult(int64_t token, int64_t column, Floats result) const {
    if (!ingot_const_corrects)
      result = fma(splat(run.skip()), valueAt(token, column), result);
    if (column < ingot_const_value_dim)
      store(ingot_const_result_type, run.launch->buffers[9], run.result(token) + column, result,
            ingot_const_value_dim - column);
  }
};

} // namespace ingot::x86
