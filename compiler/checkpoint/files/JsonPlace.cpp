// SPDX-License-Identifier: Apache-2.0
// Walks a JSON text down to one of its values.
#include "compiler/checkpoint/files/JsonPlace.h"

#include "compiler/checkpoint/files/Error.h"

#include <nlohmann/json.hpp>

namespace ingot::checkpoint {

namespace {

class Walk {
public:
  Walk(std::string_view text, std::string_view path) : text(text), path(path) {}

  /// Goes on from the value at `here`, which is `path` or may contain it: either to the value at
  /// `path`, or behind this one.
  bool find(const std::string &here) {
    skipSpace();
    if (here == path)
      return true;
    if (next() != '{' && next() != '[')
      return skipValue(), false;
    const bool isObject = next() == '{';
    ++at;
    for (size_t index = 0; skipSpace(), next() != '}' && next() != ']'; ++index) {
      const std::string inside = isObject ? memberPath(here, readKey()) : elementPath(here, index);
      if (!path.starts_with(inside))
        skipValue();
      else if (find(inside))
        return true;
    }
    ++at;
    return false;
  }

  size_t position() const { return at; }

  /// The keys of the object that begins here.
  std::vector<std::string> keys() {
    std::vector<std::string> names;
    for (++at; skipSpace(), next() != '}'; skipValue())
      names.push_back(readKey());
    return names;
  }

private:
  char next() const { return at < text.size() ? text[at] : '}'; }

  /// Commas and colons tell nothing in a text that is good.
  void skipSpace() { at = std::min(text.find_first_not_of(" \t\r\n,:", at), text.size()); }

  void skipString() {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      if (text[at] == '\\')
        ++at;
    ++at;
  }

  std::string readKey() {
    const size_t begin = at;
    skipString();
    return nlohmann::json::parse(text.substr(begin, at - begin), nullptr, false).get<std::string>();
  }

  void skipValue() {
    skipSpace();
    size_t depth = 0;
    do {
      skipSpace();
      if (next() == '"') {
        skipString();
      } else if (next() == '{' || next() == '[') {
        ++depth;
        ++at;
      } else if (next() == '}' || next() == ']') {
        --depth;
        ++at;
      } else {
        at = std::min(text.find_first_of(" \t\r\n,:]}", at), text.size());
      }
    } while (depth > 0);
  }

  std::string_view text, path;
  size_t at = 0;
};

} // namespace

std::string memberPath(const std::string &path, std::string_view key) {
  return path.empty() ? printable(key) : path + "." + printable(key);
}

std::string elementPath(const std::string &path, size_t index) {
  return message(path, "[", index, "]");
}

std::optional<size_t> byteOfValue(std::string_view text, std::string_view path) {
  Walk walk(text, path);
  if (!walk.find(""))
    return std::nullopt;
  return walk.position();
}

std::vector<std::string> keysInText(std::string_view text, std::string_view path) {
  Walk walk(text, path);
  if (!walk.find(""))
    return {};
  return walk.keys();
}

} // namespace ingot::checkpoint
