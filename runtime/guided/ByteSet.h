// SPDX-License-Identifier: Apache-2.0
// A set of bytes, and the classes that a number of sets tell apart.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace ingot::runtime::guided {

/// A set of bytes.
struct ByteSet {
  std::array<uint64_t, 4> words{};

  static ByteSet range(uint8_t first, uint8_t last) {
    ByteSet set;
    for (unsigned byte = first; byte <= last; ++byte)
      set.add(uint8_t(byte));
    return set;
  }

  void add(uint8_t byte) { words[byte / 64] |= uint64_t(1) << (byte % 64); }
  bool contains(uint8_t byte) const { return words[byte / 64] >> (byte % 64) & 1; }
  int count() const {
    int total = 0;
    for (uint64_t word : words)
      total += std::popcount(word);
    return total;
  }
  bool none() const { return count() == 0; }

  ByteSet operator|(const ByteSet &other) const {
    ByteSet result;
    for (size_t i = 0; i < words.size(); ++i)
      result.words[i] = words[i] | other.words[i];
    return result;
  }
  ByteSet operator&(const ByteSet &other) const {
    ByteSet result;
    for (size_t i = 0; i < words.size(); ++i)
      result.words[i] = words[i] & other.words[i];
    return result;
  }
  ByteSet operator~() const {
    ByteSet result;
    for (size_t i = 0; i < words.size(); ++i)
      result.words[i] = ~words[i];
    return result;
  }
  bool operator==(const ByteSet &) const = default;
};

/// The coarsest partition of the bytes that `sets` respect: two bytes of one class lie in the same
/// of them.
struct ByteClasses {
  std::array<uint8_t, 256> of{};             ///< the class of each byte
  std::array<uint8_t, 256> representative{}; ///< a byte of each class
  uint32_t count = 1;

  ByteClasses() = default;
  explicit ByteClasses(std::span<const ByteSet> sets);
};

} // namespace ingot::runtime::guided
