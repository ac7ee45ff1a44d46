// SPDX-License-Identifier: Apache-2.0
// llm.route: one token a tile. Buffers: logits, weights, experts.
#include "codegen/native/kernels/Elements.h"
#include "codegen/native/kernels/Mathematics.h"

INGOT_CONST(experts);
INGOT_CONST(top_k);
INGOT_CONST(logits_type);
INGOT_CONST(sigmoid);
INGOT_CONST(normalize);

/// A logit of the launch's row as it is ordered: what is no number comes last.
static float logitAt(const IngotLaunch *launch, int64_t expert) {
  float logit = loadElement(launch->buffers[0], launch->tile[0] * ingot_const_experts + expert,
                            ingot_const_logits_type);
  return logit == logit ? logit : -kInfinity;
}

/// The first expert behind `last` in the order of descending logits; -1: the first of all.
static int64_t nextExpert(const IngotLaunch *launch, int64_t last) {
  int64_t best = -1;
  float bestLogit = 0, lastLogit = last < 0 ? kInfinity : logitAt(launch, last);
  for (int64_t expert = 0; expert < ingot_const_experts; ++expert) {
    float logit = logitAt(launch, expert);
    bool behind = last < 0 || logit < lastLogit || (logit == lastLogit && expert > last);
    if (behind && (best < 0 || logit > bestLogit)) {
      best = expert;
      bestLogit = logit;
    }
  }
  return best;
}

/// The sum of e^(logit - maximum) over all experts, as llm.route orders it.
static float sumOfPowers(const IngotLaunch *launch, float maximum) {
  constexpr int64_t kSums = 32;
  float sums[kSums] = {};
  for (int64_t expert = 0; expert < ingot_const_experts; ++expert)
    sums[expert % kSums] += float(exponential(double(logitAt(launch, expert) - maximum)));
  float sum = 0;
  for (float part : sums)
    sum += part;
  return sum;
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  int64_t first = launch->tile[0] * ingot_const_top_k;
  float *weights = static_cast<float *>(launch->buffers[1]) + first;
  int32_t *experts = static_cast<int32_t *>(launch->buffers[2]) + first;
  float maximum = 0, total = 0;
  for (int64_t slot = 0, last = -1; slot < ingot_const_top_k; ++slot) {
    last = nextExpert(launch, last);
    float logit = logitAt(launch, last);
    if (slot == 0)
      maximum = logit;
    experts[slot] = int32_t(last);
    weights[slot] = ingot_const_sigmoid ? 1.0f / (1.0f + float(exponential(-double(logit))))
                                        : float(exponential(double(logit - maximum)));
    total += weights[slot];
  }
  if (!ingot_const_normalize) {
    if (ingot_const_sigmoid)
      return;
    total = sumOfPowers(launch, maximum);
  }
  for (int64_t slot = 0; slot < ingot_const_top_k; ++slot)
    weights[slot] /= total;
}
