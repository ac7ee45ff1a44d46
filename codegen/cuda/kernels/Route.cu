// SPDX-License-Identifier: Apache-2.0
// llm.route: a warp is one token; its lanes hold the experts of equal index modulo 32. Buffers:
// logits, bias?, weights, experts.
#include "Elements.cuh"
#include "Mathematics.cuh"
#include "Reductions.cuh"

namespace {

constexpr int kExperts = int(constants::experts), kTopK = int(constants::top_k);
constexpr int kEach = int(ceilDiv(kExperts, kWarpSize));
constexpr int kGroups = int(constants::groups), kKept = int(constants::kept_groups);
/// Whether choices are scores, and not logits; whether softmax is divided by its sum.
constexpr bool kScored = constants::biased || kKept < kGroups;
constexpr bool kDivides = kScored || !constants::normalize;
constexpr int kWeights = constants::biased ? 2 : 1; ///< the buffer

/// A number and its expert, as they are ordered: larger ones first, of equal ones the lower expert.
struct Choice {
  float value;
  int expert;

  __device__ bool before(const Choice &other) const {
    return value > other.value || (value == other.value && expert < other.expert);
  }
};

/// The first of the lanes' choices.
INGOT_DEVICE Choice firstOf(Choice own) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    Choice other = {__shfl_xor_sync(kAllLanes, own.value, distance),
                    __shfl_xor_sync(kAllLanes, own.expert, distance)};
    if (other.before(own))
      own = other;
  }
  return own;
}

/// The sum over all lanes in their order.
INGOT_DEVICE float sumInOrder(float own) {
  float sum = 0;
  for (int lane = 0; lane < kWarpSize; ++lane)
    sum += __shfl_sync(kAllLanes, own, lane);
  return sum;
}

/// A logit as it is ordered: what is no number comes last.
INGOT_DEVICE float logitOf(const Launch &launch, int expert) {
  float logit =
      loadElement<constants::logits_type>(launch.buffers[0], i64(blockIdx.x) * kExperts + expert);
  return logit == logit ? logit : -infinity();
}

/// What softmax needs of all logits: the largest, and the sum of e^(logit - maximum).
struct Softmax {
  float maximum, powers;
};

INGOT_DEVICE Softmax softmaxOf(const float (&logits)[kEach]) {
  float maximum = -infinity(), sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    maximum = fmaxf(maximum, logits[i]);
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    maximum = fmaxf(maximum, __shfl_xor_sync(kAllLanes, maximum, distance));
  if constexpr (!constants::sigmoid && kDivides) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (i * kWarpSize + int(threadIdx.x) < kExperts)
        sum += float(exponential(double(logits[i] - maximum)));
    sum = sumInOrder(sum);
  }
  return {maximum, sum};
}

/// The score of a logit; of softmax the power alone where it is not divided.
INGOT_DEVICE float scoreOf(float logit, const Softmax &softmax) {
  if constexpr (constants::sigmoid)
    return 1.0f / (1.0f + float(exponential(-double(logit))));
  float power = float(exponential(double(logit - softmax.maximum)));
  return kDivides ? power / softmax.powers : power;
}

/// Makes NaN, which is never chosen, of the choices of all groups but the best.
INGOT_DEVICE void keepGroups(float (&choices)[kEach]) {
  __shared__ float all[kExperts], sums[kGroups];
  constexpr int kOfGroup = kExperts / kGroups;
  int lane = int(threadIdx.x);
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    if (i * kWarpSize + lane < kExperts)
      all[i * kWarpSize + lane] = choices[i];
  __syncwarp();
  for (int group = lane; group < kGroups; group += kWarpSize) {
    float first = -infinity(), second = -infinity();
    for (int i = 0; i < kOfGroup; ++i) {
      float choice = all[group * kOfGroup + i];
      if (choice > first) {
        second = first;
        first = choice;
      } else if (choice > second) {
        second = choice;
      }
    }
    float sum = constants::group_best > 1 ? first + second : first;
    sums[group] = sum == sum ? sum : -infinity();
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    int own = (i * kWarpSize + lane) / kOfGroup, before = 0;
    if (own >= kGroups)
      continue;
    for (int group = 0; group < kGroups; ++group)
      before += sums[group] > sums[own] || (sums[group] == sums[own] && group < own);
    if (before >= kKept)
      choices[i] = __int_as_float(0x7fc00000);
  }
}

} // namespace

__device__ void run(const Launch &launch) {
  int lane = int(threadIdx.x);
  float choices[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    int expert = i * kWarpSize + lane;
    choices[i] = expert < kExperts ? logitOf(launch, expert) : -infinity();
  }
  Softmax softmax = softmaxOf(choices);
  if constexpr (kScored) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      int expert = i * kWarpSize + lane;
      float choice = scoreOf(choices[i], softmax);
      if constexpr (constants::biased)
        if (expert < kExperts)
          choice += loadElement<constants::bias_type>(launch.buffers[1], expert);
      choices[i] = choice == choice ? choice : -infinity();
    }
    if constexpr (kKept < kGroups)
      keepGroups(choices);
  }
  i64 first = i64(blockIdx.x) * kTopK;
  float total = 0, own = 0; // own: of the slot with the lane's number
  Choice last = {infinity(), -1};
  for (int slot = 0; slot < kTopK; ++slot) {
    Choice best = {-infinity(), kExperts};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      Choice choice = {choices[i], i * kWarpSize + lane};
      if (choice.expert < kExperts && last.before(choice) && choice.before(best))
        best = choice;
    }
    last = firstOf(best);
    float weight = scoreOf(logitOf(launch, last.expert), softmax);
    total += weight;
    if (lane == slot) {
      own = weight;
      launch.buffer<i32>(kWeights + 1)[first + slot] = last.expert;
    }
  }
  if constexpr (constants::normalize)
    own /= total + float(constants::epsilon);
  if (lane < kTopK)
    launch.buffer<float>(kWeights)[first + lane] = own * float(constants::scale);
}
