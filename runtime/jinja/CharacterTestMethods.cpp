// SPDX-License-Identifier: Apache-2.0
// Methods of str that ask what its characters are: isalpha() and the like.
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Methods.h"
#include "runtime/serving/Unicode.h"

namespace ingot::runtime::jinja {

namespace {

/// Whether there are characters, or none where `emptyIs`, and all of them are so.
template <auto holds, bool emptyIs = false>
Value all(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("a test of characters", arguments, {});
  const std::string_view text = self.view();
  interpreter.heap.step(text.size() / 8);
  bool isSo = emptyIs || !text.empty();
  for (size_t at = 0; isSo && at < text.size(); at += characterLength(text, at))
    isSo = holds(characterAt(text, at));
  return Value(isSo);
}

bool isAscii(char32_t character) { return character < 0x80; }
bool isLetterOrNumber(char32_t character) { return isLetter(character) || isNumeric(character); }

/// Whether there are cased characters and none of the other case.
template <auto isOther>
Value onlyCase(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("a test of case", arguments, {});
  const std::string_view text = self.view();
  interpreter.heap.step(text.size() / 8);
  bool hasCase = false;
  for (size_t at = 0; at < text.size(); at += characterLength(text, at)) {
    const char32_t character = characterAt(text, at);
    if (isOther(character) || isTitle(character))
      return Value(false);
    hasCase |= isCased(character);
  }
  return Value(hasCase);
}

Value isTitleCased(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("istitle", arguments, {});
  const std::string_view text = self.view();
  interpreter.heap.step(text.size() / 8);
  bool isInWord = false, hasWord = false;
  for (size_t at = 0; at < text.size(); at += characterLength(text, at)) {
    const char32_t character = characterAt(text, at);
    const bool isCapital = isUpper(character) || isTitle(character);
    if (isCapital ? isInWord : isLower(character) && !isInWord)
      return Value(false);
    isInWord = isCased(character);
    hasWord |= isInWord;
  }
  return Value(hasWord);
}

Value isIdentifier(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("isidentifier", arguments, {});
  const std::string_view text = self.view();
  interpreter.heap.step(text.size() / 8);
  bool isSo = !text.empty() && (text[0] == '_' || isLetter(characterAt(text, 0)));
  for (size_t at = 0; isSo && at < text.size(); at += characterLength(text, at))
    isSo = isWordCharacter(characterAt(text, at));
  return Value(isSo);
}

} // namespace

std::span<const Method> characterTestMethods() {
  static constexpr Method methods[] = {
      {"isalnum", all<isLetterOrNumber>},
      {"isalpha", all<isLetter>},
      {"isascii", all<isAscii, true>},
      {"isdecimal", all<isDecimal>},
      {"isdigit", all<isDigit>},
      {"isidentifier", isIdentifier},
      {"islower", onlyCase<isUpper>},
      {"isnumeric", all<isNumeric>},
      {"isprintable", all<isPrintable, true>},
      {"isspace", all<isSpace>},
      {"istitle", isTitleCased},
      {"isupper", onlyCase<isLower>},
  };
  return methods;
}

} // namespace ingot::runtime::jinja
