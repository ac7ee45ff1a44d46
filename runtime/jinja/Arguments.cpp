// SPDX-License-Identifier: Apache-2.0
// Arguments: what a call gives, and how a function takes it, by Python's rules.
#include "runtime/jinja/Arguments.h"

#include "runtime/jinja/Comparison.h"

#include <algorithm>

namespace ingot::runtime::jinja {

const Value *Arguments::keyword(std::string_view name) const {
  for (const auto &[key, value] : keywords)
    if (key == name)
      return &value;
  return nullptr;
}

Bound::Bound(std::string_view function, const Arguments &arguments,
             std::initializer_list<std::string_view> names, size_t required)
    : function(function), values(names.size()), names(names) {
  const std::string name(function);
  if (arguments.positional.size() > names.size())
    fail(name + "() takes at most " + std::to_string(names.size()) + " arguments, " +
         std::to_string(arguments.positional.size()) + " were given");
  for (size_t i = 0; i < arguments.positional.size(); ++i)
    values[i] = arguments.positional[i];
  for (const auto &[key, value] : arguments.keywords) {
    const auto found = std::find(this->names.begin(), this->names.end(), key);
    if (found == this->names.end())
      fail(name + "() has no parameter '" + key + "'");
    std::optional<Value> &place = values[size_t(found - this->names.begin())];
    if (place)
      fail(name + "() got more than one value for '" + key + "'");
    place = value;
  }
  for (size_t i = 0; i < required; ++i)
    if (!values[i])
      fail(name + "() needs a value for '" + std::string(this->names[i]) + "'");
}

int64_t Bound::integer(size_t place, int64_t otherwise) const {
  if (!values[place])
    return otherwise;
  if (values[place]->isUndefined())
    values[place]->undefined().fail();
  if (!values[place]->isInteger())
    fail(std::string(function) + "(): '" + std::string(names[place]) +
         "' must be an integer, not " + std::string(typeName(*values[place])));
  return values[place]->integer();
}

bool Bound::truth(size_t place, bool otherwise) const {
  return values[place] ? isTrue(*values[place]) : otherwise;
}

const String &Bound::string(size_t place) const {
  const Value value = (*this)[place];
  if (value.isUndefined())
    value.undefined().fail();
  if (!value.isString())
    fail(std::string(function) + "(): '" + std::string(names[place]) + "' must be a string, not " +
         std::string(typeName(value)));
  return value.string();
}

const String *Bound::optionalString(size_t place) const {
  return !values[place] || values[place]->isNone() ? nullptr : &string(place);
}

} // namespace ingot::runtime::jinja
