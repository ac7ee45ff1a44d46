// SPDX-License-Identifier: Apache-2.0
// Filters of text: case, replacement, formats.
#include "runtime/jinja/Characters.h"
#include "runtime/jinja/Comparison.h"
#include "runtime/jinja/Filters.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/Methods.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"
#include "runtime/jinja/SoftText.h"
#include "runtime/serving/Unicode.h"

namespace ingot::runtime::jinja {

Value softText(Heap &heap, const Value &value) {
  return value.isString() ? value : makeString(heap, textOf(heap, value));
}

namespace {

/// The method of that name, of the value's text.
Value byMethod(Interpreter &interpreter, const Value &value, std::string_view name,
               const Arguments &arguments) {
  const Value text = softText(interpreter.heap, value);
  return findMethod(text, name)->run(interpreter, text, arguments);
}

Value upper(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  return byMethod(interpreter, value, "upper", arguments);
}

Value lower(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  return byMethod(interpreter, value, "lower", arguments);
}

Value capitalize(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  return byMethod(interpreter, value, "capitalize", arguments);
}

Value trim(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  return byMethod(interpreter, value, "strip", arguments);
}

Value center(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound bound("center", arguments, {"width"});
  return byMethod(interpreter, value, "center", {{Value(bound.integer(0, 80))}, {}});
}

/// Unlike str.title(): words begin behind white space, hyphens and opening brackets alone.
Value title(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("title", arguments, {});
  const Value text = softText(interpreter.heap, value);
  const std::string_view bytes = text.view();
  interpreter.heap.charge(bytes.size());
  Text out;
  bool atStart = true;
  size_t word = 0; // lower() of a word does not look beyond it
  for (size_t at = 0; at < bytes.size(); at += characterLength(bytes, at)) {
    const char32_t character = characterAt(bytes, at);
    const bool parts = isSpace(character) || character == '-' || character == '(' ||
                       character == '{' || character == '[' || character == '<';
    const size_t next = at + characterLength(bytes, at);
    const Origin origin = text.string().text.origin(at, next);
    if (parts)
      out.append(bytes.substr(at, next - at), origin);
    else if (atStart)
      out.append(upperOf(character), origin);
    else
      out.append(lowerAt(bytes.substr(word), at - word), origin);
    if (parts || atStart)
      word = next;
    atStart = parts;
  }
  return makeString(interpreter.heap, std::move(out));
}

Value replace(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const Value count = bound[2].isNone() ? Value(int64_t(-1)) : Value(bound.integer(2));
  Value text = makeString(heap, textOf(heap, value));
  Value old = makeString(heap, textOf(heap, bound[0]));
  Value with = makeString(heap, textOf(heap, bound[1]));
  if (interpreter.autoescape) {
    auto isMarkup = [](const Value &v) { return v.isString() && v.string().isMarkup; };
    const bool escapes = isMarkup(bound[0]) || (isMarkup(bound[1]) && !isMarkup(value));
    text = escapes ? makeString(heap, htmlOf(heap, value), true) : softText(heap, value);
    old = softText(heap, bound[0]);
    with = softText(heap, bound[1]);
  }
  return findMethod(text, "replace")->run(interpreter, text, {{old, with, count}, {}});
}

Value format(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  Heap &heap = interpreter.heap;
  if (!arguments.positional.empty() && !arguments.keywords.empty())
    fail("format takes values by place or by name, not both");
  Value values = makeTuple(heap, arguments.positional);
  if (!arguments.keywords.empty()) {
    auto *named = heap.make<Dict>();
    for (const auto &[name, held] : arguments.keywords)
      named->set(heap, makeString(heap, name), held);
    values = Value(named);
  }
  return percentFormat(interpreter, softText(heap, value), values);
}

Value wordCount(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Bound none("wordcount", arguments, {});
  const Value text = softText(interpreter.heap, value);
  int64_t count = 0;
  bool isInWord = false;
  for (size_t at = 0; at < text.view().size(); at += characterLength(text.view(), at)) {
    const char32_t character = characterAt(text.view(), at);
    const bool isWord = isLetter(character) || isNumeric(character) || character == '_';
    count += isWord && !isInWord;
    isInWord = isWord;
  }
  return Value(count);
}

} // namespace

std::span<const Filter> textFilters() {
  static constexpr Filter all[] = {
      {"capitalize", capitalize}, {"center", center}, {"format", format}, {"lower", lower},
      {"replace", replace},       {"title", title},   {"trim", trim},     {"upper", upper},
      {"wordcount", wordCount},
  };
  return all;
}

} // namespace ingot::runtime::jinja
