// SPDX-License-Identifier: Apache-2.0
// Reads tiktoken files (`*.tiktoken`, and the `tokenizer.model` of Llama 3): lines of a token's
// bytes in base64 and its rank, which is its id.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

namespace ingot::checkpoint {

/// Whether `bytes` begin like a tiktoken file.
bool isTiktoken(std::string_view bytes);

/// The file says neither how words are cut nor which special tokens there are: both follow from the
/// model family, which the number of ranks tells. `allTokens`: adds every special token of the
/// family; otherwise only those that all its members have, because tokenizer_config.json lists
/// the rest. Errors: INGOT-E1420 (damaged), INGOT-E1421 (an unknown family).
Expected<TokenizerSpec> parseTiktoken(std::string_view bytes, const std::string &fileName,
                                      bool allTokens);

} // namespace ingot::checkpoint
