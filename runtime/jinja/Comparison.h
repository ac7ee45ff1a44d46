// SPDX-License-Identifier: Apache-2.0
// Truth, equality, order and hashes of values, as Python has them.
#pragma once

#include "runtime/jinja/Value.h"

namespace ingot::runtime::jinja {

/// bool(): never fails.
bool isTrue(const Value &value);

/// ==; True == 1 == 1.0, and values of other kinds differ.
bool equal(Heap &heap, const Value &left, const Value &right);

/// `symbol` is one of < <= > >=, which also stands in the message where there is no order.
bool ordered(Heap &heap, std::string_view symbol, const Value &left, const Value &right);

/// left < right.
inline bool less(Heap &heap, const Value &left, const Value &right) {
  return ordered(heap, "<", left, right);
}

/// `item in container`.
bool contains(Heap &heap, const Value &container, const Value &item);

/// Equal values have equal hashes. Fails for values that cannot be keys.
size_t hashOf(Heap &heap, const Value &value);
size_t hashOf(std::string_view text);
bool isHashable(const Value &value);

} // namespace ingot::runtime::jinja
