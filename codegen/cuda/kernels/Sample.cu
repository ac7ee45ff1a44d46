// SPDX-License-Identifier: Apache-2.0
// llm.sample: one logit row a block, the steps of codegen/native/kernels/Sample.cpp. Weights are
// doubles; their sums go over threads and, in descending order, over runs of values, so they differ
// from the host's by parts in 10^15. With top-k the filters work on the few values that are left.
//
// Every filter, the draw and the top log probabilities visit values in descending order until
// something holds: one loop serves them all, one phase each.
#include "Philox.cuh"
#include "SampleRow.cuh"

namespace {

constexpr int kSumsPerThread = kRunCapacity / kThreads;
using Order = DescendingOrder<kThreads, kValueWidth>;

enum Phase { kTopK, kTypical, kNucleus, kDraw, kTopLogits, kDone };

struct Shared {
  RunScratch run;
  double sums[kRunCapacity]; ///< of the weights of a run and of all runs before it
  BlockScratch<double> doubles;
  BlockScratch<float> floats;
  BlockScratch<u64> keys;
  int stop;
};

/// The values that filters have left: ascending tokens, all of the vocabulary where ids is null.
struct Candidates {
  const float *values;
  float *deviations;
  const i32 *ids;
  int count;
};

/// What a phase visits and when it stops.
struct Visit {
  int wanted;   ///< values of the first run
  double limit; ///< typical-p: up to this sum; nucleus, draw: not beyond it
  double least; ///< nucleus: the smallest weight
  double target;
};

/// Where a visit has stopped: at a place of the run in shared memory, or (place = its count) at the
/// end of all values.
struct Stop {
  int place, count;
  u64 before;      ///< key of the value before the run, 0 if there is none
  double runStart; ///< sum of weights before the run
};

template <class Type> INGOT_DEVICE Type larger(Type a, Type b) { return a > b ? a : b; }

INGOT_DEVICE float largestOf(const float *values, int count, Shared &shared) {
  float maximum = minusInfinity();
  forValues<4>(values, count, [&](int, float value) { maximum = fmaxf(maximum, value); });
  return blockCombine<kThreads>(maximum, shared.floats, larger<float>);
}

INGOT_DEVICE double sumOfWeights(const float *values, int count, float maximum, Shared &shared) {
  double sum = 0;
  forValues<1>(values, count, [&](int, float value) { sum += weightOf(value, maximum); });
  return blockCombine<kThreads>(sum, shared.doubles, [](double a, double b) { return a + b; });
}

/// Sums the weights of the run's values into shared.sums and finds the place at which the phase
/// stops, the run's count if there is none.
INGOT_DEVICE int findStop(Phase phase, const Visit &visit, const Stop &run, const Candidates &from,
                          float maximum, Shared &shared) {
  double weights[kSumsPerThread], sum = 0;
  int first = int(threadIdx.x) * kSumsPerThread;
#pragma unroll
  for (int i = 0; i < kSumsPerThread; ++i) {
    weights[i] = 0;
    if (first + i < run.count)
      weights[i] = weightOf(from.values[indexOf(shared.run.keys[first + i])], maximum);
    sum += weights[i];
  }
  if (threadIdx.x == 0)
    shared.stop = run.count;
  double total;
  double through = run.runStart + blockSumBefore<kThreads>(sum, shared.doubles, total);
#pragma unroll
  for (int i = 0; i < kSumsPerThread; ++i) {
    through += weights[i];
    shared.sums[first + i] = through;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSumsPerThread; ++i) {
    int place = first + i;
    double before = place > 0 ? shared.sums[place - 1] : run.runStart;
    bool isFirst = run.before == 0 && place == 0;
    bool isOver = weights[i] == 0 || (!isFirst && before >= visit.limit);
    bool stops = phase == kTypical   ? shared.sums[place] >= visit.limit
                 : phase == kNucleus ? !isFirst && (isOver || weights[i] < visit.least)
                                     : isOver || shared.sums[place] > visit.target;
    if (stops && place < run.count)
      atomicMin(&shared.stop, place);
  }
  __syncthreads();
  return shared.stop;
}

/// Visits the values of `order` until the phase stops. `found`: the number of values that the first
/// run is known to have, which are in shared memory; else 0.
INGOT_DEVICE Stop visitUntil(Phase phase, const Visit &visit, int found, Order &order,
                             const Candidates &from, float maximum, Shared &shared) {
  Stop run = {0, 0, 0, 0};
  int left = visit.wanted;
#pragma unroll 1
  while (true) {
    run.count = found > 0 ? found : order.next(run.before, int(least(left, kRunCapacity)));
    found = 0;
    run.place = 0;
    if (run.count == 0)
      return run;
    if (phase == kTopK || phase == kTopLogits) {
      // By rank: only a top-k of more than a run goes on.
      run.place = left - 1;
      if (left <= run.count)
        return run;
      left -= run.count;
    } else {
      run.place = findStop(phase, visit, run, from, maximum, shared);
      if (run.place < run.count)
        return run;
      run.runStart = shared.sums[run.count - 1];
    }
    run.before = shared.run.keys[run.count - 1];
    __syncthreads();
  }
}

/// Excludes all values whose key in the order of `keys` lies behind `last`.
INGOT_DEVICE void excludeBehind(u64 last, const float *keys, int count, float *values) {
  for (int i = int(threadIdx.x); i < count; i += kThreads)
    if (keyOf(keys[i], i) > last)
      values[i] = minusInfinity();
  __syncthreads();
}

/// The first `k` of the run as candidates of their own, in memory behind the deviations.
INGOT_DEVICE Candidates listRun(const Candidates &all, int k, Order &order, Shared &shared) {
  // Sorted again by token, which is the low half of a key.
  for (int i = int(threadIdx.x); i < k; i += kThreads)
    shared.run.keys[i] = u64(u32(indexOf(shared.run.keys[i])));
  __syncthreads();
  order.sort(k);
  float *values = all.deviations + kVocabulary;
  i32 *ids = reinterpret_cast<i32 *>(values + kRunCapacity);
  for (int i = int(threadIdx.x); i < k; i += kThreads) {
    ids[i] = indexOf(shared.run.keys[i]);
    values[i] = all.values[ids[i]];
  }
  __syncthreads();
  return {values, values + 2 * kRunCapacity, ids, k};
}

/// How far each surprise is from the entropy, negative, into the deviations.
INGOT_DEVICE void findDeviations(const Candidates &from, float maximum, double total,
                                 Shared &shared) {
  double logSum = logarithm(total), entropy = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    double sum = 0;
    forValues<1>(from.values, from.count, [&](int i, float value) {
      double weight = weightOf(value, maximum);
      double surprise = logSum - (double(value) - double(maximum));
      if (pass == 0 && weight > 0)
        sum += weight / total * surprise;
      double deviation = surprise - entropy;
      if (pass == 1)
        from.deviations[i] =
            weight > 0 ? float(deviation < 0 ? deviation : -deviation) : minusInfinity();
    });
    entropy = blockCombine<kThreads>(sum, shared.doubles, [](double a, double b) { return a + b; });
  }
  __syncthreads();
}

INGOT_DEVICE bool isWanted(Phase phase, bool draws, const SampleParams &params) {
  switch (phase) {
  case kTopK:
    return draws && params.topK > 0 && params.topK < kVocabulary;
  case kTypical:
    return draws && params.typicalP < 1;
  case kNucleus:
    return draws && (params.topP < 1 || params.minP > 0);
  case kDraw:
    return draws;
  default:
    return params.logprobs >= 0;
  }
}

/// Log probabilities of the drawn token and of the most probable ones, of the unmodified logits.
INGOT_DEVICE void writeLogprobs(const SampleRow &row, int token, int wanted, float maximum,
                                double total, const Shared &shared) {
  const float *logits = row.logits();
  double logSum = wanted >= 0 ? logarithm(total) : 0.0;
  auto logprob = [&](int id) { return float(double(logits[id]) - double(maximum) - logSum); };
  if (threadIdx.x == 0)
    *row.row<float>(kLogprobs, 1) = wanted >= 0 ? logprob(token) : 0.0f;
  for (int i = int(threadIdx.x); i < kTopColumns; i += kThreads) {
    int id = i < wanted ? indexOf(shared.run.keys[i]) : -1;
    row.row<i32>(kTopTokens, kTopColumns)[i] = id;
    row.row<float>(kTopLogprobs, kTopColumns)[i] = i < wanted ? logprob(id) : 0.0f;
  }
}

/// The lowest index of the largest value.
INGOT_DEVICE int greedy(const float *values, Shared &shared) {
  u64 best = kNoKey;
  forValues<1>(values, kVocabulary, [&](int i, float value) {
    u64 key = keyOf(value, i);
    best = key < best ? key : best;
  });
  return indexOf(
      blockCombine<kThreads>(best, shared.keys, [](u64 a, u64 b) { return a < b ? a : b; }));
}

/// What the phases hand on.
struct Progress {
  Candidates from;
  float maximum; ///< of the values that are left
  double total;  ///< of their weights; below 0: not known
  double kept;   ///< of the weights that top-p and min-p keep
  int found;     ///< values of the first run, if it is in shared memory; else 0
  int token;
};

/// The limits of a phase; for typical-p also the order of deviations, in `nearest`.
INGOT_DEVICE Visit prepare(Phase phase, const SampleParams &params, const Progress &at,
                           float &nearest, Shared &shared) {
  Visit visit = {kRunTarget, at.total, 0, 0};
  if (phase == kTopK) {
    visit.wanted = params.topK;
  } else if (phase == kTypical) {
    findDeviations(at.from, at.maximum, at.total, shared);
    nearest = largestOf(at.from.deviations, at.from.count, shared);
    visit.limit = double(params.typicalP) * at.total;
  } else if (phase == kNucleus) {
    visit.limit = params.topP < 1 ? double(params.topP) * at.total : at.total;
    visit.least = params.minP > 0 ? double(params.minP) : 0.0;
  } else if (phase == kDraw) {
    visit.limit = at.kept < 0 ? at.total : at.kept;
    visit.target = uniform(params.seed, params.step) * visit.limit;
  } else {
    visit.wanted = int(least(params.logprobs, least(kTopColumns, kVocabulary)));
  }
  return visit;
}

/// Does what the phase is for at the place where its visit has stopped.
INGOT_DEVICE void finish(Phase phase, const SampleRow &row, const Visit &visit, const Stop &stop,
                         const float *ordered, Order &order, Progress &at, Shared &shared) {
  bool isInside = stop.place < stop.count;
  u64 key = isInside ? shared.run.keys[stop.place] : stop.before;
  u64 keyBefore = stop.place > 0 ? shared.run.keys[stop.place - 1] : stop.before;
  bool isRanked = phase == kTopK || phase == kTopLogits; // has no sums
  double sumBefore = stop.place > 0 && !isRanked ? shared.sums[stop.place - 1] : stop.runStart;
  double sumThrough = isInside && !isRanked ? shared.sums[stop.place] : 0;
  __syncthreads();
  at.found = 0;
  if (phase == kTopK && visit.wanted <= kRunCapacity) {
    at.from = listRun(at.from, visit.wanted, order, shared);
    at.total = -1;
  } else if (phase == kTopK || (phase == kTypical && isInside)) {
    excludeBehind(key, ordered, at.from.count, const_cast<float *>(at.from.values));
    at.maximum = largestOf(at.from.values, at.from.count, shared);
    at.total = -1;
  } else if (phase == kNucleus) {
    at.kept = sumBefore;
    at.found = stop.before == 0 ? stop.count : 0;
  } else if (phase == kDraw) {
    // Where the sum ends before the target, rounding has it that the last value is drawn.
    bool isOver = sumThrough <= sumBefore || (keyBefore != 0 && sumBefore >= visit.limit);
    int index = indexOf(isInside && !isOver ? key : keyBefore);
    at.token = at.from.ids ? at.from.ids[index] : index;
  } else if (phase == kTopLogits) {
    writeLogprobs(row, at.token, visit.wanted, at.maximum, at.total, shared);
  }
}

} // namespace

__device__ void run(const Launch &launch) {
  __shared__ Shared shared;
  SampleRow row = {launch, i64(blockIdx.x),
                   launch.buffer<const SampleParams>(kParams) + blockIdx.x};
  const SampleParams &params = *row.params;
  float *values = row.workspace();
  u64 best = modifyLogits(row, values, shared.keys);
  Progress at = {{values, values + kVocabulary, nullptr, kVocabulary},
                 best == kNoKey ? minusInfinity() : valueOf(best),
                 -1,
                 -1,
                 0,
                 best == kNoKey ? kVocabulary - 1 : indexOf(best)};
  bool draws = params.temperature > 0 && isFinite(at.maximum);
  __syncthreads();
  if (draws) {
    // The largest quotient: division keeps the order.
    at.maximum = at.maximum / params.temperature;
    draws = isFinite(at.maximum);
    if (!draws)
      at.token = greedy(values, shared);
  }
#pragma unroll 1
  for (int step = kTopK; step < kDone; ++step) {
    auto phase = Phase(step);
    if (!isWanted(phase, draws, params))
      continue;
    if (phase == kTopLogits) {
      at.from = {row.logits(), nullptr, nullptr, kVocabulary};
      at.maximum = largestOf(row.logits(), kVocabulary, shared);
      at.total = -1;
      at.found = 0;
    }
    if (phase != kTopK && at.total < 0)
      at.total = sumOfWeights(at.from.values, at.from.count, at.maximum, shared);
    float nearest = at.maximum;
    Visit visit = prepare(phase, params, at, nearest, shared);
    const float *ordered = phase == kTypical ? at.from.deviations : at.from.values;
    Order order({ordered, at.from.count, nearest}, shared.run);
    Stop stop = {};
    if (visit.wanted > 0)
      stop = visitUntil(phase, visit, at.found, order, at.from, at.maximum, shared);
    finish(phase, row, visit, stop, ordered, order, at, shared);
  }
  if (params.logprobs < 0)
    writeLogprobs(row, at.token, -1, 0, 1, shared);
  if (threadIdx.x != 0)
    return;
  *row.row<i32>(kTokens, 1) = at.token;
  u32 *counts = row.counts();
  if (counts && (counts[at.token] & ~kCountInPrompt) != ~kCountInPrompt)
    ++counts[at.token];
}
