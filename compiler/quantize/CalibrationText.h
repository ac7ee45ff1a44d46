// SPDX-License-Identifier: Apache-2.0
// From texts to the sequences that a model is calibrated with.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace ingot::quantize {

/// Which sequences.
struct TextOptions {
  std::vector<std::filesystem::path> files; ///< texts in UTF-8; none: builtInText()
  int64_t samples = 128;                    ///< sequences
  int64_t length = 512;                     ///< tokens of each
  uint64_t seed = 0;                        ///< of the choice where there are more
};

/// Prose, tables and code in English.
std::string_view builtInText();

/// The ids of a text without special tokens.
using TokenizeText = std::function<checkpoint::Expected<std::vector<int32_t>>(std::string_view)>;

/// As many windows of the files' tokens as asked for, or as there are, spread over all of them by
/// the seed and in their order. Each begins with `prefix`, the ids that stand before a text.
/// Errors: INGOT-E2120 where there is not one window, and those of reading and of `tokenize`.
checkpoint::Expected<std::vector<std::vector<int32_t>>>
readCalibrationText(const TextOptions &options, std::span<const int32_t> prefix,
                    const TokenizeText &tokenize);

} // namespace ingot::quantize
