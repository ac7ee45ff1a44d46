// SPDX-License-Identifier: Apache-2.0
// Whether the objects of a JSON text have each name once, followed byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime::guided {

/// Beside a grammar of JSON, which no context-free grammar can do: a name of the schema comes once
/// by the grammar, but of others it cannot know which have been. Names are compared as what they
/// spell. The text must be a beginning of JSON, as a recognizer lets it through.
///
///     UniqueNames names;
///     UniqueNames::State before = names.state();
///     bool fits = names.take(token);  // false: it ends a name that its object has
///     names.restore(before);          // costs nothing
class UniqueNames {
public:
  /// A place in the text; it can be gone back to until an earlier one is.
  struct State {
    uint32_t cell = 0;      ///< the innermost container
    uint32_t nameBegin = 0; ///< in the spelled text, of the name that is under way
    uint32_t cells = 1, names = 0, text = 0;
    uint16_t unit = 0;  ///< digits of \uXXXX so far
    uint16_t lead = 0;  ///< a high surrogate that waits for its other half
    uint8_t digits = 0; ///< of \uXXXX still to come
    bool inString = false, isName = false, isEscape = false, expectsName = false;
  };

  const State &state() const { return now; }
  void restore(const State &state);
  /// Goes on by these bytes; false at the quote that ends a name for the second time, where it
  /// stops.
  bool take(std::string_view bytes);

private:
  /// A container and, where it is an object, its last name; cells are never changed.
  struct Cell {
    uint32_t parent;
    uint32_t lastName;
    bool isObject;
  };
  struct Name {
    uint32_t begin, end; ///< in `text`
    uint32_t previous;   ///< of the same object
    size_t hash;
  };
  static constexpr uint32_t none = ~0u;

  bool next(uint8_t byte);
  bool endName();
  void open(bool isObject);
  void close();
  void escape(uint8_t byte);
  void hexDigit(uint8_t byte);
  void append(uint32_t character);

  State now;
  std::vector<Cell> cells{{none, none, false}};
  std::vector<Name> names;
  std::string text; ///< of names, decoded, one behind the other
};

} // namespace ingot::runtime::guided
