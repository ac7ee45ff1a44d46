// SPDX-License-Identifier: Apache-2.0
// What the metadata of a GGUF file say about the model: its shape and its stop tokens. Keys:
// `gguf-py/gguf/constants.py` of llama.cpp.
#pragma once

#include "compiler/checkpoint/config/GenerationConfig.h"
#include "compiler/checkpoint/config/ModelConfig.h"
#include "compiler/checkpoint/gguf/Gguf.h"

namespace ingot::checkpoint {

/// The model's shape. Tensors, under the names the file gives them, decide what no key states: tied
/// embeddings and biases. `rope_freqs.weight` becomes Rope::divisors and leaves `model.tensors`;
/// likewise `rope_factors_short.weight` and `rope_factors_long.weight` of longrope.
/// Errors: those of Json, each naming the key; INGOT-E1051, E1052; INGOT-E1113 for another
/// architecture, INGOT-E1114 for a key that asks for what is not supported or that is not known,
/// INGOT-E1115 for unusable rotary divisors, INGOT-E1117 for more tokens than rows; those of File.
Expected<ModelConfig> readGgufConfig(GgufModel &model);

/// The token that begins a text, the one that pads, and all that end one: those that keys name
/// (eos, eot, eom) and control tokens that are known by their text. Errors: those of Json.
Expected<GenerationConfig> readGgufGeneration(const Json &metadata, uint64_t vocabSize);

/// The token id under `key`, below `vocabSize`; nothing where there is none: the key is absent, or
/// 4294967295. Errors: those of Json.
Expected<std::optional<uint64_t>> readGgufTokenId(const Json &metadata, std::string_view key,
                                                  uint64_t vocabSize);

} // namespace ingot::checkpoint
