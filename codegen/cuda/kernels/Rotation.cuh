// SPDX-License-Identifier: Apache-2.0
// Rotary embedding of heads of one token.
#pragma once

#include "KvBlocks.cuh"
#include "Mathematics.cuh"

/// Cosines and sines of all pairs of a token, times the factor; in shared memory.
struct Rotation {
  float cosines[kHalf], sines[kHalf];
};

/// Fills `rotation`; the whole block together, which may read it afterwards.
INGOT_DEVICE void prepareRotation(i32 position, const float *inverseFrequencies,
                                  Rotation &rotation) {
  constexpr float factor = float(constants::factor);
  for (int i = int(threadIdx.x); i < kHalf; i += int(constants::threads)) {
    float angle = float(position) * inverseFrequencies[i];
    SineCosine exact = sineCosine(double(angle));
    rotation.cosines[i] = float(exact.cosine) * factor;
    rotation.sines[i] = float(exact.sine) * factor;
  }
  __syncthreads();
}

/// Rotates a head and rounds it to `Code`; a warp together.
template <i64 Code> INGOT_DEVICE void rotate(const Rotation &rotation, Head &head) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece)
#pragma unroll
    for (int i = 0; i < kLaneWidth; ++i) {
      if (!isInLow(piece))
        continue;
      float cosine = rotation.cosines[headElement(piece) + i];
      float sine = rotation.sines[headElement(piece) + i];
      float a = head.low[piece][i], b = head.high[piece][i];
      head.low[piece][i] = roundElement<Code>(a * cosine - b * sine);
      head.high[piece][i] = roundElement<Code>(b * cosine + a * sine);
    }
}
