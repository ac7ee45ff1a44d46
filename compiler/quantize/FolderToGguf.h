// SPDX-License-Identifier: Apache-2.0
// From a folder of Hugging Face's to a GGUF file with the same numbers.
#pragma once

#include "compiler/build/Progress.h"
#include "compiler/checkpoint/files/Error.h"

#include <filesystem>

namespace ingot::quantize {

/// Writes the model in `folder` to `out`, whole or not at all: matrices in their own types, vectors
/// in f32. What the file says of the model and its tokenizer is read back and compared first.
/// Errors: those of readers; INGOT-E2105 for a model that is quantized already, E2155 for another
/// family, E2157 and E2158 for what GGUF files cannot say; those of GgufWriter.
checkpoint::Outcome writeAsGguf(const std::filesystem::path &folder,
                                const std::filesystem::path &out, compiler::Progress &progress);

} // namespace ingot::quantize
