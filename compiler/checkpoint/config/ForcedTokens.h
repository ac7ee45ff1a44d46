// SPDX-License-Identifier: Apache-2.0
// ForcedTokens: what files say of tokens that may not come, or have to.
#pragma once

#include "compiler/checkpoint/files/Deviation.h"
#include "compiler/checkpoint/files/Json.h"

#include <array>
#include <string_view>
#include <vector>

namespace ingot::checkpoint {

/// Keys of generation_config.json that keep tokens from coming, or make them come.
inline constexpr std::array<std::string_view, 9> forcingKeys = {
    "bad_words_ids",  "begin_suppress_tokens", "forced_bos_token_id",  "forced_eos_token_id",
    "min_length",     "min_new_tokens",        "no_repeat_ngram_size", "sequence_bias",
    "suppress_tokens"};

/// Adds the member `key` of `root`, of the file called `file`, to `deviations` as not read, unless
/// its value asks for nothing: no engine stores such lists.
void tellForcedTokens(const Json &root, std::string_view key, std::string_view file,
                      std::vector<Deviation> &deviations);

} // namespace ingot::checkpoint
