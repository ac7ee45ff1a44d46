// SPDX-License-Identifier: Apache-2.0
// JSON of values, as json.dumps of Python writes it.
#pragma once

#include "runtime/jinja/Value.h"

#include <optional>
#include <string>

namespace ingot::runtime::jinja {

struct JsonForm {
  bool ensureAscii = false;
  bool sortKeys = false;
  std::optional<std::string> indent; ///< what one level is indented by; absent: one line
  std::string betweenItems = ", ";
  std::string afterKey = ": ";
};

/// Fails for values that JSON does not have.
void appendJson(Heap &heap, Text &out, const Value &value, const JsonForm &form);

} // namespace ingot::runtime::jinja
