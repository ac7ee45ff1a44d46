// SPDX-License-Identifier: Apache-2.0
// Rotary embedding of heads of one token.
#pragma once

#include "KvBlocks.cuh"
#include "Mathematics.cuh"
#include "RotaryAxes.cuh"

namespace absent {
enum : i64 { interleaved = 0 }; ///< 1: columns of a pair stand side by side
} // namespace absent
namespace constants {
using namespace absent; // what an op leaves out is found there
}

constexpr int kRotaryPairs = int(constants::rotary_pairs);

/// Cosines and sines of all pairs of a token, times the factor; in shared memory.
struct Rotation {
  float cosines[kRotaryPairs], sines[kRotaryPairs];
};

/// Fills `rotation` for a token of such positions; the whole block together, which may read it
/// afterwards.
INGOT_DEVICE void prepareRotation(const i32 *positions, i64 token, const float *inverseFrequencies,
                                  Rotation &rotation) {
  constexpr float factor = float(constants::factor);
  i32 position = positions[token * constants::axes];
  for (int i = int(threadIdx.x); i < kRotaryPairs; i += int(constants::threads)) {
    if constexpr (constants::axes > 1)
      position = positions[token * constants::axes + axisOf(i)];
    float angle = float(position) * inverseFrequencies[i];
    SineCosine exact = sineCosine(double(angle));
    rotation.cosines[i] = float(exact.cosine) * factor;
    rotation.sines[i] = float(exact.sine) * factor;
  }
  __syncthreads();
}

/// `x`, which is column `column` of the head from element `first` of `from` on, after rotation.
/// Where a part of the head rotates, the other of its pair is in another lane: it is loaded again.
template <i64 From>
INGOT_DEVICE float rotated(const Rotation &rotation, const void *from, i64 first, int column,
                           float x) {
  if (column >= 2 * kRotaryPairs)
    return x;
  constexpr bool interleaved = constants::interleaved != 0;
  int pair = interleaved ? column / 2 : column % kRotaryPairs;
  bool isFirst = interleaved ? column % 2 == 0 : column < kRotaryPairs;
  float other[1];
  loadElements<From>(
      from, first + (interleaved ? column ^ 1 : (column + kRotaryPairs) % (2 * kRotaryPairs)),
      other);
  float own = x * rotation.cosines[pair], added = other[0] * rotation.sines[pair];
  return isFirst ? own - added : own + added;
}

/// Rotates a head that was loaded from element `first` of `from` on, and rounds it to `Code`; a
/// warp together.
template <i64 From, i64 Code>
INGOT_DEVICE void rotate(const Rotation &rotation, const void *from, i64 first, Head &head) {
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece)
#pragma unroll
    for (int i = 0; i < kLaneWidth; ++i) {
      if (!isInLow(piece))
        continue;
      if constexpr (kRotaryPairs != kHalf || constants::interleaved != 0) {
        int low = headElement(piece) + i, high = kHalf + low;
        head.low[piece][i] =
            roundElement<Code>(rotated<From>(rotation, from, first, low, head.low[piece][i]));
        if (high < kHeadDim)
          head.high[piece][i] =
              roundElement<Code>(rotated<From>(rotation, from, first, high, head.high[piece][i]));
      } else {
        float cosine = rotation.cosines[headElement(piece) + i];
        float sine = rotation.sines[headElement(piece) + i];
        float a = head.low[piece][i], b = head.high[piece][i];
        head.low[piece][i] = roundElement<Code>(a * cosine - b * sine);
        head.high[piece][i] = roundElement<Code>(b * cosine + a * sine);
      }
    }
}
