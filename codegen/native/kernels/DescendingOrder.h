// SPDX-License-Identifier: Apache-2.0
// Visits numbered floats from the largest down, sorting no more of them than are visited.
#pragma once

#include "codegen/native/kernels/Kernel.h"

/// Ids 0 ... count - 1 in order of descending value, ties by ascending id; NaN counts as -infinity.
/// Keys are spread over buckets by their leading bits in linear time; a bucket is sorted when the
/// visit reaches it. Memory is the caller's.
class DescendingOrder {
public:
  static constexpr int64_t kBuckets = 2048;
  /// Bytes of scratch for `count` values.
  static constexpr int64_t scratchBytes(int64_t count) { return 8 * count + 4 * (kBuckets + 1); }

  DescendingOrder(const float *values, int64_t count, void *scratch)
      : keys(static_cast<uint64_t *>(scratch)), starts(reinterpret_cast<uint32_t *>(keys + count)) {
    for (int64_t i = 0; i <= kBuckets; ++i)
      starts[i] = 0;
    for (int64_t i = 0; i < count; ++i)
      ++starts[bucketOf(keyOf(values[i], i))];
    uint32_t next = 0;
    for (int64_t i = 0; i <= kBuckets; ++i) {
      uint32_t size = starts[i];
      starts[i] = next;
      next += size;
    }
    for (int64_t i = 0; i < count; ++i) {
      uint64_t key = keyOf(values[i], i);
      keys[starts[bucketOf(key)]++] = key;
    }
    // Each start has moved to its bucket's end, which is what the visit needs.
  }

  /// The id at `place`; places must be visited from 0 up, without gaps.
  int64_t at(int64_t place) {
    while (place >= sorted) {
      int64_t end = starts[bucket++];
      sort(keys + sorted, end - sorted);
      sorted = end;
    }
    return int64_t(keys[place] & 0xffffffff);
  }

private:
  /// Ascending keys are descending values, then ascending ids.
  static uint64_t keyOf(float value, int64_t id) {
    uint32_t bits = bitCast<uint32_t>(value == value ? value : -__builtin_inff());
    bits = bits == 0x80000000u ? 0 : bits; // -0 equals 0
    uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return uint64_t(~ascending) << 32 | uint64_t(id);
  }
  static int64_t bucketOf(uint64_t key) { return int64_t(key >> 53); }

  static void siftDown(uint64_t *heap, int64_t root, int64_t count) {
    uint64_t moved = heap[root];
    for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
      if (child + 1 < count && heap[child + 1] > heap[child])
        ++child;
      if (heap[child] <= moved)
        break;
      heap[root] = heap[child];
      root = child;
    }
    heap[root] = moved;
  }

  /// Heap sort: in place and never quadratic.
  static void sort(uint64_t *first, int64_t count) {
    for (int64_t root = count / 2 - 1; root >= 0; --root)
      siftDown(first, root, count);
    for (int64_t last = count - 1; last > 0; --last) {
      uint64_t largest = first[0];
      first[0] = first[last];
      first[last] = largest;
      siftDown(first, 0, last);
    }
  }

  uint64_t *keys;
  uint32_t *starts; ///< end of each bucket, once built
  int64_t bucket = 0;
  int64_t sorted = 0;
};
