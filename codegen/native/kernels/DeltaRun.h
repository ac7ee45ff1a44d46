// SPDX-License-Identifier: Apache-2.0
// llm.gated_delta_rule: one value head of one sequence, where its tokens and its state lie, and the
// decay and gate of a token. Buffers: input, decay, gate, positions, sequence_offsets, block_table,
// state, log_decay, decay_bias, result.
#pragma once

#include "codegen/native/kernels/Elements.h"
#include "codegen/native/kernels/Mathematics.h"

INGOT_CONST(key_heads);
INGOT_CONST(value_heads);
INGOT_CONST(key_dim);
INGOT_CONST(value_dim);
INGOT_CONST(chunk);       ///< positions of a chunk, and of a block
INGOT_CONST(block_bytes); ///< from one row of the state to the next
INGOT_CONST(input_type);
INGOT_CONST(decay_type);
INGOT_CONST(gate_type);
INGOT_CONST(log_decay_type);
INGOT_CONST(decay_bias_type);
INGOT_CONST(result_type);
INGOT_REAL(epsilon);

/// What a chunk holds of a value head: S before it [key_dim, value_dim], and of its positions k'
/// [key_dim, chunk], G [chunk] and u [chunk, value_dim].
struct DeltaState {
  float *state, *keys, *decays, *updates;
};

/// The tokens of a sequence in the step: rows [row, row + count), at positions from `first` on.
struct DeltaRun {
  const IngotLaunch *launch;
  const int32_t *table;
  int64_t row, count, first, head; ///< `head`: of values

  static DeltaRun of(const IngotLaunch *launch) {
    int64_t sequence = launch->tile[0];
    const int32_t *offsets = static_cast<const int32_t *>(launch->buffers[4]) + sequence;
    int64_t row = offsets[0], count = offsets[1] - row;
    return {launch,
            static_cast<const int32_t *>(launch->buffers[5]) + sequence * launch->scalars[0],
            row,
            count,
            count > 0 ? static_cast<const int32_t *>(launch->buffers[3])[row] : 0,
            launch->tile[1]};
  }

  static int64_t headsPerKey() { return ingot_const_value_heads / ingot_const_key_heads; }
  int64_t keyHead() const { return head / headsPerKey(); }
  /// Whether the head writes the k' that it shares with others.
  bool writesKeys() const { return head % headsPerKey() == 0; }

  /// Whether there is a block for a chunk.
  bool keeps(int64_t chunk) const { return table[chunk] >= 0; }
  /// The chunk's, in its block.
  DeltaState stateOf(int64_t chunk) const {
    auto *state = reinterpret_cast<float *>(static_cast<char *>(launch->buffers[6]) +
                                            table[chunk] * ingot_const_block_bytes);
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
    return (row + i) * inputColumns() + keyHead() * ingot_const_key_dim;
  }
  int64_t key(int64_t i) const { return query(i) + ingot_const_key_heads * ingot_const_key_dim; }
  int64_t value(int64_t i) const {
    return (row + i) * inputColumns() + 2 * ingot_const_key_heads * ingot_const_key_dim +
           head * ingot_const_value_dim;
  }
  int64_t result(int64_t i) const {
    return ((row + i) * ingot_const_value_heads + head) * ingot_const_value_dim;
  }

  /// The i-th token's g.
  float logDecay(int64_t i) const {
    float rate = loadElement(launch->buffers[7], head, ingot_const_log_decay_type),
          bias = loadElement(launch->buffers[8], head, ingot_const_decay_bias_type);
    float x = loadElement(launch->buffers[1], (row + i) * ingot_const_value_heads + head,
                          ingot_const_decay_type) +
              bias;
    return float(-exponential(double(rate)) * softPlus(double(x)));
  }
  /// The i-th token's beta.
  float gate(int64_t i) const {
    float x = loadElement(launch->buffers[2], (row + i) * ingot_const_value_heads + head,
                          ingot_const_gate_type);
    return float(1.0 / (1.0 + exponential(-double(x))));
  }
};
