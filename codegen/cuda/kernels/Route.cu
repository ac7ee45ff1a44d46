// SPDX-License-Identifier: Apache-2.0
// llm.route: a warp is one token; its lanes hold the experts of equal index modulo 32. Buffers:
// logits, weights, experts.
#include "Elements.cuh"
#include "Mathematics.cuh"
#include "Reductions.cuh"

namespace {

constexpr int kExperts = int(constants::experts), kTopK = int(constants::top_k);
constexpr int kEach = int(ceilDiv(kExperts, kWarpSize));

/// A logit and its expert, as they are ordered: larger ones first, of equal ones the lower expert.
struct Choice {
  float logit;
  int expert;

  __device__ bool before(const Choice &other) const {
    return logit > other.logit || (logit == other.logit && expert < other.expert);
  }
};

/// The first of the lanes' choices.
INGOT_DEVICE Choice firstOf(Choice own) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    Choice other = {__shfl_xor_sync(kAllLanes, own.logit, distance),
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

} // namespace

__device__ void run(const Launch &launch) {
  i64 token = blockIdx.x;
  int lane = int(threadIdx.x);
  float logits[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    int expert = i * kWarpSize + lane;
    float logit = expert < kExperts ? loadElement<constants::logits_type>(
                                          launch.buffers[0], token * kExperts + expert)
                                    : 0;
    // What is no number comes last.
    logits[i] = logit == logit ? logit : -infinity();
  }
  float *weights = launch.buffer<float>(1) + token * kTopK;
  i32 *experts = launch.buffer<i32>(2) + token * kTopK;
  Choice last = {infinity(), -1};
  float maximum = 0, total = 0, own = 0; // own: of the slot with the lane's number
  for (int slot = 0; slot < kTopK; ++slot) {
    Choice best = {-infinity(), kExperts};
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      Choice choice = {logits[i], i * kWarpSize + lane};
      if (choice.expert < kExperts && last.before(choice) && choice.before(best))
        best = choice;
    }
    last = firstOf(best);
    if (slot == 0)
      maximum = last.logit;
    float weight = constants::sigmoid ? 1.0f / (1.0f + float(exponential(-double(last.logit))))
                                      : float(exponential(double(last.logit - maximum)));
    total += weight;
    if (lane == slot) {
      own = weight;
      experts[slot] = last.expert;
    }
  }
  if constexpr (!constants::normalize) {
    float sum = 0;
    if constexpr (!constants::sigmoid)
#pragma unroll
      for (int i = 0; i < kEach; ++i)
        if (i * kWarpSize + lane < kExperts)
          sum += float(exponential(double(logits[i] - maximum)));
    total = constants::sigmoid ? 1.0f : sumInOrder(sum);
  }
  if (lane < kTopK)
    weights[lane] = own / total;
}
