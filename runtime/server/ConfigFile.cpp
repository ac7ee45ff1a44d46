// SPDX-License-Identifier: Apache-2.0
// A line at a time; what YAML would read differently is refused rather than guessed.
#include "runtime/server/ConfigFile.h"

#include <algorithm>
#include <optional>

namespace ingot::runtime {
namespace {

Status refuse(size_t line, const std::string &what) {
  return Status::error("INGOT-E7217", "line " + std::to_string(line) + ": " + what,
                       "write `name: value` or `name: [value, value]`, with the names of the "
                       "options");
}

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// One line's values, from left to right.
class Scanner {
public:
  explicit Scanner(std::string_view text) : rest(text) { skip(); }

  bool atEnd() const { return rest.empty() || rest[0] == '#'; }
  bool take(char c) {
    if (rest.empty() || rest[0] != c)
      return false;
    rest.remove_prefix(1);
    skip();
    return true;
  }

  /// A value; nothing when it is none. `inList`: a comma or bracket ends a plain one.
  std::optional<std::string> value(bool inList) {
    std::optional<std::string> result =
        !rest.empty() && (rest[0] == '"' || rest[0] == '\'') ? quoted() : plain(inList);
    skip();
    return result;
  }

private:
  void skip() {
    size_t begin = std::min(rest.find_first_not_of(" \t\r"), rest.size());
    // A '#' begins a comment at the start of a line or behind a space.
    rest.remove_prefix(begin);
  }

  std::optional<std::string> quoted() {
    char quote = rest[0];
    std::string out;
    for (size_t i = 1; i < rest.size(); ++i) {
      bool doubled = quote == '\'' && rest.substr(i, 2) == "''";
      bool escape = quote == '"' && rest[i] == '\\';
      if (escape && (i + 1 == rest.size() || (rest[i + 1] != '"' && rest[i + 1] != '\\')))
        return std::nullopt;
      if (doubled || escape) {
        out += rest[++i];
      } else if (rest[i] == quote) {
        rest.remove_prefix(i + 1);
        return out;
      } else {
        out += rest[i];
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> plain(bool inList) {
    constexpr std::string_view special = "[]{}&*!|>%@`,";
    // "*" alone is what --cors-origins takes.
    bool star = rest.starts_with('*') && (rest.size() == 1 || rest.find_first_of(" ,]#") == 1);
    if (rest.empty() || (special.find(rest[0]) != special.npos && !star))
      return std::nullopt;
    size_t end = 0;
    for (; end < rest.size(); ++end) {
      bool space = end > 0 && (rest[end - 1] == ' ' || rest[end - 1] == '\t');
      if ((rest[end] == '#' && space) || (inList && (rest[end] == ',' || rest[end] == ']')))
        break;
      // `a: b` as a value is a mapping.
      if (rest[end] == ':' && (end + 1 == rest.size() || rest[end + 1] == ' '))
        return std::nullopt;
    }
    std::string_view value = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    if (value.empty())
      return std::nullopt;
    return std::string(value);
  }

  std::string_view rest;
};

/// The values after `name:` or after a dash; false when they are none of those that are read.
bool readValues(std::string_view text, bool mayBeList, std::vector<std::string> &values) {
  Scanner scanner(text);
  if (scanner.atEnd())
    return true;
  bool list = mayBeList && scanner.take('[');
  if (list && scanner.take(']'))
    return scanner.atEnd();
  do {
    std::optional<std::string> value = scanner.value(list);
    if (!value)
      return false;
    values.push_back(std::move(*value));
  } while (list && scanner.take(','));
  return (!list || scanner.take(']')) && scanner.atEnd();
}

bool isName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

class Document {
public:
  Status add(std::string_view line);
  Result<std::vector<ConfigEntry>> finish();

private:
  Status finishEntry();

  std::vector<ConfigEntry> entries;
  size_t number = 0;
  bool isList = false;     ///< the last entry's values stand below it
  bool mayBeEmpty = false; ///< it is a list in brackets
};

Status Document::finishEntry() {
  if (!entries.empty() && entries.back().values.empty() && !mayBeEmpty)
    return refuse(entries.back().line, entries.back().name + " has no value");
  return {};
}

Status Document::add(std::string_view line) {
  ++number;
  std::string_view text = trimmed(line);
  if (text.empty() || text[0] == '#' || (number == 1 && text == "---"))
    return {};
  if (text == "-" || text.starts_with("- ")) {
    if (entries.empty() || mayBeEmpty || (!entries.back().values.empty() && !isList))
      return refuse(number, "an entry of no list");
    isList = true;
    size_t before = entries.back().values.size();
    if (!readValues(text.substr(1), false, entries.back().values) ||
        entries.back().values.size() == before)
      return refuse(number, "this is no value");
    return {};
  }
  if (line[0] == ' ' || line[0] == '\t')
    return refuse(number, "settings are not nested");
  size_t colon = text.find(':');
  std::string_view name = text.substr(0, colon);
  if (colon == text.npos || !isName(name) ||
      (colon + 1 < text.size() && text[colon + 1] != ' ' && text[colon + 1] != '\t'))
    return refuse(number, "this is no `name: value`");
  if (Status status = finishEntry(); !status.ok())
    return status;
  for (const ConfigEntry &entry : entries)
    if (entry.name == name)
      return refuse(number, entry.name + " stands in line " + std::to_string(entry.line) + " too");
  isList = false;
  ConfigEntry &entry = entries.emplace_back();
  entry.name = name;
  entry.line = number;
  std::string_view rest = trimmed(text.substr(colon + 1));
  if (!readValues(rest, true, entry.values))
    return refuse(number, "the value of " + entry.name + " is none that is read here");
  mayBeEmpty = rest.starts_with('[');
  return {};
}

Result<std::vector<ConfigEntry>> Document::finish() {
  if (Status status = finishEntry(); !status.ok())
    return status;
  return std::move(entries);
}

} // namespace

Result<std::vector<ConfigEntry>> readConfig(std::string_view text) {
  Document document;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    if (Status status = document.add(text.substr(0, end)); !status.ok())
      return status;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return document.finish();
}

/// Whether `text` has `word`, not as the beginning of a longer name.
static bool hasWord(std::string_view text, const std::string &word) {
  constexpr std::string_view ofNames = "abcdefghijklmnopqrstuvwxyz0123456789-";
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if (size_t end = at + word.size();
        end == text.size() || ofNames.find(text[end]) == ofNames.npos)
      return true;
  return false;
}

std::string placesOf(std::string_view message, const std::string &path,
                     const std::vector<ConfigEntry> &entries) {
  constexpr size_t shortest = 4; // of a value that is told from other text
  std::string places;
  for (const ConfigEntry &entry : entries) {
    const bool isNamed = hasWord(message, "--" + entry.name);
    const bool isShown =
        std::any_of(entry.values.begin(), entry.values.end(), [&](const std::string &value) {
          return value.size() >= shortest && message.find(value) != message.npos;
        });
    if (isNamed || isShown)
      places += (places.empty() ? path + ", line " : ", line ") + std::to_string(entry.line) +
                " (--" + entry.name + ")";
  }
  return places;
}

} // namespace ingot::runtime
