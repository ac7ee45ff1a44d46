// SPDX-License-Identifier: Apache-2.0
// The names by which the runtime finds what it fills and reads in an engine. Part of the contract:
// compiler and runtime both include it.
#pragma once

namespace ingot::schema {

namespace program {
inline constexpr char step[] = "step";     ///< one pass over a batch
inline constexpr char sample[] = "sample"; ///< draws tokens from logits
inline constexpr char encode[] = "encode"; ///< makes rows of pictures
} // namespace program

namespace dim {
// Of a step.
inline constexpr char tokens[] = "T", sequences[] = "S", logitRows[] = "L";
/// Of a step of an engine with vision, rows of pictures that it is given: 0 or more.
inline constexpr char givenRows[] = "G";
// Of an encoding: rows that it makes, pictures or tiles, and windows within these.
inline constexpr char imageRows[] = "E", images[] = "Q", windows[] = "W";
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
/// Of a step of an engine with vision: [G, hidden] f32, and [T], of each token its row there or -1.
/// Further rows are added behind layers: those behind layer k are "image_rows.K" for K = k + 1.
inline constexpr char imageRows[] = "image_rows", imagePlaces[] = "image_places";
/// [T * 3], of each token its positions in time, height and width, where these turn its heads.
inline constexpr char rotaryPositions[] = "rotary_positions";
/// [T], the last position that each token attends to, where the tokens of a picture see ahead.
inline constexpr char reaches[] = "reaches";
/// Of an encoding. m patches stand together for each row, in the order in which they are joined:
/// [E * m, values of a patch] f32; [E * m] the picture of each, and [Q + 1] where these begin;
/// likewise the window of each and [W + 1]; [E * m * 2], row and column of each; [E * m * k] rows
/// of the table of positions and, for k = 4, f32 weights of these.
inline constexpr char pixels[] = "pixels", patchSequences[] = "patch_sequences",
                      patchOffsets[] = "patch_offsets", windowSequences[] = "window_sequences",
                      windowOffsets[] = "window_offsets", patchPlaces[] = "patch_places",
                      positionRows[] = "position_rows", positionWeights[] = "position_weights";
inline constexpr char logits[] = "logits", sampleParams[] = "sample_params", biasIds[] = "bias_ids",
                      biasValues[] = "bias_values", allowMask[] = "allow_mask",
                      tokenCounts[] = "token_counts";
} // namespace input

namespace output {
inline constexpr char logits[] = "logits"; ///< of a step
/// Of an encoding, [E, hidden] f32; further ones that steps are given are "encoded_rows.K".
inline constexpr char encodedRows[] = "encoded_rows";
inline constexpr char sampledTokens[] = "sampled_tokens", sampledLogprobs[] = "sampled_logprobs",
                      topTokens[] = "top_tokens", topLogprobs[] = "top_logprobs";
} // namespace output

} // namespace ingot::schema
