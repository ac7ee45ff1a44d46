// SPDX-License-Identifier: Apache-2.0
// Attributes, elements and slices of values, as the sandbox of Jinja gives them.
#pragma once

#include "runtime/jinja/Value.h"

#include <string_view>

namespace ingot::runtime::jinja {

class Interpreter;

/// value.name: an attribute, or else an element of that key, or else undefined.
Value attributeOf(Interpreter &interpreter, const Value &value, std::string_view name);

/// value[key]: an element, or else an attribute of that name, or else undefined.
Value elementOf(Interpreter &interpreter, const Value &value, const Value &key);

/// The attribute alone, as the filter `attr` looks it up.
std::optional<Value> ownAttribute(Interpreter &interpreter, const Value &value,
                                  std::string_view name);

/// value[start:stop:step], each None where it is absent.
Value sliceOf(Heap &heap, const Value &value, const Value &start, const Value &stop,
              const Value &step);

} // namespace ingot::runtime::jinja
