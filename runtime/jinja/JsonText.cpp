// SPDX-License-Identifier: Apache-2.0
// JSON of values, as json.dumps of Python writes it.
#include "runtime/jinja/JsonText.h"

#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/MergeSort.h"
#include "runtime/jinja/Representation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace ingot::runtime::jinja {

namespace {

std::string unicodeEscape(char32_t character) {
  char buffer[16];
  if (character < 0x10000)
    std::snprintf(buffer, sizeof buffer, "\\u%04x", unsigned(character));
  else
    std::snprintf(buffer, sizeof buffer, "\\u%04x\\u%04x",
                  unsigned(0xD800 + ((character - 0x10000) >> 10)),
                  unsigned(0xDC00 + ((character - 0x10000) & 0x3FF)));
  return buffer;
}

/// How a character is escaped; nothing where it stands for itself.
std::string jsonEscape(char32_t character, bool ensureAscii) {
  switch (character) {
  case '"':
    return "\\\"";
  case '\\':
    return "\\\\";
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  case '\f':
    return "\\f";
  case '\b':
    return "\\b";
  default:
    if (character < 0x20 || (ensureAscii && character >= 0x7F))
      return unicodeEscape(character);
    return {};
  }
}

/// Writes one value, and what is in it by recursion, which the heap bounds. `around`: whose are the
/// bytes that no string has.
class JsonWriter {
public:
  JsonWriter(Heap &heap, Text &out, const JsonForm &form) : heap(heap), out(out), form(form) {}

  void write(const Value &value, Origin around) {
    heap.step();
    const size_t before = out.size();
    switch (value.kind()) {
    case Kind::None:
      out.append("null", around);
      break;
    case Kind::Bool:
      out.append(value.integer() ? "true" : "false", around);
      break;
    case Kind::Int:
      out.append(std::to_string(value.integer()), around);
      break;
    case Kind::Float:
      out.append(real(value.number()), around);
      break;
    case Kind::String:
      quote(value.string().text, around);
      break;
    case Kind::List:
    case Kind::Tuple:
      return list(value.sequence(), around);
    case Kind::Dict:
      return dict(value.dict(), around);
    default:
      fail("Object of type " + std::string(typeName(value)) + " is not JSON serializable");
    }
    heap.charge(out.size() - before);
  }

private:
  static std::string real(double value) {
    if (std::isnan(value))
      return "NaN";
    if (std::isinf(value))
      return value < 0 ? "-Infinity" : "Infinity";
    return reprOfFloat(value);
  }

  void quote(const Text &text, Origin around) {
    const std::string_view bytes = text.view();
    out.append("\"", around);
    size_t plain = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t next = at + characterLength(bytes, at);
      const std::string escape = jsonEscape(characterAt(bytes, at), form.ensureAscii);
      if (!escape.empty()) {
        out.append(text, plain, at);
        out.append(escape, text.origin(at, next));
        plain = next;
      }
      at = next;
    }
    out.append(text, plain, bytes.size());
    out.append("\"", around);
  }

  void newLine(Origin around) {
    if (!form.indent)
      return;
    std::string line = "\n";
    for (int i = 0; i < depth; ++i)
      line += *form.indent;
    heap.charge(line.size());
    out.append(line, around);
  }

  void list(const Sequence &sequence, Origin around) {
    const Heap::Level level(heap);
    if (sequence.isInput)
      around = Origin::somewhere();
    if (sequence.items.empty())
      return out.append("[]", around);
    out.append("[", around);
    ++depth;
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0)
        out.append(form.betweenItems, around);
      newLine(around);
      write(sequence.items[i], around);
    }
    --depth;
    newLine(around);
    out.append("]", around);
  }

  void key(const Value &name, Origin around) {
    if (name.isString())
      return quote(name.string().text, around);
    if (!name.isNumber() && !name.isNone())
      fail("keys must be str, int, float, bool or None, not " + std::string(typeName(name)));
    out.append("\"", around);
    write(name, around);
    out.append("\"", around);
  }

  void dict(const Dict &dict, Origin around) {
    const Heap::Level level(heap);
    if (dict.isInput)
      around = Origin::somewhere();
    if (dict.entries.empty())
      return out.append("{}", around);
    auto entries = dict.entries;
    if (form.sortKeys)
      mergeSort(entries, [&](const auto &left, const auto &right) {
        return less(heap, left.first, right.first);
      });
    out.append("{", around);
    ++depth;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0)
        out.append(form.betweenItems, around);
      newLine(around);
      key(entries[i].first, around);
      out.append(form.afterKey, around);
      write(entries[i].second, around);
    }
    --depth;
    newLine(around);
    out.append("}", around);
  }

  Heap &heap;
  Text &out;
  const JsonForm &form;
  int depth = 0;
};

} // namespace

void appendJson(Heap &heap, Text &out, const Value &value, const JsonForm &form) {
  JsonWriter(heap, out, form).write(value, Origin::ofTemplate());
}

} // namespace ingot::runtime::jinja
