// SPDX-License-Identifier: Apache-2.0
// Reads tekken.json, the tokenizer that Mistral publishes beside newer models.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

namespace ingot::checkpoint {

/// As mistral-common's `tokens/tokenizers/tekken.py`: special tokens have the first ids, and a
/// token of rank r has id r behind them; those that the size of the vocabulary leaves no room for
/// are not there. A text begins with <s>. Errors: those of Json, INGOT-E1420 (damaged), E1423
/// (numbers that do not fit each other).
Expected<TokenizerSpec> parseTekken(std::string_view bytes, const std::string &fileName);

} // namespace ingot::checkpoint
