// SPDX-License-Identifier: Apache-2.0
// Visits numbered floats (or keys of some) from the largest down, a run of them at a time. A run is
// found by counting values by their distance from the largest, and where one distance has too many
// by the digits of their keys; only the run is sorted.
#pragma once

#include "BlockSums.cuh"
#include "Elements.cuh"

constexpr int kRunCapacity = 2048;
constexpr int kRunTarget = 512; ///< a run has at least so many values while there are any
constexpr int kDistances = 2048;
constexpr float kDistancesPerUnit = 64.0f;
constexpr int kDigitBits = 11;
constexpr u64 kNoKey = ~0ull;

/// What is visited: numbered values, of which NaN counts as -infinity; or, where `keys` is not
/// null, listed keys up to `last`, in any order.
struct Visited {
  const float *values;
  int count; ///< of values or keys
  float maximum;
  const u64 *keys = nullptr;
  u64 last = 0;
};

/// Calls `use` with the index and value of each of [0, count); `Batch` vectors of `Width` a thread
/// are in flight.
template <int Threads, int Width, int Batch, class Use>
INGOT_DEVICE void forNumbered(const float *values, int count, Use use) {
  int whole = count - count % Width;
#pragma unroll 1
  for (int first = 0; first < whole; first += Threads * Width * Batch) {
    float batch[Batch][Width];
#pragma unroll
    for (int b = 0; b < Batch; ++b)
      if (int at = first + (b * Threads + int(threadIdx.x)) * Width; at < whole)
        loadElements<kF32>(values, at, batch[b]);
#pragma unroll
    for (int b = 0; b < Batch; ++b)
      if (int at = first + (b * Threads + int(threadIdx.x)) * Width; at < whole)
#pragma unroll
        for (int i = 0; i < Width; ++i)
          use(at + i, batch[b][i]);
  }
  if (int i = whole + int(threadIdx.x); i < count)
    use(i, values[i]);
}

/// Ascending keys are descending values, then ascending indices. No key is 0.
INGOT_DEVICE u64 keyOf(float value, int index) {
  u32 bits = value == value ? __float_as_uint(value) : 0xff800000u;
  bits = bits == 0x80000000u ? 0 : bits; // -0 equals 0
  u32 ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return u64(~ascending) << 32 | u32(index);
}
INGOT_DEVICE int indexOf(u64 key) { return int(u32(key)); }
INGOT_DEVICE float valueOf(u64 key) {
  u32 ascending = ~u32(key >> 32);
  return __uint_as_float(ascending & 0x80000000u ? ascending ^ 0x80000000u : ~ascending);
}

/// Shared memory of a visit.
struct RunScratch {
  u64 keys[kRunCapacity]; ///< of the run, ascending
  u32 counts[kDistances];
  BlockScratch<u32> sums;
  int count;
  int bin;
  u32 before;
};

/// A whole block visits; every function is called by all its threads.
template <int Threads, int Width> class DescendingOrder {
public:
  __device__ __forceinline__ DescendingOrder(Visited visited, RunScratch &scratch)
      : visited(visited), scratch(scratch) {}

  /// Whether keys are visited, not values.
  __device__ __forceinline__ bool visitsKeys() const { return visited.keys != nullptr; }
  /// From now on `values` are visited.
  __device__ __forceinline__ void visitValues(const float *values, int count) {
    visited = {values, count, visited.maximum};
  }

  /// Puts the values after key `after` (0: from the largest) into scratch.keys, at least `wanted`
  /// (at most kRunCapacity) of them while there are any; returns their number.
  __device__ __forceinline__ int next(u64 after, int wanted) {
    Bound bound = find(after, wanted);
    if (threadIdx.x == 0)
      scratch.count = 0;
    __syncthreads();
    each([&](float value, u64 key) {
      if (key > after && isWithin(bound, value, key)) {
        int place = atomicAdd(&scratch.count, 1);
        if (place < kRunCapacity)
          scratch.keys[place] = key;
      }
    });
    __syncthreads();
    int count = scratch.count;
    sort(count);
    return count;
  }

  /// Sorts the first `count` of scratch.keys.
  __device__ __forceinline__ void sort(int count) {
    int size = 2;
    while (size < count)
      size *= 2;
    for (int i = count + int(threadIdx.x); i < size; i += Threads)
      scratch.keys[i] = kNoKey;
    __syncthreads();
    for (int run = 2; run <= size; run *= 2)
      for (int distance = run / 2; distance > 0; distance /= 2) {
        for (int i = int(threadIdx.x); i < size / 2; i += Threads) {
          int low = 2 * i - (i & (distance - 1)), high = low + distance;
          u64 a = scratch.keys[low], b = scratch.keys[high];
          if ((a > b) == ((low & run) == 0)) {
            scratch.keys[low] = b;
            scratch.keys[high] = a;
          }
        }
        __syncthreads();
      }
  }

private:
  /// Values at a smaller distance than `distance`, and those at it with key digits of at most
  /// `prefix` above bit `shift`.
  struct Bound {
    int distance;
    int shift;
    u64 prefix;
  };

  __device__ __forceinline__ int distanceOf(float value) const {
    float distance = (visited.maximum - value) * kDistancesPerUnit;
    return distance < float(kDistances - 1) ? int(distance) : kDistances - 1;
  }
  __device__ __forceinline__ bool isWithin(Bound bound, float value, u64 key) const {
    int distance = distanceOf(value);
    return distance < bound.distance ||
           (distance == bound.distance && key >> bound.shift <= bound.prefix);
  }

  /// Calls `use` with every value and its key.
  template <class Use> __device__ __forceinline__ void each(Use use) {
    if (!visitsKeys()) {
      forNumbered<Threads, Width, 4>(visited.values, visited.count,
                                     [&](int i, float value) { use(value, keyOf(value, i)); });
      return;
    }
#pragma unroll 4
    for (int i = int(threadIdx.x); i < visited.count; i += Threads)
      if (u64 key = visited.keys[i]; key <= visited.last)
        use(valueOf(key), key);
  }

  /// Counts what `binOf` puts into bins (below 0: nowhere).
  template <class BinOf> __device__ __forceinline__ void count(BinOf binOf) {
    for (int i = int(threadIdx.x); i < kDistances; i += Threads)
      scratch.counts[i] = 0;
    __syncthreads();
    each([&](float value, u64 key) {
      int bin = binOf(value, key);
      if (bin >= 0)
        atomicAdd(&scratch.counts[bin], 1u);
    });
    __syncthreads();
  }

  /// The first bin up to which at least `wanted` are counted (the last one if there are fewer);
  /// `before` are counted before it.
  __device__ __forceinline__ int firstBin(u32 wanted, u32 &before) {
    constexpr int binsPerThread = kDistances / Threads;
    u32 own = 0;
#pragma unroll
    for (int i = 0; i < binsPerThread; ++i)
      own += scratch.counts[int(threadIdx.x) * binsPerThread + i];
    u32 total;
    u32 sum = blockSumBefore<Threads>(own, scratch.sums, total);
    if (threadIdx.x == 0) {
      scratch.bin = kDistances - 1;
      scratch.before = total - scratch.counts[kDistances - 1];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < binsPerThread; ++i) {
      int bin = int(threadIdx.x) * binsPerThread + i;
      u32 here = scratch.counts[bin];
      if (sum < wanted && sum + here >= wanted) {
        scratch.bin = bin;
        scratch.before = sum;
      }
      sum += here;
    }
    __syncthreads();
    before = scratch.before;
    return scratch.bin;
  }

  __device__ __forceinline__ Bound find(u64 after, int wanted) {
    count([&](float value, u64 key) { return key > after ? distanceOf(value) : -1; });
    u32 taken;
    Bound bound = {firstBin(u32(wanted), taken), 0, kNoKey};
    u32 here = scratch.counts[bound.distance];
    bound.shift = 64;
    bound.prefix = 0;
    // Too many at one distance: by key digits, from the leading ones on.
    while (taken + here > u32(kRunCapacity)) {
      int width = bound.shift < kDigitBits ? bound.shift : kDigitBits;
      int shift = bound.shift - width;
      Bound at = bound;
      __syncthreads();
      count([&](float value, u64 key) {
        bool matches = at.shift == 64 || key >> (at.shift & 63) == at.prefix;
        bool counts = key > after && distanceOf(value) == at.distance && matches;
        return counts ? int(key >> shift & ((1u << width) - 1)) : -1;
      });
      u32 before;
      u32 digit = u32(firstBin(u32(wanted) - taken, before));
      bound.prefix = (at.shift == 64 ? 0 : at.prefix << width) | digit;
      bound.shift = shift;
      taken += before;
      here = scratch.counts[digit];
    }
    if (bound.shift == 64)
      bound = {bound.distance, 0, kNoKey};
    __syncthreads();
    return bound;
  }

  Visited visited;
  RunScratch &scratch;
};
