// SPDX-License-Identifier: Apache-2.0
// llm.sample: one logit row a tile. Filters see the probabilities renormalised over what the ones
// before them left; each keeps at least the most probable token.
#include "codegen/native/kernels/DescendingOrder.h"
#include "codegen/native/kernels/Mathematics.h"
#include "codegen/native/kernels/Philox.h"

INGOT_CONST(vocabulary);
INGOT_CONST(bias_columns); ///< entries in a row of bias_ids and bias_values
INGOT_CONST(top_columns);  ///< entries in a row of top_tokens and top_logprobs

/// Buffers of the launch, in the order of the operation's operands and results.
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
  kTopLogprobs
};

namespace {

/// Scratch of a row: the modified logits, a second row of values, and the order of either.
struct Scratch {
  explicit Scratch(void *memory)
      : values(static_cast<float *>(memory)), deviations(values + ingot_const_vocabulary),
        order(deviations + ingot_const_vocabulary) {}
  float *values;
  float *deviations;
  void *order;
};

/// One row of the launch.
struct Row {
  const IngotLaunch *launch;
  const IngotSampleParams *params;
  int64_t index;

  template <class T> T *row(Buffer buffer, int64_t columns) const {
    return static_cast<T *>(launch->buffers[buffer]) + index * columns;
  }
};

} // namespace

/// `value`, which was made from `before`, as a finite number if that was one. Parameters may be so
/// large that f32 does not hold what they make of a logit.
static float saturated(float before, float value) {
  if (!(before >= -kLargest && before <= kLargest))
    return value;
  return value > kLargest ? kLargest : value < -kLargest ? -kLargest : value;
}

static void applyBias(const Row &row, float *values) {
  const int32_t *ids = row.row<const int32_t>(kBiasIds, ingot_const_bias_columns);
  const float *biases = row.row<const float>(kBiasValues, ingot_const_bias_columns);
  for (int64_t i = 0; i < row.params->biasCount && i < ingot_const_bias_columns; ++i)
    if (ids[i] >= 0 && ids[i] < ingot_const_vocabulary)
      values[ids[i]] = saturated(values[ids[i]], values[ids[i]] + biases[i]);
}

/// A mask with this value of `useMask` is also of the log probabilities: they are then those of the
/// distribution that it leaves.
constexpr int32_t kMasksLogprobs = 2;

static void applyMask(const Row &row, float *values) {
  const uint32_t *mask = row.row<const uint32_t>(kAllowMask, (ingot_const_vocabulary + 31) / 32);
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    if (!(mask[i / 32] >> (i % 32) & 1))
      values[i] = -kInfinity;
}

static void applyPenalties(const Row &row, const uint32_t *counts, float *values) {
  const IngotSampleParams &params = *row.params;
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i) {
    uint32_t count = counts[i];
    if (count == 0)
      continue;
    float value = values[i];
    value = value > 0 ? value / params.repetitionPenalty : value * params.repetitionPenalty;
    uint32_t generated = count & ~INGOT_COUNT_IN_PROMPT;
    if (generated > 0)
      value = (value - params.presencePenalty) - params.frequencyPenalty * float(generated);
    values[i] = saturated(values[i], value);
  }
}

/// Values that are looked at together.
constexpr int64_t kStep = 16;

/// The largest number; -infinity if there is none.
static float maximumOf(const float *values) {
  // Each lane's own maximum: one chain of comparisons would be as slow as its latency.
  float lanes[kStep];
  for (float &lane : lanes)
    lane = -kInfinity;
  int64_t i = 0;
  for (; i + kStep <= ingot_const_vocabulary; i += kStep)
    for (int64_t j = 0; j < kStep; ++j)
      lanes[j] = values[i + j] > lanes[j] ? values[i + j] : lanes[j];
  for (; i < ingot_const_vocabulary; ++i)
    lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  float maximum = lanes[0];
  for (float lane : lanes)
    maximum = lane > maximum ? lane : maximum;
  return maximum;
}

/// The weight of a token beside the most probable one; 0 for excluded tokens.
static double weightOf(float value, float maximum) {
  return value > -kInfinity ? exponential(double(value) - double(maximum)) : 0.0;
}

static double sumOfWeights(const float *values, float maximum) {
  double sum = 0;
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    sum += weightOf(values[i], maximum);
  return sum;
}

/// The first place of `maximum`, which is one of the values.
static int64_t greedy(const float *values, float maximum) {
  int64_t i = 0;
  for (; i + kStep <= ingot_const_vocabulary; i += kStep) {
    int32_t found = 0;
    for (int64_t j = 0; j < kStep; ++j)
      found |= values[i + j] == maximum;
    if (found)
      break;
  }
  while (i < ingot_const_vocabulary - 1 && values[i] != maximum)
    ++i;
  return i;
}

/// Excludes all but the `k` largest values.
static void keepTop(float *values, int64_t k, void *scratch) {
  DescendingOrder order(values, ingot_const_vocabulary, scratch);
  int64_t last = 0;
  for (int64_t place = 0; place < k; ++place)
    last = order.at(place);
  float least = values[last];
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    if (values[i] < least || (values[i] == least && i > last))
      values[i] = -kInfinity;
}

/// Keeps the tokens whose surprise is closest to the entropy, until their probability is `p`.
static void keepTypical(const Scratch &scratch, float maximum, float p) {
  float *values = scratch.values;
  double sum = sumOfWeights(values, maximum);
  double logSum = logarithm(sum);
  // Surprise of a token: -log probability.
  auto surprise = [&](float value) { return logSum - (double(value) - double(maximum)); };
  double entropy = 0;
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    if (double weight = weightOf(values[i], maximum); weight > 0)
      entropy += weight / sum * surprise(values[i]);
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i) {
    double deviation = surprise(values[i]) - entropy;
    bool excluded = !(weightOf(values[i], maximum) > 0);
    scratch.deviations[i] = excluded ? -kInfinity : float(deviation < 0 ? deviation : -deviation);
  }
  DescendingOrder order(scratch.deviations, ingot_const_vocabulary, scratch.order);
  double kept = 0;
  int64_t last = 0;
  for (int64_t place = 0; place < ingot_const_vocabulary && kept < double(p) * sum; ++place) {
    last = order.at(place);
    kept += weightOf(values[last], maximum);
  }
  if (kept == 0)
    last = order.at(0);
  float least = scratch.deviations[last];
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    if (scratch.deviations[i] < least || (scratch.deviations[i] == least && i > last))
      values[i] = -kInfinity;
}

/// Top-p and min-p, then the draw: both keep a prefix of the descending order.
static int64_t drawFrom(const Scratch &scratch, const IngotSampleParams &params) {
  const float *values = scratch.values;
  float maximum = maximumOf(values);
  double total = sumOfWeights(values, maximum);
  double least = params.minP > 0 ? double(params.minP) : 0.0; // the maximum's weight is 1
  double limit = params.topP < 1 ? double(params.topP) * total : total;
  DescendingOrder order(values, ingot_const_vocabulary, scratch.order);
  double random = uniform(params.seed, params.step);
  double kept = total;
  if (params.topP < 1 || params.minP > 0) {
    // Walked twice: the sum of what is kept is needed before the draw.
    kept = 0;
    for (int64_t place = 0; place < ingot_const_vocabulary; ++place) {
      double weight = weightOf(values[order.at(place)], maximum);
      if (place > 0 && (kept >= limit || weight < least || weight == 0))
        break;
      kept += weight;
    }
  }
  double target = random * kept;
  double sum = 0;
  int64_t token = order.at(0);
  for (int64_t place = 0; place < ingot_const_vocabulary && sum <= target; ++place) {
    int64_t candidate = order.at(place);
    double weight = weightOf(values[candidate], maximum);
    if (weight == 0 || (place > 0 && sum >= kept))
      break;
    sum += weight;
    token = candidate;
  }
  return token;
}

/// The token, or -1 where none may be drawn.
static int64_t draw(const Row &row, const Scratch &scratch) {
  const IngotSampleParams &params = *row.params;
  float *values = scratch.values;
  float maximum = maximumOf(values);
  if (!(maximum > -kInfinity))
    return -1;
  // Division keeps the order: where the largest quotient is not finite, the draw is the limit that
  // smaller temperatures come to.
  float quotient = maximum / params.temperature;
  if (!(params.temperature > 0) || !(quotient >= -kLargest && quotient <= kLargest))
    return greedy(values, maximum);
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    values[i] = values[i] == values[i] ? values[i] / params.temperature : -kInfinity;
  maximum = quotient;
  if (params.topK > 0 && params.topK < ingot_const_vocabulary)
    keepTop(values, params.topK, scratch.order);
  if (params.typicalP < 1)
    keepTypical(scratch, maximum, params.typicalP);
  return drawFrom(scratch, params);
}

/// Log probabilities of the drawn token and of the most probable ones, of logits before all that
/// draws make of them but for a mask.
static void writeLogprobs(const Row &row, const float *logits, int64_t token) {
  float *chosen = row.row<float>(kLogprobs, 1);
  int32_t *topTokens = row.row<int32_t>(kTopTokens, ingot_const_top_columns);
  float *topLogprobs = row.row<float>(kTopLogprobs, ingot_const_top_columns);
  int64_t wanted = row.params->logprobs;
  wanted = wanted < ingot_const_top_columns ? wanted : ingot_const_top_columns;
  *chosen = 0;
  for (int64_t i = 0; i < ingot_const_top_columns; ++i) {
    topTokens[i] = -1;
    topLogprobs[i] = 0;
  }
  if (wanted < 0)
    return;
  float maximum = maximumOf(logits);
  double logSum = logarithm(sumOfWeights(logits, maximum));
  auto logprob = [&](int64_t id) { return float(double(logits[id]) - double(maximum) - logSum); };
  *chosen = token < 0 ? 0 : logprob(token);
  int64_t found = 0;
  for (int64_t i = 0; i < ingot_const_vocabulary && wanted > 0; ++i) {
    if (found == wanted && !(logits[i] > logits[topTokens[found - 1]]))
      continue;
    int64_t place = found < wanted ? found++ : found - 1;
    for (; place > 0 && logits[i] > logits[topTokens[place - 1]]; --place)
      topTokens[place] = topTokens[place - 1];
    topTokens[place] = int32_t(i);
  }
  for (int64_t i = 0; i < found; ++i) {
    const bool isMasked =
        row.params->useMask == kMasksLogprobs && !(logits[topTokens[i]] >= -kLargest);
    topLogprobs[i] = isMasked ? 0 : logprob(topTokens[i]);
    topTokens[i] = isMasked ? -1 : topTokens[i];
  }
}

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  Row row = {launch,
             static_cast<const IngotSampleParams *>(launch->buffers[kParams]) + launch->tile[0],
             launch->tile[0]};
  Scratch scratch(launch->scratch);
  const float *logits = row.row<const float>(kLogits, ingot_const_vocabulary);
  for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
    scratch.values[i] = logits[i];
  uint32_t *counts = nullptr;
  if (row.params->countsSlot >= 0)
    counts = static_cast<uint32_t *>(launch->buffers[kCounts]) +
             row.params->countsSlot * ingot_const_vocabulary;
  applyBias(row, scratch.values);
  if (row.params->useMask)
    applyMask(row, scratch.values);
  if (counts)
    applyPenalties(row, counts, scratch.values);
  int64_t token = draw(row, scratch);
  *row.row<int32_t>(kTokens, 1) = int32_t(token);
  if (counts && token >= 0 && (counts[token] & ~INGOT_COUNT_IN_PROMPT) != ~INGOT_COUNT_IN_PROMPT)
    ++counts[token];
  if (row.params->useMask == kMasksLogprobs) {
    for (int64_t i = 0; i < ingot_const_vocabulary; ++i)
      scratch.values[i] = logits[i];
    applyMask(row, scratch.values);
    logits = scratch.values;
  }
  writeLogprobs(row, logits, token);
}
