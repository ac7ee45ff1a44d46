// SPDX-License-Identifier: Apache-2.0
// llm.matmul without tensor cores, for every type of input and weight in every layout: a block is
// 64 rows of the weight by `tile_rows` tokens. Every element is summed by one thread in the order
// that the operation prescribes.
#include "EncodedWeight.cuh"
#include "MatmulEpilogue.cuh"

namespace {

using namespace matmul;

constexpr int kTileColumns = 64, kTileDepth = 32;
constexpr int kTileRows = int(constants::tile_rows);
/// Threads along the weight's rows and along tokens, and what each one sums.
constexpr int kAlong = 16, kAcross = int(constants::threads) / kAlong;
constexpr int kEach = kTileColumns / kAlong, kTokens = kTileRows / kAcross;
/// Sums of integers are closed at the ends of groups, which are multiples of this.
constexpr int kStep = 8;

/// The weight's value, or, for exact sums, what its scale will multiply.
INGOT_DEVICE float numberOf(const EncodedWeight &weight, i64 row, i64 k) {
  float stored = weight.element(u32(row), u32(k));
  return kInteger ? weight.unscaled(stored, u32(row), u32(k))
                  : weight.value(stored, u32(row), u32(k));
}

struct Tiles {
  float weights[kTileColumns][kTileDepth + 1];
  float inputs[kTileRows][kTileDepth + 1];
};

/// Stages columns [first, first + kTileDepth) of k; places beyond the ends hold zeros. `row`: of
/// the expert's weight.
INGOT_DEVICE void stage(const Launch &launch, Tiles &tiles, i64 row, const Tokens &tokens,
                        i64 first) {
  EncodedWeight weight = EncodedWeight::from<Beside>(launch, kWeight);
  for (int i = threadIdx.x; i < kTileColumns * kTileDepth; i += constants::threads) {
    i64 n = row + i / kTileDepth, k = first + i % kTileDepth;
    bool inside = n < constants::weight_rows && k < kDepth;
    tiles.weights[i / kTileDepth][i % kTileDepth] =
        inside ? numberOf(weight, tokens.weightRow() + n, k) : 0.0f;
  }
  for (int i = threadIdx.x; i < kTileRows * kTileDepth; i += constants::threads) {
    i64 t = i / kTileDepth, k = first + i % kTileDepth;
    bool inside = t < tokens.count && k < kDepth;
    tiles.inputs[i / kTileDepth][i % kTileDepth] =
        inside ? loadElement<constants::input_type>(launch.buffers[kInput],
                                                    tokens.input(t) * kDepth + k)
               : 0.0f;
  }
}

/// The thread's sums: `total` of what is closed, and of the open segment or group.
struct Sums {
  float total[kTokens][kEach];
  float open[kTokens][kEach];
  i32 exact[kTokens][kEach];
};

/// Row of the tile that the thread's sum `j` belongs to: members of a pair are 8 apart.
INGOT_DEVICE int tileRow(int j) {
  int along = threadIdx.x % kAlong;
  return along / 8 * 32 + along % 8 + 8 * j;
}

INGOT_DEVICE void closeGroup(const Launch &launch, Sums &sums, i64 row, const Tokens &tokens,
                             i64 k) {
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    i64 n = row + tileRow(j);
    float scale = n < constants::weight_rows ? EncodedWeight::from<Beside>(launch, kWeight)
                                                   .scale(u32(tokens.weightRow() + n), u32(k))
                                             : 0.0f;
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
      sums.total[i][j] = __fmaf_rn(float(sums.exact[i][j]), scale, sums.total[i][j]);
      sums.exact[i][j] = 0;
    }
  }
}

INGOT_DEVICE void closeSegment(Sums &sums) {
#pragma unroll
  for (int i = 0; i < kTokens; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      sums.total[i][j] += sums.open[i][j];
      sums.open[i][j] = 0;
    }
}

/// Adds kStep columns of the tiles from column `k` on.
INGOT_DEVICE void addColumns(const Tiles &tiles, Sums &sums, int k) {
  int across = threadIdx.x / kAlong;
#pragma unroll
  for (int step = 0; step < kStep; ++step) {
    float weight[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      weight[j] = tiles.weights[tileRow(j)][k + step];
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
      float input = tiles.inputs[across + i * kAcross][k + step];
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        if constexpr (kInteger)
          sums.exact[i][j] += i32(weight[j]) * i32(input);
        else
          sums.open[i][j] = __fmaf_rn(weight[j], input, sums.open[i][j]);
      }
    }
  }
}

INGOT_DEVICE void store(const Launch &launch, const Sums &sums, i64 row, const Tokens &tokens) {
#pragma unroll
  for (int i = 0; i < kTokens; ++i) {
    i64 place = threadIdx.x / kAlong + i * kAcross;
    if (place >= tokens.count)
      continue;
    i64 t = tokens.result(place);
#pragma unroll
    for (int j = 0; j < kEach; j += kPaired ? 2 : 1) {
      i64 column = resultColumn(row + tileRow(j));
      if (column < kColumns)
        storeElement<constants::result_type>(
            launch.buffers[kResult], t * kColumns + column,
            finish(launch, t, column, sums.total[i][j], sums.total[i][kPaired ? j + 1 : j]));
    }
  }
}

} // namespace

__device__ void run(const Launch &launch) {
  static_assert(!kPaired || constants::pair_offset == 8, "pairs are 8 rows apart");
  __shared__ Tiles tiles;
  i64 row = i64(blockIdx.x) * kTileColumns;
  Tokens tokens = tokensOf<kTileRows>(launch, blockIdx.y);
  if (tokens.count <= 0)
    return;
  Sums sums = {};
  for (i64 first = 0; first < kDepth; first += kTileDepth) {
    stage(launch, tiles, row, tokens, first);
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < kTileDepth && first + k < kDepth; k += kStep) {
      addColumns(tiles, sums, k);
      i64 end = first + k + kStep;
      if constexpr (kInteger) {
        if (end >= kDepth || (constants::group > 0 && end % most(constants::group, 1) == 0))
          closeGroup(launch, sums, row, tokens, first + k);
      } else {
        if (end >= kDepth || end % kSegment == 0)
          closeSegment(sums);
      }
    }
    __syncthreads();
  }
  store(launch, sums, row, tokens);
}
