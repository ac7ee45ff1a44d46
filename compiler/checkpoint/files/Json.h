// SPDX-License-Identifier: Apache-2.0
// Json: a value of a parsed JSON file that knows its file and key path, so that every complaint
// about it can say where. Parsing is bounded and does not throw.
#pragma once

#include "compiler/checkpoint/files/Error.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace ingot::checkpoint {

struct JsonLimits {
  uint64_t maxBytes = uint64_t{64} << 20;
  uint32_t maxDepth = 64;
  /// Values of any kind, members of containers included: bounds the memory of the parsed form.
  uint64_t maxValues = uint64_t{16} << 20;
  /// Where in its file the text begins; messages count bytes from there.
  uint64_t firstByte = 0;
  /// NaN, Infinity and -Infinity are numbers, as Python's json reads and writes them.
  bool takesNotFinite = false;

  /// Of a file that Python's json wrote.
  static JsonLimits ofPython() { return {.takesNotFinite = true}; }
};

/// A value inside a parsed document, which it keeps alive. Cheap to copy.
class Json {
public:
  /// Parses `text`; `fileName` is used in messages only. Errors: INGOT-E1001 (syntax), E1002
  /// (a limit), E1003 (a key twice in one object), each with line, column and byte.
  static Expected<Json> parse(std::string_view text, std::string fileName,
                              const JsonLimits &limits = {});

  /// Reads and parses a file. Errors: those of parse() and of readText().
  static Expected<Json> readFile(const std::filesystem::path &path, const JsonLimits &limits = {});

  /// A value that the reader of another format has made, such as a GGUF file's metadata.
  static Json of(nlohmann::json value, std::string fileName);

  bool isNull() const;
  bool isObject() const;
  bool isArray() const;
  bool isString() const;
  bool isNumber() const;
  bool isBoolean() const;

  /// Members of an object or elements of an array; 0 for anything else.
  size_t size() const;

  /// Keys of an object, sorted; empty for anything else.
  std::vector<std::string> keys() const;
  /// The same in the order of the text.
  std::vector<std::string> keysInOrder() const;

  /// The member `key`, or nothing when it is absent or this is not an object.
  std::optional<Json> find(std::string_view key) const;

  /// The member `key`. Errors: INGOT-E1004 when this is not an object, E1005 without that key.
  Expected<Json> at(std::string_view key) const;

  /// Element `index` of an array; `index` < size().
  Json element(size_t index) const;

  // The value as a C++ one. Errors: INGOT-E1004 (another type), E1006 (out of the range asked).
  Expected<bool> boolean() const;
  Expected<std::string> string() const;
  Expected<uint64_t> unsignedInteger(uint64_t least = 0,
                                     uint64_t most = std::numeric_limits<uint64_t>::max()) const;
  /// Any finite number from `least` to `most`, integers included.
  Expected<double> number(double least = std::numeric_limits<double>::lowest(),
                          double most = std::numeric_limits<double>::max()) const;

  /// "file: key.path".
  std::string where() const;

  /// An error at this value, with the byte where it begins when it stands in a text.
  Error error(std::string code, std::string what, std::string fix = "") const;

  /// INGOT-E1004: this value is not what was expected ("a string", "an object", ...).
  Error wrongType(std::string_view expected) const;

  /// The value as the JSON library knows it, for loops where paths would cost too much.
  const nlohmann::json &raw() const { return *value; }

private:
  struct Document;
  Json(std::shared_ptr<const Document> document, const nlohmann::json *value, std::string path);

  std::shared_ptr<const Document> document;
  const nlohmann::json *value;
  std::string path;
};

} // namespace ingot::checkpoint
