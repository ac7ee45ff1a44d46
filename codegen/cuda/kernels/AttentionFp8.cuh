// SPDX-License-Identifier: Apache-2.0
// Attention whose products have e4m3 on both sides. A row of the query is scaled to e4m3 by its
// absolute maximum; so are a row's weights in a tile, after they are multiplied by the values'
// scales. The sum of weights is that of the weights before. Scales depend on their row alone.
#pragma once

#include "AttentionShape.cuh"

/// Four floats as e4m3, the first in the lowest byte.
INGOT_DEVICE u32 packE4m3(float a, float b, float c, float d) {
  return u32(e4m3x2FromFloats(a, b)) | u32(e4m3x2FromFloats(c, d)) << 16;
}

/// The largest of a row, of which each of its four lanes has a part.
INGOT_DEVICE float rowMax(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

namespace fp8 {

/// Elements 32 * step + 8 * (lane % 4) ... + 7 of a query row in global memory; null: zeros.
INGOT_DEVICE void loadRowPart(const void *row, int step, float (&values)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    values[i] = 0;
  if (row)
    loadElements<constants::query_type>(row, step * 32 + laneIndex() % 4 * 8, values);
}

/// The scale of a query row; its four lanes together.
INGOT_DEVICE float queryScale(const void *row) {
  float amax = 0;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    float values[8];
    loadRowPart(row, step, values);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      amax = fmaxf(amax, fabsf(values[i]));
  }
  return quantizedScale<kE4m3>(rowMax(amax));
}

/// The scaled row's part of a fragment.
INGOT_DEVICE void loadQueryRow(const void *row, float scale, int step, u32 &first, u32 &second) {
  float values[8];
  loadRowPart(row, step, values);
#pragma unroll
  for (int i = 0; i < 8; ++i)
    values[i] = values[i] / scale;
  first = packE4m3(values[0], values[1], values[2], values[3]);
  second = packE4m3(values[4], values[5], values[6], values[7]);
}

/// Weights of a tile as fragments of 32 positions each, and what they were divided by.
struct Weights {
  u32 steps[kTile / 32][4];
  float scale[2];
};
template <int Halves>
INGOT_DEVICE void roundWeights(const float (&weights)[kColumnTiles][4], const float *scales,
                               Weights &rounded) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float amax = 0;
#pragma unroll
    for (int i = 0; i < kColumnTiles * 2 && half < Halves; ++i)
      amax =
          fmaxf(amax, weights[i / 2][2 * half + i % 2] * scales[i / 2 * 8 + laneColumn() + i % 2]);
    float scale = half < Halves ? quantizedScale<kE4m3>(rowMax(amax)) : 1.0f;
    rounded.scale[half] = scale;
#pragma unroll
    for (int i = 0; i < kTile / 16; ++i) {
      float part[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        int tile = 2 * i + j / 2, column = tile * 8 + laneColumn() + j % 2;
        part[j] = half < Halves ? weights[tile][2 * half + j % 2] * scales[column] / scale : 0.0f;
      }
      rounded.steps[i / 2][i % 2 * 2 + half] = packE4m3(part[0], part[1], part[2], part[3]);
    }
  }
}

/// The values' fragments of 32 positions and one pair of column tiles: columns 2 * row and + 1 of
/// the pair go to its first and second tile.
INGOT_DEVICE void loadValues(const u8 *values, int position, int pair, u32 (&fragments)[4]) {
  const u8 *at = values + (position + laneColumn()) * kValueStride + pair * 16 + laneRow() * 2;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    u32 codes[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      codes[j] = *reinterpret_cast<const u16 *>(at + (i * 16 + j / 2 * 8 + j % 2) * kValueStride);
    u32 low = codes[0] | codes[1] << 16, high = codes[2] | codes[3] << 16;
    fragments[i] = ptx::permuteBytes(low, high, 0x6420);
    fragments[2 + i] = ptx::permuteBytes(low, high, 0x7531);
  }
}

INGOT_DEVICE void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
#if __CUDA_ARCH__ >= 890
  ptx::multiplyE4m3(d, a, b0, b1);
#endif
}

/// As addValues of AttentionTile.cuh.
template <int Halves, int Pairs>
INGOT_DEVICE void addValues(const float (&weights)[kColumnTiles][4], const u8 *values,
                            const float *scales, int firstPair, float (&sums)[Pairs][2][4]) {
  Weights rounded;
  roundWeights<Halves>(weights, scales, rounded);
#pragma unroll
  for (int pair = 0; pair < Pairs; ++pair) {
    if (kPairs % (Pairs * kWarps) != 0 && firstPair + pair >= kPairs)
      break;
    float products[2][4] = {};
#pragma unroll
    for (int step = 0; step < kTile / 32; ++step) {
      u32 fragments[4];
      loadValues(values, step * 32, firstPair + pair, fragments);
      multiply(products[0], rounded.steps[step], fragments[0], fragments[1]);
      multiply(products[1], rounded.steps[step], fragments[2], fragments[3]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sums[pair][i / 4][i % 4] += products[i / 4][i % 4] * rounded.scale[i % 4 / 2];
  }
}

} // namespace fp8
