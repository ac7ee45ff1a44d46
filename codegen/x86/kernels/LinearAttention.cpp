// SPDX-License-Identifier: Apache-2.0
// llm.gated_delta_rule and llm.state_space: one value head of one sequence a tile. Several tokens
// of a chunk are rows of products in register tiles; a single one reads S once, from its block.
// Either way each result is one chain of fused multiply-adds in the order of the description.
// Buffers: those of LinearRun.h.
//
// The floor of a single token is the bytes of S, k' and u of the chunk so far, of a prompt's token
// 4 K V + 2 K V + 2 C (K + V) operations.
#include "codegen/x86/kernels/LinearChunk.h"

namespace ingot::x86 {
namespace {

/// Tokens [done, done + count) of the run, at `begin` of a chunk that is in scratch memory.
struct LinearRows {
  const LinearChunk &chunk;
  int64_t done, begin, count;

  /// Where row i's token is, for rows that pad a register tile the last one's.
  int64_t token(int64_t row) const { return done + (row < count ? row : count - 1); }

  void weigh() const {
    int64_t keyStride = chunk.keyStride(), stride = chunk.chunkStride();
    for (int64_t j = 0; j < begin + count; j += groupColumns) {
      int64_t first = j > begin ? j - begin : 0;
      RowMajorPanels columns = {chunk.keys + j, stride};
      forRowTiles(
          count - first,
          [&]<int Rows>(int64_t tile) __attribute__((always_inline)) {
            int64_t row = first + tile;
            auto multiply = [&](const float *rows, float *weights) __attribute__((always_inline)) {
              Floats sum[Rows][tilePanels];
              multiplyTile(rows + row * keyStride, keyStride, columns, ingot_const_key_dim, sum);
              chunk.forTile<Rows>([&](int r, int p) __attribute__((always_inline)) {
                storeVector(weights + (row + r) * stride + j + p * lanes, sum[r][p]);
              });
            };
            if (ingot_const_corrects)
              multiply(chunk.keyRows, chunk.keyWeights);
            multiply(chunk.queryRows, chunk.queryWeights);
          },
          ingot_const_chunk);
    }
    for (int64_t row = 0; row < count; ++row)
      chunk.decayScores(row, begin + row);
  }

  /// exp(G_i) S^T head + the sum over j < `end` of weights[j] u_j, of the tile of rows from `row`
  /// and columns from `v` on.
  template <int Rows>
  [[gnu::always_inline]] void sumBefore(const float *heads, const float *weights, int64_t row,
                                        int64_t end, int64_t v,
                                        Floats (&sum)[Rows][tilePanels]) const {
    int64_t keyStride = chunk.keyStride(), stride = chunk.chunkStride();
    multiplyTile(heads + row * keyStride, keyStride,
                 RowMajorPanels{chunk.state + v, chunk.valueStride()}, ingot_const_key_dim, sum);
    chunk.forTile<Rows>([&](int r, int p) __attribute__((always_inline)) {
      sum[r][p] *= splat(chunk.growths[begin + row + r]);
    });
    addToTile(weights + row * stride, stride,
              RowMajorPanels{chunk.updates + v, chunk.valueStride()}, end, sum);
  }

  /// u of a tile of rows: a row's is known when those before it are.
  template <int Rows> [[gnu::always_inline]] void update(int64_t row, int64_t v) const {
    int64_t stride = chunk.chunkStride(), place = begin + row;
    Floats sum[Rows][tilePanels] = {};
    if (ingot_const_corrects)
      sumBefore<Rows>(chunk.keyRows, chunk.keyWeights, row, place, v, sum);
#pragma clang loop unroll(full)
    for (int t = 0; t < Rows; ++t)
#pragma clang loop unroll(full)
      for (int p = 0; p < tilePanels; ++p) {
        int64_t column = v + p * lanes;
        Floats u =
            (chunk.valueAt(token(row + t), column) - sum[t][p]) * splat(chunk.gates[row + t]);
        storeVector(chunk.updates + (place + t) * chunk.valueStride() + column, u);
#pragma clang loop unroll(full)
        for (int r = t + 1; ingot_const_corrects && r < Rows; ++r)
          sum[r][p] = fma(u, splat(chunk.keyWeights[(row + r) * stride + place + t]), sum[r][p]);
      }
  }

  /// The results of a tile of rows, whose u are known.
  template <int Rows> [[gnu::always_inline]] void answer(int64_t row, int64_t v) const {
    int64_t stride = chunk.chunkStride(), place = begin + row;
    Floats sum[Rows][tilePanels];
    sumBefore<Rows>(chunk.queryRows, chunk.queryWeights, row, place + 1, v, sum);
#pragma clang loop unroll(full)
    for (int t = 1; t < Rows; ++t)
#pragma clang loop unroll(full)
      for (int p = 0; p < tilePanels; ++p) {
        Floats u =
            loadVector<Floats>(chunk.updates + (place + t) * chunk.valueStride() + v + p * lanes);
#pragma clang loop unroll(full)
        for (int r = t; r < Rows; ++r)
          sum[r][p] = fma(u, splat(chunk.queryWeights[(row + r) * stride + place + t]), sum[r][p]);
      }
    chunk.forTile<Rows>([&](int r, int p) __attribute__((always_inline)) {
      if (row + r < count)
        chunk.storeResult(done + row + r, v + p * lanes, sum[r][p]);
    });
  }

  void compute() const {
    const LinearRun &run = chunk.run;
    chunk.takeHeads<true>(
        count, [&](int64_t i) __attribute__((always_inline)) { return run.query(done + i); },
        chunk.queryRows, nullptr);
    chunk.takeHeads<false>(
        count, [&](int64_t i) __attribute__((always_inline)) { return run.key(done + i); },
        chunk.keyRows, chunk.keys + begin);
    chunk.takeDecays(done, begin, count);
    weigh();
    for (int64_t v = 0; v < ingot_const_value_dim; v += groupColumns)
      forRowTiles(
          count,
          [&]<int Rows>(int64_t row) __attribute__((always_inline)) {
            update<Rows>(row, v);
            answer<Rows>(row, v);
          },
          ingot_const_chunk);
  }
};

/// A step's only token, at `place` of its chunk: what came before is read where it is, from the
/// chunk's block or, at its beginning, S from scratch memory.
struct LinearToken {
  const LinearChunk &chunk;
  LinearState before;
  int64_t stateStride, place;

  /// Both sums go on over the rows of a matrix.
  static void add(const float *matrix, int64_t stride, int64_t rows, int64_t columns,
                  const float *a, const float *b, float *sumA, float *sumB) {
    constexpr int together = 4;
    int64_t row = 0;
    for (; row + together <= rows; row += together)
      addRows<together>(matrix + row * stride, stride, columns, a + row, b + row, sumA, sumB);
    for (; row < rows; ++row)
      addRows<1>(matrix + row * stride, stride, columns, a + row, b + row, sumA, sumB);
  }

  void weigh() const {
    float *query = chunk.queryWeights, *key = chunk.keyWeights;
    for (int64_t j = 0; j < chunk.chunkStride(); j += lanes) {
      storeVector(query + j, Floats{});
      storeVector(key + j, Floats{});
    }
    add(before.keys, ingot_const_chunk, ingot_const_key_dim, place, chunk.queryRows, chunk.keyRows,
        query, key);
    float own = 0;
    for (int64_t c = 0; c < ingot_const_key_dim; ++c)
      own = __builtin_elementwise_fma(chunk.keyRows[c], chunk.queryRows[c], own);
    query[place] = own;
    chunk.decayScores(0, place);
  }

  void compute() const {
    const LinearRun &run = chunk.run;
    chunk.takeHead(run.query(0), /*query=*/true, chunk.queryRows);
    chunk.takeHead(run.key(0), /*query=*/false, chunk.keyRows);
    copyMatrix(before.decays, 0, 1, place, chunk.decays, 0);
    chunk.takeDecays(0, place, 1);
    weigh();
    // The chunk's u are in its block.
    float *sums = chunk.updates + chunk.valueStride(), *results = sums + chunk.valueStride();
    for (int64_t v = 0; v < ingot_const_value_dim; v += lanes) {
      storeVector(results + v, Floats{});
      storeVector(sums + v, Floats{});
    }
    add(before.state, stateStride, ingot_const_key_dim, ingot_const_value_dim, chunk.queryRows,
        chunk.keyRows, results, sums);
    Floats growth = splat(chunk.growths[place]), weight = splat(chunk.queryWeights[place]);
    for (int64_t v = 0; v < ingot_const_value_dim; v += lanes) {
      storeVector(results + v, loadVector<Floats>(results + v) * growth);
      storeVector(sums + v, loadVector<Floats>(sums + v) * growth);
    }
    add(before.updates, ingot_const_value_dim, place, ingot_const_value_dim, chunk.queryWeights,
        chunk.keyWeights, results, sums);
    for (int64_t v = 0; v < ingot_const_value_dim; v += lanes) {
      Floats u = (chunk.valueAt(0, v) - loadVector<Floats>(sums + v)) * splat(chunk.gates[0]);
      storeVector(chunk.updates + v, u);
      chunk.storeResult(0, v, fma(u, weight, loadVector<Floats>(results + v)));
    }
  }

  /// Leaves k', G and u.
  void store(const LinearState &to) const {
    for (int64_t c = 0; chunk.run.writesKeys() && c < ingot_const_key_dim; ++c)
      to.keys[c * ingot_const_chunk + place] = chunk.keyRows[c];
    to.decays[place] = chunk.decays[place];
    copyMatrix(chunk.updates, 0, 1, ingot_const_value_dim,
               to.updates + place * ingot_const_value_dim, 0);
  }
};

/// All tokens of the run, chunk by chunk.
void computeRun(const LinearRun &run, float *scratch) {
  LinearChunk held(run, scratch);
  for (int64_t done = 0; done < run.count;) {
    int64_t position = run.first + done, chunk = position / ingot_const_chunk,
            begin = position % ingot_const_chunk, left = run.count - done,
            most = ingot_const_chunk - begin, count = left < most ? left : most;
    bool keeps = run.keeps(chunk), isSingle = run.count == 1;
    if (begin > 0) {
      if (!isSingle)
        held.load(chunk, begin);
    } else if (position == 0) {
      held.clearState();
    } else {
      if (done == 0)
        held.load(chunk - 1, ingot_const_chunk);
      held.advance();
    }
    if (begin == 0 && keeps)
      held.storeState(chunk);
    if (isSingle) {
      LinearState inScratch = {held.state, nullptr, nullptr, nullptr};
      LinearToken token = {held, begin > 0 ? run.stateOf(chunk) : inScratch,
                           begin > 0 ? ingot_const_value_dim : held.valueStride(), begin};
      token.compute();
      if (keeps)
        token.store(run.stateOf(chunk));
    } else {
      LinearRows{held, done, begin, count}.compute();
      if (keeps)
        held.storeRows(chunk, begin, count);
    }
    done += count;
  }
}

} // namespace
} // namespace ingot::x86

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  LinearRun run = LinearRun::of(launch);
  if (run.count > 0)
    ingot::x86::computeRun(run, static_cast<float *>(launch->scratch));
}
