// SPDX-License-Identifier: Apache-2.0
// One part of a row of llm.sample: its logits are read once, into shared memory, and leave what the
// block that puts the parts together needs of them: the largest value, sums of weights, lists of
// the largest values. All of it depends on the part alone, whichever block finds it.
#pragma once

#include "SampleRow.cuh"

constexpr int kSumsPerThread = kRunCapacity / kThreads;
using Order = DescendingOrder<kThreads, kValueWidth>;

struct SampleShared {
  RunScratch run;
  union {
    double sums[kRunCapacity]; ///< of the weights of a run and of all runs before it
    alignas(16) float part[kPartValues];
  };
  BlockScratch<double> doubles;
  BlockScratch<float> floats;
  BlockScratch<u64> keys;
  int stop;
};

template <class Type> INGOT_DEVICE Type larger(Type a, Type b) { return a > b ? a : b; }
template <class Type> INGOT_DEVICE Type smaller(Type a, Type b) { return a < b ? a : b; }
INGOT_DEVICE double added(double a, double b) { return a + b; }

INGOT_DEVICE float largestOf(const float *values, int count, SampleShared &shared) {
  float maximum = minusInfinity();
  forValues<4>(values, count, [&](int, float value) { maximum = fmaxf(maximum, value); });
  return blockCombine<kThreads>(maximum, shared.floats, larger<float>);
}

INGOT_DEVICE double sumOfWeights(const float *values, int count, float maximum,
                                 SampleShared &shared) {
  double sum = 0;
  forValues<1>(values, count, [&](int, float value) { sum += weightOf(value, maximum); });
  return blockCombine<kThreads>(sum, shared.doubles, added);
}

/// Part `index` of a row; its values have places in ascending order of their tokens.
struct Part {
  int index;

  __device__ __forceinline__ int idOf(int place) const {
    return (place / kChunk * kParts + index) * kChunk + place % kChunk;
  }
  /// -1 for tokens of other parts.
  __device__ __forceinline__ int placeOf(int id) const {
    int chunk = id / kChunk;
    return chunk % kParts == index ? chunk / kParts * kChunk + id % kChunk : -1;
  }
  __device__ __forceinline__ int count() const {
    int chunks = int(ceilDiv(kChunks - index, kParts));
    bool hasLast = (kChunks - 1) % kParts == index;
    return chunks * kChunk - (hasLast ? kChunks * kChunk - kVocabulary : 0);
  }
  /// The key of a value in the row, from that in the part.
  __device__ __forceinline__ u64 keyInRow(u64 key) const {
    return (key & ~u64(0xffffffff)) | u32(idOf(indexOf(key)));
  }
};

/// Copies the part's logits into shared memory.
INGOT_DEVICE void loadPart(const SampleRow &row, Part part, SampleShared &shared) {
  const float *logits = row.logits();
  int count = part.count();
  float values[kPartValues / 4 / kThreads][4];
#pragma unroll
  for (int i = 0; i < kPartValues / 4 / kThreads; ++i)
    if (int place = (i * kThreads + int(threadIdx.x)) * 4; place < count) {
      if constexpr (kValueWidth == 4) {
        loadElements<kF32>(logits, part.idOf(place), values[i]);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          values[i][j] = place + j < count ? logits[part.idOf(place) + j] : 0.0f;
      }
    }
#pragma unroll
  for (int i = 0; i < kPartValues / 4 / kThreads; ++i)
    if (int place = (i * kThreads + int(threadIdx.x)) * 4; place < count)
      storeElements<kF32>(shared.part, place, values[i]);
  __syncthreads();
}

/// Excludes what may not be drawn before the logits are looked at.
INGOT_DEVICE void maskPart(const SampleRow &row, Part part, SampleShared &shared) {
  forNumbered<kThreads, 4, 1>(shared.part, part.count(), [&](int place, float) {
    if (!isAllowed(row, part.idOf(place)))
      shared.part[place] = minusInfinity();
  });
  __syncthreads();
}

/// Biases, mask and penalties; then, for draws, the division by the temperature. Returns the key of
/// the largest before the division.
INGOT_DEVICE u64 modifyPart(const SampleRow &row, Part part, SampleShared &shared) {
  if (row.params->biasCount > 0) {
    applyBias(row, [&](int id) {
      int place = part.placeOf(id);
      return place < 0 ? nullptr : shared.part + place;
    });
    __syncthreads();
  }
  const u32 *counts = row.counts();
  float temperature = row.params->temperature;
  bool isWritten = row.needsValues();
  u64 best = kNoKey;
  forNumbered<kThreads, 4, 1>(shared.part, part.count(), [&](int place, float value) {
    int id = part.idOf(place);
    value = modifiedLogit(row, counts, id, value);
    if (value == value)
      best = smaller(best, keyOf(value, id));
    value = value == value ? value / temperature : minusInfinity();
    if (temperature > 0)
      shared.part[place] = value;
    if (isWritten)
      row.values()[id] = value;
  });
  return blockCombine<kThreads>(best, shared.keys, smaller<u64>);
}

/// Lists the keys of the part's `listed` largest values; returns the key up to which all are
/// listed.
INGOT_DEVICE u64 listLargest(Part part, float maximum, int listed, u64 *list,
                             SampleShared &shared) {
  int count = part.count();
  if (maximum > minusInfinity()) {
    Order({shared.part, count, maximum}, shared.run).next(0, int(least(listed, count)));
  } else {
    // All is excluded; the order is that of tokens.
    for (int i = int(threadIdx.x); i < listed; i += kThreads)
      shared.run.keys[i] = keyOf(minusInfinity(), i);
    __syncthreads();
  }
  for (int i = int(threadIdx.x); i < listed; i += kThreads)
    list[i] = i < count ? part.keyInRow(shared.run.keys[i]) : kNoKey;
  u64 last = count > listed ? part.keyInRow(shared.run.keys[listed - 1]) : kNoKey;
  __syncthreads();
  return last;
}

/// Finds and stores what there is to know of a part.
INGOT_DEVICE void findPart(const SampleRow &row, int index, SampleShared &shared) {
  Part part = {index};
  const SampleParams &params = *row.params;
  PartFacts &facts = row.facts()[index];
  loadPart(row, part, shared);
  if (row.masksLogprobs())
    maskPart(row, part, shared);
  // First of the logits as they are, then of the modified ones; one loop, for the code's size.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    bool isModified = pass == 1;
    if (isModified) {
      u64 best = modifyPart(row, part, shared);
      if (threadIdx.x == 0)
        facts.best = best;
    }
    if (!(isModified ? params.temperature > 0 : params.logprobs >= 0))
      continue;
    float maximum = largestOf(shared.part, part.count(), shared);
    double sum = 0;
    if (!isModified || row.needsValues())
      sum = sumOfWeights(shared.part, part.count(), maximum, shared);
    int listed = isModified ? kListed : kListedLogits;
    u64 *list = (isModified ? row.list() : row.logitList()) + i64(index) * listed;
    u64 last = kNoKey;
    if (isModified || params.logprobs > 0)
      last = listLargest(part, maximum, listed, list, shared);
    if (threadIdx.x != 0)
      continue;
    if (isModified)
      facts.last = last;
    facts.sums[pass] = sum;
    facts.maxima[pass] = maximum;
  }
  __syncthreads();
}
