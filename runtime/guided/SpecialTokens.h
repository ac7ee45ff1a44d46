// SPDX-License-Identifier: Apache-2.0
// Special tokens among the bytes of an answer: they are no text, and yet a grammar may ask for
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// The bytes of a special token where a vocabulary and a grammar have it: its name between two
/// bytes that are in no text, so that nothing spelled is taken for it, nor it for what is spelled.
std::string specialBytes(std::string_view name);

/// The names of a model's special tokens.
class SpecialNames {
public:
  SpecialNames() = default;
  explicit SpecialNames(std::vector<std::string> names);

  /// `text` as a tokenizer takes it: special tokens, the longest at each place, and text between.
  std::string bytesOf(std::string_view text) const;
  /// Whether it is one special token and nothing else.
  bool isOne(std::string_view text) const;

private:
  size_t lengthAt(std::string_view text) const;

  std::vector<std::string> names; ///< sorted
};

} // namespace ingot::runtime::guided
