// SPDX-License-Identifier: Apache-2.0
// A fast hash of short texts, for the tokenizer's tables. Not for anything that leaves the process.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace ingot::runtime {

inline uint64_t mixBits(uint64_t value) {
  value ^= value >> 32;
  value *= 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

inline uint64_t hashText(std::string_view text) {
  uint64_t hash = text.size() * 0xA0761D6478BD642Fu;
  while (text.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    hash = mixBits(hash ^ word);
    text.remove_prefix(8);
  }
  uint64_t word = 0;
  for (char c : text)
    word = word << 8 | static_cast<unsigned char>(c);
  return mixBits(hash ^ word);
}

} // namespace ingot::runtime
