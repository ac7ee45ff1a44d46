// SPDX-License-Identifier: Apache-2.0
// An answer as free text and tagged parts: calls of tools, and the structural tags of requests.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/guided/Grammar.h"
#include "runtime/guided/SpecialTokens.h"
#include "runtime/guided/json/SchemaRules.h"

#include <memory>
#include <string>
#include <vector>

namespace ingot::runtime::guided {

/// A tree of what stands behind and beside one another.
struct TagFormat {
  enum class Kind : uint8_t {
    Marker,    ///< `text`, in which the names of special tokens are these
    Ending,    ///< the same; one special token alone may be missing, as it may end the answer
    Gap,       ///< at most two blanks or line breaks
    Regex,     ///< a text that all of `text` matches
    Gbnf,      ///< a text of the grammar `text`
    Lark,      ///< likewise
    Schema,    ///< a JSON text of the schema `text`
    Arguments, ///< an object of the schema `text`, in `style`
    Text,      ///< any text, special tokens too, that holds none of `words`, and does not begin,
               ///< behind white space, with one of `notFirst`
    Words,     ///< one of `words`
    Sequence,  ///< `parts`, one behind the other
    Choice,    ///< one of `parts`
    List,      ///< `least` to `most` of the first part, with the second, if any, between two
  };

  Kind kind = Kind::Sequence;
  std::string text = {};
  std::vector<std::string> words = {};
  std::vector<TagFormat> parts = {};
  std::vector<std::string> notFirst = {};
  uint32_t least = 0, most = ExpressionArena::unbounded;
  ArgumentStyle style = {};
  bool closed = false;    ///< Schema, Arguments: as JsonForm has it
  std::string place = {}; ///< of parts with a `text` that is read: where errors say it stands

  static TagFormat marker(std::string_view text) { return {Kind::Marker, std::string(text)}; }
  static TagFormat gap() { return {Kind::Gap}; }
  static TagFormat sequence(std::vector<TagFormat> parts) {
    return {Kind::Sequence, {}, {}, std::move(parts)};
  }
  static TagFormat choice(std::vector<TagFormat> parts) {
    return {Kind::Choice, {}, {}, std::move(parts)};
  }
  static TagFormat list(std::vector<TagFormat> parts, uint32_t least,
                        uint32_t most = ExpressionArena::unbounded) {
    return {Kind::List, {}, {}, std::move(parts), {}, least, most};
  }
  /// Text without any of `words`.
  static TagFormat textWithout(std::vector<std::string> words) {
    return {Kind::Text, {}, std::move(words)};
  }

  bool operator==(const TagFormat &) const = default;
};

/// The grammar of the answers that have the format, to be walked with vocabularies in which special
/// tokens have specialBytes(). Errors, with the place of a part: those of schemaGrammar() and
/// readRegex(); INGOT-E6604 where there is no answer.
Result<std::shared_ptr<const Grammar>> tagGrammar(const TagFormat &format,
                                                  const SpecialNames &special);

} // namespace ingot::runtime::guided
