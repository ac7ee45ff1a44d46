// SPDX-License-Identifier: Apache-2.0
// llm.sample: the steps of codegen/native/kernels/Sample.cpp. A row's blocks share its parts; the
// last of them puts what they found together, and goes back to the values of the whole row only
// where the parts' lists do not suffice: typical-p, top-k of more than a list, draws from flat
// distributions. Weights are doubles; their sums go over threads, parts and, in descending order,
// runs of values, so they differ from the host's by parts in 10^15. With top-k the filters work on
// the few values that are left.
//
// Every filter, the draw and the top log probabilities visit values in descending order until
// something holds: one loop serves them all, one phase each.
#include "Arrival.cuh"
#include "Philox.cuh"
#include "SamplePart.cuh"

namespace {

enum Phase { kTopK, kTypical, kNucleus, kDraw, kTopLogits, kDone };

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

/// Sums the weights of the run's values into shared.sums and finds the place at which the phase
/// stops, the run's count if there is none.
INGOT_DEVICE int findStop(Phase phase, const Visit &visit, const Stop &run, const Candidates &from,
                          float maximum, SampleShared &shared) {
  double weights[kSumsPerThread], sum = 0;
  int first = int(threadIdx.x) * kSumsPerThread;
#pragma unroll
  for (int i = 0; i < kSumsPerThread; ++i) {
    weights[i] = 0;
    if (first + i < run.count) {
      u64 key = shared.run.keys[first + i]; // of a deviation, for typical-p
      weights[i] = weightOf(phase == kTypical ? from.values[indexOf(key)] : valueOf(key), maximum);
    }
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
                             const Candidates &from, float maximum, SampleShared &shared) {
  Stop run = {0, 0, 0, 0};
  int left = visit.wanted;
#pragma unroll 1
  while (true) {
    run.count = found > 0 ? found : order.next(run.before, int(least(left, kRunCapacity)));
    found = 0;
    run.place = 0;
    bool isRanked = phase == kTopK || phase == kTopLogits;
    // Lists may end before the visit does; ranks need the first run whole.
    if (order.visitsKeys() && (run.count == 0 || (isRanked && run.count < left))) {
      order.visitValues(from.values, from.count);
      continue;
    }
    if (run.count == 0)
      return run;
    if (isRanked) {
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
INGOT_DEVICE Candidates listRun(const Candidates &all, int k, Order &order, SampleShared &shared) {
  // Sorted again by token.
  for (int i = int(threadIdx.x); i < k; i += kThreads) {
    u64 key = shared.run.keys[i];
    shared.run.keys[i] = u64(indexOf(key)) << 32 | __float_as_uint(valueOf(key));
  }
  __syncthreads();
  order.sort(k);
  float *values = all.deviations + kVocabulary;
  i32 *ids = reinterpret_cast<i32 *>(values + kRunCapacity);
  for (int i = int(threadIdx.x); i < k; i += kThreads) {
    ids[i] = i32(shared.run.keys[i] >> 32);
    values[i] = __uint_as_float(u32(shared.run.keys[i]));
  }
  __syncthreads();
  return {values, values + 2 * kRunCapacity, ids, k};
}

/// How far each surprise is from the entropy, negative, into the deviations.
INGOT_DEVICE void findDeviations(const Candidates &from, float maximum, double total,
                                 SampleShared &shared) {
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
    entropy = blockCombine<kThreads>(sum, shared.doubles, added);
  }
  __syncthreads();
}

INGOT_DEVICE bool isWanted(Phase phase, bool draws, const SampleRow &row) {
  const SampleParams &params = *row.params;
  switch (phase) {
  case kTopK:
    return draws && row.hasTopK();
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

/// Log probabilities of the drawn token and of the most probable ones, of logits before all that
/// draws make of them but for a mask.
INGOT_DEVICE void writeLogprobs(const SampleRow &row, int token, int wanted, float maximum,
                                double total, const SampleShared &shared) {
  const float *logits = row.logits();
  double logSum = wanted >= 0 ? logarithm(total) : 0.0;
  auto logprob = [&](int id) { return float(double(logits[id]) - double(maximum) - logSum); };
  if (threadIdx.x == 0)
    *row.row<float>(kLogprobs, 1) = wanted >= 0 && token >= 0 ? logprob(token) : 0.0f;
  for (int i = int(threadIdx.x); i < kTopColumns; i += kThreads) {
    bool isThere = i < wanted && !(row.masksLogprobs() &&
                                   !(valueOf(shared.run.keys[i]) > minusInfinity()));
    int id = isThere ? indexOf(shared.run.keys[i]) : -1;
    row.row<i32>(kTopTokens, kTopColumns)[i] = id;
    row.row<float>(kTopLogprobs, kTopColumns)[i] = isThere ? logprob(id) : 0.0f;
  }
}

/// What the phases hand on.
struct Progress {
  Candidates from;
  float maximum; ///< of the values that are left
  double total;  ///< of their weights; below 0: not known
  double kept;   ///< of the weights that top-p and min-p keep
  u64 listed;    ///< keys up to this one are in the parts' lists; 0: the lists are of no use
  int found;     ///< values of the first run, if it is in shared memory; else 0
  int token;     ///< -1: none may be drawn
};

/// Combines `valueOf(part)` over all parts: those of a thread in order, then threads.
template <class Type, class ValueOf, class Combine>
INGOT_DEVICE Type overParts(Type start, ValueOf valueOf, BlockScratch<Type> &scratch,
                            Combine combine) {
  for (int part = int(threadIdx.x); part < kParts; part += kThreads)
    start = combine(start, valueOf(part));
  return blockCombine<kThreads>(start, scratch, combine);
}

/// What the parts say together of the modified logits. `draws`: whether the token is drawn at
/// random; else it is known.
INGOT_DEVICE Progress mergeParts(const SampleRow &row, bool &draws, SampleShared &shared) {
  const PartFacts *facts = row.facts();
  float *values = row.values();
  u64 best =
      overParts(kNoKey, [&](int part) { return facts[part].best; }, shared.keys, smaller<u64>);
  Progress at = {{values, values + kVocabulary, nullptr, kVocabulary},
                 best == kNoKey ? minusInfinity() : valueOf(best),
                 -1,
                 -1,
                 0,
                 0,
                 -1};
  if (at.maximum > minusInfinity())
    at.token = indexOf(best);
  // The largest quotient: division keeps the order. Where it is not finite, the draw is the limit
  // that smaller temperatures come to.
  at.maximum = at.maximum / row.params->temperature;
  draws = row.params->temperature > 0 && at.token >= 0 && isFinite(at.maximum);
  if (!draws)
    return at;
  at.listed =
      overParts(kNoKey - 1, [&](int part) { return facts[part].last; }, shared.keys, smaller<u64>);
  if (row.needsValues())
    at.total = overParts(
        0.0,
        [&](int part) { return facts[part].sums[1] * weightOf(facts[part].maxima[1], at.maximum); },
        shared.doubles, added);
  return at;
}

/// The same of the logits themselves.
INGOT_DEVICE void mergeLogits(const SampleRow &row, Progress &at, SampleShared &shared) {
  const PartFacts *facts = row.facts();
  at.from = {row.logits(), nullptr, nullptr, kVocabulary};
  at.maximum = overParts(
      minusInfinity(), [&](int part) { return facts[part].maxima[0]; }, shared.floats,
      larger<float>);
  at.total = overParts(
      0.0,
      [&](int part) { return facts[part].sums[0] * weightOf(facts[part].maxima[0], at.maximum); },
      shared.doubles, added);
  at.found = 0;
}

/// What a phase visits: lists of the parts where they hold the largest values.
INGOT_DEVICE Visited visitedBy(Phase phase, const SampleRow &row, const Progress &at,
                               float nearest) {
  if (phase == kTopLogits)
    return {nullptr, kParts * kListedLogits, nearest, row.logitList(), kNoKey - 1};
  if (phase == kTypical)
    return {at.from.deviations, at.from.count, nearest};
  if (at.listed != 0)
    return {nullptr, kParts * kListed, nearest, row.list(), at.listed};
  return {at.from.values, at.from.count, nearest};
}

/// The limits of a phase; for typical-p also the order of deviations, in `nearest`.
INGOT_DEVICE Visit prepare(Phase phase, const SampleParams &params, const Progress &at,
                           float &nearest, SampleShared &shared) {
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
                         const float *ordered, Order &order, Progress &at, SampleShared &shared) {
  bool isInside = stop.place < stop.count;
  u64 key = isInside ? shared.run.keys[stop.place] : stop.before;
  u64 keyBefore = stop.place > 0 ? shared.run.keys[stop.place - 1] : stop.before;
  bool isRanked = phase == kTopK || phase == kTopLogits; // has no sums
  double sumBefore = stop.place > 0 && !isRanked ? shared.sums[stop.place - 1] : stop.runStart;
  double sumThrough = isInside && !isRanked ? shared.sums[stop.place] : 0;
  __syncthreads();
  at.found = 0;
  at.listed = phase == kTopK || (phase == kTypical && isInside) ? 0 : at.listed;
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

/// Draws a row's token from what was found of its parts.
INGOT_DEVICE void drawToken(const SampleRow &row, SampleShared &shared) {
  const SampleParams &params = *row.params;
  bool draws;
  Progress at = mergeParts(row, draws, shared);
#pragma unroll 1
  for (int step = kTopK; step < kDone; ++step) {
    auto phase = Phase(step);
    if (!isWanted(phase, draws, row))
      continue;
    if (phase == kTopLogits)
      mergeLogits(row, at, shared);
    else if (phase != kTopK && at.total < 0)
      at.total = sumOfWeights(at.from.values, at.from.count, at.maximum, shared);
    float nearest = at.maximum;
    Visit visit = prepare(phase, params, at, nearest, shared);
    Visited visited = visitedBy(phase, row, at, nearest);
    Order order(visited, shared.run);
    Stop stop = {};
    if (visit.wanted > 0)
      stop = visitUntil(phase, visit, at.found, order, at.from, at.maximum, shared);
    const float *ordered = phase == kTypical ? at.from.deviations : at.from.values;
    finish(phase, row, visit, stop, ordered, order, at, shared);
  }
  if (params.logprobs < 0)
    writeLogprobs(row, at.token, -1, 0, 1, shared);
  if (threadIdx.x != 0)
    return;
  *row.row<i32>(kTokens, 1) = at.token;
  u32 *counts = row.counts();
  if (counts && at.token >= 0 && (counts[at.token] & ~kCountInPrompt) != ~kCountInPrompt)
    ++counts[at.token];
}

} // namespace

__device__ void run(const Launch &launch) {
  __shared__ SampleShared shared;
  SampleRow row = {launch, i64(blockIdx.x),
                   launch.buffer<const SampleParams>(kParams) + blockIdx.x};
  for (int part = int(blockIdx.y); part < kParts; part += int(gridDim.y))
    findPart(row, part, shared);
  if (gridDim.y == 1 || arrivesLast(launch.buffer<u32>(kWorkspace) + blockIdx.x, gridDim.y))
    drawToken(row, shared);
}
