// SPDX-License-Identifier: Apache-2.0
// "...".format(...): fields in braces.
#include "runtime/jinja/Access.h"
#include "runtime/jinja/Format.h"
#include "runtime/jinja/Interpreter.h"
#include "runtime/jinja/NumberText.h"
#include "runtime/jinja/Operators.h"
#include "runtime/jinja/Representation.h"

namespace ingot::runtime::jinja {

namespace {

class BraceFormatter {
public:
  BraceFormatter(Interpreter &interpreter, const Arguments &arguments, bool isMarkup)
      : interpreter(interpreter), arguments(arguments), isMarkup(isMarkup) {}

  /// `depth`: fields may stand in the specification of a field, and there none.
  Text format(const Text &text, int depth) {
    const std::string_view bytes = text.view();
    Text out;
    for (size_t at = 0; at < bytes.size();) {
      const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.append(text, at, brace);
      interpreter.heap.charge(brace - at);
      if (brace == bytes.size())
        break;
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        out.append(text, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (bytes[brace] == '}')
        fail("Single '}' encountered in format string");
      const size_t end = endOfField(bytes, brace + 1);
      if (depth == 0)
        fail("Max string recursion exceeded");
      out.append(field(text.slice(brace + 1, end), depth));
      at = end + 1;
    }
    return out;
  }

private:
  static size_t endOfField(std::string_view text, size_t at) {
    int open = 1;
    for (; at < text.size(); ++at) {
      open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      if (open == 0)
        return at;
    }
    fail("expected '}' before end of string");
  }

  Text field(const Text &text, int depth) {
    const std::string_view bytes = text.view();
    const size_t nameEnd = std::min(bytes.find_first_of(":!"), bytes.size());
    Value value = lookUp(bytes.substr(0, nameEnd));
    size_t at = nameEnd;
    if (at < bytes.size() && bytes[at] == '!') {
      if (at + 1 == bytes.size())
        fail("end of string while looking for conversion specifier");
      value = converted(value, bytes[at + 1]);
      at += 2;
      if (at < bytes.size() && bytes[at] != ':')
        fail("expected ':' after conversion specifier");
    }
    Text specification;
    if (at < bytes.size())
      specification = format(text.slice(at + 1), depth - 1);
    if (isMarkup && specification.empty())
      return htmlOf(interpreter.heap, value);
    const Text made = formatted(interpreter.heap, value, specification.view());
    return isMarkup && !(value.isString() && value.string().isMarkup)
               ? escapedHtml(interpreter.heap, made)
               : made;
  }

  Value converted(const Value &value, char conversion) {
    Text text;
    if (conversion == 's')
      appendStr(interpreter.heap, text, value);
    else if (conversion == 'r' || conversion == 'a')
      appendRepr(interpreter.heap, text, value);
    else
      fail("Unknown conversion specifier '" + std::string(1, conversion) + "'");
    return makeString(interpreter.heap, std::move(text));
  }

  static bool isNumber(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  }

  /// name or number, then .attribute and [element] as often as there are.
  Value lookUp(std::string_view path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = first(path.substr(0, at));
    while (at < path.size()) {
      if (path[at] == '.') {
        const size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
        value = attributeOf(interpreter, value, path.substr(at + 1, end - at - 1));
        at = end;
        continue;
      }
      const size_t end = path.find(']', at);
      if (path[at] != '[' || end == path.npos || end == at + 1)
        fail("the field " + quoted(path) + " of a format is malformed");
      const std::string_view key = path.substr(at + 1, end - at - 1);
      value = elementOf(interpreter, value,
                        isNumber(key) ? Value(parseInteger(key).value_or(0))
                                      : makeString(interpreter.heap, key));
      at = end + 1;
    }
    return value;
  }

  Value first(std::string_view name) {
    if (name.empty() || isNumber(name)) {
      if (name.empty() ? nextIndex < 0 : nextIndex > 0)
        fail("a format numbers its fields in two ways");
      size_t index = 0;
      if (name.empty()) {
        index = size_t(nextIndex++);
      } else {
        nextIndex = -1;
        index = size_t(parseInteger(name).value_or(0));
      }
      if (index >= arguments.positional.size())
        fail("Replacement index " + std::to_string(index) + " out of range for positional args");
      return arguments.positional[index];
    }
    if (const Value *value = arguments.keyword(name))
      return *value;
    fail("a format needs a value for " + quoted(name));
  }

  Interpreter &interpreter;
  const Arguments &arguments;
  const bool isMarkup;
  int nextIndex = 0; ///< of fields without a number; -1 once one had a number
};

} // namespace

Text braceFormat(Interpreter &interpreter, const Value &text, const Arguments &arguments) {
  return BraceFormatter(interpreter, arguments, text.string().isMarkup)
      .format(text.string().text, 2);
}

} // namespace ingot::runtime::jinja
