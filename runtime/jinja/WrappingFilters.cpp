// SPDX-License-Identifier: Apache-2.0
// Filters that fit text into lines: indent, truncate, wordwrap.
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Lines.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/SoftText.h"
#include "runtime/jinja/Strip.h"

#include <algorithm>

namespace ingot::runtime::jinja {

namespace {

const String &stringOf(const Value &value, std::string_view filter) {
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isString())
    fail(std::string(filter) + " needs a string, not " + std::string(typeName(value)));
  return value.string();
}

Value indent(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  const Text &text = stringOf(value, "indent").text;
  Text indention;
  if (bound.has(0) && bound[0].isString()) {
    indention = bound[0].string().text;
  } else {
    const auto width = size_t(std::clamp<int64_t>(bound.integer(0, 4), 0, int64_t(1) << 40));
    interpreter.heap.charge(width);
    indention.append(std::string(width, ' '));
  }
  const bool first = bound.truth(1, false), blank = bound.truth(2, false);
  // The last line's end is not one more line.
  Text ended = text;
  ended.append("\n");
  Text out;
  size_t number = 0;
  for (const Span &line : linesOf(ended.view())) {
    const bool isIndented = number == 0 ? first : blank || line.begin != line.end;
    interpreter.heap.charge(line.end - line.begin + (isIndented ? indention.size() : 1));
    if (number++ > 0)
      out.append("\n");
    if (isIndented)
      out.append(indention);
    out.append(ended, line.begin, line.end);
  }
  return makeString(interpreter.heap, std::move(out), value.string().isMarkup);
}

Value truncate(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const int64_t length = bound.integer(0, 255);
  const Text end = bound.has(2) ? bound.string(2).text : Text("...");
  const int64_t leeway = bound.has(3) && !bound[3].isNone() ? bound.integer(3) : 5;
  const auto endLength = int64_t(countCharacters(end.view()));
  if (length < endLength || leeway < 0)
    fail("truncate needs a length that holds its end, and no negative leeway");
  // What has a length and is short enough is left alone, whatever it is.
  const std::optional<size_t> count = lengthOf(value);
  if (count && (int64_t(*count) <= length || int64_t(*count) - length <= leeway))
    return value;
  const String &string = stringOf(value, "truncate");
  Text cut = string.text.slice(0, byteOffset(string.text.view(), size_t(length - endLength)));
  if (!bound.truth(1, false))
    if (const size_t space = cut.view().rfind(' '); space != std::string_view::npos)
      cut = cut.slice(0, space);
  cut.append(end);
  return makeString(interpreter.heap, std::move(cut), string.isMarkup);
}

/// Lines of at most `width` characters, broken at spaces as textwrap of Python breaks them.
class Wrapper {
public:
  Wrapper(Heap &heap, const Text &text, int64_t width, bool breaksLong, bool breaksHyphens)
      : heap(heap), text(text), width(width), breaksLong(breaksLong), breaksHyphens(breaksHyphens) {
  }

  /// The lines of `paragraph`.
  std::vector<Text> wrap(const Span &paragraph) {
    split(paragraph);
    std::vector<Text> lines;
    for (size_t i = 0; i < chunks.size();) {
      heap.step();
      if (!lines.empty() && isBlank(chunks[i])) // no line but the first begins with space
        if (++i == chunks.size())
          break;
      size_t end = i;
      int64_t used = 0;
      while (end < chunks.size() && used + length(chunks[end]) <= width)
        used += length(chunks[end++]);
      const bool isTooLong = end < chunks.size() && length(chunks[end]) > width;
      Span line{chunks[i].begin, end > i ? chunks[end - 1].end : chunks[i].begin};
      if (isTooLong)
        takeLong(line, end, i, used);
      // Behind space that ends a full line, Python appends an empty part of the long word, and
      // drops that for the space.
      if (!(isTooLong && breaksLong) && end > i && line.end == chunks[end - 1].end &&
          isBlank(chunks[end - 1]))
        line.end = chunks[end - 1].begin;
      if (line.end > line.begin)
        lines.push_back(text.slice(line.begin, line.end));
      i = end;
    }
    return lines;
  }

private:
  std::string_view view(const Span &span) const {
    return text.view().substr(span.begin, span.end - span.begin);
  }
  int64_t length(const Span &span) const { return int64_t(countCharacters(view(span))); }
  bool isBlank(const Span &span) const { return isWrapSpace(text.view()[span.begin]); }
  static bool isWrapSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  /// Puts into `line` what fits of the chunk at `end` that is longer than any line.
  void takeLong(Span &line, size_t &end, size_t first, int64_t used) {
    if (breaksLong) {
      const int64_t space = width < 1 ? 1 : width - used;
      Span &chunk = chunks[end];
      size_t cut = byteOffset(view(chunk), size_t(space));
      if (breaksHyphens && length(chunk) > space) {
        const std::string_view fitting = view(chunk).substr(0, cut);
        const size_t hyphen = fitting.rfind('-');
        if (hyphen != fitting.npos && hyphen > 0 &&
            fitting.substr(0, hyphen).find_first_not_of('-') != fitting.npos)
          cut = hyphen + 1;
      }
      line.end = chunk.begin += uint32_t(cut);
    } else if (end == first) {
      line.end = chunks[end++].end;
    }
  }

  /// Words, the spaces between them, and the parts of words that hyphens end.
  void split(const Span &paragraph) {
    chunks.clear();
    const std::string_view bytes = text.view();
    for (size_t at = paragraph.begin; at < paragraph.end;) {
      const size_t begin = at;
      const bool isSpaceRun = isWrapSpace(bytes[at]);
      while (at < paragraph.end && isWrapSpace(bytes[at]) == isSpaceRun)
        at += characterLength(bytes, at);
      heap.charge(sizeof(Span));
      if (isSpaceRun || !breaksHyphens)
        chunks.push_back({uint32_t(begin), uint32_t(at)});
      else
        splitWord(begin, at);
    }
  }

  /// A hyphen between letters, two of them before it, ends a part.
  void splitWord(size_t begin, size_t end) {
    const std::string_view bytes = text.view();
    auto letterAt = [&](size_t at) { return at < end && isLetter(characterAt(bytes, at)); };
    size_t start = begin;
    for (size_t at = begin; at < end; at += characterLength(bytes, at)) {
      if (bytes[at] != '-' || at == begin || !letterAt(at + 1))
        continue;
      const size_t before = previousCharacter(bytes, at);
      if (before <= start || !letterAt(before) || !letterAt(previousCharacter(bytes, before)))
        continue;
      const size_t second = at + 1 + characterLength(bytes, at + 1);
      if (!letterAt(second) && !(second < end && bytes[second] == '-'))
        continue;
      chunks.push_back({uint32_t(start), uint32_t(at + 1)});
      start = at + 1;
    }
    chunks.push_back({uint32_t(start), uint32_t(end)});
  }

  Heap &heap;
  const Text &text;
  const int64_t width;
  const bool breaksLong, breaksHyphens;
  std::vector<Span> chunks;
};

Value wordWrap(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("wordwrap", arguments,
                    {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  const Text &text = stringOf(value, "wordwrap").text;
  const int64_t width = bound.integer(0, 79);
  if (width <= 0 && !text.empty())
    fail("wordwrap needs a width of at least 1");
  const String *given = bound.optionalString(2);
  const Text between = given ? given->text : Text("\n");
  Wrapper wrapper(interpreter.heap, text, width, bound.truth(1, true), bound.truth(3, true));
  Text out;
  bool isFirst = true;
  for (const Span &paragraph : linesOf(text.view())) {
    std::vector<Text> lines = wrapper.wrap(paragraph);
    if (lines.empty())
      lines.emplace_back();
    for (const Text &line : lines) {
      interpreter.heap.charge(line.size() + between.size());
      if (!isFirst)
        out.append(between);
      isFirst = false;
      out.append(line);
    }
  }
  return makeString(interpreter.heap, std::move(out));
}

} // namespace

std::span<const Filter> wrappingFilters() {
  static constexpr Filter all[] = {
      {"indent", indent},
      {"truncate", truncate},
      {"wordwrap", wordWrap},
  };
  return all;
}

} // namespace ingot::runtime::jinja
