// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, section 4), as tiktoken files and tokenizer.json hold bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot::checkpoint {

/// The bytes that `text` spells, with its padding; nothing if it is not base64.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace ingot::checkpoint
