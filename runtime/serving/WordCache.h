// SPDX-License-Identifier: Apache-2.0
// Remembers the ids of short words, because most words of a text come again. A table of fixed size
// in which a new word takes the place of another.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Not thread-safe. Holds 2 MiB once a word was kept.
class WordCache {
public:
  /// Longer words, and words of more ids, are not kept.
  static constexpr size_t maxWordBytes = 26;
  static constexpr size_t maxIds = 9;

  /// Appends the ids of `word` to `ids` if it is kept; whether it is.
  bool find(std::string_view word, std::vector<int32_t> &ids) const;

  /// Keeps `word`, which is not empty, if it is short enough.
  void insert(std::string_view word, std::span<const int32_t> ids);

private:
  struct Slot { // one cache line
    uint8_t size;
    uint8_t count;
    char word[maxWordBytes];
    int32_t ids[maxIds];
  };
  static_assert(sizeof(Slot) == 64);
  static constexpr size_t slotCount = size_t(1) << 15;

  std::vector<Slot> slots; // by hash; size 0: empty
};

} // namespace ingot::runtime
