// SPDX-License-Identifier: Apache-2.0
// What clients write in many ways becomes one that can be compared.
#include "runtime/server/HeaderValues.h"

#include <algorithm>
#include <arpa/inet.h>

namespace ingot::runtime {

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char &c : lower)
    if (c >= 'A' && c <= 'Z')
      c |= 0x20;
  return lower;
}

/// Without spaces and tabs around it.
static std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The part of `rest` before the first `end` that is in no quotes; `rest` is left behind it.
static std::string_view takePart(std::string_view &rest, char end) {
  bool quoted = false;
  size_t size = 0;
  for (; size < rest.size() && (quoted || rest[size] != end); ++size) {
    if (rest[size] == '"')
      quoted = !quoted;
    else if (quoted && rest[size] == '\\')
      ++size;
  }
  std::string_view part = rest.substr(0, size);
  rest.remove_prefix(std::min(size + 1, rest.size()));
  return trimmed(part);
}

std::vector<std::string> elementsOf(const HttpRequest &request, std::string_view name) {
  std::vector<std::string> elements;
  for (const HttpHeader &header : request.headers) {
    std::string_view rest = header.value;
    while (header.name == name && !rest.empty())
      if (std::string_view element = takePart(rest, ','); !element.empty())
        elements.push_back(lowerCase(element));
  }
  return elements;
}

MediaType mediaTypeOf(std::string_view value) {
  MediaType type;
  type.name = lowerCase(takePart(value, ';'));
  while (!value.empty()) {
    std::string parameter = lowerCase(takePart(value, ';'));
    size_t equals = std::min(parameter.find('='), parameter.size());
    if (parameter.substr(0, equals) != "charset" || equals == parameter.size())
      continue;
    type.charset = parameter.substr(equals + 1);
    if (type.charset.size() >= 2 && type.charset.front() == '"' && type.charset.back() == '"')
      type.charset = type.charset.substr(1, type.charset.size() - 2);
  }
  return type;
}

static bool isPort(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// An address of IPv6, which `text` begins with in brackets.
static std::optional<std::string> addressInBrackets(std::string_view text, size_t end) {
  in6_addr address;
  char written[INET6_ADDRSTRLEN];
  if (inet_pton(AF_INET6, std::string(text.substr(1, end - 1)).c_str(), &address) != 1 ||
      !inet_ntop(AF_INET6, &address, written, sizeof written))
    return std::nullopt;
  return written;
}

std::optional<std::string> hostOf(std::string_view authority) {
  size_t inBrackets = authority.starts_with('[') ? authority.find(']') : 0;
  if (inBrackets == authority.npos)
    return std::nullopt;
  size_t colon = std::min(authority.find(':', inBrackets), authority.size());
  std::string_view name = authority.substr(0, colon);
  if (colon < authority.size() && !isPort(authority.substr(colon + 1)))
    return std::nullopt;
  if (inBrackets > 0)
    return colon == inBrackets + 1 ? addressInBrackets(name, inBrackets) : std::nullopt;
  // A comma, which a name may have, is two headers that were joined.
  constexpr std::string_view marks = "-._~!$&'()*+;=%";
  bool isName = std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != marks.npos;
  });
  if (!isName)
    return std::nullopt;
  if (name.ends_with('.'))
    name.remove_suffix(1);
  return lowerCase(name);
}

} // namespace ingot::runtime
