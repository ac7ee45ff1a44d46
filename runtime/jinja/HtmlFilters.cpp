// SPDX-License-Identifier: Apache-2.0
// Filters for HTML and addresses: escape, striptags, urlencode, ...
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Links.h"
#include "runtime/jinja/NumberText.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"
#include "runtime/jinja/SoftText.h"

namespace ingot::runtime::jinja {

namespace {

Value escape(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("escape", arguments, {});
  return makeString(interpreter.heap, htmlOf(interpreter.heap, value), true);
}

Value forceEscape(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("forceescape", arguments, {});
  Heap &heap = interpreter.heap;
  return makeString(heap, escapedHtml(heap, textOf(heap, value)), true);
}

Value safe(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("safe", arguments, {});
  return makeString(interpreter.heap, textOf(interpreter.heap, value), true);
}

/// `text` without what stands between `begin` and `end`, these included.
Text without(Heap &heap, Text text, std::string_view begin, std::string_view end) {
  for (size_t from = text.view().find(begin); from != std::string_view::npos;
       from = text.view().find(begin)) {
    const size_t to = text.view().find(end, from);
    if (to == std::string_view::npos)
      break;
    heap.step(1 + text.size() / 16);
    Text rest = text.slice(0, from);
    rest.append(text, to + end.size(), text.size());
    text = std::move(rest);
  }
  return text;
}

/// Words with one space between them.
Text withSingleSpaces(const Text &text) {
  const std::string_view bytes = text.view();
  Text out;
  bool wantsSpace = false;
  for (size_t at = 0; at < bytes.size(); at += characterLength(bytes, at)) {
    if (isSpace(characterAt(bytes, at))) {
      wantsSpace = !out.empty();
      continue;
    }
    if (wantsSpace)
      out.append(" ");
    wantsSpace = false;
    out.append(text, at, at + characterLength(bytes, at));
  }
  return out;
}

/// The character of an entity's name or number, if it is one of the usual ones.
std::optional<char32_t> entity(std::string_view name) {
  constexpr std::pair<std::string_view, char32_t> known[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}};
  for (const auto &[text, character] : known)
    if (name == text)
      return character;
  if (!name.starts_with('#') || name.size() > 9)
    return std::nullopt;
  const bool isHex = name.size() > 2 && (name[1] | 32) == 'x';
  const std::optional<int64_t> code = parseInteger(name.substr(isHex ? 2 : 1), isHex ? 16 : 10);
  if (!code || *code <= 0 || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000))
    return std::nullopt;
  return char32_t(*code);
}

Text withoutEntities(const Text &text) {
  const std::string_view bytes = text.view();
  Text out;
  size_t plain = 0;
  for (size_t at = bytes.find('&'); at != bytes.npos; at = bytes.find('&', at + 1)) {
    const size_t end = bytes.substr(0, at + 12).find(';', at);
    if (end == bytes.npos)
      continue;
    const std::optional<char32_t> character = entity(bytes.substr(at + 1, end - at - 1));
    if (!character)
      continue;
    out.append(text, plain, at);
    std::string encoded;
    appendCharacter(encoded, *character);
    out.append(encoded, text.origin(at, end + 1));
    plain = end + 1;
  }
  out.append(text, plain, bytes.size());
  return out;
}

/// Of entities, the six that HTML's own characters need and those by number are known.
Value stripTags(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("striptags", arguments, {});
  Heap &heap = interpreter.heap;
  Text text = without(heap, textOf(heap, value), "<!--", "-->");
  text = without(heap, std::move(text), "<", ">");
  return makeString(heap, withoutEntities(withSingleSpaces(text)));
}

void appendQuotedUrl(Heap &heap, Text &out, const Text &text, bool inQuery) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                     "0123456789_.-~";
  heap.charge(text.size() * 3);
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const Origin origin = text.origin(at, at + 1);
    if (plain.find(c) != plain.npos || (c == '/' && !inQuery))
      out.append({&c, 1}, origin);
    else if (c == ' ' && inQuery)
      out.append("+", origin);
    else {
      const std::string hex = formatMagnitude(static_cast<unsigned char>(c), 16, true);
      out.append((hex.size() < 2 ? "%0" : "%") + hex, origin);
    }
  }
}

Value urlEncode(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("urlencode", arguments, {});
  Heap &heap = interpreter.heap;
  Text out;
  if (value.isString() || !isIterable(value)) {
    appendQuotedUrl(heap, out, textOf(heap, value), false);
    return makeString(heap, std::move(out));
  }
  std::vector<std::pair<Value, Value>> pairs;
  if (value.isDict())
    pairs = value.dict().entries;
  else
    for (const Value &pair : iterate(heap, value)) {
      const std::vector<Value> parts = iterate(heap, pair);
      if (parts.size() != 2)
        fail("urlencode takes pairs, and one has " + std::to_string(parts.size()) + " items");
      pairs.emplace_back(parts[0], parts[1]);
    }
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0)
      out.append("&");
    appendQuotedUrl(heap, out, textOf(heap, pairs[i].first), true);
    out.append("=");
    appendQuotedUrl(heap, out, textOf(heap, pairs[i].second), true);
  }
  return makeString(heap, std::move(out));
}

Value xmlAttributes(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("xmlattr", arguments, {"autospace"});
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isDict())
    fail("xmlattr needs a dict, not " + std::string(typeName(value)));
  Text out;
  for (const auto &[key, held] : value.dict().entries) {
    if (held.isNone() || held.isUndefined())
      continue;
    if (!key.isString())
      fail("the keys of xmlattr must be strings");
    if (key.view().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      fail("Invalid character in attribute name: " + quoted(key.view()));
    if (!out.empty() || bound.truth(0, true))
      out.append(" ");
    out.append(htmlOf(heap, key));
    out.append("=\"");
    out.append(htmlOf(heap, held));
    out.append("\"");
  }
  return makeString(heap, std::move(out), interpreter.autoescape);
}

} // namespace

std::span<const Filter> htmlFilters() {
  static constexpr Filter all[] = {
      {"e", escape},           {"escape", escape},         {"forceescape", forceEscape},
      {"safe", safe},          {"striptags", stripTags},   {"urlencode", urlEncode},
      {"urlize", linksInText}, {"xmlattr", xmlAttributes},
  };
  return all;
}

} // namespace ingot::runtime::jinja
