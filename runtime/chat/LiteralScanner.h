// SPDX-License-Identifier: Apache-2.0
// LiteralScanner: reads one value as models write them, byte by byte, and writes it as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// How a value is written. `PythonCall`: what stands between the parentheses of a call with named
/// arguments, which becomes an object. `Gemma`: keys without quotes, strings between `<|"|>`.
enum class Notation { Json, Python, PythonCall, Gemma };

/// Types of JSON, as bits of a set. An integer is not a number here.
enum JsonType : uint8_t {
  JsonString = 1,
  JsonInteger = 2,
  JsonNumber = 4,
  JsonBoolean = 8,
  JsonObject = 16,
  JsonArray = 32,
  JsonNull = 64,
  AnyJson = 127
};

/// What it writes depends on the bytes alone, never on how they arrive. JSON passes at once and as
/// it is, but for control characters in strings, which become escapes. Nesting is bounded.
class LiteralScanner {
public:
  /// `Done`: the value ended with this byte. `DoneBefore`: it ended before it, and the byte is not
  /// taken. After `Fault` the text is not a value; what was written before stays.
  enum class Result { More, Done, DoneBefore, Fault };

  explicit LiteralScanner(Notation notation = Notation::Json) : notation(notation) {}

  /// Takes a byte and appends to `out` the JSON that it makes certain.
  Result feed(char byte, std::string &out);
  /// The text ends here: `Done` when the value was a whole one.
  Result finish(std::string &out);
  /// Of the whole value, once it began (objects, arrays, strings) or ended (others).
  JsonType type() const { return outer; }
  /// The last byte is not yet part of what was written; never so in JSON, which passes at once.
  bool isPending() const { return !isJson() && (state >= State::Token || matched > 0); }

private:
  enum class State {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    BareKey,
    Colon,
    CommaOrEnd,
    String,
    Token,
    OpeningQuote, ///< within `<|"|>`
    Escape,
    Code,      ///< hexadecimal digits of an escape
    Surrogate, ///< the escape of a low surrogate has to follow
    Octal
  };

  Result structure(char byte, std::string &out);
  Result beginValue(char byte, std::string &out);
  Result beginKey(char byte, std::string &out);
  Result beginString(char byte, bool isKey, std::string &out);
  Result close(char byte, std::string &out);
  Result valueEnded();
  bool isTokenByte(char byte) const;
  Result endToken(std::string &out);
  Result inBareKey(char byte, std::string &out);
  Result inString(char byte, std::string &out);
  Result inGemmaString(char byte, std::string &out);
  Result stringEnded(std::string &out);
  Result afterBackslash(char byte, std::string &out);
  Result afterJsonBackslash(char byte, std::string &out);
  Result inCode(char byte, std::string &out);
  Result endJsonCode();
  Result inSurrogate(char byte, std::string &out);
  Result inOctal(char byte, std::string &out);
  void separate(std::string &out);
  void begins(JsonType type);
  bool isJson() const { return notation == Notation::Json; }
  bool isPython() const { return notation == Notation::Python || notation == Notation::PythonCall; }

  Notation notation;
  State state = State::Value;
  JsonType outer = JsonNull;
  std::string containers; ///< of each open one its bracket; 'c': the arguments of a call
  std::string token;      ///< of a number or word
  char quote = 0;
  bool stringIsKey = false;
  bool commaPending = false;
  int matched = 0; ///< bytes of `<|"|>`
  int digitsLeft = 0;
  uint32_t code = 0;
  bool afterHigh = false; ///< the last escape was of a high surrogate
};

/// White space as JSON has it.
constexpr bool isSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/// `text`, which is UTF-8, as a string of JSON without its quotes, appended to `out`.
void appendEscaped(std::string_view text, std::string &out);

} // namespace ingot::runtime
