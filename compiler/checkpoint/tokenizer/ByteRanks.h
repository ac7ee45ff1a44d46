// SPDX-License-Identifier: Apache-2.0
// Vocabularies that give each token's bytes a rank, as tiktoken files and tekken.json do: two
// tokens merge where their bytes are a token, the lowest rank first.
#pragma once

#include "compiler/checkpoint/files/Error.h"
#include "compiler/checkpoint/tokenizer/TokenizerSpec.h"

namespace ingot::checkpoint {

/// Tokens are at most this long; finding the two halves of one takes the square of it.
constexpr size_t maxRankBytes = 256;

/// INGOT-E1420: the file is not as it was written.
Error damagedRanks(const std::string &what, const std::string &where);

/// Adds the tokens behind the pieces of `spec`, spelled in the alphabet of byte-level vocabularies,
/// and the merges in order of rank. `tokens`: the bytes of each rank; empty where one is not used.
/// Errors: INGOT-E1420 for a token that comes twice or a byte without a rank, E1406 where nothing
/// merges.
Outcome addByteRanks(const std::vector<std::string> &tokens, const std::string &fileName,
                     TokenizerSpec &spec);

/// How texts become such tokens: words, cut by `pattern` (PCRE2), are bytes that merge.
void cutIntoRanks(std::string pattern, TokenizerSpec &spec);

} // namespace ingot::checkpoint
