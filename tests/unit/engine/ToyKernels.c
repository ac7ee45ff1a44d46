/* SPDX-License-Identifier: Apache-2.0
 * Kernels of the toy model: logits that depend on every earlier token through the paged KV cache.
 */
#include "runtime/schema/KernelAbi.h"

/* How far back toy_hidden_echo looks. */
#define INGOT_TOY_ECHO 512

#define EXPORT __attribute__((visibility("default")))

/* Buffers: tokens, positions, token_sequences, block_table, kv. Scalars: B, tokens per block. */
EXPORT void toy_append(const IngotLaunch *launch) {
  const int32_t *tokens = launch->buffers[0], *positions = launch->buffers[1];
  const int32_t *sequences = launch->buffers[2], *table = launch->buffers[3];
  int32_t *kv = launch->buffers[4];
  int64_t token = launch->tile[0], perBlock = launch->scalars[1];
  int64_t position = positions[token];
  int64_t block = table[sequences[token] * launch->scalars[0] + position / perBlock];
  kv[block * perBlock + position % perBlock] = tokens[token] + 1;
}

/* Buffers: positions, token_sequences, block_table, kv, hidden. Scalars: B, tokens per block. */
EXPORT void toy_hidden(const IngotLaunch *launch) {
  const int32_t *positions = launch->buffers[0], *sequences = launch->buffers[1];
  const int32_t *table = launch->buffers[2], *kv = launch->buffers[3];
  float *hidden = launch->buffers[4];
  int64_t token = launch->tile[0], perBlock = launch->scalars[1];
  uint32_t hash = 17;
  for (int64_t i = 0; i <= positions[token]; ++i) {
    int64_t block = table[sequences[token] * launch->scalars[0] + i / perBlock];
    hash = (hash ^ (uint32_t)kv[block * perBlock + i % perBlock]) * 2654435761u;
    hash ^= hash >> 15;
  }
  hidden[token] = (float)(hash & 0xfffff);
}

/* As toy_hidden, but a token's number depends on its place in the step. */
EXPORT void toy_hidden_placed(const IngotLaunch *launch) {
  toy_hidden(launch);
  float *hidden = launch->buffers[4];
  if (launch->tile[0] >= 20)
    hidden[launch->tile[0]] += 1;
}

/* As toy_hidden, but sequences with token 60 have the number -1, which becomes logits of NaN. */
EXPORT void toy_hidden_poisoned(const IngotLaunch *launch) {
  toy_hidden(launch);
  const int32_t *table = launch->buffers[2], *kv = launch->buffers[3];
  int64_t token = launch->tile[0], perBlock = launch->scalars[1];
  table += ((const int32_t *)launch->buffers[1])[token] * launch->scalars[0];
  for (int64_t i = 0; i <= ((const int32_t *)launch->buffers[0])[token]; ++i)
    if (kv[table[i / perBlock] * perBlock + i % perBlock] == 61)
      ((float *)launch->buffers[4])[token] = -1;
}

/* As toy_hidden, but the number is -2 - t for the token t that stands INGOT_TOY_ECHO tokens before
 * the next one: the model repeats its prompt. */
EXPORT void toy_hidden_echo(const IngotLaunch *launch) {
  const int32_t *table = launch->buffers[2], *kv = launch->buffers[3];
  int64_t token = launch->tile[0], perBlock = launch->scalars[1];
  int64_t place = ((const int32_t *)launch->buffers[0])[token] + 1 - INGOT_TOY_ECHO;
  table += ((const int32_t *)launch->buffers[1])[token] * launch->scalars[0];
  int32_t repeated = place < 0 ? 0 : kv[table[place / perBlock] * perBlock + place % perBlock] - 1;
  ((float *)launch->buffers[4])[token] = (float)(-2 - repeated);
}

/* Buffers: hidden, logit_rows, weight, logits. Scalars: vocabulary, a real that must be 0.5. */
EXPORT void toy_logits(const IngotLaunch *launch) {
  const float *hidden = launch->buffers[0];
  const int32_t *rows = launch->buffers[1];
  const uint32_t *weight = launch->buffers[2];
  float *logits = launch->buffers[3];
  int64_t row = launch->tile[0], vocabulary = launch->scalars[0];
  union {
    int64_t bits;
    double real;
  } half = {launch->scalars[1]};
  for (int64_t v = 0; v < vocabulary; ++v) {
    if (hidden[rows[row]] < -1) {
      logits[row * vocabulary + v] = v == (int64_t)(-2 - hidden[rows[row]]) ? 100 : 0;
      continue;
    }
    if (hidden[rows[row]] < 0) {
      logits[row * vocabulary + v] = __builtin_nanf("");
      continue;
    }
    uint32_t hash = ((uint32_t)hidden[rows[row]] ^ weight[v]) * 2246822519u;
    hash ^= hash >> 13;
    logits[row * vocabulary + v] = (float)((hash & 0xffff) * half.real / 4096.0);
  }
}

/* A product of the same buffers, and a workspace: hidden times what the weight's bits say. */
EXPORT void toy_product(const IngotLaunch *launch) {
  const float *hidden = launch->buffers[0];
  const int32_t *rows = launch->buffers[1];
  const uint32_t *weight = launch->buffers[2];
  float *logits = launch->buffers[3];
  int64_t row = launch->tile[0], vocabulary = launch->scalars[0];
  for (int64_t v = 0; v < vocabulary; ++v)
    logits[row * vocabulary + v] = hidden[rows[row]] * (float)(weight[v] >> 24);
}

/* The same, but for one element. */
EXPORT void toy_product_wrong(const IngotLaunch *launch) {
  toy_product(launch);
  if (launch->tile[0] == 9)
    ((float *)launch->buffers[3])[9 * launch->scalars[0] + 5] += 1;
}

/* The same, but all elements are wrong by a rounding. */
EXPORT void toy_product_rounded(const IngotLaunch *launch) {
  toy_product(launch);
  float *logits = (float *)launch->buffers[3] + launch->tile[0] * launch->scalars[0];
  for (int64_t v = 0; v < launch->scalars[0]; ++v)
    logits[v] *= 1.0f + 1e-7f;
}

/* The same, but the workspace's counter 3 stays behind. */
EXPORT void toy_product_counting(const IngotLaunch *launch) {
  toy_product(launch);
  ((uint32_t *)launch->buffers[4])[3] = 1;
}

/* Buffers: params, logits, bias_ids, bias_values, mask, counts, tokens, logprobs, top_tokens,
 * top_logprobs. Scalars: vocabulary. With a temperature, a hash of seed and step takes the place of
 * chance. The log-probability is the logit itself. */
EXPORT void toy_sample(const IngotLaunch *launch) {
  int64_t row = launch->tile[0], vocabulary = launch->scalars[0];
  const IngotSampleParams *params = (const IngotSampleParams *)launch->buffers[0] + row;
  const float *logits = (const float *)launch->buffers[1] + row * vocabulary;
  const int32_t *biasIds = (const int32_t *)launch->buffers[2] + row * INGOT_MAX_BIAS;
  const float *biasValues = (const float *)launch->buffers[3] + row * INGOT_MAX_BIAS;
  const uint32_t *mask = (const uint32_t *)launch->buffers[4] + row * ((vocabulary + 31) / 32);
  uint32_t *counts = 0;
  if (params->countsSlot >= 0)
    counts = (uint32_t *)launch->buffers[5] + params->countsSlot * vocabulary;
  uint32_t draw = (uint32_t)(params->seed * 31 + params->step + 1) * 2654435761u >> 8;
  float best = -1e30f;
  int32_t chosen = -1;
  for (int64_t v = 0; v < vocabulary; ++v) {
    if (params->useMask && !(mask[v / 32] >> (v % 32) & 1))
      continue;
    float score = logits[v];
    if (params->temperature > 0)
      score += (float)(((uint32_t)v * 97u ^ draw) % 61u) * params->temperature;
    for (int32_t i = 0; i < params->biasCount; ++i)
      if (biasIds[i] == v)
        score += biasValues[i];
    if (counts && counts[v])
      score -= params->presencePenalty;
    if (score > best) {
      best = score;
      chosen = (int32_t)v;
    }
  }
  if (counts && chosen >= 0)
    ++counts[chosen];
  ((int32_t *)launch->buffers[6])[row] = chosen;
  ((float *)launch->buffers[7])[row] = chosen < 0 ? 0 : logits[chosen];
  int32_t *topTokens = (int32_t *)launch->buffers[8] + row * INGOT_MAX_LOGPROBS;
  float *topLogprobs = (float *)launch->buffers[9] + row * INGOT_MAX_LOGPROBS;
  for (int32_t i = 0; i < params->logprobs; ++i) {
    topTokens[i] = -1;
    for (int64_t v = 0; v < vocabulary; ++v) {
      int taken = 0;
      for (int32_t j = 0; j < i; ++j)
        taken |= topTokens[j] == v;
      if (!taken && (topTokens[i] < 0 || logits[v] > logits[topTokens[i]]))
        topTokens[i] = (int32_t)v;
    }
    topLogprobs[i] = logits[topTokens[i]];
  }
}

/* SPMD. Buffers: in (threads numbers), out. Each thread doubles its number, then all meet, then
 * each writes the sum of all doubled numbers. */
EXPORT void toy_spmd(const IngotLaunch *launch) {
  int64_t *numbers = launch->buffers[0], *sums = launch->buffers[1];
  numbers[launch->thread] *= 2;
  launch->barrier(launch->barrierState);
  int64_t sum = 0;
  for (int64_t i = 0; i < launch->threads; ++i)
    sum += numbers[i];
  sums[launch->thread] = sum;
  launch->barrier(launch->barrierState);
  numbers[launch->thread] = sum;
}

/* Buffers: who, place, one number per tile. Scalars: a thread that takes longer. Notes which thread
 * ran a tile and, counted in scratch memory, as which of its tiles. */
EXPORT void toy_who(const IngotLaunch *launch) {
  int32_t *who = launch->buffers[0], *place = launch->buffers[1], *count = launch->scratch;
  if (launch->isFirst)
    *count = 0;
  place[launch->tile[0]] = (*count)++;
  for (volatile int i = 0; launch->thread == launch->scalars[0] && i < 20000; ++i)
    ;
  who[launch->tile[0]] = (int32_t)launch->thread;
}

/* Buffers: counters, one per tile. Adds 1 and leaves a mark in the scratch memory. */
EXPORT void toy_count(const IngotLaunch *launch) {
  int64_t tile =
      launch->tile[0] + launch->grid[0] * (launch->tile[1] + launch->grid[1] * launch->tile[2]);
  ((int32_t *)launch->buffers[0])[tile] += 1;
  *(int64_t *)launch->scratch = launch->thread;
}
