// SPDX-License-Identifier: Apache-2.0
// llm.route: one token a tile. Buffers: logits, bias?, weights, experts.
#include "codegen/native/kernels/Elements.h"
#include "codegen/native/kernels/Mathematics.h"

INGOT_CONST(experts);
INGOT_CONST(top_k);
INGOT_CONST(logits_type);
INGOT_CONST(biased); // 1: a bias buffer follows the logits
INGOT_CONST(bias_type);
INGOT_CONST(sigmoid);
INGOT_CONST(groups);
INGOT_CONST(kept_groups);
INGOT_CONST(group_best); // choices of a group that are added, at most 2
INGOT_CONST(normalize);
INGOT_REAL(epsilon);
INGOT_REAL(scale);

/// Whether choices are scores, and not logits.
static bool hasScores() {
  return ingot_const_biased || ingot_const_kept_groups < ingot_const_groups;
}

/// One token of the launch.
struct Token {
  const IngotLaunch *launch;
  float maximum = 0, powers = 0; ///< of all logits; the sum of e^(logit - maximum)

  /// A logit as it is ordered: what is no number comes last.
  float logit(int64_t expert) const {
    float own = loadElement(launch->buffers[0], launch->tile[0] * ingot_const_experts + expert,
                            ingot_const_logits_type);
    return own == own ? own : -kInfinity;
  }

  float power(int64_t expert) const { return float(exponential(double(logit(expert) - maximum))); }

  void takePowers() {
    constexpr int64_t kSums = 32;
    float sums[kSums] = {};
    for (int64_t expert = 0; expert < ingot_const_experts; ++expert)
      sums[expert % kSums] += power(expert);
    for (float part : sums)
      powers += part;
  }

  float score(int64_t expert) const {
    return ingot_const_sigmoid ? 1.0f / (1.0f + float(exponential(-double(logit(expert)))))
                               : power(expert) / powers;
  }

  float choice(int64_t expert) const {
    if (!hasScores())
      return logit(expert);
    float own = score(expert);
    if (ingot_const_biased)
      own += loadElement(launch->buffers[1], expert, ingot_const_bias_type);
    return own == own ? own : -kInfinity;
  }
};

constexpr float kDropped = __builtin_nanf(""); // a choice of a group that is not kept

/// The first of `count` values behind `last` in descending order, without dropped ones; -1: the
/// first of all.
static int64_t nextLargest(const float *values, int64_t count, int64_t last) {
  int64_t best = -1;
  for (int64_t i = 0; i < count; ++i) {
    bool behind = last < 0 || values[i] < values[last] || (values[i] == values[last] && i > last);
    if (values[i] == values[i] && behind && (best < 0 || values[i] > values[best]))
      best = i;
  }
  return best;
}

/// Drops the choices of all groups but the best; `sums`: scratch memory, one for each group.
static void keepGroups(float *choices, float *sums) {
  const int64_t each = ingot_const_experts / ingot_const_groups;
  for (int64_t group = 0; group < ingot_const_groups; ++group) {
    const float *own = choices + group * each;
    int64_t first = nextLargest(own, each, -1);
    sums[group] = own[first];
    if (ingot_const_group_best > 1)
      sums[group] += own[nextLargest(own, each, first)];
    if (sums[group] != sums[group])
      sums[group] = -kInfinity;
  }
  int64_t last = -1;
  for (int64_t kept = 0; kept < ingot_const_kept_groups; ++kept)
    last = nextLargest(sums, ingot_const_groups, last);
  for (int64_t group = 0; group < ingot_const_groups; ++group)
    if (sums[group] < sums[last] || (sums[group] == sums[last] && group > last))
      for (int64_t i = 0; i < each; ++i)
        choices[group * each + i] = kDropped;
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  Token token = {launch};
  float *choices = static_cast<float *>(launch->scratch), *sums = choices + ingot_const_experts;
  token.maximum = -kInfinity;
  for (int64_t expert = 0; expert < ingot_const_experts; ++expert)
    if (token.logit(expert) > token.maximum)
      token.maximum = token.logit(expert);
  const bool divides = hasScores() || !ingot_const_normalize;
  if (!ingot_const_sigmoid && divides)
    token.takePowers();
  for (int64_t expert = 0; expert < ingot_const_experts; ++expert)
    choices[expert] = token.choice(expert);
  if (ingot_const_kept_groups < ingot_const_groups)
    keepGroups(choices, sums);

  int64_t first = launch->tile[0] * ingot_const_top_k;
  float *weights = static_cast<float *>(launch->buffers[ingot_const_biased ? 2 : 1]) + first;
  int32_t *experts = static_cast<int32_t *>(launch->buffers[ingot_const_biased ? 3 : 2]) + first;
  float total = 0;
  for (int64_t slot = 0, last = -1; slot < ingot_const_top_k; ++slot) {
    last = nextLargest(choices, ingot_const_experts, last);
    experts[slot] = int32_t(last);
    weights[slot] = ingot_const_sigmoid || divides ? token.score(last) : token.power(last);
    total += weights[slot];
  }
  for (int64_t slot = 0; slot < ingot_const_top_k; ++slot) {
    if (ingot_const_normalize)
      weights[slot] /= total + float(ingot_real_epsilon);
    weights[slot] *= float(ingot_real_scale);
  }
}
