// SPDX-License-Identifier: Apache-2.0
// Names of models and of their files, as a Hub lets them be.
#include "compiler/hub/ModelName.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

using ingot::checkpoint::Error;
using ingot::checkpoint::Expected;
using ingot::checkpoint::inQuotes;

namespace ingot::hub {
namespace {

constexpr size_t kMostOfWord = 96, kMostOfRevision = 255, kMostOfFile = 1024, kMostOfPart = 255;

bool isWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

/// An organisation or repository. Two dashes would be taken for the `/` in a folder's name.
bool isWord(std::string_view text) {
  auto ends = [](char c) { return c == '-' || c == '.'; };
  return !text.empty() && text.size() <= kMostOfWord && !ends(text.front()) && !ends(text.back()) &&
         text.find("--") == text.npos && text.find("..") == text.npos &&
         std::all_of(text.begin(), text.end(), isWordCharacter);
}

bool isRevision(std::string_view text) {
  return text.size() <= kMostOfRevision && isSafeFileName(text) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return isWordCharacter(c) || c == '/'; });
}

bool isAddress(std::string_view text) { return text.find("://") != text.npos; }

/// `%20` as a blank; nothing where two digits are missing.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    uint8_t byte = 0;
    const char *first = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(first, first + 2, byte, 16).ptr != first + 2)
      return std::nullopt;
    out += char(byte);
    i += 2;
  }
  return out;
}

/// Takes the part of `path` before the next `/`, and that.
std::string_view takePart(std::string_view &path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(part.size() + 1, path.size()));
  return part;
}

} // namespace

bool isHex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool isSafeFileName(std::string_view name) {
  if (name.empty() || name.size() > kMostOfFile)
    return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto c = uint8_t(name[i]);
    // 0xc2 begins the control characters beyond ASCII.
    if (c < 0x20 || c == 0x7f || c == '\\' ||
        (c == 0xc2 && i + 1 < name.size() && uint8_t(name[i + 1]) < 0xa0))
      return false;
  }
  for (;;) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.empty() || part == "." || part == ".." || part.size() > kMostOfPart)
      return false;
    if (part.size() == name.size())
      return true;
    name.remove_prefix(part.size() + 1);
  }
}

Expected<ModelName> ModelName::parse(std::string_view text) {
  auto refused = [&](std::string_view why) {
    return Error{"INGOT-E7301", std::string(why), checkpoint::inQuotes(text),
                 "write ORG/REPO, ORG/REPO@REVISION, or ORG/REPO:FILE; in place of FILE a "
                 "quantization such as Q4_K_M"};
  };
  ModelName name;
  std::string_view rest = text;
  if (size_t colon = rest.find(':'); colon != rest.npos) {
    name.part = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (!isSafeFileName(name.part))
      return refused("what follows `:` is no name of a file");
  }
  if (size_t at = rest.find('@'); at != rest.npos) {
    name.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!isRevision(name.revision))
      return refused("what follows `@` is no revision");
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  name.organisation = rest.substr(0, slash);
  name.repository = rest.substr(std::min(slash + 1, rest.size()));
  if (!isWord(name.organisation) || !isWord(name.repository))
    return refused("this is no name of a model");
  return name;
}

Expected<ModelName> ModelName::parse(std::string_view text, const Url &endpoint) {
  if (!isAddress(text))
    return parse(text);
  auto url = Url::parse(text);
  if (!url)
    return url.error();
  const Error none = {"INGOT-E7301",
                      "this is no page of the Hub at " + endpoint.text() + " of a model or file",
                      inQuotes(text),
                      "name the model, as ORG/REPO; from elsewhere fetch files by "
                      "other means"};
  std::string prefix = endpoint.target;
  prefix.erase(prefix.find_last_not_of('/') + 1);
  prefix += "/";
  std::string_view rest = std::string_view(url->target).substr(0, url->target.find('?'));
  if (!url->sameOrigin(endpoint) || !rest.starts_with(prefix))
    return none;
  rest.remove_prefix(prefix.size());
  // Parts are told apart before they are read: a revision may hold an escaped `/`.
  const auto organisation = unescaped(takePart(rest)), repository = unescaped(takePart(rest));
  const std::string_view kind = takePart(rest);
  const auto revision = unescaped(takePart(rest)), file = unescaped(rest);
  const bool isFile = kind == "blob" || kind == "resolve";
  if (!organisation || !repository || !revision || !file ||
      (!kind.empty() && (revision->empty() || (isFile ? file->empty() : kind != "tree"))))
    return none;
  std::string name = *organisation + "/" + *repository;
  if (!kind.empty())
    name += "@" + *revision;
  if (isFile)
    name += ":" + *file;
  return parse(name);
}

bool isModelName(const std::string &argument) {
  if (isAddress(argument))
    return true;
  auto name = ModelName::parse(argument);
  if (!name)
    return false;
  std::error_code error;
  const std::string ending = std::filesystem::path(name->repository).extension();
  return ending != ".gguf" && ending != ".ingot" && ending != ".safetensors" &&
         !std::filesystem::exists(argument, error) &&
         !std::filesystem::is_directory(name->organisation, error);
}

} // namespace ingot::hub
