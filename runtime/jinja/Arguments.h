// SPDX-License-Identifier: Apache-2.0
// Arguments: what a call gives, and how a function takes it, by Python's rules.
#pragma once

#include "runtime/jinja/Value.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace ingot::runtime::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;

  const Value *keyword(std::string_view name) const;
};

/// The arguments of one call, by the place of their parameter.
class Bound {
public:
  /// `names` are the parameters in order, the first `required` of them without a default. Fails
  /// where an argument is missing, unknown, given twice or one too many.
  Bound(std::string_view function, const Arguments &arguments,
        std::initializer_list<std::string_view> names, size_t required = 0);

  bool has(size_t place) const { return values[place].has_value(); }
  /// None where it was not given.
  Value operator[](size_t place) const { return values[place].value_or(Value()); }

  // With a default; each fails where the value is of another kind.
  int64_t integer(size_t place, int64_t otherwise = 0) const;
  bool truth(size_t place, bool otherwise) const;
  const String &string(size_t place) const;
  /// Null where the argument is absent or None.
  const String *optionalString(size_t place) const;

private:
  std::string_view function;
  std::vector<std::optional<Value>> values;
  std::vector<std::string_view> names;
};

} // namespace ingot::runtime::jinja
