// SPDX-License-Identifier: Apache-2.0
// What str() and repr() of Python give for a value.
#pragma once

#include "runtime/jinja/Value.h"

namespace ingot::runtime::jinja {

/// str(): what printing the value adds to the text.
void appendStr(Heap &heap, Text &out, const Value &value);

/// repr(). `around`: of what the value is a part, whose are the bytes that no string has.
void appendRepr(Heap &heap, Text &out, const Value &value, Origin around = Origin::ofTemplate());

Text textOf(Heap &heap, const Value &value);

/// repr() of a float: the shortest digits that read back as the same number.
std::string reprOfFloat(double value);

/// `text` in quotes, for messages.
std::string quoted(std::string_view text);

} // namespace ingot::runtime::jinja
