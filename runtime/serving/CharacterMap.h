// SPDX-License-Identifier: Apache-2.0
// A sentencepiece "precompiled character map": which texts a normalizer replaces, and by what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// Format (sentencepiece, normalizer.cc): u32 size of a trie in bytes; the trie, a double array of
/// u32 units as darts-clone writes it; the replacements, each ended by a zero byte. The trie's
/// values are offsets into the replacements.
class CharacterMap {
public:
  /// Nothing if `bytes` is malformed. Copies what it needs.
  static std::optional<CharacterMap> parse(std::string_view bytes);

  /// The tokenizers library's way: every cluster of characters below six bytes as a whole, or else
  /// character by character; the shortest text in the map that begins the part decides. Stops
  /// early when the result is longer than `maxBytes`. `text` must be valid UTF-8.
  std::string mapGraphemes(std::string_view text, size_t maxBytes) const;

  /// Sentencepiece's way: at every place the longest text in the map. As mapGraphemes otherwise.
  std::string mapPrefixes(std::string_view text, size_t maxBytes) const;

private:
  struct Match {
    size_t length; // bytes of text; 0: none
    std::string_view replacement;
  };
  Match match(std::string_view text, bool longest) const;
  bool appendMapped(std::string_view part, std::string &out) const;

  std::vector<uint32_t> units;
  std::string replacements;
};

} // namespace ingot::runtime
