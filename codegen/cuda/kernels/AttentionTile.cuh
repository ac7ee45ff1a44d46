// SPDX-License-Identifier: Apache-2.0
// Attention on tensor cores: the steps that all its templates share, which fix the numbers of a
// query head of a token whatever else is computed beside it.
//
// A segment (constants::segment) is taken in tiles of kTile by absolute position. Per tile: scores
// by mma.sync over the head's elements, 16 at a time in order; times scale * log2 e (and the keys'
// scales); the running maximum is raised and what was summed before scaled by 2^(old - new);
// weights 2^(score - maximum); a lane sums the weights of its columns in order; weighted values by
// mma.sync over positions, 16 at a time in order, each weight in two parts (the rounded value and
// what rounding left), so that no rounding point arises. Segments are merged in order by
// mergeValue(), and last the sinks by addSink(). An element of a product depends on its row and
// column alone, so it does not matter which warp computes it, nor what the other rows of its tile
// are.
//
// 8-bit keys and values are converted exactly, keys to the query's type, values to bf16; their
// scales multiply scores and weights. With fp8 all products are of e4m3: AttentionFp8.cuh.
#pragma once

#include "AttentionFp8.cuh"
#include "CapScore.cuh"

//===- Conversions --------------------------------------------------------------------------===//

/// Two floats as 16-bit elements, `low` in the low half.
template <i64 Type> INGOT_DEVICE u32 packHalves(float low, float high) {
  return Type == kBf16 ? ptx::bf16x2FromFloats(low, high) : ptx::f16x2FromFloats(low, high);
}
template <i64 Type> INGOT_DEVICE float lowHalf(u32 halves) {
  return Type == kBf16 ? __uint_as_float(halves << 16) : floatFromF16(u16(halves));
}
template <i64 Type> INGOT_DEVICE float highHalf(u32 halves) {
  return Type == kBf16 ? __uint_as_float(halves & 0xffff0000u) : floatFromF16(u16(halves >> 16));
}

/// Elements `First` and `Second` of the four 8-bit ones in `codes` as 16-bit elements.
template <i64 Type, int First, int Second> INGOT_DEVICE u32 convertPair(u32 codes) {
  constexpr bool toBf16 = Type == kBf16;
  if constexpr (constants::kv_type == kI8) {
    u32 low = ptx::permuteBytes(codes, 0, 0x4040 | Second << 8 | First);
    if constexpr (toBf16) // 128 + the low bits, minus 128 or, for negative numbers, 256
      return ptx::fmaBf16x2(ptx::andOr(low, 0x007f007f, 0x43004300), 0x3f803f80,
                            ptx::andOr(low, 0x00800080, 0xc300c300));
    return ptx::subtractF16x2((low ^ 0x00800080) | 0x64006400, 0x64806480);
  } else {
    // Sign, exponent and mantissa shifted to their places: the value times a power of two.
    u32 high = ptx::permuteBytes(codes, 0, 0x0404 | Second << 12 | First << 4);
    constexpr bool isE4m3 = constants::kv_type == kE4m3;
    if constexpr (!toBf16 && !isE4m3)
      return high;
    constexpr int shift = toBf16 ? (isE4m3 ? 4 : 3) : 1;
    u32 moved = (high & 0x80008000u) | (high & 0x7f007f00u) >> shift;
    if constexpr (toBf16)
      return ptx::fmaBf16x2(moved, isE4m3 ? 0x7b807b80 : 0x77807780, 0x80008000);
    return ptx::fmaF16x2(moved, 0x5c005c00, 0x80008000);
  }
}

template <i64 Type> INGOT_DEVICE void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (Type == kBf16)
    ptx::multiplyBf16(d, a, b0, b1);
  else
    ptx::multiplyF16(d, a, b0, b1);
}

/// Turns of a loop along heads that are worked on at once: of latents, which are long, all of them
/// would take too many registers beside the sums.
constexpr int kMostUnrolled = kLatent ? 3 : 1024;

//===- Tiles in shared memory ---------------------------------------------------------------===//

/// Where the cache of a sequence is.
struct KvSequence {
  void *cache;
  const i32 *table;
  int head;
};

/// Starts to copy keys (or values) of a tile's positions from `begin` on into shared memory, zeros
/// for those from `end` on; and their scales.
template <bool Keys>
INGOT_DEVICE void copyTile(const KvSequence &from, i32 begin, i32 end, u32 rows, u32 scales) {
  constexpr int pieces = kRowBytes / 16;
  constexpr int stride = Keys ? kKeyStride : kValueStride;
  constexpr int unrolled = int(least(ceilDiv(kTile * pieces, kThreads), kMostUnrolled));
#pragma unroll unrolled
  for (int i = 0; i < int(ceilDiv(kTile * pieces, kThreads)); ++i) {
    int piece = i * kThreads + int(threadIdx.x);
    if (kTile * pieces % kThreads != 0 && piece >= kTile * pieces)
      break;
    int row = piece / pieces;
    i32 position = begin + row;
    bool exists = position < end;
    KvPlace place = KvPlace::of(from.cache, from.table, exists ? position : begin);
    const u8 *data = (Keys ? place.keys() : place.values()) + place.element(from.head) * kKvBytes;
    ptx::copyAsync16(rows + row * stride + swizzled(row, piece % pieces * 16),
                     data + piece % pieces * 16, exists ? 16 : 0);
  }
  if constexpr (kKvScaled)
    if (int row = int(threadIdx.x); row < kTile) {
      bool exists = begin + row < end;
      KvPlace place = KvPlace::of(from.cache, from.table, exists ? begin + row : begin);
      ptx::copyAsync4(scales + row * 4,
                      Keys ? place.keyScale(from.head) : place.valueScale(from.head),
                      exists ? 4 : 0);
    }
}

//===- Scores -------------------------------------------------------------------------------===//

/// Brings scores from powers of e to powers of two.
constexpr double kPowersOfTwo = 1.4426950408889634;

/// What the rows of a query are divided by.
struct QueryScales {
  float rows[2];

  __device__ __forceinline__ void find(const void *row, const void *below) {
    rows[0] = kFp8 ? fp8::queryScale(row) : 1.0f;
    rows[1] = kFp8 ? fp8::queryScale(below) : 1.0f;
  }
};

/// Fragment `step` of a query: elements 16 * step + 4 * (lane % 4) ... + 3 of rows laneRow() and
/// + 8, which begin at `row` and `below` in global memory; null: zeros.
INGOT_DEVICE void loadQueryStep(const void *row, const void *below, const QueryScales &scales,
                                int step, u32 (&query)[4]) {
  if constexpr (kFp8) {
    fp8::loadQueryRow(row, scales.rows[0], step, query[0], query[2]);
    fp8::loadQueryRow(below, scales.rows[1], step, query[1], query[3]);
  } else {
    int piece = step * 4 + laneIndex() % 4;
    uint2 first = row ? static_cast<const uint2 *>(row)[piece] : uint2{0, 0};
    uint2 second = below ? static_cast<const uint2 *>(below)[piece] : uint2{0, 0};
    query[0] = first.x;
    query[1] = second.x;
    query[2] = first.y;
    query[3] = second.y;
  }
}

/// All fragments of a query, in registers.
struct QueryRegisters {
  u32 steps[kSteps][4];
  QueryScales scales;

  __device__ __forceinline__ void load(const void *row, const void *below) {
    scales.find(row, below);
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      loadQueryStep(row, below, scales, step, steps[step]);
  }
  __device__ __forceinline__ void get(int step, u32 (&query)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      query[i] = steps[step][i];
  }
};

/// All fragments of 16 rows of a query, in shared memory of kSteps * 512 bytes.
struct QueryShared {
  uint4 *lane;
  QueryScales scales;

  __device__ __forceinline__ QueryShared(u8 *memory)
      : lane(reinterpret_cast<uint4 *>(memory) + laneIndex()) {}
  /// `stores`: warps that share the memory have one of them write it, before the block meets.
  __device__ __forceinline__ void load(const void *row, const void *below, bool stores) {
    scales.find(row, below);
    if (!stores)
      return;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      u32 query[4];
      loadQueryStep(row, below, scales, step, query);
      lane[step * kWarpSize] = {query[0], query[1], query[2], query[3]};
    }
  }
  __device__ __forceinline__ void get(int step, u32 (&query)[4]) const {
    uint4 value = lane[step * kWarpSize];
    query[0] = value.x;
    query[1] = value.y;
    query[2] = value.z;
    query[3] = value.w;
  }
};

/// Scores of the 16 rows with the positions of `Tiles` column tiles, whose keys begin at `keys`.
template <int Tiles, class Query>
INGOT_DEVICE void scoreTile(const Query &query, const u8 *keys, float (&scores)[Tiles][4]) {
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      scores[tile][i] = 0;
  const u8 *lane = keys + laneRow() * kKeyStride;
  constexpr int unrolled = int(least(kSteps, kMostUnrolled));
#pragma unroll unrolled
  for (int step = 0; step < kSteps; ++step) {
    u32 rows[4];
    query.get(step, rows);
    int byte = (step * 4 + laneIndex() % 4) * (kStepElements / 4) * kKvBytes;
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      const u8 *at = lane + tile * 8 * kKeyStride + swizzled(laneRow(), byte);
      if constexpr (kFp8) {
        uint2 codes = *reinterpret_cast<const uint2 *>(at);
        fp8::multiply(scores[tile], rows, codes.x, codes.y);
      } else if constexpr (kKvScaled) {
        u32 codes = *reinterpret_cast<const u32 *>(at);
        multiply<kScoreType>(scores[tile], rows, convertPair<kScoreType, 0, 1>(codes),
                             convertPair<kScoreType, 2, 3>(codes));
      } else {
        uint2 codes = *reinterpret_cast<const uint2 *>(at);
        multiply<kScoreType>(scores[tile], rows, codes.x, codes.y);
      }
    }
  }
  if constexpr (kFp8)
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[tile][i] *= query.scales.rows[i / 2];
}

/// Brings scores into powers of two and masks positions behind the last that a row sees and before
/// its window: both rows' own position and that last one. `scales` and `first`: of the first
/// position of the tiles.
template <int Tiles>
INGOT_DEVICE void scaleScores(const float *scales, i32 first, Seen row, Seen below,
                              float (&scores)[Tiles][4]) {
  constexpr float factor = float(constants::scale * kPowersOfTwo);
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int column = tile * 8 + laneColumn() + i % 2;
      float score = scores[tile][i];
      if constexpr (kKvScaled)
        score *= scales[column];
      i32 position = first + column, own = i < 2 ? row.position : below.position;
      i32 last = own;
      if constexpr (constants::reaches != 0)
        last = i < 2 ? row.last : below.last;
      bool isMasked = position > last || position < firstSeen(own);
      if constexpr (constants::softcap > 0)
        score = capScore(score * float(constants::scale)) * float(kPowersOfTwo);
      else
        score *= factor;
      scores[tile][i] = isMasked ? minusInfinity() : score;
    }
}

//===- Weights and weighted values ----------------------------------------------------------===//

/// What a lane knows of its two rows within a segment: the maximum, and its part of the sum.
struct RowState {
  float maximum[2], sum[2];

  __device__ __forceinline__ void clear() {
    maximum[0] = maximum[1] = minusInfinity();
    sum[0] = sum[1] = 0;
  }
  /// Adds up the parts of a row's four lanes.
  __device__ __forceinline__ void finish() {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[half] += __shfl_xor_sync(kAllLanes, sum[half], 1);
      sum[half] += __shfl_xor_sync(kAllLanes, sum[half], 2);
    }
  }
};

/// Turns a tile's scores into weights; `before` gets what earlier sums are to be scaled by.
/// `Halves`: 1 if the rows from 8 on are unused.
template <int Halves>
INGOT_DEVICE void weigh(float (&scores)[kColumnTiles][4], RowState &state, float (&before)[2]) {
#pragma unroll
  for (int half = 0; half < Halves; ++half) {
    float maximum = state.maximum[half];
#pragma unroll
    for (int tile = 0; tile < kColumnTiles; ++tile)
      maximum = fmaxf(maximum, fmaxf(scores[tile][2 * half], scores[tile][2 * half + 1]));
    maximum = fmaxf(maximum, __shfl_xor_sync(kAllLanes, maximum, 1));
    maximum = fmaxf(maximum, __shfl_xor_sync(kAllLanes, maximum, 2));
    float base = maximum > minusInfinity() ? maximum : 0.0f;
    before[half] = ptx::exponential2(state.maximum[half] - base);
    float sum = 0;
#pragma unroll
    for (int tile = 0; tile < kColumnTiles; ++tile)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[tile][i] = ptx::exponential2(scores[tile][i] - base);
        sum += scores[tile][i];
      }
    state.sum[half] = state.sum[half] * before[half] + sum;
    state.maximum[half] = maximum;
  }
}

/// The values' fragments of 16 positions and one pair of column tiles.
INGOT_DEVICE void loadValues(const u8 *values, int position, int pair, u32 (&fragments)[4]) {
  if constexpr (kKvScaled) {
    // Columns 2 * row and + 1 of the pair go to the first and second of its tiles.
    const u8 *at = values + (position + laneColumn()) * kValueStride + pair * 16 + laneRow() * 2;
    u32 codes[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      codes[i] = *reinterpret_cast<const u16 *>(at + (i / 2 * 8 + i % 2) * kValueStride);
    u32 first = codes[0] | codes[1] << 16, second = codes[2] | codes[3] << 16;
    fragments[0] = convertPair<kValueType, 0, 2>(first);
    fragments[1] = convertPair<kValueType, 0, 2>(second);
    fragments[2] = convertPair<kValueType, 1, 3>(first);
    fragments[3] = convertPair<kValueType, 1, 3>(second);
  } else {
    int lane = laneIndex();
    const u8 *at =
        values + (position + lane % 16) * kValueStride + swizzled(lane, pair * 32 + lane / 16 * 16);
    ptx::loadMatrix4Transposed(fragments, ptx::sharedAddress(at));
  }
}

/// Element of the head that entry `index` (0 to 7: column tile, row half, column) of a lane's part
/// of a pair belongs to.
INGOT_DEVICE int elementOf(int pair, int index) {
  int tile = index / 4, column = laneColumn() + index % 2;
  return pair * 16 + (kKvScaled ? column * 2 + tile : tile * 8 + column);
}

/// sums += weights times values, for pairs from `firstPair` on that exist. `scales`: the values'.
template <int Halves, int Pairs>
INGOT_DEVICE void addValues(const float (&weights)[kColumnTiles][4], const u8 *values,
                            const float *scales, int firstPair, float (&sums)[Pairs][2][4]) {
  if constexpr (kFp8) {
    fp8::addValues<Halves>(weights, values, scales, firstPair, sums);
  } else {
#pragma unroll
    for (int step = 0; step < kTile / 16; ++step) {
      u32 rounded[4] = {}, rest[4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i % 2 >= Halves)
          continue;
        int tile = 2 * step + i / 2;
        float low = weights[tile][i % 2 * 2], high = weights[tile][i % 2 * 2 + 1];
        if constexpr (kKvScaled) {
          low *= scales[tile * 8 + laneColumn()];
          high *= scales[tile * 8 + laneColumn() + 1];
        }
        rounded[i] = packHalves<kValueType>(low, high);
        rest[i] = packHalves<kValueType>(low - lowHalf<kValueType>(rounded[i]),
                                         high - highHalf<kValueType>(rounded[i]));
      }
#pragma unroll
      for (int pair = 0; pair < Pairs; ++pair) {
        if (kPairs % (Pairs * kWarps) != 0 && firstPair + pair >= kPairs)
          break;
        u32 fragments[4];
        loadValues(values, step * 16, firstPair + pair, fragments);
        multiply<kValueType>(sums[pair][0], rounded, fragments[0], fragments[1]);
        multiply<kValueType>(sums[pair][1], rounded, fragments[2], fragments[3]);
        multiply<kValueType>(sums[pair][0], rest, fragments[0], fragments[1]);
        multiply<kValueType>(sums[pair][1], rest, fragments[2], fragments[3]);
      }
    }
  }
}

/// Scales the sums of earlier tiles of the segment.
template <int Pairs>
INGOT_DEVICE void scaleSums(const float (&before)[2], float (&sums)[Pairs][2][4]) {
#pragma unroll
  for (int pair = 0; pair < Pairs; ++pair)
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sums[pair][i / 4][i % 4] *= before[i % 4 / 2];
}

//===- Segments -----------------------------------------------------------------------------===//

/// What a total and the next segment are multiplied by when they are merged.
struct MergeFactors {
  float total, segment, maximum;
};
INGOT_DEVICE MergeFactors mergeFactors(float totalMaximum, float segmentMaximum) {
  float maximum = fmaxf(totalMaximum, segmentMaximum);
  // Before a row's window both may be empty.
  float base = kWindow > 0 && maximum == minusInfinity() ? 0.0f : maximum;
  return {ptx::exponential2(totalMaximum - base), ptx::exponential2(segmentMaximum - base),
          maximum};
}
/// A sum, or a weighted value, of the total with that of the segment.
INGOT_DEVICE float mergeValue(const MergeFactors &factors, float total, float segment) {
  return total * factors.total + segment * factors.segment;
}

/// Takes the sink of a query head into a total, as a segment whose sum is 1 and whose values are
/// zeros; returns what the total's weighted values are to be multiplied by.
INGOT_DEVICE float addSink(const Launch &launch, int head, float maximum, float &sum) {
  float sink = loadElement<constants::sink_type>(launch.buffers[5], head) * float(kPowersOfTwo);
  MergeFactors factors = mergeFactors(maximum, sink);
  sum = mergeValue(factors, sum, 1);
  return factors.total;
}
