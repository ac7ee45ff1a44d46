// SPDX-License-Identifier: Apache-2.0
// llm.gated_delta_rule and llm.state_space, whose x, B and C are v, k' and q' here: one value head
// of one sequence, where its tokens and its state lie, and the decay and gate of a token. Buffers:
// input, decay, gate (or skip), positions, sequence_offsets, block_table, state, log_decay,
// decay_bias, result.
#pragma once

#include "codegen/native/kernels/Mathematics.h"
#include "codegen/native/kernels/SequenceRun.h"

INGOT_CONST(key_heads);
INGOT_CONST(value_heads);
INGOT_CONST(key_dim);
INGOT_CONST(value_dim);
INGOT_CONST(query_column); ///< of the input: where all heads of q, k and v begin
INGOT_CONST(key_column);
INGOT_CONST(value_column);
INGOT_CONST(corrects); ///< 1: the delta rule; 0: a state space
INGOT_CONST(chunk);    ///< positions of a chunk, and of a block
INGOT_CONST(input_type);
INGOT_CONST(decay_type);
INGOT_CONST(gate_type);
INGOT_CONST(log_decay_type);
INGOT_CONST(decay_bias_type);
INGOT_CONST(result_type);
INGOT_REAL(epsilon);
INGOT_REAL(least); ///< step of a state space
INGOT_REAL(most);

/// A decay over some tokens below this is 0: products with it and what is carried on stay clear of
/// numbers that are not normal, which take many times as long.
constexpr float kLeastShare = 0x1p-100f;

/// What a chunk holds of a value head: S before it [key_dim, value_dim], and of its positions k'
/// [key_dim, chunk], G [chunk] and u [chunk, value_dim].
struct LinearState {
  float *state, *keys, *decays, *updates;
};

struct LinearRun : SequenceRun {
  int64_t head; ///< of values

  static LinearRun of(const IngotLaunch *launch) {
    return {SequenceRun::of(launch, 3), launch->tile[1]};
  }

  static int64_t headsPerKey() { return ingot_const_value_heads / ingot_const_key_heads; }
  int64_t keyHead() const { return head / headsPerKey(); }
  /// Whether the head writes the k' that it shares with others.
  bool writesKeys() const { return head % headsPerKey() == 0; }

  /// The chunk's, in its block.
  LinearState stateOf(int64_t chunk) const {
    auto *state = reinterpret_cast<float *>(blockOf(chunk));
    int64_t matrix = ingot_const_key_dim * ingot_const_value_dim;
    float *keys = state + ingot_const_value_heads * matrix;
    float *decays = keys + ingot_const_key_heads * ingot_const_key_dim * ingot_const_chunk;
    float *updates = decays + ingot_const_value_heads * ingot_const_chunk;
    return {state + head * matrix, keys + keyHead() * ingot_const_key_dim * ingot_const_chunk,
            decays + head * ingot_const_chunk,
            updates + head * ingot_const_chunk * ingot_const_value_dim};
  }

  static int64_t inputColumns() {
    return 2 * ingot_const_key_heads * ingot_const_key_dim +
           ingot_const_value_heads * ingot_const_value_dim;
  }
  /// Where in the input the i-th token's q, k and v begin, and where its result does.
  int64_t query(int64_t i) const {
    return (row + i) * inputColumns() + ingot_const_query_column + keyHead() * ingot_const_key_dim;
  }
  int64_t key(int64_t i) const {
    return (row + i) * inputColumns() + ingot_const_key_column + keyHead() * ingot_const_key_dim;
  }
  int64_t value(int64_t i) const {
    return (row + i) * inputColumns() + ingot_const_value_column + head * ingot_const_value_dim;
  }
  int64_t result(int64_t i) const {
    return ((row + i) * ingot_const_value_heads + head) * ingot_const_value_dim;
  }

  /// By how much the i-th token goes on: its g is this times -exp(A).
  double step(int64_t i) const {
    float bias = loadElement(launch->buffers[8], head, ingot_const_decay_bias_type);
    float x = loadElement(launch->buffers[1], (row + i) * ingot_const_value_heads + head,
                          ingot_const_decay_type) +
              bias;
    double step = softPlus(double(x));
    if (ingot_const_corrects)
      return step;
    step = step < ingot_real_least ? ingot_real_least : step;
    return step > ingot_real_most ? ingot_real_most : step;
  }
  /// Its g.
  float logDecay(int64_t i) const {
    float rate = loadElement(launch->buffers[7], head, ingot_const_log_decay_type);
    return float(-exponential(double(rate)) * step(i));
  }
  /// By what it multiplies what it adds to u: its beta, or t.
  float gate(int64_t i) const {
    if (!ingot_const_corrects)
      return float(step(i));
    float x = loadElement(launch->buffers[2], (row + i) * ingot_const_value_heads + head,
                          ingot_const_gate_type);
    return float(1.0 / (1.0 + exponential(-double(x))));
  }
  /// D of a state space.
  float skip() const { return loadElement(launch->buffers[2], head, ingot_const_gate_type); }
};
