// SPDX-License-Identifier: Apache-2.0
// Methods of str: case, search, replacement, padding.
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Methods.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"
#include "runtime/jinja/Search.h"
#include "runtime/jinja/Strip.h"

#include <algorithm>

namespace ingot::runtime::jinja {

namespace {

using StringView = std::string_view;

/// A result of `self`'s own kind: HTML stays HTML.
Value like(Interpreter &interpreter, const Value &self, Text text) {
  return makeString(interpreter.heap, std::move(text), self.string().isMarkup);
}

/// An argument as text that is put into `self`.
Text textFor(Interpreter &interpreter, const Value &self, const Value &argument) {
  if (self.string().isMarkup)
    return htmlOf(interpreter.heap, argument);
  return argument.string().text;
}

/// `self` with every character mapped by `map(text, offset)`, which gives UTF-8.
template <class Map> Value mapped(Interpreter &interpreter, const Value &self, const Map &map) {
  const Text &text = self.string().text;
  const StringView bytes = text.view();
  Text out;
  interpreter.heap.charge(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += characterLength(bytes, at))
    out.append(map(bytes, at), text.origin(at, at + characterLength(bytes, at)));
  return like(interpreter, self, std::move(out));
}

std::string same(StringView text, size_t at) {
  return std::string(text.substr(at, characterLength(text, at)));
}

std::string upperAt(StringView text, size_t at) { return upperOf(characterAt(text, at)); }

Value upper(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("upper", arguments, {});
  return mapped(interpreter, self, upperAt);
}

Value lower(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("lower", arguments, {});
  return mapped(interpreter, self, lowerAt);
}

Value casefold(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("casefold", arguments, {});
  return mapped(interpreter, self,
                [](StringView text, size_t at) { return foldOf(characterAt(text, at)); });
}

Value capitalize(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("capitalize", arguments, {});
  return mapped(interpreter, self, [](StringView text, size_t at) {
    return at == 0 ? titleOf(characterAt(text, at)) : lowerAt(text, at);
  });
}

Value swapcase(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("swapcase", arguments, {});
  return mapped(interpreter, self, [](StringView text, size_t at) {
    const char32_t character = characterAt(text, at);
    return isUpper(character)   ? lowerAt(text, at)
           : isLower(character) ? upperOf(character)
                                : same(text, at);
  });
}

Value title(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound none("title", arguments, {});
  bool isInWord = false;
  return mapped(interpreter, self, [&](StringView text, size_t at) {
    const char32_t character = characterAt(text, at);
    const bool starts = !isInWord;
    isInWord = isCased(character);
    return starts ? titleOf(character) : lowerAt(text, at);
  });
}

template <bool atStart, bool atEnd>
Value strip(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("strip", arguments, {"chars"});
  const String *characters = bound.optionalString(0);
  const Span part =
      stripped(interpreter.heap, self.view(),
               characters ? std::optional(characters->text.view()) : std::nullopt, atStart, atEnd);
  return like(interpreter, self, self.string().text.slice(part.begin, part.end));
}

/// The bytes of `self` between the characters that two arguments name, as a slice has them.
/// Nothing where the first lies behind the end.
std::optional<Span> part(const Bound &bound, const Value &self, size_t first) {
  const String &string = self.string();
  const auto length = int64_t(string.characters);
  auto place = [&](size_t argument, int64_t otherwise) {
    int64_t index = bound[argument].isNone() ? otherwise : bound.integer(argument, otherwise);
    if (index < 0)
      index = std::max<int64_t>(index + length, 0);
    return index;
  };
  const int64_t begin = place(first, 0), end = std::min(place(first + 1, length), length);
  if (begin > length)
    return std::nullopt;
  auto byte = [&](int64_t index) {
    return uint32_t(string.isAscii() ? size_t(index) : byteOffset(self.view(), size_t(index)));
  };
  return Span{byte(begin), byte(std::max(begin, end))};
}

template <bool fromEnd, bool mustBe>
Value find(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("find", arguments, {"sub", "start", "end"}, 1);
  const StringView wanted = bound.string(0).text.view();
  interpreter.heap.step(self.view().size() / 16);
  if (const std::optional<Span> span = part(bound, self, 1)) {
    const StringView within = self.view().substr(span->begin, span->end - span->begin);
    const size_t at = fromEnd ? findLast(within, wanted) : findFirst(within, wanted);
    if (at != within.npos)
      return Value(int64_t(countCharacters(self.view().substr(0, span->begin + at))));
  }
  if (mustBe)
    fail("substring not found");
  return Value(int64_t(-1));
}

Value count(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  const StringView wanted = bound.string(0).text.view();
  interpreter.heap.step(self.view().size() / 16);
  const std::optional<Span> span = part(bound, self, 1);
  if (!span)
    return Value(int64_t(0));
  const StringView within = self.view().substr(span->begin, span->end - span->begin);
  if (wanted.empty())
    return Value(int64_t(countCharacters(within)) + 1);
  int64_t found = 0;
  for (size_t at = findFirst(within, wanted); at != within.npos;
       at = findFirst(within, wanted, at + wanted.size()))
    ++found;
  return Value(found);
}

template <bool atEnd>
Value startsWith(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound(atEnd ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}, 1);
  std::vector<Value> choices{bound[0]};
  if (bound[0].is(Kind::Tuple))
    choices = bound[0].items();
  const std::optional<Span> span = part(bound, self, 1);
  bool does = false;
  for (const Value &choice : choices) {
    if (!choice.isString())
      fail("startswith and endswith take a string or a tuple of strings, not " +
           std::string(typeName(choice)));
    if (!span)
      continue;
    const StringView within = self.view().substr(span->begin, span->end - span->begin);
    does |= atEnd ? within.ends_with(choice.view()) : within.starts_with(choice.view());
  }
  return Value(does);
}

template <bool atEnd>
Value removeAffix(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound(atEnd ? "removesuffix" : "removeprefix", arguments, {"affix"}, 1);
  const StringView affix = bound.string(0).text.view(), text = self.view();
  if (atEnd ? !text.ends_with(affix) : !text.starts_with(affix))
    return self;
  return like(interpreter, self,
              atEnd ? self.string().text.slice(0, text.size() - affix.size())
                    : self.string().text.slice(affix.size()));
}

Value replace(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const StringView old = bound.string(0).text.view();
  bound.string(1);
  const Text with = textFor(interpreter, self, bound[1]);
  const Text &text = self.string().text;
  const StringView bytes = text.view();
  int64_t left = std::max<int64_t>(bound.integer(2, -1), -1);
  Text out;
  size_t plain = 0; // where what is not yet copied begins
  auto put = [&](size_t at) {
    interpreter.heap.charge(with.size() + at - plain);
    out.append(text, plain, at);
    out.append(with);
    plain = at + old.size();
  };
  interpreter.heap.step(bytes.size() / 16);
  if (old.empty()) {
    for (size_t at = 0; left != 0 && at <= bytes.size(); --left) {
      put(at);
      at += at < bytes.size() ? characterLength(bytes, at) : 1;
    }
  } else {
    for (size_t at = findFirst(bytes, old); left != 0 && at != bytes.npos; --left) {
      put(at);
      at = findFirst(bytes, old, plain);
    }
  }
  out.append(text, plain, bytes.size());
  return like(interpreter, self, std::move(out));
}

Value join(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  Text out;
  size_t index = 0;
  for (const Value &item : iterate(interpreter.heap, bound[0])) {
    if (!item.isString() && !self.string().isMarkup)
      fail("sequence item " + std::to_string(index) + ": expected str instance, " +
           std::string(typeName(item)) + " found");
    if (index++ > 0)
      out.append(self.string().text);
    out.append(textFor(interpreter, self, item));
    interpreter.heap.step();
    interpreter.heap.charge(self.view().size());
  }
  return like(interpreter, self, std::move(out));
}

/// `before` and `after` times `fill` around `self`.
Value padded(Interpreter &interpreter, const Value &self, const Text &fill, int64_t before,
             int64_t after) {
  interpreter.heap.charge(size_t(before + after) * fill.size());
  Text out;
  for (int64_t i = 0; i < before; ++i)
    out.append(fill);
  out.append(self.string().text);
  for (int64_t i = 0; i < after; ++i)
    out.append(fill);
  return like(interpreter, self, std::move(out));
}

enum class Side : uint8_t { Left, Center, Right };

template <Side side>
Value justify(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("a method that pads", arguments, {"width", "fillchar"}, 1);
  const Text fill = bound.has(1) ? bound.string(1).text : Text(" ");
  if (countCharacters(fill.view()) != 1)
    fail("the fill character must be exactly one character long");
  const int64_t width = std::clamp<int64_t>(bound.integer(0), 0, int64_t(1) << 40);
  const int64_t space = std::max<int64_t>(width - int64_t(self.string().characters), 0);
  // Python's center() puts the odd one on the left where the width is odd too.
  const int64_t left = side == Side::Left    ? 0
                       : side == Side::Right ? space
                                             : space / 2 + (space & width & 1);
  return padded(interpreter, self, fill, left, space - left);
}

Value zfill(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const int64_t width = std::clamp<int64_t>(bound.integer(0), 0, int64_t(1) << 40);
  const int64_t space = std::max<int64_t>(width - int64_t(self.string().characters), 0);
  const bool hasSign = self.view().starts_with('-') || self.view().starts_with('+');
  interpreter.heap.charge(size_t(space));
  Text out = self.string().text.slice(0, hasSign);
  out.append(std::string(size_t(space), '0'));
  out.append(self.string().text, hasSign, self.view().size());
  return like(interpreter, self, std::move(out));
}

Value expandTabs(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("expandtabs", arguments, {"tabsize"});
  const int64_t width = std::min<int64_t>(bound.integer(0, 8), int64_t(1) << 40);
  int64_t column = 0;
  return mapped(interpreter, self, [&](StringView text, size_t at) {
    if (text[at] == '\t') {
      const int64_t spaces = width > 0 ? width - column % width : 0;
      column += spaces;
      interpreter.heap.charge(size_t(spaces));
      return std::string(size_t(spaces), ' ');
    }
    column = text[at] == '\n' || text[at] == '\r' ? 0 : column + 1;
    return same(text, at);
  });
}

Value format(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  return like(interpreter, self, braceFormat(interpreter, self, arguments));
}

Value formatMap(Interpreter &interpreter, const Value &self, const Arguments &arguments) {
  const Bound bound("format_map", arguments, {"mapping"}, 1);
  if (!bound[0].isDict())
    fail("format_map() takes a dict, not " + std::string(typeName(bound[0])));
  Arguments named;
  for (const auto &[key, value] : bound[0].dict().entries)
    if (key.isString())
      named.keywords.emplace_back(key.view(), value);
  return like(interpreter, self, braceFormat(interpreter, self, named));
}

} // namespace

std::span<const Method> stringMethods() {
  static constexpr Method all[] = {
      {"capitalize", capitalize},
      {"casefold", casefold},
      {"center", justify<Side::Center>},
      {"count", count},
      {"endswith", startsWith<true>},
      {"expandtabs", expandTabs},
      {"find", find<false, false>},
      {"format", format},
      {"format_map", formatMap},
      {"index", find<false, true>},
      {"join", join},
      {"ljust", justify<Side::Left>},
      {"lower", lower},
      {"lstrip", strip<true, false>},
      {"removeprefix", removeAffix<false>},
      {"removesuffix", removeAffix<true>},
      {"replace", replace},
      {"rfind", find<true, false>},
      {"rindex", find<true, true>},
      {"rjust", justify<Side::Right>},
      {"rstrip", strip<false, true>},
      {"startswith", startsWith<false>},
      {"strip", strip<true, true>},
      {"swapcase", swapcase},
      {"title", title},
      {"upper", upper},
      {"zfill", zfill},
  };
  return all;
}

} // namespace ingot::runtime::jinja
