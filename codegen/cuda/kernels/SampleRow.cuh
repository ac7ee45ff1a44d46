// SPDX-License-Identifier: Apache-2.0
// One logit row of llm.sample: its parameters and memory, and a logit after biases, mask and
// penalties.
#pragma once

#include "DescendingOrder.cuh"
#include "Mathematics.cuh"

constexpr int kVocabulary = int(constants::vocabulary);
constexpr int kBiasColumns = int(constants::bias_columns);
constexpr int kTopColumns = int(constants::top_columns);
constexpr int kThreads = int(constants::threads);

/// As IngotSampleParams of runtime/schema/KernelAbi.h.
struct SampleParams {
  float temperature;
  i32 topK;
  float topP, minP, typicalP, repetitionPenalty, presencePenalty, frequencyPenalty;
  u64 seed, step;
  i32 countsSlot, biasCount, useMask, logprobs;
};
static_assert(sizeof(SampleParams) == 64);
constexpr u32 kCountInPrompt = 0x80000000u;

/// Buffers, in the order of the operation's operands and results; then the workspace.
enum Buffer {
  kLogits,
  kParams,
  kBiasIds,
  kBiasValues,
  kAllowMask,
  kCounts,
  kTokens,
  kLogprobs,
  kTopTokens,
  kTopLogprobs,
  kWorkspace
};

/// A row is cut into parts; a part takes every kParts-th chunk of it, so that frequent tokens,
/// which have neighbouring numbers, are spread.
constexpr int kChunk = 128;
constexpr int kPartChunks = 32;
constexpr int kPartValues = kChunk * kPartChunks;
constexpr int kParts = int(ceilDiv(kVocabulary, kPartValues));
constexpr int kChunks = int(ceilDiv(kVocabulary, kChunk));
/// The largest values that a part lists, of modified logits and of the logits themselves.
constexpr int kListed = 128;
constexpr int kListedLogits = int(roundUp(kTopColumns, 2));

/// What is found of each part, for the block that puts them together: of the logits where their
/// probabilities are wanted, and of the modified ones over the temperature where there is one.
struct PartFacts {
  u64 best;       ///< key of the largest modified logit before the division; kNoKey: only NaNs
  u64 last;       ///< keys of modified ones up to this one are all listed; kNoKey: all are
  double sums[2]; ///< of weights beside the part's maximum; of modified ones where needsValues()
  float maxima[2];
};

/// Memory of a row in the workspace: values, deviations, and values, ids and deviations of a short
/// list; then facts and lists of the parts.
constexpr i64 kRowFloats = 2 * i64(kVocabulary) + 3 * kRunCapacity;
constexpr i64 kFactsOffset = roundUp(kRowFloats * 4, 16);
constexpr i64 kListsOffset = kFactsOffset + kParts * i64(sizeof(PartFacts));
constexpr i64 kLogitListsOffset = kListsOffset + i64(kParts) * kListed * 8;
constexpr i64 kRowBytes = roundUp(kLogitListsOffset + i64(kParts) * kListedLogits * 8, 16);
static_assert(kRowBytes == constants::row_bytes, "the provider counts alike");

/// Rows of logits and of workspace are aligned to so many floats.
constexpr int kValueWidth = kVocabulary % 4 == 0 ? 4 : 1;

INGOT_DEVICE float minusInfinity() { return __uint_as_float(0xff800000); }
constexpr float kLargest = 3.402823466e+38f; ///< f32's largest finite number
INGOT_DEVICE bool isFinite(float value) { return value > minusInfinity() && value < infinity(); }

struct SampleRow {
  const Launch &launch;
  i64 index;
  const SampleParams *params;

  template <class Type> __device__ __forceinline__ Type *row(Buffer buffer, i64 columns) const {
    return launch.buffer<Type>(buffer) + index * columns;
  }
  __device__ __forceinline__ const float *logits() const {
    return row<const float>(kLogits, kVocabulary);
  }
  __device__ __forceinline__ u8 *workspace(i64 offset) const {
    return launch.buffer<u8>(kWorkspace) + kCounterBytes + index * kRowBytes + offset;
  }
  /// Modified logits over the temperature, where needsValues().
  __device__ __forceinline__ float *values() const {
    return reinterpret_cast<float *>(workspace(0));
  }
  __device__ __forceinline__ PartFacts *facts() const {
    return reinterpret_cast<PartFacts *>(workspace(kFactsOffset));
  }
  /// Keys of the largest values, kListed a part, and of the largest logits, kListedLogits a part;
  /// the rest is kNoKey.
  __device__ __forceinline__ u64 *list() const {
    return reinterpret_cast<u64 *>(workspace(kListsOffset));
  }
  __device__ __forceinline__ u64 *logitList() const {
    return reinterpret_cast<u64 *>(workspace(kLogitListsOffset));
  }
  /// Whether log probabilities are those of the distribution that the mask leaves.
  __device__ __forceinline__ bool masksLogprobs() const { return params->useMask == 2; }
  __device__ __forceinline__ bool hasTopK() const {
    return params->topK > 0 && params->topK < kVocabulary;
  }
  /// Whether a draw may go beyond the lists.
  __device__ __forceinline__ bool needsValues() const {
    return params->temperature > 0 && !(hasTopK() && params->topK <= kListed);
  }
  /// The row of the state "token_counts"; null without penalties.
  __device__ __forceinline__ u32 *counts() const {
    if (params->countsSlot < 0)
      return nullptr;
    return launch.buffer<u32>(kCounts) + i64(params->countsSlot) * kVocabulary;
  }
};

/// Calls `use` with the index and value of each of [0, count), `Batch` vectors a thread in flight.
template <int Batch, class Use>
INGOT_DEVICE void forValues(const float *values, int count, Use use) {
  forNumbered<kThreads, kValueWidth, Batch>(values, count, use);
}

/// `value`, which was made from `before`, as a finite number if that was one. Parameters may be so
/// large that f32 does not hold what they make of a logit.
INGOT_DEVICE float saturated(float before, float value) {
  return isFinite(before) ? fminf(fmaxf(value, -kLargest), kLargest) : value;
}

/// Adds the biases to the values at `placeOf(id)` (null: not here), those of one token in order.
template <class PlaceOf> INGOT_DEVICE void applyBias(const SampleRow &row, PlaceOf placeOf) {
  const i32 *ids = row.row<const i32>(kBiasIds, kBiasColumns);
  const float *biases = row.row<const float>(kBiasValues, kBiasColumns);
  int count = int(least(row.params->biasCount, kBiasColumns));
  for (int i = int(threadIdx.x); i < count; i += kThreads) {
    i32 id = ids[i];
    bool isFirst = id >= 0 && id < kVocabulary;
    for (int j = 0; j < i && isFirst; ++j)
      isFirst = ids[j] != id;
    if (!isFirst)
      continue;
    float *place = placeOf(id);
    if (!place)
      continue;
    for (int j = i; j < count; ++j)
      if (ids[j] == id)
        *place = saturated(*place, *place + biases[j]);
  }
}

INGOT_DEVICE bool isAllowed(const SampleRow &row, int id) {
  return row.row<const u32>(kAllowMask, ceilDiv(kVocabulary, 32))[id / 32] >> (id % 32) & 1;
}

/// `value` of token `id` after mask and penalties.
INGOT_DEVICE float modifiedLogit(const SampleRow &row, const u32 *counts, int id, float value) {
  const SampleParams &params = *row.params;
  if (params.useMask && !isAllowed(row, id))
    value = minusInfinity();
  u32 count = counts ? counts[id] : 0;
  if (count == 0)
    return value;
  float before = value;
  value = value > 0 ? value / params.repetitionPenalty : value * params.repetitionPenalty;
  u32 generated = count & ~kCountInPrompt;
  if (generated > 0)
    value = (value - params.presencePenalty) - params.frequencyPenalty * float(generated);
  return saturated(before, value);
}

/// The weight of a value beside the largest; 0 for excluded ones. The steps of exponential() in
/// Mathematics.cuh, with fused multiplications.
INGOT_DEVICE double weightOf(float value, float maximum) {
  if (!(value > minusInfinity()))
    return 0.0;
  double x = fmax(double(value) - double(maximum), -701.0);
  double n = roundEven(x * 1.4426950408889634);
  double r = __fma_rn(n, -1.90821492927058770002e-10, __fma_rn(n, -0.69314718036912381649, x));
  double sum = 1.0 / 6227020800.0;
  constexpr double inverse[] = {1.0 / 479001600,
                                1.0 / 39916800,
                                1.0 / 3628800,
                                1.0 / 362880,
                                1.0 / 40320,
                                1.0 / 5040,
                                1.0 / 720,
                                1.0 / 120,
                                1.0 / 24,
                                1.0 / 6,
                                0.5,
                                1.0,
                                1.0};
#pragma unroll
  for (int i = 0; i < 13; ++i)
    sum = __fma_rn(sum, r, inverse[i]);
  double weight = sum * __longlong_as_double((i64(n) + 1023) << 52);
  return x < -700.0 ? 0.0 : weight;
}
