// SPDX-License-Identifier: Apache-2.0
// Base64 as RFC 4648, section 4.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// The bytes that `text` spells, with its padding or without; nothing where it is no base64, has
/// bits left over, or anything else among it.
std::optional<std::vector<uint8_t>> decodeBase64(std::string_view text);

} // namespace ingot::runtime
