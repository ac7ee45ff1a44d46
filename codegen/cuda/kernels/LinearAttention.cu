// SPDX-License-Identifier: Apache-2.0
// llm.gated_delta_rule and llm.state_space, whose x, B and C are v, k' and q' here: a block is some
// columns of one value head of one sequence, whose S and u it keeps in shared memory. Rows of a
// chunk are taken `rows` at a time; each result is one chain of fused multiply-adds in the order of
// the description. Buffers: input, decay, gate (or skip), positions, sequence_offsets, block_table,
// state, log_decay, decay_bias, result.
#include "Mathematics.cuh"
#include "RegionMath.cuh"

namespace {

constexpr int kThreads = int(constants::threads);
constexpr int kKeyHeads = int(constants::key_heads), kValueHeads = int(constants::value_heads);
constexpr int kKeyDim = int(constants::key_dim), kValueDim = int(constants::value_dim);
constexpr int kChunk = int(constants::chunk);
constexpr int kColumns = int(constants::tile_columns), kRows = int(constants::tile_rows);
constexpr bool kCorrects = constants::corrects != 0; ///< the delta rule, or a state space
constexpr int kHeadsPerKey = kValueHeads / kKeyHeads;
constexpr i64 kInputColumns = 2 * i64(kKeyHeads) * kKeyDim + i64(kValueHeads) * kValueDim;
/// A decay over some tokens; below this it is 0, as on CPUs.
constexpr float kLeastShare = 0x1p-100f;
INGOT_DEVICE float shareOf(float x) {
  float share = region::exponential(x);
  return share < kLeastShare ? 0.0f : share;
}
/// Threads take a column each, of one row in `kLanes`; a thread has so many of the rows.
constexpr int kLanes = kThreads / kColumns, kRowsEach = kRows / kLanes;
static_assert(kThreads % kColumns == 0 && kRows % kLanes == 0);

// Shared memory, in floats. Odd strides: threads of a warp read down a column.
constexpr int kKeyStride = kKeyDim | 1, kChunkStride = kChunk | 1;
constexpr int kKeys = 0;                                  ///< k' [chunk][kKeyStride]
constexpr int kHeads = kKeys + kChunk * kKeyStride;       ///< q' [rows][kKeyStride]
constexpr int kState = kHeads + kRows * kKeyStride;       ///< S [key_dim][columns]
constexpr int kUpdates = kState + kKeyDim * kColumns;     ///< u [chunk][columns]
constexpr int kKeyWeights = kUpdates + kChunk * kColumns; ///< [rows][kChunkStride]
constexpr int kQueryWeights = kKeyWeights + kRows * kChunkStride;
constexpr int kDecays = kQueryWeights + kRows * kChunkStride; ///< G [chunk]
constexpr int kGates = kDecays + kChunk;                      ///< beta [rows]
constexpr int kFloats = kGates + kRows;
static_assert(constants::shared_bytes == 4 * kFloats);

/// What a chunk holds of the block's value head, in its row of the state.
struct State {
  float *state, *keys, *decays, *updates;
};

struct Run {
  const Launch &launch;
  float *shared;
  const i32 *table;
  int head, column, columns; ///< the value head, the block's first column of it, and how many

  __device__ bool keeps(int chunk) const { return table[chunk] >= 0; }
  __device__ State stateOf(int chunk) const {
    constexpr i64 matrix = i64(kKeyDim) * kValueDim;
    float *state = reinterpret_cast<float *>(launch.buffer<u8>(6) +
                                             i64(table[chunk]) * constants::block_bytes);
    float *keys = state + kValueHeads * matrix;
    float *decays = keys + i64(kKeyHeads) * kKeyDim * kChunk;
    float *updates = decays + kValueHeads * kChunk;
    return {state + head * matrix + column, keys + i64(head / kHeadsPerKey) * kKeyDim * kChunk,
            decays + head * kChunk, updates + i64(head) * kChunk * kValueDim + column};
  }

  /// Calls use(row, column) for all elements of a matrix, spread over the threads.
  template <class Use> __device__ void forAll(int rows, int width, Use use) const {
    for (int i = int(threadIdx.x); i < rows * width; i += kThreads)
      use(i / width, i % width);
  }

  /// What an earlier step left of the first `count` positions of a chunk.
  __device__ void load(int chunk, int count) const {
    State from = stateOf(chunk);
    forAll(kKeyDim, columns, [&](int c, int v) {
      shared[kState + c * kColumns + v] = from.state[c * kValueDim + v];
    });
    forAll(kKeyDim, count,
           [&](int c, int j) { shared[kKeys + j * kKeyStride + c] = from.keys[c * kChunk + j]; });
    forAll(1, count, [&](int, int j) { shared[kDecays + j] = from.decays[j]; });
    forAll(count, columns, [&](int j, int v) {
      shared[kUpdates + j * kColumns + v] = from.updates[j * kValueDim + v];
    });
  }

  /// Leaves k', G and u of positions [begin, begin + count).
  __device__ void store(int chunk, int begin, int count) const {
    State to = stateOf(chunk);
    if (column == 0 && head % kHeadsPerKey == 0)
      forAll(kKeyDim, count, [&](int c, int j) {
        to.keys[c * kChunk + begin + j] = shared[kKeys + (begin + j) * kKeyStride + c];
      });
    if (column == 0)
      forAll(1, count, [&](int, int j) { to.decays[begin + j] = shared[kDecays + begin + j]; });
    forAll(count, columns, [&](int j, int v) {
      to.updates[(begin + j) * kValueDim + v] = shared[kUpdates + (begin + j) * kColumns + v];
    });
  }

  /// Goes on to S before the next chunk.
  __device__ void advance() const {
    float last = shared[kDecays + kChunk - 1], decay = shareOf(last);
    // Beside S, what is shared by its rows lies where weights will.
    forAll(1, kChunk, [&](int, int j) {
      shared[kKeyWeights + j] = shareOf(last - shared[kDecays + j]);
    });
    __syncthreads();
    forAll(kKeyDim, columns, [&](int c, int v) {
      float sum = decay * shared[kState + c * kColumns + v];
      for (int j = 0; j < kChunk; ++j)
        sum = __fmaf_rn(shared[kKeyWeights + j] * shared[kKeys + j * kKeyStride + c],
                        shared[kUpdates + j * kColumns + v], sum);
      shared[kState + c * kColumns + v] = sum;
    });
    __syncthreads();
  }

  /// Begins a chunk at its first position, with S; `isFirst`: of the step.
  __device__ void begin(int chunk, bool isFirst) const {
    if (chunk == 0)
      forAll(kKeyDim, columns, [&](int c, int v) { shared[kState + c * kColumns + v] = 0; });
    if (chunk > 0 && isFirst)
      load(chunk - 1, kChunk);
    __syncthreads();
    if (chunk > 0)
      advance();
    if (keeps(chunk)) {
      State to = stateOf(chunk);
      forAll(kKeyDim, columns, [&](int c, int v) {
        to.state[c * kValueDim + v] = shared[kState + c * kColumns + v];
      });
    }
  }

  /// The head of K elements of the input from `first` on, over its length and `scale`.
  __device__ void takeHead(i64 first, float scale, float *head) const {
    float squares = 0;
    for (int c = 0; c < kKeyDim; ++c) {
      float x = loadElement<constants::input_type>(launch.buffers[0], first + c);
      head[c] = x;
      squares = __fmaf_rn(x, x, squares);
    }
    if constexpr (kCorrects) {
      float factor = scale / __fsqrt_rn(squares + float(constants::epsilon));
      for (int c = 0; c < kKeyDim; ++c)
        head[c] *= factor;
    }
  }

  /// q', k', G and beta of `count` tokens from row `first` on, at `place` of their chunk.
  __device__ void takeRows(i64 first, int place, int count) const {
    float keyScale = 1, queryScale = 1.0f / __fsqrt_rn(float(kKeyDim));
    forAll(2, count, [&](int which, int i) {
      i64 own = (first + i) * kInputColumns + i64(head / kHeadsPerKey) * kKeyDim;
      takeHead(own + (which ? constants::key_column : constants::query_column),
               which ? keyScale : queryScale,
               shared + (which ? kKeys + (place + i) * kKeyStride : kHeads + i * kKeyStride));
    });
    forAll(1, count, [&](int, int i) {
      i64 element = (first + i) * kValueHeads + head;
      float x = loadElement<constants::decay_type>(launch.buffers[1], element) +
                loadElement<constants::decay_bias_type>(launch.buffers[8], head);
      float rate = loadElement<constants::log_decay_type>(launch.buffers[7], head);
      double step = softPlus(double(x));
      if constexpr (kCorrects) {
        float b = loadElement<constants::gate_type>(launch.buffers[2], element);
        shared[kGates + i] = float(1.0 / (1.0 + exponential(-double(b))));
      } else {
        step = step < constants::least ? constants::least : step;
        step = step > constants::most ? constants::most : step;
        shared[kGates + i] = float(step);
      }
      shared[kDecays + place + i] = float(-exponential(double(rate)) * step);
    });
    __syncthreads();
    if (threadIdx.x == 0)
      for (int j = place > 0 ? place : 1; j < place + count; ++j)
        shared[kDecays + j] += shared[kDecays + j - 1];
    __syncthreads();
  }

  /// D_ij (k'_i . k'_j) and D_ij (q'_i . k'_j) of the rows, for j up to i.
  __device__ void weigh(int place, int count) const {
    forAll(count, place + count, [&](int i, int j) {
      if (j > place + i)
        return;
      const float *key = shared + kKeys + (place + i) * kKeyStride,
                  *query = shared + kHeads + i * kKeyStride,
                  *other = shared + kKeys + j * kKeyStride;
      float ofKey = 0, ofQuery = 0;
      for (int c = 0; c < kKeyDim; ++c) {
        if constexpr (kCorrects)
          ofKey = __fmaf_rn(key[c], other[c], ofKey);
        ofQuery = __fmaf_rn(query[c], other[c], ofQuery);
      }
      float decay = shareOf(shared[kDecays + place + i] - shared[kDecays + j]);
      if constexpr (kCorrects)
        shared[kKeyWeights + i * kChunkStride + j] = decay * ofKey;
      shared[kQueryWeights + i * kChunkStride + j] = decay * ofQuery;
    });
    __syncthreads();
  }

  /// Column v of the block, of the v of a row.
  __device__ float valueAt(i64 row, int v) const {
    i64 element = row * kInputColumns + constants::value_column + i64(head) * kValueDim + column;
    return loadElement<constants::input_type>(launch.buffers[0], element + v);
  }

  /// use(k, i) for each row i < `rows` that a thread of this lane has, its k-th.
  template <class Use> __device__ void forRows(int lane, int rows, Use use) const {
#pragma unroll
    for (int k = 0; k < kRowsEach; ++k)
      if (int i = lane + k * kLanes; i < rows)
        use(k, i);
  }

  /// u and the results of `count` tokens, of which all else is known.
  __device__ void answer(i64 first, int place, int count) const {
    int v = int(threadIdx.x) % kColumns, lane = int(threadIdx.x) / kColumns;
    int rows = v < columns ? count : 0;
    const float *updates = shared + kUpdates + v;
    float ofKey[kRowsEach] = {}, ofQuery[kRowsEach] = {};
    forRows(lane, rows, [&](int k, int i) {
      const float *key = shared + kKeys + (place + i) * kKeyStride,
                  *query = shared + kHeads + i * kKeyStride;
      for (int c = 0; c < kKeyDim; ++c) {
        float state = shared[kState + c * kColumns + v];
        if constexpr (kCorrects)
          ofKey[k] = __fmaf_rn(key[c], state, ofKey[k]);
        ofQuery[k] = __fmaf_rn(query[c], state, ofQuery[k]);
      }
      float growth = shareOf(shared[kDecays + place + i]);
      ofKey[k] *= growth;
      ofQuery[k] *= growth;
    });
    auto addUpdate = [&](int k, int i, int j) {
      float u = updates[j * kColumns];
      if (kCorrects && j < place + i)
        ofKey[k] = __fmaf_rn(shared[kKeyWeights + i * kChunkStride + j], u, ofKey[k]);
      ofQuery[k] = __fmaf_rn(shared[kQueryWeights + i * kChunkStride + j], u, ofQuery[k]);
    };
    forRows(lane, rows, [&](int k, int i) {
      for (int j = 0; j < place; ++j)
        addUpdate(k, i, j);
    });
    for (int t = 0; t < count; ++t) {
      forRows(lane, rows, [&](int k, int i) {
        if (i != t)
          return;
        float value = valueAt(first + i, v);
        shared[kUpdates + (place + t) * kColumns + v] = shared[kGates + t] * (value - ofKey[k]);
      });
      __syncthreads();
      forRows(lane, rows, [&](int k, int i) {
        if (i >= t)
          addUpdate(k, i, place + t);
      });
    }
    forRows(lane, rows, [&](int k, int i) {
      if constexpr (!kCorrects)
        ofQuery[k] = __fmaf_rn(loadElement<constants::gate_type>(launch.buffers[2], head),
                               valueAt(first + i, v), ofQuery[k]);
      storeElement<constants::result_type>(
          launch.buffers[9], ((first + i) * kValueHeads + head) * kValueDim + column + v,
          ofQuery[k]);
    });
  }
};

} // namespace

__device__ void run(const Launch &launch) {
  extern __shared__ __align__(16) float memory[];
  const i32 *offsets = launch.buffer<const i32>(4) + blockIdx.x;
  i64 first = offsets[0];
  int count = offsets[1] - offsets[0], column = int(blockIdx.z) * kColumns;
  if (count <= 0)
    return;
  Run run = {
      launch,          memory, launch.buffer<const i32>(5) + blockIdx.x * launch.tableColumns(),
      int(blockIdx.y), column, int(least(kColumns, kValueDim - column))};
  int position = launch.buffer<const i32>(3)[first];
  for (int done = 0; done < count;) {
    int chunk = (position + done) / kChunk, place = (position + done) % kChunk;
    if (place == 0)
      run.begin(chunk, done == 0);
    else if (done == 0)
      run.load(chunk, place);
    int rows = int(least(least(kRows, kChunk - place), count - done));
    __syncthreads();
    run.takeRows(first + done, place, rows);
    run.weigh(place, rows);
    run.answer(first + done, place, rows);
    if (run.keeps(chunk))
      run.store(chunk, place, rows);
    __syncthreads();
    done += rows;
  }
}
