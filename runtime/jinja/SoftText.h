// SPDX-License-Identifier: Apache-2.0
// softText: a value as the string that filters of text work on.
#pragma once

#include "runtime/jinja/Value.h"

namespace ingot::runtime::jinja {

/// The value itself where it is a string, HTML or not; else its str().
Value softText(Heap &heap, const Value &value);

} // namespace ingot::runtime::jinja
