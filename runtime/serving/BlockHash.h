// SPDX-License-Identifier: Apache-2.0
// What names the content of a KV block: its tokens and all before them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace ingot::runtime {

/// The first half of a SHA-256. Whoever chooses prompts cannot make two contents share one.
using BlockHash = std::array<uint64_t, 2>;

/// What stands before the first block: sequences with different salts share nothing.
BlockHash rootHash(std::string_view salt);

/// Of a full block of these tokens behind the block (or root) named `parent`. `pictures`: what
/// tells tokens that stand for pictures from those of others.
BlockHash blockHash(const BlockHash &parent, std::span<const int32_t> tokens,
                    std::span<const uint64_t> pictures = {});

} // namespace ingot::runtime
