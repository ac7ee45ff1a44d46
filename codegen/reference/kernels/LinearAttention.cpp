// SPDX-License-Identifier: Apache-2.0
// llm.gated_delta_rule and llm.state_space: one value head of one sequence a tile, token by token,
// as the operations' descriptions have it. Buffers: those of LinearRun.h.
#include "codegen/native/kernels/LinearRun.h"

constexpr int64_t kMostPositions = 64; ///< of a chunk

/// A decay over some tokens.
static float shareOf(float x) {
  float share = float(exponential(double(x)));
  return share < kLeastShare ? 0 : share;
}

/// `count` numbers.
static void copy(const float *from, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = from[i];
}

/// A head of q or k, elements of the input from `first` on; of the delta rule over its length.
static void takeHead(const void *input, int64_t first, float *head) {
  float squares = 0;
  for (int64_t c = 0; c < ingot_const_key_dim; ++c) {
    head[c] = loadElement(input, first + c, ingot_const_input_type);
    squares += head[c] * head[c];
  }
  if (!ingot_const_corrects)
    return;
  float root = __builtin_sqrtf(squares + float(ingot_real_epsilon));
  for (int64_t c = 0; c < ingot_const_key_dim; ++c)
    head[c] /= root;
}

/// The chunk of the current token, as its row of the state would hold it, and q' and k' of the
/// token.
struct Chunk {
  const LinearRun &run;
  LinearState held;
  float *query, *key;

  Chunk(const LinearRun &run, float *scratch) : run(run) {
    held.state = scratch;
    held.keys = held.state + ingot_const_key_dim * ingot_const_value_dim;
    held.decays = held.keys + ingot_const_key_dim * ingot_const_chunk;
    held.updates = held.decays + ingot_const_chunk;
    query = held.updates + ingot_const_chunk * ingot_const_value_dim;
    key = query + ingot_const_key_dim;
  }

  /// What an earlier step left of the first `count` positions of a chunk.
  void load(int64_t chunk, int64_t count) {
    LinearState from = run.stateOf(chunk);
    copy(from.state, ingot_const_key_dim * ingot_const_value_dim, held.state);
    for (int64_t c = 0; c < ingot_const_key_dim; ++c)
      copy(from.keys + c * ingot_const_chunk, count, held.keys + c * ingot_const_chunk);
    copy(from.decays, count, held.decays);
    copy(from.updates, count * ingot_const_value_dim, held.updates);
  }

  /// Goes on to S before the next chunk.
  void advance() {
    float last = held.decays[ingot_const_chunk - 1], decay = shareOf(last);
    float shares[kMostPositions];
    for (int64_t j = 0; j < ingot_const_chunk; ++j)
      shares[j] = shareOf(last - held.decays[j]);
    for (int64_t c = 0; c < ingot_const_key_dim; ++c)
      for (int64_t v = 0; v < ingot_const_value_dim; ++v) {
        float &element = held.state[c * ingot_const_value_dim + v];
        element *= decay;
        for (int64_t j = 0; j < ingot_const_chunk; ++j)
          element += shares[j] * held.keys[c * ingot_const_chunk + j] *
                     held.updates[j * ingot_const_value_dim + v];
      }
  }

  /// Begins the chunk of `position`, the i-th token's.
  void begin(int64_t position, int64_t i) {
    int64_t chunk = position / ingot_const_chunk, place = position % ingot_const_chunk;
    if (place > 0)
      return load(chunk, place);
    if (position == 0)
      for (int64_t e = 0; e < ingot_const_key_dim * ingot_const_value_dim; ++e)
        held.state[e] = 0;
    if (position > 0 && i == 0)
      load(chunk - 1, ingot_const_chunk);
    if (position > 0)
      advance();
    if (run.keeps(chunk))
      copy(held.state, ingot_const_key_dim * ingot_const_value_dim, run.stateOf(chunk).state);
  }

  /// D_ij (head . k'_j) of the token i at `place`, for all j up to it.
  void weigh(const float *head, int64_t place, float *weights) const {
    for (int64_t j = 0; j <= place; ++j) {
      float score = 0;
      for (int64_t c = 0; c < ingot_const_key_dim; ++c)
        score += head[c] * held.keys[c * ingot_const_chunk + j];
      weights[j] = shareOf(held.decays[place] - held.decays[j]) * score;
    }
  }
  /// Column v of decay S^T head + the sum over j < `end` of weights[j] u_j.
  float sum(const float *head, float decay, const float *weights, int64_t end, int64_t v) const {
    float sum = 0;
    for (int64_t c = 0; c < ingot_const_key_dim; ++c)
      sum += head[c] * held.state[c * ingot_const_value_dim + v];
    sum *= decay;
    for (int64_t j = 0; j < end; ++j)
      sum += weights[j] * held.updates[j * ingot_const_value_dim + v];
    return sum;
  }

  /// Token i of the run, at `place` of the chunk.
  void take(int64_t i, int64_t place) {
    const void *input = run.launch->buffers[0];
    takeHead(input, run.query(i), query);
    takeHead(input, run.key(i), key);
    for (int64_t c = 0; c < ingot_const_key_dim; ++c) {
      if (ingot_const_corrects)
        query[c] /= __builtin_sqrtf(float(ingot_const_key_dim));
      held.keys[c * ingot_const_chunk + place] = key[c];
    }
    held.decays[place] = (place > 0 ? held.decays[place - 1] : 0) + run.logDecay(i);
    float weights[kMostPositions], beta = run.gate(i), decay = shareOf(held.decays[place]);
    float *updates = held.updates + place * ingot_const_value_dim;
    auto value = [&](int64_t v) {
      return loadElement(input, run.value(i) + v, ingot_const_input_type);
    };
    weigh(key, place, weights);
    for (int64_t v = 0; v < ingot_const_value_dim; ++v)
      updates[v] =
          beta * (ingot_const_corrects ? value(v) - sum(key, decay, weights, place, v) : value(v));
    weigh(query, place, weights);
    for (int64_t v = 0; v < ingot_const_value_dim; ++v)
      storeElement(run.launch->buffers[9], run.result(i) + v, ingot_const_result_type,
                   sum(query, decay, weights, place + 1, v) +
                       (ingot_const_corrects ? 0 : run.skip() * value(v)));
  }

  /// Leaves what a later step needs of the token at `place`.
  void store(int64_t chunk, int64_t place) const {
    LinearState to = run.stateOf(chunk);
    if (run.writesKeys())
      for (int64_t c = 0; c < ingot_const_key_dim; ++c)
        to.keys[c * ingot_const_chunk + place] = key[c];
    to.decays[place] = held.decays[place];
    copy(held.updates + place * ingot_const_value_dim, ingot_const_value_dim,
         to.updates + place * ingot_const_value_dim);
  }
};

extern "C" void ingot_kernel(const IngotLaunch *launch) {
  LinearRun run = LinearRun::of(launch);
  Chunk chunk(run, static_cast<float *>(launch->scratch));
  for (int64_t i = 0; i < run.count; ++i) {
    int64_t position = run.first + i, place = position % ingot_const_chunk;
    if (i == 0 || place == 0)
      chunk.begin(position, i);
    chunk.take(i, place);
    if (run.keeps(position / ingot_const_chunk))
      chunk.store(position / ingot_const_chunk, place);
  }
}
