// SPDX-License-Identifier: Apache-2.0
// Writes a tokenizer as the metadata of a GGUF file: the way back from parseGgufTokenizer().
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

#include <nlohmann/json.hpp>
#include <span>

namespace ingot::checkpoint {

struct GgufTokenizerKeys {
  nlohmann::json keys;
  std::string deviation; ///< what such files cannot say of this tokenizer; empty: nothing
};

/// The keys of a tokenizer for an embedding of `rows`, whose texts end with the tokens `ends`. What
/// they say is read back and compared. `where` is for messages. Errors: INGOT-E2158 for what GGUF
/// files cannot say, and those of parseGgufTokenizer().
Expected<GgufTokenizerKeys> ggufTokenizerKeys(const TokenizerSpec &spec, uint64_t rows,
                                              std::span<const uint64_t> ends,
                                              const std::string &where);

} // namespace ingot::checkpoint
