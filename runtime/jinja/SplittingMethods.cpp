// SPDX-License-Identifier: Apache-2.0
// Methods of str that cut it into parts.
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Lines.h"
#include "runtime/jinja/Methods.h"
#include "runtime/jinja/Search.h"

#include <algorithm>

namespace ingot::runtime::jinja {

std::vector<Span> linesOf(std::string_view text, bool keepsEnds) {
  std::vector<Span> lines;
  auto endsLine = [](char32_t c) {
    return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
  };
  for (size_t begin = 0, at = 0; begin < text.size(); begin = at) {
    while (at < text.size() && !endsLine(characterAt(text, at)))
      at += characterLength(text, at);
    const size_t end = at;
    if (at < text.size())
      at += text.substr(at).starts_with("\r\n") ? 2 : characterLength(text, at);
    lines.push_back({uint32_t(begin), uint32_t(keepsEnds ? at : end)});
  }
  return lines;
}

namespace {

Value slice(Interpreter &interpreter, const Value &self, size_t begin, size_t end) {
  interpreter.heap.step();
  return makeString(interpreter.heap, self.string().text.slice(begin, end), self.string().isMarkup);
}

/// Cuts at white space from the left.
std::vector<Span> words(std::string_view text, int64_t most) {
  std::vector<Span> parts;
  size_t at = 0;
  auto skip = [&](bool space) {
    while (at < text.size() && isSpace(characterAt(text, at)) == space)
      at += characterLength(text, at);
  };
  for (skip(true); at < text.size(); skip(true)) {
    const size_t begin = at;
    if (most-- == 0) {
      parts.push_back({uint32_t(begin), uint32_t(text.size())});
      break;
    }
    skip(false);
    parts.push_back({uint32_t(begin), uint32_t(at)});
  }
  return parts;
}

/// Cuts at white space from the right.
std::vector<Span> wordsFromEnd(std::string_view text, int64_t most) {
  std::vector<Span> parts;
  size_t at = text.size();
  auto skip = [&](bool space) {
    while (at > 0 && isSpace(characterAt(text, previousCharacter(text, at))) == space)
      at = previousCharacter(text, at);
  };
  for (skip(true); at > 0; skip(true)) {
    const size_t end = at;
    if (most-- == 0) {
      parts.push_back({0, uint32_t(end)});
      break;
    }
    skip(false);
    parts.push_back({uint32_t(at), uint32_t(end)});
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Span> between(std::string_view text, std::string_view separator, int64_t most) {
  std::vector<Span> parts;
  size_t begin = 0;
  for (size_t at = findFirst(text, separator); at != text.npos && most != 0; --most) {
    parts.push_back({uint32_t(begin), uint32_t(at)});
    begin = at + separator.size();
    at = findFirst(text, separator, begin);
  }
  parts.push_back({uint32_t(begin), uint32_t(text.size())});
  return parts;
}

std::vector<Span> betweenFromEnd(std::string_view text, std::string_view separator, int64_t most) {
  const std::string textBackwards(text.rbegin(), text.rend());
  const std::string separatorBackwards(separator.rbegin(), separator.rend());
  std::vector<Span> parts = between(textBackwards, separatorBackwards, most);
  for (Span &part : parts)
    part = {uint32_t(text.size() - part.end), uint32_t(text.size() - part.begin)};
  std::reverse(parts.begin(), parts.end());
  return parts;
}

template <bool fromEnd>
Value split(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const int64_t most = std::max<int64_t>(bound.integer(1, -1), -1); // negative: all
  const std::string_view text = self.view();
  interpreter.heap.step(text.size() / 16);
  std::vector<Span> spans;
  if (const String *separator = bound.optionalString(0)) {
    if (separator->text.empty())
      fail("empty separator");
    const std::string_view mark = separator->text.view();
    spans = fromEnd ? betweenFromEnd(text, mark, most) : between(text, mark, most);
  } else {
    spans = fromEnd ? wordsFromEnd(text, most) : words(text, most);
  }
  std::vector<Value> parts;
  for (const Span &span : spans)
    parts.push_back(slice(interpreter, self, span.begin, span.end));
  return makeList(interpreter.heap, std::move(parts));
}

template <bool fromEnd>
Value partition(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("partition", arguments, {"sep"}, 1);
  const std::string_view text = self.view(), separator = bound.string(0).text.view();
  if (separator.empty())
    fail("empty separator");
  interpreter.heap.step(text.size() / 16);
  const size_t at = fromEnd ? findLast(text, separator) : findFirst(text, separator);
  size_t begin = at, end = at + separator.size();
  if (at == text.npos)
    begin = end = fromEnd ? 0 : text.size();
  return makeTuple(interpreter.heap,
                   {slice(interpreter, self, 0, begin), slice(interpreter, self, begin, end),
                    slice(interpreter, self, end, text.size())});
}

Value splitLines(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  interpreter.heap.step(self.view().size() / 16);
  std::vector<Value> lines;
  for (const Span &line : linesOf(self.view(), bound.truth(0, false)))
    lines.push_back(slice(interpreter, self, line.begin, line.end));
  return makeList(interpreter.heap, std::move(lines));
}

} // namespace

std::span<const Method> splittingMethods() {
  static constexpr Method all[] = {
      {"partition", partition<false>}, {"rpartition", partition<true>}, {"rsplit", split<true>},
      {"split", split<false>},         {"splitlines", splitLines},
  };
  return all;
}

} // namespace ingot::runtime::jinja
