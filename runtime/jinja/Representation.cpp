// SPDX-License-Identifier: Apache-2.0
// What str() and repr() of Python give for a value.
#include "runtime/jinja/Representation.h"

#include "runtime/jinja/Characters.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace ingot::runtime::jinja {

std::string reprOfFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char digits[40];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific);
  const std::string text(digits, end);
  const size_t mark = text.find('e');
  const int exponent = std::stoi(text.substr(mark + 1));
  if (exponent < -4 || exponent >= 16) {
    std::string power = std::to_string(std::abs(exponent));
    if (power.size() < 2)
      power.insert(0, "0");
    return text.substr(0, mark) + (exponent < 0 ? "e-" : "e+") + power;
  }
  char plain[64];
  const auto fixed = std::to_chars(plain, plain + sizeof plain, value, std::chars_format::fixed);
  std::string out(plain, fixed.ptr);
  if (out.find('.') == out.npos)
    out += ".0";
  return out;
}

/// How one character stands in a string's repr(); nothing where it stands for itself.
static std::string escapeOf(char32_t character, char quote) {
  switch (character) {
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  case '\\':
    return "\\\\";
  default:
    break;
  }
  if (character == char32_t(quote))
    return std::string("\\") + quote;
  if (isPrintable(character))
    return {};
  char buffer[12];
  const char *form = character < 0x100 ? "\\x%02x" : character < 0x10000 ? "\\u%04x" : "\\U%08x";
  std::snprintf(buffer, sizeof buffer, form, unsigned(character));
  return buffer;
}

static void appendQuoted(Text &out, const Text &text, Origin around) {
  const std::string_view bytes = text.view();
  const char quote = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos ? '"' : '\'';
  out.append({&quote, 1}, around);
  size_t plain = 0; // where what stands for itself begins
  for (size_t at = 0; at < bytes.size();) {
    const size_t next = at + characterLength(bytes, at);
    if (const std::string escape = escapeOf(characterAt(bytes, at), quote); !escape.empty()) {
      out.append(text, plain, at);
      out.append(escape, text.origin(at, next));
      plain = next;
    }
    at = next;
  }
  out.append(text, plain, bytes.size());
  out.append({&quote, 1}, around);
}

std::string quoted(std::string_view text) {
  Text out;
  appendQuoted(out, Text(std::string(text)), Origin::ofTemplate());
  return out.takeBytes();
}

static void appendItems(Heap &heap, Text &out, const Sequence &sequence, std::string_view open,
                        std::string_view close, Origin around) {
  out.append(open, around);
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    if (i > 0)
      out.append(", ", around);
    appendRepr(heap, out, sequence.items[i], around);
  }
  out.append(close, around);
}

static void appendSequence(Heap &heap, Text &out, const Value &value, Origin around) {
  const Sequence &sequence = value.sequence();
  switch (value.kind()) {
  case Kind::List:
    return appendItems(heap, out, sequence, "[", "]", around);
  case Kind::Tuple:
    return appendItems(heap, out, sequence, "(", sequence.items.size() == 1 ? ",)" : ")", around);
  case Kind::View:
    out.append(sequence.viewName, around);
    return appendItems(heap, out, sequence, "([", "])", around);
  default: {
    std::string range =
        "range(" + std::to_string(sequence.start) + ", " + std::to_string(sequence.stop);
    if (sequence.increment != 1)
      range += ", " + std::to_string(sequence.increment);
    out.append(range + ")", around);
  }
  }
}

void appendRepr(Heap &heap, Text &out, const Value &value, Origin around) {
  heap.step();
  const size_t before = out.size();
  switch (value.kind()) {
  case Kind::Undefined:
    out.append("Undefined", around);
    break;
  case Kind::None:
    out.append("None", around);
    break;
  case Kind::Bool:
    out.append(value.integer() ? "True" : "False", around);
    break;
  case Kind::Int:
    out.append(std::to_string(value.integer()), around);
    break;
  case Kind::Float:
    out.append(reprOfFloat(value.number()), around);
    break;
  case Kind::String:
    if (value.string().isMarkup)
      out.append("Markup(", around);
    appendQuoted(out, value.string().text, around);
    if (value.string().isMarkup)
      out.append(")", around);
    break;
  case Kind::List:
  case Kind::Tuple:
  case Kind::View:
  case Kind::Range: {
    const Heap::Level level(heap);
    appendSequence(heap, out, value, value.sequence().isInput ? Origin::somewhere() : around);
    return;
  }
  case Kind::Dict: {
    const Heap::Level level(heap);
    if (value.dict().isInput)
      around = Origin::somewhere();
    out.append("{", around);
    for (size_t i = 0; i < value.dict().entries.size(); ++i) {
      if (i > 0)
        out.append(", ", around);
      appendRepr(heap, out, value.dict().entries[i].first, around);
      out.append(": ", around);
      appendRepr(heap, out, value.dict().entries[i].second, around);
    }
    out.append("}", around);
    return;
  }
  case Kind::Generator:
    out.append("<generator object>", around);
    break;
  case Kind::Object:
    out.append(value.object().represent(), around);
    break;
  }
  heap.charge(out.size() - before);
}

void appendStr(Heap &heap, Text &out, const Value &value) {
  if (value.isString()) {
    heap.charge(value.view().size());
    out.append(value.string().text);
  } else if (!value.isUndefined()) {
    appendRepr(heap, out, value);
  }
}

Text textOf(Heap &heap, const Value &value) {
  Text text;
  appendStr(heap, text, value);
  return text;
}

} // namespace ingot::runtime::jinja
