// SPDX-License-Identifier: Apache-2.0
// Models that are one file, whatever its format: what they hold is said as a GGUF file says it.
#pragma once

#include "compiler/checkpoint/gguf/Gguf.h"

#include <optional>

namespace ingot::checkpoint {

/// Whether `path` names a file that holds a model: GGUF, or a checkpoint of llama2.c.
bool isModelFile(const std::filesystem::path &path);

/// What a model at `path` is called, with a file's extension: the last part of its path without
/// links. In a cache of the Hub, whose links lead to digests, the repository or the file's link.
std::filesystem::path modelFileName(const std::filesystem::path &path);

/// Opens it. Errors: those of openGguf() and openLlama2c().
Expected<GgufModel> openModelFile(const std::filesystem::path &path);

/// The tokenizer's file that a model file needs beside it, if any and if it is there.
std::optional<std::filesystem::path> tokenizerOfModelFile(const std::filesystem::path &path);

/// Whether the file begins like a checkpoint of llama2.c (`export.py`, version 0): the seven
/// numbers dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size (negative: with a classifier
/// of its own) and seq_len, or the magic number of a later version.
bool isLlama2c(const std::filesystem::path &path);

/// A checkpoint of llama2.c, version 0, all in f32, with the vocabulary (tokenizer.bin, or the only
/// tok*.bin) beside it: for each token its score, the number of its bytes and these. Keys and names
/// of tensors are those of a GGUF file. Errors: INGOT-E1122 for another version or a file of
/// another size, E1123 for a vocabulary that is missing, damaged or of another size; those of File.
Expected<GgufModel> openLlama2c(const std::filesystem::path &path);

} // namespace ingot::checkpoint
