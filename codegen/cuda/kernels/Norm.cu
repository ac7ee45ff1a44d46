// SPDX-License-Identifier: Apache-2.0
// llm.norm, with residual, sum and quantized result where the operation has them: one row, or one
// head of a row, a block. Numbers are summed by warps, a segment each: the columns of
// a lane in order, then the lanes as warpSum does; the segments in order. Buffers: input,
// residual?, weight?, bias?, static_scale?, result, scales?, sum?.
#include "Rows.cuh"

namespace {

constexpr i64 kColumns = constants::columns;
constexpr int kLaneColumns = int(constants::lane_columns);
constexpr i64 kSegments = ceilDiv(kColumns, kLaneColumns *kWarpSize);
constexpr int kWarps = int(constants::threads) / kWarpSize;
constexpr int kRounds = int(ceilDiv(kSegments, kWarps));
constexpr int kWidth = vectorWidth(kColumns, kLaneColumns);
constexpr bool kQuantized = elementBits(constants::result_type) == 8;

/// Buffers behind the input, in order; absent ones have the index of the next.
constexpr int kWeight = 1 + int(constants::residual);
constexpr int kBias = kWeight + int(constants::weighted);
constexpr int kStaticScale = kBias + int(constants::biased);
constexpr int kResult = kStaticScale + int(constants::static_scale);
constexpr int kScales = kResult + 1;
constexpr int kSum = kScales + (kQuantized ? 1 : 0);

/// First of the columns that this thread has in `round`; may lie past the row.
INGOT_DEVICE i64 columnOf(int round) {
  return (i64(round) * constants::threads + threadIdx.x) * kLaneColumns;
}

/// What is normed: the input, or its sum with the residual, which is stored where wanted.
INGOT_DEVICE void loadRow(const Launch &launch, i64 first, float (&values)[kRounds][kLaneColumns]) {
#pragma unroll
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int part = 0; part < kLaneColumns; part += kWidth) {
      i64 column = columnOf(round) + part;
      float x[kWidth] = {};
      if (column < kColumns) {
        loadElements<constants::input_type>(launch.buffers[0], first + column, x);
        if constexpr (constants::residual) {
          float added[kWidth];
          loadElements<constants::residual_type>(launch.buffers[1], first + column, added);
#pragma unroll
          for (int i = 0; i < kWidth; ++i)
            x[i] = roundElement<constants::sum_type>(x[i] + added[i]);
        }
        if constexpr (constants::sum)
          storeElements<constants::sum_type>(launch.buffers[kSum], first + column, x);
      }
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        values[round][part + i] = x[i];
    }
}

/// The mean of power(x) over the row, the same bits in every thread. What lies behind the row is
/// zero in `values`, and adds nothing.
template <class Power>
INGOT_DEVICE float meanOf(const float (&values)[kRounds][kLaneColumns], Power power) {
  __shared__ float segments[kRounds * kWarps];
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kLaneColumns; ++i)
      sum += power(values[round][i]);
    sum = warpSum(sum);
    if (threadIdx.x % kWarpSize == 0)
      segments[round * kWarps + threadIdx.x / kWarpSize] = sum;
  }
  __syncthreads();
  float total = 0;
  for (int segment = 0; segment < kSegments; ++segment)
    total += segments[segment];
  return total / float(kColumns);
}

/// Takes the mean off the row.
INGOT_DEVICE void center(float (&values)[kRounds][kLaneColumns]) {
  float mean = meanOf(values, [](float x) { return x; });
#pragma unroll
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int i = 0; i < kLaneColumns; ++i)
      values[round][i] = columnOf(round) + i < kColumns ? values[round][i] - mean : 0.0f;
}

/// The normed row in place of `values`, rounded to what is quantized.
INGOT_DEVICE void norm(const Launch &launch, float root, float (&values)[kRounds][kLaneColumns]) {
  i64 ofHead = constants::heads_differ ? i64(blockIdx.y) * kColumns : 0;
#pragma unroll
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int part = 0; part < kLaneColumns; part += kWidth) {
      i64 column = columnOf(round) + part;
      float weight[kWidth], bias[kWidth];
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        weight[i] = 1.0f;
        bias[i] = 0;
      }
      if constexpr (constants::weighted)
        if (column < kColumns)
          loadElements<constants::weight_type>(launch.buffers[kWeight], ofHead + column, weight);
      if constexpr (constants::biased)
        if (column < kColumns)
          loadElements<constants::bias_type>(launch.buffers[kBias], ofHead + column, bias);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        float y = values[round][part + i] / root * weight[i];
        if constexpr (constants::biased)
          y += bias[i];
        values[round][part + i] = kQuantized ? roundElement<constants::store_type>(y) : y;
      }
    }
}

/// The scale of the normed row: the checkpoint's, or by its largest magnitude.
INGOT_DEVICE float scaleOf(const Launch &launch, const float (&values)[kRounds][kLaneColumns]) {
  if constexpr (constants::static_scale != 0)
    return launch.buffer<const float>(kStaticScale)[0];
  float amax = 0;
#pragma unroll
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int i = 0; i < kLaneColumns; ++i)
      amax = fmaxf(amax, fabsf(values[round][i]));
  return quantizedScale<constants::result_type>(blockMax<constants::threads>(amax));
}

/// Stores the row times `1 / scale`.
template <bool Scaled>
INGOT_DEVICE void storeRow(const Launch &launch, i64 first, float scale,
                           const float (&values)[kRounds][kLaneColumns]) {
#pragma unroll
  for (int round = 0; round < kRounds; ++round)
#pragma unroll
    for (int part = 0; part < kLaneColumns; part += kWidth) {
      i64 column = columnOf(round) + part;
      float y[kWidth];
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        y[i] = Scaled ? scaled<constants::result_type, constants::static_scale != 0>(
                            values[round][part + i], scale)
                      : values[round][part + i];
      if (column < kColumns)
        storeElements<constants::result_type>(launch.buffers[kResult], first + column, y);
    }
}

} // namespace

__device__ void run(const Launch &launch) {
  i64 row = i64(blockIdx.x) * constants::heads + blockIdx.y, first = row * kColumns;
  float values[kRounds][kLaneColumns];
  loadRow(launch, first, values);
  if constexpr (constants::centered)
    center(values);
  float mean = meanOf(values, [](float x) { return x * x; });
  norm(launch, __fsqrt_rn(mean + float(constants::eps)), values);
  if constexpr (!kQuantized) {
    storeRow<false>(launch, first, 1.0f, values);
  } else {
    float scale = scaleOf(launch, values);
    storeRow<true>(launch, first, scale, values);
    if (threadIdx.x == 0)
      launch.buffer<float>(kScales)[row] = scale;
  }
}
