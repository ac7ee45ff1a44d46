// SPDX-License-Identifier: Apache-2.0
// What is left open of how JSON texts are written.
#pragma once

#include "runtime/guided/Characters.h"

#include <cstdint>
#include <string>

namespace ingot::runtime::guided {

/// The language in which values are written.
enum class Notation : uint8_t {
  Json,
  Python, ///< literals of Python
  Gemma   ///< that of Gemma's calls: JSON with names without quotes and strings without escapes
};

/// How strings are spelled in a notation.
constexpr Spelling spellingOf(Notation notation) {
  return notation == Notation::Json     ? Spelling::JsonString
         : notation == Notation::Python ? Spelling::PythonString
                                        : Spelling::Utf8;
}

/// How the texts are written.
struct JsonForm {
  uint32_t mostSpace = 8; ///< white space (JSON's four bytes) between two tokens, and at both ends
  /// Objects with members in the schema have others only where a keyword says so: a choice for
  /// models that never stop to add some. JSON Schema lets them have others.
  bool closed = false;
  /// The texts are also held to UniqueNames: counts of members are then exact.
  bool uniqueNames = false;
  Notation notation = Notation::Json;
  std::string quote = "\""; ///< what stands around a string
  std::string barred = {};  ///< bytes that no string holds, and no name; empty: there are none
};

} // namespace ingot::runtime::guided
