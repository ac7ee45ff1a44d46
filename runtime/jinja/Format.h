// SPDX-License-Identifier: Apache-2.0
// Formats: "..." % values and "...".format(...) of Python.
#pragma once

#include "runtime/jinja/Arguments.h"

#include <string_view>

namespace ingot::runtime::jinja {

class Interpreter;

/// text % values: a tuple's items, a dict's by name, or the one value.
Value percentFormat(Interpreter &interpreter, const Value &text, const Value &values);

/// text.format(arguments).
Text braceFormat(Interpreter &interpreter, const Value &text, const Arguments &arguments);

/// format(value, specification): what stands behind the colon of a field.
Text formatted(Heap &heap, const Value &value, std::string_view specification);

} // namespace ingot::runtime::jinja
