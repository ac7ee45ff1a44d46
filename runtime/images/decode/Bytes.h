// SPDX-License-Identifier: Apache-2.0
// Reading numbers of files in either order, and errors of files.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace ingot::runtime::images {

using ByteSpan = std::span<const uint8_t>;

inline uint32_t bigEndian16(const uint8_t *at) { return uint32_t(at[0]) << 8 | at[1]; }
inline uint32_t bigEndian32(const uint8_t *at) {
  return bigEndian16(at) << 16 | bigEndian16(at + 2);
}

inline bool startsWith(ByteSpan bytes, std::string_view text, size_t at = 0) {
  return bytes.size() >= at + text.size() &&
         std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

inline Status truncated(const char *format) {
  return Status::error("INGOT-E6802", std::string("the ") + format + " picture ends early",
                       "send the whole file");
}

inline Status damaged(const char *format, std::string why) {
  return Status::error("INGOT-E6803",
                       std::string("the ") + format + " picture cannot be decoded: " + why,
                       "save it anew");
}

} // namespace ingot::runtime::images
