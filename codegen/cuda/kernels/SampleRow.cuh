// SPDX-License-Identifier: Apache-2.0
// One logit row of llm.sample: its parameters and memory, and the logits after biases, mask and
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

/// Floats of workspace a row: values, deviations, and values, ids and deviations of a short list.
constexpr i64 kRowFloats = 2 * i64(kVocabulary) + 3 * kRunCapacity;

/// Rows of logits and of workspace are aligned to so many floats.
constexpr int kValueWidth = kVocabulary % 4 == 0 ? 4 : 1;

INGOT_DEVICE float minusInfinity() { return __uint_as_float(0xff800000); }
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
  __device__ __forceinline__ float *workspace() const {
    return reinterpret_cast<float *>(launch.buffer<u8>(kWorkspace) + kCounterBytes) +
           index * kRowFloats;
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

/// Adds the biases to `values`, those of one token in their order.
INGOT_DEVICE void applyBias(const SampleRow &row, float *values) {
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
    float value = values[id];
    for (int j = i; j < count; ++j)
      if (ids[j] == id)
        value += biases[j];
    values[id] = value;
  }
}

/// `value` of token `id` after mask and penalties.
INGOT_DEVICE float modifiedLogit(const SampleRow &row, const u32 *counts, int id, float value) {
  const SampleParams &params = *row.params;
  if (params.useMask) {
    u32 word = row.row<const u32>(kAllowMask, ceilDiv(kVocabulary, 32))[id / 32];
    if (!(word >> (id % 32) & 1))
      value = minusInfinity();
  }
  u32 count = counts ? counts[id] : 0;
  if (count == 0)
    return value;
  value = value > 0 ? value / params.repetitionPenalty : value * params.repetitionPenalty;
  u32 generated = count & ~kCountInPrompt;
  if (generated > 0)
    value = (value - params.presencePenalty) - params.frequencyPenalty * float(generated);
  return value;
}

/// Writes the modified logits to `values` (over the temperature, where that is above 0) and returns
/// the key of the largest of them before the division; kNoKey if there are only NaNs.
INGOT_DEVICE u64 modifyLogits(const SampleRow &row, float *values, BlockScratch<u64> &shared) {
  const float *from = row.logits();
  if (row.params->biasCount > 0) {
    forValues<4>(from, kVocabulary, [&](int i, float value) { values[i] = value; });
    __syncthreads();
    applyBias(row, values);
    __syncthreads();
    from = values;
  }
  const u32 *counts = row.counts();
  float temperature = row.params->temperature;
  u64 best = kNoKey;
  forValues<2>(from, kVocabulary, [&](int i, float value) {
    value = modifiedLogit(row, counts, i, value);
    if (value == value) {
      u64 key = keyOf(value, i);
      best = key < best ? key : best;
    }
    if (temperature > 0)
      values[i] = value == value ? value / temperature : minusInfinity();
  });
  return blockCombine<kThreads>(best, shared, [](u64 a, u64 b) { return a < b ? a : b; });
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
