// SPDX-License-Identifier: Apache-2.0
// Operators of expressions, as Python has them.
#pragma once

#include "runtime/jinja/Value.h"

#include <string_view>

namespace ingot::runtime::jinja {

class Interpreter;

/// + - * / // % **
Value applyBinary(Interpreter &interpreter, std::string_view symbol, const Value &left,
                  const Value &right);

/// == != < <= > >= in "not in"
bool applyComparison(Heap &heap, std::string_view symbol, const Value &left, const Value &right);

Value negated(const Value &value);
Value unchanged(const Value &value); // unary plus

/// Python's str + str: a side that is no HTML is escaped where the other is.
Value joined(Heap &heap, const Value &left, const Value &right);

/// `text` with & < > " ' as entities.
Text escapedHtml(Heap &heap, const Text &text);
/// str() of a value as HTML: escaped, unless it says that it is HTML.
Text htmlOf(Heap &heap, const Value &value);

} // namespace ingot::runtime::jinja
