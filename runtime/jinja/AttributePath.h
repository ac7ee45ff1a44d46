// SPDX-License-Identifier: Apache-2.0
// AttributePath: "address.city" or "0.name", as filters take attributes.
#pragma once

#include "runtime/jinja/Value.h"

#include <vector>

namespace ingot::runtime::jinja {

class Interpreter;

class AttributePath {
public:
  /// `path`: a string, a number, or None for the item itself. `otherwise` takes the place of what
  /// is undefined on the way, unless it is None.
  AttributePath(Interpreter &interpreter, const Value &path, const Value &otherwise = Value());

  /// The paths of a list parted by commas.
  static std::vector<AttributePath> several(Interpreter &interpreter, const Value &paths);

  Value of(const Value &item) const;

private:
  Interpreter *interpreter;
  std::vector<Value> parts;
  Value otherwise;
};

/// Strings in lower case; others as they are.
Value ignoringCase(Interpreter &interpreter, const Value &value);

} // namespace ingot::runtime::jinja
