// SPDX-License-Identifier: Apache-2.0
// Globals: what templates can name without having been given it.
#pragma once

#include "runtime/jinja/Arguments.h"

#include <span>

namespace ingot::runtime::jinja {

class Interpreter;

struct Global {
  std::string_view name;
  Value (*run)(Interpreter &interpreter, const Arguments &arguments);
};

/// range, dict, namespace, cycler, joiner, lipsum, raise_exception, strftime_now.
std::span<const Global> globals();

Value makeGlobal(Heap &heap, const Global &global);

/// Sets an attribute; false where `object` is no namespace.
bool assignInNamespace(Heap &heap, Object &object, std::string_view name, const Value &value);

/// dict(...) of Python.
Value makeDict(Interpreter &interpreter, const Arguments &arguments);

} // namespace ingot::runtime::jinja
