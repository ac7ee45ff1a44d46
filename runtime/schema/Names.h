// SPDX-License-Identifier: Apache-2.0
// The names by which the runtime finds what it fills and reads in an engine. Part of the contract:
// compiler and runtime both include it.
#pragma once

namespace ingot::schema {

namespace program {
inline constexpr char step[] = "step";     ///< one pass over a batch
inline constexpr char sample[] = "sample"; ///< draws tokens from logits
} // namespace program

namespace dim {
// Of a step.
inline constexpr char tokens[] = "T", sequences[] = "S", logitRows[] = "L";
/// Of an engine that is loaded: the width of the first KV group's block table. Of the group G:
/// "B.G".
inline constexpr char tableWidth[] = "B";
// Of a device.
inline constexpr char threads[] = "threads", multiprocessors[] = "sms";
} // namespace dim

/// Inputs of a step [T], [S + 1], [S], [L] and [S, B], and of a draw, a row for each row of logits;
/// KernelAbi.h states those.
namespace input {
inline constexpr char tokens[] = "tokens", positions[] = "positions",
                      tokenSequences[] = "token_sequences", sequenceOffsets[] = "sequence_offsets",
                      contextLengths[] = "context_lengths", logitRows[] = "logit_rows",
                      blockTable[] = "block_table";
/// [T, hidden] f32, of a step that computes a part of a model: what the part before it gives.
inline constexpr char embeddings[] = "embeddings";
inline constexpr char logits[] = "logits", sampleParams[] = "sample_params", biasIds[] = "bias_ids",
                      biasValues[] = "bias_values", allowMask[] = "allow_mask",
                      tokenCounts[] = "token_counts";
} // namespace input

namespace output {
inline constexpr char logits[] = "logits"; ///< of a step
inline constexpr char sampledTokens[] = "sampled_tokens", sampledLogprobs[] = "sampled_logprobs",
                      topTokens[] = "top_tokens", topLogprobs[] = "top_logprobs";
} // namespace output

} // namespace ingot::schema
