// SPDX-License-Identifier: Apache-2.0
// Special tokens among the bytes of an answer: they are no text, and yet a grammar may ask for
// them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

class TokenVocabulary;

/// The bytes of a special token where a vocabulary and a grammar have it: its name between two
/// bytes that are in no text, so that nothing spelled is taken for it, nor it for what is spelled.
std::string specialBytes(std::string_view name);

/// The names of a model's special tokens, and what tokens that grammars ask for are.
class SpecialNames {
public:
  SpecialNames() = default;
  /// Without `vocabulary` there are the special tokens alone, and no ids.
  explicit SpecialNames(std::vector<std::string> names,
                        std::shared_ptr<const TokenVocabulary> vocabulary = nullptr);

  /// `text` as a tokenizer takes it: special tokens, the longest at each place, and text between.
  std::string bytesOf(std::string_view text) const;
  /// Whether it is one special token and nothing else.
  bool isOne(std::string_view text) const;
  /// Bytes of the longest name that `text` begins with; 0 where there is none.
  size_t lengthAt(std::string_view text) const;

  /// The bytes of all special tokens.
  std::vector<std::string> allBytes() const;
  /// All tokens; null where they are not known.
  const TokenVocabulary *tokens() const { return vocabulary.get(); }

private:
  std::vector<std::string> names; ///< sorted
  std::shared_ptr<const TokenVocabulary> vocabulary;
};

} // namespace ingot::runtime::guided
